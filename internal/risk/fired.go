package risk

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluice-sale/sluice"
)

// holdKey is one rule and what it applies to.
type holdKey struct {
	rule string
	hash uint64
}

// hold is what a rule did about one subject, while it lasts.
type hold struct {
	id, rule string
	fired    sluice.RiskFired // as it was recorded first
	until    sluice.Millis
	lifted   atomic.Bool
	liftedAt sluice.Millis // guarded by the records' mu, with lifted
	count    atomic.Int64
	written  int64         // count as it is in the ledger; the loop's own
	mine     bool          // this node recorded it
	acted    *atomic.Int64 // of its rule
}

// of says whether the record is of the rule as it stands.
func (h *hold) of(l *lit) bool { return h.fired.Revision == l.revision && h.fired.Mode == l.mode }

// holds are the records in force.
type holds struct {
	n          atomic.Int64 // how many there are
	unrecorded atomic.Int64 // acts that found no room

	mu     sync.RWMutex // guards what follows
	all    map[holdKey]*hold
	blocks [2]map[uint64]*hold // by account and by device
	fresh  []*hold             // not in the ledger yet
}

func (h *holds) init() {
	h.all = map[holdKey]*hold{}
	h.blocks = [2]map[uint64]*hold{{}, {}}
}

// block gives the block that holds for x, or nil.
func (h *holds) block(x *subject) *hold {
	if h.n.Load() == 0 {
		return nil
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for b := byAccount; b <= byDevice; b++ {
		if x.hash[b] == 0 {
			continue
		}
		if f := h.blocks[b][x.hash[b]]; f != nil && !f.lifted.Load() && x.Now < f.until {
			if !f.fired.CampaignOnly || f.fired.Campaign == x.Campaign {
				f.count.Add(1)
				return f
			}
		}
	}
	return nil
}

// get gives the record of a rule and a subject that holds at now.
func (h *holds) get(k holdKey, now sluice.Millis) *hold {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if f := h.all[k]; f != nil && now < f.until {
		return f
	}
	return nil
}

// fire does what a rule says that holds.
func (e *Engine) fire(l *lit, x *subject, s *saw, v *sluice.Verdict) {
	k := holdKey{l.id, l.hash(x)}
	h := e.holds.get(k, x.Now)
	if h == nil || !h.of(l) {
		h = e.record(k, l, x, s)
	}
	if h != nil {
		if h.lifted.Load() {
			return // an operator has undone it, for as long as the record lasts
		}
		h.count.Add(1)
	}
	l.acted.Add(1)
	if l.mode != sluice.RiskOn {
		return
	}
	switch l.action.deed {
	case deedChallenge:
		v.Challenge = true
	case deedSlow:
		v.Slow = max(v.Slow, l.action.factor)
	case deedBlock:
		v.Block = true
		if h != nil {
			v.Reference = h.id
		}
	case deedLog:
		return
	}
	v.Rule = l.id
}

var deedNames = [...]string{"log", "challenge", "slow", "block"}

// record makes the record of a rule that fires. nil where there is no room: it acts all the same.
func (e *Engine) record(k holdKey, l *lit, x *subject, s *saw) *hold {
	until := x.Now + sluice.Millis(l.lasts)
	if l.action.deed == deedBlock {
		until = x.Now + sluice.Millis(l.action.length.Milliseconds())
	}
	h := &hold{id: newReference(), rule: l.id, until: until, mine: true, acted: l.acted}
	h.fired = sluice.RiskFired{
		ID: h.id, Rule: l.id, Revision: l.revision, Mode: l.mode, Action: l.action.text(), Scope: byScopes[l.to],
		Value: strings.Clone(x.value(l.to)), Campaign: strings.Clone(x.Campaign), Saw: l.text(s), Node: e.cfg.Node,
		CampaignOnly: l.campaign != "", At: x.Now, Until: until,
	}
	hs := &e.holds
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if old := hs.all[k]; old != nil && x.Now < old.until && old.of(l) {
		return old // another claim was faster
	}
	if len(hs.all) >= MaxHolds || len(hs.fresh) >= MaxHolds {
		hs.unrecorded.Add(1)
		return nil
	}
	hs.put(k, h)
	hs.fresh = append(hs.fresh, h)
	e.log.Info("a risk rule holds", "rule", l.id, "mode", string(l.mode), "action", h.fired.Action,
		"scope", string(h.fired.Scope), "saw", h.fired.Saw, "reference", h.id)
	return h
}

// put keeps a record. The caller holds mu.
func (h *holds) put(k holdKey, f *hold) {
	h.all[k] = f
	h.n.Store(int64(len(h.all)))
	if f.fired.Mode != sluice.RiskOn || !strings.HasPrefix(f.fired.Action, "block") {
		return
	}
	for b := byAccount; b <= byDevice; b++ {
		if byScopes[b] != f.fired.Scope {
			continue
		}
		// Of two blocks the wider one, then the longer one.
		old := h.blocks[b][k.hash]
		if old == nil || old.lifted.Load() || old.fired.CampaignOnly && !f.fired.CampaignOnly ||
			old.fired.CampaignOnly == f.fired.CampaignOnly && f.until >= old.until {
			h.blocks[b][k.hash] = f
		}
	}
}

// retire drops the records of rules that are gone, off or in another mode: what a rule did ends with it.
func (h *holds) retire(p *plan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, f := range h.all {
		if p.mode(f.rule) != f.fired.Mode {
			h.drop(k, f)
		}
	}
	h.n.Store(int64(len(h.all)))
}

// drop forgets one record. The caller holds mu.
func (h *holds) drop(k holdKey, f *hold) {
	delete(h.all, k)
	for b := range h.blocks {
		if h.blocks[b][k.hash] == f {
			delete(h.blocks[b], k.hash)
		}
	}
}

func newReference() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	return "rsk_" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// take takes over records of the ledger: those of other nodes, and what was lifted.
func (e *Engine) take(all []sluice.RiskFired) {
	p, hs := e.plan.Load(), &e.holds
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for _, f := range all {
		k := holdKey{f.Rule, p.hashOf(f.Scope, f.Value)}
		old := hs.all[k]
		switch {
		case old != nil && old.id == f.ID:
		case old != nil && f.LiftedAt == 0 && f.At <= old.liftedAt:
			continue // another node saw the same before it heard of the lift
		case k.hash == 0 || p.mode(f.Rule) != f.Mode || len(hs.all) >= MaxHolds,
			old != nil && old.until > f.Until && f.LiftedAt == 0:
			continue
		default:
			if f.LiftedAt != 0 && old != nil && old.fired.At <= f.LiftedAt {
				old.lifted.Store(true) // it may be what blocks
			}
			old = &hold{id: f.ID, rule: f.Rule, fired: f, until: f.Until, acted: p.acted(f.Rule)}
			hs.put(k, old)
		}
		if f.LiftedAt != 0 {
			old.lifted.Store(true)
			old.liftedAt = max(old.liftedAt, f.LiftedAt)
		}
	}
}

// forget drops the records that hold no more.
func (h *holds) forget(now sluice.Millis) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, f := range h.all {
		if now >= f.until {
			h.drop(k, f)
		}
	}
	h.n.Store(int64(len(h.all)))
}

// write records what is new and what was counted since.
func (e *Engine) write(ctx context.Context) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	hs := &e.holds
	hs.mu.Lock()
	fresh := hs.fresh
	hs.fresh = nil
	var some []*hold
	for _, f := range hs.all {
		if f.mine && f.written > 0 && f.count.Load() != f.written && len(some) < maxRecord {
			some = append(some, f)
		}
	}
	hs.mu.Unlock()
	some = append(fresh, some...)
	for len(some) > 0 {
		n := min(len(some), maxRecord)
		rows := make([]sluice.RiskFired, n)
		for i, f := range some[:n] {
			rows[i] = f.fired
			rows[i].Count = max(1, f.count.Load())
		}
		if err := e.cfg.Ledger.RecordFired(ctx, rows); err != nil {
			hs.mu.Lock()
			for _, f := range some {
				if f.written == 0 {
					hs.fresh = append(hs.fresh, f)
				}
			}
			hs.mu.Unlock()
			return err
		}
		for i, f := range some[:n] {
			f.written = rows[i].Count
		}
		some = some[n:]
	}
	return nil
}
