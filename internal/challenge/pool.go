package challenge

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Defaults and bounds of the pools of drawn challenges.
const (
	DefaultPoolSize    = 64
	MaxPoolSize        = 10_000
	DefaultPoolWaiting = 256
	MaxPoolWaiting     = 100_000
	// poolWait is how long somebody waits for a picture.
	poolWait = time.Second
	// maxStale bounds the pictures of a forgotten key that one request passes over.
	maxStale = MaxPoolSize
)

// PoolConfig says how many drawn challenges are kept ready, of each kind that is drawn. A picture takes about 30 kB.
type PoolConfig struct {
	Size    int // pictures that are ready, 1 to MaxPoolSize
	Workers int // how many are drawn at once; default: a quarter of the processors, at least 1
	Waiting int // how many may wait for one; the next is told BUSY
}

func (c *PoolConfig) complete() error {
	if c.Size == 0 {
		c.Size = DefaultPoolSize
	}
	if c.Workers == 0 {
		c.Workers = max(runtime.GOMAXPROCS(0)/4, 1)
	}
	if c.Waiting == 0 {
		c.Waiting = DefaultPoolWaiting
	}
	for _, b := range []struct {
		name string
		v    int
		most int
	}{{"size", c.Size, MaxPoolSize}, {"workers", c.Workers, 256}, {"waiting", c.Waiting, MaxPoolWaiting}} {
		if b.v < 1 || b.v > b.most {
			return fmt.Errorf("challenge: %w: pool: %s %d is not within 1 and %d", sluice.ErrInvalid, b.name, b.v, b.most)
		}
	}
	return nil
}

// drawn is one challenge that was drawn before anybody asked, for nobody yet. It is given out once.
type drawn struct {
	key   []byte
	nonce [nonceLen]byte
	data  json.RawMessage
}

// pool keeps drawn challenges of one kind ready. It begins to draw when the first is asked for: who uses no pictures
// pays for none.
type pool struct {
	cfg   PoolConfig
	kind  byte
	draw  func(*lots) json.RawMessage
	ready chan drawn
	// keys are the secrets of the last who asked; what is drawn is drawn for the first of them.
	keys    atomic.Pointer[[][]byte]
	waiting atomic.Int64
	start   sync.Once
	ended   chan struct{}
	end     sync.Once
	workers sync.WaitGroup
}

func newPool(cfg PoolConfig, kind byte, draw func(*lots) json.RawMessage) *pool {
	return &pool{cfg: cfg, kind: kind, draw: draw, ready: make(chan drawn, cfg.Size), ended: make(chan struct{})}
}

// take gives a drawn challenge under one of keys. A Fault with ErrUnavailable and the code BUSY: there is none in time.
func (p *pool) take(ctx context.Context, keys [][]byte) (drawn, error) {
	p.keys.Store(&keys)
	p.start.Do(func() {
		for range p.cfg.Workers {
			p.workers.Go(p.work)
		}
	})
	for range maxStale {
		d, err := p.one(ctx)
		if err != nil {
			return d, err
		}
		if slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == string(d.key) }) {
			return d, nil
		}
	}
	return drawn{}, errBusy()
}

// one gives the next one that is ready, whatever its key.
func (p *pool) one(ctx context.Context) (d drawn, err error) {
	select {
	case d = <-p.ready:
		return d, nil
	default:
	}
	if p.waiting.Add(1) > int64(p.cfg.Waiting) {
		p.waiting.Add(-1)
		return d, errBusy()
	}
	defer p.waiting.Add(-1)
	patience := time.NewTimer(poolWait)
	defer patience.Stop()
	select {
	case d = <-p.ready:
		return d, nil
	case <-patience.C:
	case <-ctx.Done():
	case <-p.ended:
	}
	return d, errBusy()
}

func errBusy() error {
	return sluice.NewFault(sluice.ErrUnavailable, "BUSY",
		"too many challenges are asked for: try again in a second, or ask for the kind pow")
}

// work draws until the pool is full, and again when there is room.
func (p *pool) work() {
	for {
		key := (*p.keys.Load())[0]
		nonce := newNonce()
		d := drawn{key: key, nonce: nonce, data: p.draw(newLots(key, p.kind, nonce))}
		select {
		case p.ready <- d:
		case <-p.ended:
			return
		}
		select {
		case <-p.ended:
			return
		default:
		}
	}
}

func (p *pool) close() {
	p.start.Do(func() {}) // nobody starts any more
	p.end.Do(func() { close(p.ended) })
	p.workers.Wait()
}

// fill is what a drawn kind issues.
func (p *pool) fill(ctx context.Context, keys [][]byte, id *ident) (json.RawMessage, []byte, error) {
	d, err := p.take(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	id.nonce = d.nonce
	return d.data, d.key, nil
}
