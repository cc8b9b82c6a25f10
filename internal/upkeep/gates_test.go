package upkeep_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/sluice-sale/sluice"
)

// gates are the gates of one campaign in memory, with the steps of PROTOCOL "Redis scripts". mu guards all fields; a
// test breaks them by hand.
type gates struct {
	mu     sync.Mutex
	shards map[int]*shard
	away   map[int]bool // shards that do not answer
	failed error        // of every call
	before func(step string)
	calls  map[string]int
}

type shard struct {
	epoch, sealed, revision       int64
	open                          bool
	available, share, taken, live int64
	returning                     int64
	out                           int64
	claims                        map[sluice.ClaimID]*held
	pending                       map[sluice.ClaimID]sluice.Claim
	took                          map[int64]int64
}

type held struct{ quantity, live, limit int32 }

func newGates() *gates {
	return &gates{shards: map[int]*shard{}, away: map[int]bool{}, calls: map[string]int{}}
}

func newShard() *shard {
	return &shard{
		claims: map[sluice.ClaimID]*held{}, pending: map[sluice.ClaimID]sluice.Claim{}, took: map[int64]int64{},
	}
}

// enter begins a call; the lock is held where there is no error.
func (g *gates) enter(step string) error {
	g.mu.Lock()
	hook := g.before
	g.calls[step]++
	g.mu.Unlock()
	if hook != nil {
		hook(step)
	}
	g.mu.Lock()
	if g.failed != nil {
		defer g.mu.Unlock()
		return g.failed
	}
	return nil
}

// set changes the gates by hand.
func (g *gates) set(change func(*gates)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(g)
}

func (g *gates) count(step string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls[step]
}

// flushAll forgets everything.
func (g *gates) flushAll() { g.set(func(g *gates) { g.shards = map[int]*shard{} }) }

// snapshot copies everything, as a file of an old moment does, and gives what restores it.
func (g *gates) snapshot() (restore func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := map[int]*shard{}
	for i, s := range g.shards {
		c := *s
		c.claims, c.pending, c.took = map[sluice.ClaimID]*held{}, maps.Clone(s.pending), maps.Clone(s.took)
		for id, h := range s.claims {
			copied := *h
			c.claims[id] = &copied
		}
		was[i] = &c
	}
	return func() { g.set(func(g *gates) { g.shards = was }) }
}

func home(c sluice.Campaign, user sluice.UserKey) int { return int(user[0]) % max(1, c.Shards) }

func (g *gates) Home(c sluice.Campaign, user sluice.UserKey) int { return home(c, user) }

// admit takes one claim at its home; the reason is what the script answers.
func (g *gates) admit(c sluice.Campaign, claim sluice.Claim) sluice.Reason {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.shards[home(c, claim.ID.User())]
	if s == nil || s.epoch != claim.Epoch || !s.open {
		return sluice.ReasonUnavailable
	}
	if _, known := s.claims[claim.ID]; known {
		return sluice.ReasonQueued
	}
	q := int32(claim.Quantity)
	var used int32
	for id, h := range s.claims {
		if id.User() == claim.ID.User() {
			used += h.limit
		}
	}
	switch {
	case int(used+q) > c.PerUserLimit:
		return sluice.ReasonLimitReached
	case int64(q) > s.available:
		return sluice.ReasonSoldOut
	}
	s.available -= int64(q)
	s.live += int64(q)
	s.claims[claim.ID] = &held{q, q, q}
	s.pending[claim.ID] = claim
	return sluice.ReasonQueued
}

func (s *shard) state(i int) sluice.ShardState {
	st := sluice.ShardState{Shard: i}
	if s == nil {
		return st
	}
	st.Armed, st.Open, st.Epoch, st.SealedFor = s.epoch > 0, s.open, s.epoch, s.sealed
	st.Revision, st.Available, st.Returning = s.revision, s.available, s.returning
	st.Live, st.Share, st.Taken, st.Out = s.live, s.share, s.taken, s.out
	for _, c := range s.pending {
		st.Queued += int64(c.Quantity)
		if st.Oldest == 0 || c.At < st.Oldest {
			st.Oldest = c.At
		}
	}
	return st
}

