package risk

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of what nodes tell each other.
const (
	MaxBatch      = 256 << 10 // bytes of what one node tells at once
	maxEntries    = 4096      // of one table in one batch
	maxNodesHeard = 16        // a key that has not reached so much of a threshold on any of 16 nodes has not reached it
	batchVersion  = 1
	countBytes    = 8 + 2
	distinctBytes = 8 + 8*sketchWords
	sectionBytes  = 1 + 1 + 4 + 4 + 2
)

var errBatch = errors.New("risk: the batch cannot be read")

// Start begins to record what fires, and to share what is counted. Stop ends it.
func (e *Engine) Start() {
	e.done.Add(1)
	go func() {
		defer e.done.Done()
		tick := time.NewTicker(tradeEvery)
		defer tick.Stop()
		for {
			select {
			case <-e.end:
				return
			case <-tick.C:
			}
			e.once(context.Background())
		}
	}()
}

// Stop ends what Start began, after it has recorded what is left. It is idempotent.
func (e *Engine) Stop() {
	e.stop.Do(func() {
		close(e.end)
		e.done.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), tradeTimeout)
		defer cancel()
		if err := e.write(ctx); err != nil {
			e.log.Warn("what risk rules did last is not recorded", "err", err)
		}
	})
}

// once records, takes over what other nodes recorded, and trades counts with them.
func (e *Engine) once(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tradeTimeout)
	defer cancel()
	now := e.now()
	e.holds.forget(now)
	if err := e.write(ctx); err != nil {
		e.log.Debug("what risk rules did is not recorded yet", "err", err)
	}
	after := max(0, e.seq-maxRecord) // of two that write at once the later number may be seen first
	if e.cfg.Now().Sub(e.reloaded) > reloadEvery {
		after, e.reloaded = 0, e.cfg.Now()
	}
	if len(e.plan.Load().listed) > 0 {
		if fired, seq, err := e.cfg.Ledger.ActiveFired(ctx, now, after); err == nil {
			e.take(fired)
			e.seq = max(e.seq, seq)
		}
	}
	if e.cfg.Exchange == nil {
		return
	}
	if err := e.trade(ctx); err != nil {
		e.log.Debug("risk counts are this node's alone for now", "err", err)
	}
}

// trade tells the other nodes what was counted here, and counts what they tell.
func (e *Engine) trade(ctx context.Context) error {
	if err := e.share(ctx); err != nil {
		return err
	}
	if batch := e.batch(); len(batch) > 0 {
		if err := e.cfg.Exchange.Tell(ctx, e.cfg.Node, batch); err != nil {
			return err
		}
	}
	next, err := e.cfg.Exchange.Hear(ctx, e.mark, func(node string, batch []byte) {
		if node == e.cfg.Node {
			return
		}
		if err := e.hear(batch); err != nil {
			e.log.Warn("what another node counted cannot be read", "node", node, "err", err)
		}
	})
	if err == nil {
		e.mark = next
	}
	return err
}

// share takes over the key that all nodes hash with. What was counted under this node's own is forgotten.
func (e *Engine) share(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.given {
		return nil
	}
	key, err := e.cfg.Exchange.Key(ctx, e.key[:])
	if err != nil {
		return err
	}
	if len(key) != len(e.key) {
		return errBatch
	}
	e.given = true
	if e.key == Key(key) {
		return nil
	}
	e.key = Key(key)
	e.tables = map[tableKey]*table{}
	e.replan(e.plan.Load().listed)
	e.rehash()
	e.reloaded = time.Time{}
	return nil
}

// rehash puts the records under the new key.
func (e *Engine) rehash() {
	p, hs := e.plan.Load(), &e.holds
	hs.mu.Lock()
	defer hs.mu.Unlock()
	old := hs.all
	hs.all, hs.blocks = map[holdKey]*hold{}, [2]map[uint64]*hold{{}, {}}
	for k, f := range old {
		if k.hash = p.hashOf(f.fired.Scope, f.fired.Value); k.hash != 0 {
			hs.put(k, f)
		}
	}
}

// batch writes what the other nodes have not been told: for each table kind, scope, half of the window, its number, how
// many entries, and these: hash and count, or hash and sketch.
func (e *Engine) batch() []byte {
	out := []byte{batchVersion}
	for _, t := range e.plan.Load().tables {
		at := len(out)
		half := t.at(e.now())
		out = append(out, byte(t.kind), byte(t.by))
		out = binary.LittleEndian.AppendUint32(out, t.half)
		out = binary.LittleEndian.AppendUint32(out, half)
		out = append(out, 0, 0)
		n := 0
		if t.distinct != nil {
			most := min(maxEntries, (MaxBatch-len(out))/distinctBytes)
			t.distinct.drain(half, t.floor, max(0, most), func(hash uint64, s *sketch) {
				out = binary.LittleEndian.AppendUint64(out, hash)
				for _, w := range s {
					out = binary.LittleEndian.AppendUint64(out, w)
				}
				n++
			})
		} else {
			most := min(maxEntries, (MaxBatch-len(out))/countBytes)
			t.counts_.drain(half, uint32(t.floor), max(0, most), func(hash uint64, c uint16) {
				out = binary.LittleEndian.AppendUint64(out, hash)
				out = binary.LittleEndian.AppendUint16(out, c)
				n++
			})
		}
		if n == 0 {
			out = out[:at]
			continue
		}
		binary.LittleEndian.PutUint16(out[at+sectionBytes-2:], uint16(n))
	}
	if len(out) == 1 {
		return nil
	}
	return out
}

// hear counts what another node has told. Tables that this node has not, and halves that are over, are passed over.
func (e *Engine) hear(b []byte) error {
	if len(b) == 0 || b[0] != batchVersion || len(b) > MaxBatch+sectionBytes {
		return errBatch
	}
	byKey := map[tableKey]*table{}
	for _, t := range e.plan.Load().tables {
		byKey[t.tableKey] = t
	}
	now := e.now()
	for b = b[1:]; len(b) > 0; {
		if len(b) < sectionBytes {
			return errBatch
		}
		k := tableKey{kind(b[0]), by(b[1]), binary.LittleEndian.Uint32(b[2:])}
		half, n := binary.LittleEndian.Uint32(b[6:]), int(binary.LittleEndian.Uint16(b[10:]))
		size := countBytes
		if k.kind <= kindDevices {
			size = distinctBytes
		}
		if b = b[sectionBytes:]; n*size > len(b) {
			return errBatch
		}
		if t := byKey[k]; t != nil {
			t.hear(b[:n*size], half, now)
		}
		b = b[n*size:]
	}
	return nil
}

// hear counts the entries of one section. Of a half that is not the one that runs nothing is taken: its count would
// stand for longer than the window.
func (t *table) hear(b []byte, half uint32, now sluice.Millis) {
	if half != t.at(now) {
		return
	}
	for len(b) > 0 {
		hash := binary.LittleEndian.Uint64(b)
		if t.distinct == nil {
			t.counts_.add(hash, half, binary.LittleEndian.Uint16(b[8:]), true)
			b = b[countBytes:]
			continue
		}
		var s sketch
		for i := range s {
			s[i] = binary.LittleEndian.Uint64(b[8+8*i:])
		}
		t.distinct.join(hash, &s, half)
		b = b[distinctBytes:]
	}
}
