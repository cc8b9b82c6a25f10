package redis

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// FakeGates stand for gates and servers in tests of what admission does by itself.
type FakeGates interface {
	asking
	watching
	servers
}

// NewAdmissionOver makes an Admission over fakes.
func NewAdmissionOver(cfg AdmissionConfig, deps AdmissionDeps, g FakeGates) *Admission {
	return newAdmission(cfg, deps, g, g, g)
}

// Gather is what joins claims to calls.
type Gather = gather[int, int]

// NewGather makes one.
func NewGather(most, flights int, wait time.Duration, call func([]int, []int)) *Gather {
	return &Gather{call: call, max: most, flights: flights, wait: wait}
}

// Do asks for one answer.
func (g *gather[Q, R]) Do(q Q) (R, bool) { return g.do(&q) }

// Drain waits for the last call.
func (g *gather[Q, R]) Drain() { g.drain() }

// Breaker is a breaker on a clock.
type Breaker = breaker

// NewBreaker makes one.
func NewBreaker(mono func() time.Duration) *Breaker { return &breaker{mono: mono} }

// Allow, Done and Standing are the breaker's.
func (b *breaker) Allow() bool                     { return b.allow() }
func (b *breaker) Done(ok bool) bool               { return b.done(ok) }
func (b *breaker) Standing() (bool, time.Duration) { return b.standing() }

// HolderSet is a set of users who hold claims.
type HolderSet = holders

// Add, AddClaims, SettleDown and Has are the set's.
func (h *holders) AddClaims(claims []sluice.Claim) { h.addClaims(claims) }
func (h *holders) SettleDown()                     { h.settleDown() }
func (h *holders) Add(keys ...sluice.UserKey)      { h.add(keys...) }
func (h *holders) Has(k sluice.UserKey) bool       { return h.has(k) }

// FetchHolders reads on in the lists of a campaign.
func (a *Admission) FetchHolders(ctx context.Context, id string) error {
	return a.fetchHolders(ctx, a.find(id))
}

// Breakers says how many shards of a campaign are given up for now.
func (a *Admission) Breakers(id string) (n int) {
	for _, l := range *a.find(id).lanes.Load() {
		if open, _ := l.breaker.standing(); open {
			n++
		}
	}
	return n
}

// Promises are a list of promised claims.
type Promises = promised

// NewPromises makes one.
func NewPromises(max int) *Promises { return newPromised(max) }

// Keep, Drop, Holds, Before, Size and Overdue are the list's.
func (p *promised) Keep(claims []sluice.Claim, at time.Duration) []bool {
	kept := make([]bool, len(claims))
	for i := range kept {
		kept[i] = true
	}
	for _, i := range p.keep(claims, textOf(claims), at) {
		kept[i] = false
	}
	return kept
}
func (p *promised) Drop(ids ...sluice.ClaimID)   { p.drop(ids) }
func (p *promised) Holds(id sluice.ClaimID) bool { _, ok := p.find(id); return ok }
func (p *promised) Before(campaign string, epoch int64, most int) []sluice.Claim {
	return p.before(campaign, epoch, most)
}
func (p *promised) Size() int                                 { return p.size() }
func (p *promised) Overdue(at time.Duration) []sluice.ClaimID { return p.overdue(at) }

// PromisedCount says how many claims have no outcome yet.
func (a *Admission) PromisedCount() int { return a.promised.size() }

// TTLs gives the time to live of every key that matches, on all masters.
func (c *Client) TTLs(ctx context.Context, match string) (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for _, node := range c.rdb.Nodes() {
		info, err := node.Do(ctx, node.B().Info().Section("replication").Build()).ToString()
		if err != nil {
			return nil, err
		}
		if infoField(info, "role") != "master" {
			continue
		}
		keys, err := node.Do(ctx, node.B().Keys().Pattern(match).Build()).AsStrSlice()
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			ms, err := node.Do(ctx, node.B().Pttl().Key(key).Build()).AsInt64()
			if err != nil {
				return nil, err
			}
			all[key] = time.Duration(ms) * time.Millisecond
		}
	}
	return all, nil
}