func (g *gates) states(c sluice.Campaign) (all []sluice.ShardState, err error) {
	for i := range max(1, c.Shards) {
		if g.away[i] {
			err = sluice.ErrUnavailable
			continue
		}
		all = append(all, g.shards[i].state(i))
	}
	return all, err
}

func (g *gates) State(_ context.Context, c sluice.Campaign) ([]sluice.ShardState, error) {
	if err := g.enter("state"); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	return g.states(c)
}

func (s *shard) claim(id sluice.ClaimID) sluice.GateClaim {
	h := s.claims[id]
	c := sluice.GateClaim{ID: id, Quantity: h.quantity, Live: h.live > 0, LiveUnits: h.live, LimitUnits: h.limit}
	if p, ok := s.pending[id]; ok {
		c.Queued = &p
	}
	return c
}

func (g *gates) Claims(_ context.Context, _ sluice.Campaign, i int, each func([]sluice.GateClaim) error) error {
	if err := g.enter("claims"); err != nil {
		return err
	}
	var all []sluice.GateClaim
	if s := g.shards[i]; s != nil {
		for id := range s.claims {
			all = append(all, s.claim(id))
		}
	}
	g.mu.Unlock()
	for len(all) > 0 {
		n := min(3, len(all))
		if err := each(all[:n]); err != nil {
			return err
		}
		if err := each(all[:1]); err != nil { // a cursor may give a claim twice
			return err
		}
		all = all[n:]
	}
	return nil
}

func (g *gates) Lookup(
	_ context.Context, _ sluice.Campaign, ids []sluice.ClaimID,
) (map[sluice.ClaimID]sluice.GateClaim, error) {
	if err := g.enter("lookup"); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	found := map[sluice.ClaimID]sluice.GateClaim{}
	for _, id := range ids {
		for _, s := range g.shards {
			if _, ok := s.claims[id]; ok {
				found[id] = s.claim(id)
			}
		}
	}
	return found, nil
}

func (g *gates) Pending(_ context.Context, _ sluice.Campaign, i int, each func([]sluice.Claim) error) error {
	if err := g.enter("pending"); err != nil {
		return err
	}
	var all []sluice.Claim
	if s := g.shards[i]; s != nil {
		all = slices.SortedFunc(maps.Values(s.pending), func(a, b sluice.Claim) int {
			return bytes.Compare(a.ID[:], b.ID[:])
		})
	}
	g.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	return each(all)
}

func (g *gates) Settled(_ context.Context, claims []sluice.Claim) error {
	if err := g.enter("settled"); err != nil {
		return err
	}
	defer g.mu.Unlock()
	for _, c := range claims {
		for _, s := range g.shards {
			delete(s.pending, c.ID)
		}
	}
	return nil
}

func (g *gates) Complete(context.Context, sluice.Campaign) error {
	if err := g.enter("complete"); err != nil {
		return err
	}
	defer g.mu.Unlock()
	for _, s := range g.shards { // every transfer had arrived and was not forgotten
		s.out = 0
	}
	return nil
}

func (g *gates) Drop(_ context.Context, _ sluice.Campaign, claims bool) (bool, error) {
	if err := g.enter("drop"); err != nil {
		return false, err
	}
	defer g.mu.Unlock()
	for i, s := range g.shards {
		if len(s.pending) > 0 {
			return false, sluice.ErrConflict
		}
		if claims {
			delete(g.shards, i)
			return len(g.shards) > 0, nil
		}
		if s.epoch > 0 {
			*s = shard{claims: s.claims, pending: s.pending, took: map[int64]int64{}}
		}
	}
	return false, nil
}

func (g *gates) Seal(_ context.Context, c sluice.Campaign, epoch int64) ([]sluice.ShardState, error) {
	if err := g.enter("seal"); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	for i := range max(1, c.Shards) {
		if g.shards[i] == nil && !g.away[i] {
			g.shards[i] = newShard()
		}
	}
	for i, s := range g.shards {
		if !g.away[i] && s.epoch < epoch {
			s.open, s.sealed = false, max(s.sealed, epoch)
		}
	}
	return g.states(c)
}

