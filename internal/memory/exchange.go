package memory

import (
	"context"
	"slices"
	"strconv"
	"sync"
)

// exchangeHeld bounds the batches that an Exchange holds; of more the oldest are forgotten.
const exchangeHeld = 1024

// Exchange carries what several engines of one process have counted for risk rules, as a Redis does for nodes.
type Exchange struct {
	mu   sync.Mutex // guards what follows
	key  []byte
	all  []toldBatch // the numbers end in next - 1
	next uint64
}

type toldBatch struct {
	node   string
	counts []byte
}

// NewExchange makes an empty one.
func NewExchange() *Exchange { return &Exchange{next: 1} }

// Key gives the key that came first.
func (x *Exchange) Key(_ context.Context, mine []byte) ([]byte, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.key == nil {
		x.key = slices.Clone(mine)
	}
	return slices.Clone(x.key), nil
}

// Tell adds what a node counted.
func (x *Exchange) Tell(_ context.Context, node string, batch []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = append(x.all, toldBatch{node, slices.Clone(batch)})
	x.next++
	if n := len(x.all) - exchangeHeld; n > 0 {
		x.all = slices.Delete(x.all, 0, n)
	}
	return nil
}

// Hear calls back for the batches after a mark, oldest first, and gives the mark to ask from next.
func (x *Exchange) Hear(
	_ context.Context, after string, each func(node string, batch []byte),
) (next string, err error) {
	x.mu.Lock()
	all, first := slices.Clone(x.all), x.next-uint64(len(x.all))
	next = strconv.FormatUint(x.next-1, 10)
	x.mu.Unlock()
	seen, _ := strconv.ParseUint(after, 10, 64) // the empty mark is the beginning
	for i, b := range all {
		if first+uint64(i) > seen {
			each(b.node, b.counts)
		}
	}
	return next, nil
}