// sealedFor gives a shard that is sealed for an epoch and not armed.
func (g *gates) sealedFor(i int, epoch int64) (*shard, error) {
	s := g.shards[i]
	switch {
	case g.away[i]:
		return nil, sluice.ErrUnavailable
	case s == nil || s.sealed != epoch || s.epoch >= epoch:
		return nil, sluice.ErrConflict
	}
	return s, nil
}

func (g *gates) Join(_ context.Context, c sluice.Campaign, i int, rows []sluice.ClaimRow) error {
	if err := g.enter("join"); err != nil {
		return err
	}
	defer g.mu.Unlock()
	s, err := g.sealedFor(i, c.Epoch)
	if err != nil {
		return err
	}
	for _, r := range rows {
		h := s.claims[r.ID]
		if h == nil {
			h = &held{r.Quantity, r.LiveUnits, r.LimitUnits}
			s.claims[r.ID] = h
			s.live += int64(h.live)
		} else {
			s.live += int64(min(h.live, r.LiveUnits) - h.live)
			h.live, h.limit = min(h.live, r.LiveUnits), min(h.limit, r.LimitUnits)
		}
		delete(s.pending, r.ID)
	}
	return nil
}

func (g *gates) Arm(_ context.Context, c sluice.Campaign, i int, share int64) error {
	if err := g.enter("arm"); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if s := g.shards[i]; s != nil && s.epoch == c.Epoch && s.sealed <= c.Epoch {
		return nil
	}
	s, err := g.sealedFor(i, c.Epoch)
	if err != nil {
		return err
	}
	s.epoch, s.open, s.revision, s.share = c.Epoch, true, c.Revision, share
	s.available, s.taken, s.out, s.returning, s.took = share-s.live, 0, 0, 0, map[int64]int64{}
	return nil
}

func (g *gates) Apply(_ context.Context, ops []sluice.PermitOp) ([]sluice.PermitResult, error) {
	if err := g.enter("apply"); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	results := make([]sluice.PermitResult, len(ops))
	for i, op := range ops {
		if op.Kind == sluice.PermitAdjust {
			results[i] = g.adjust(op)
			continue
		}
		c := sluice.Campaign{Shards: len(g.shards)}
		s := g.shards[home(c, op.Claim.User())]
		switch {
		case s == nil || s.epoch < op.Epoch:
			continue
		case s.epoch > op.Epoch:
			results[i].Verdict = sluice.PermitDropped
			continue
		case op.Kind == sluice.PermitTake:
			s.take(op)
		default:
			s.release(op)
		}
		delete(s.pending, op.Claim)
		results[i].Verdict = sluice.PermitDone
	}
	return results, nil
}

func (s *shard) take(op sluice.PermitOp) {
	if s.claims[op.Claim] != nil {
		return
	}
	s.claims[op.Claim] = &held{int32(op.Units), int32(op.Units), int32(op.LimitUnits)}
	s.available -= op.Units
	s.live += op.Units
}

func (s *shard) release(op sluice.PermitOp) {
	h := s.claims[op.Claim]
	if h == nil {
		s.claims[op.Claim] = &held{int32(op.Units), 0, int32(op.Units - op.LimitUnits)}
		return
	}
	back := min(int32(op.Units), h.live)
	h.live -= back
	h.limit -= min(int32(op.LimitUnits), h.limit)
	s.live -= int64(back)
	s.available += int64(back)
}

// adjust changes the total over all shards, each once per revision.
func (g *gates) adjust(op sluice.PermitOp) (r sluice.PermitResult) {
	left := op.Units
	for _, i := range slices.Sorted(maps.Keys(g.shards)) {
		s := g.shards[i]
		switch {
		case s.epoch < op.Epoch || op.Revision > s.revision+1:
			return sluice.PermitResult{}
		case s.epoch > op.Epoch:
			return sluice.PermitResult{Verdict: sluice.PermitDropped}
		}
		if op.Revision > s.revision {
			n := left
			if left < 0 {
				n = -min(-left, max(0, s.available))
			}
			s.available += n
			s.share += n
			s.took[op.Revision], s.revision = n, op.Revision
		}
		left -= s.took[op.Revision]
		r.Taken -= s.took[op.Revision]
		r.Epoch = s.epoch
	}
	r.Verdict = sluice.PermitDone
	return r
}
