package sim_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// How long a history may take to come to rest, round by round: a unit that waits for a lease waits for a second.
const (
	restWithin = 6 * time.Second
	roundEvery = 20 * time.Millisecond
)

// rest lets everybody live and do their work until nothing moves any more.
func (w *fleet) rest(ctx context.Context) error {
	w.note("everybody lives from here on")
	w.late, w.transfers, w.immortal = nil, nil, true
	over := time.After(restWithin)
	tick := time.NewTicker(roundEvery)
	defer tick.Stop()
	moves := "not begun"
	for {
		select {
		case <-tick.C:
		case <-over:
			return fmt.Errorf("sim: still moving after %s: %s", restWithin, moves)
		}
		c, err := w.campaign(ctx)
		if err != nil {
			return err
		}
		if w.lost || w.degraded || w.asks || !w.armed(ctx, c) {
			if err := w.rearm(ctx, 0); err != nil && ignore(err) != nil {
				return err
			}
			continue
		}
		for n := range fleetNodes {
			if err := w.learn(ctx, n); err != nil {
				return err
			}
		}
		if moves, err = w.work(ctx, c); err != nil || moves == "" {
			return err
		}
	}
}

func (w *fleet) armed(ctx context.Context, c sluice.Campaign) bool {
	states, err := w.gates.State(ctx, c)
	if err != nil {
		return false
	}
	for _, s := range states[:max(1, c.Shards)] {
		if !s.Armed || !s.Open || s.Epoch != c.Epoch {
			return false
		}
	}
	return true
}

// work is one round of everybody; "" where nobody had anything to do.
func (w *fleet) work(ctx context.Context, c sluice.Campaign) (moves string, err error) {
	if err := w.judgeLetters(ctx, false); err != nil {
		return "", err
	}
	if len(w.broker) > 0 {
		if err := w.write(ctx, "the settler", w.broker); err != nil {
			return "", err
		}
		if err := w.gates.Settled(ctx, w.broker); err != nil {
			return "", err
		}
		w.broker, moves = nil, "messages"
	}
	for shard := range max(1, c.Shards) {
		key := w.client.OutboxKey(&c, shard)
		n, err := w.raw.Do(ctx, w.raw.B().Xlen().Key(key).Build()).AsInt64()
		if err != nil {
			return "", err
		}
		if n > 0 {
			moves = "an outbox"
			if err := w.relay(ctx); err != nil {
				return "", err
			}
		}
	}
	states, err := w.gates.State(ctx, c)
	if err != nil {
		return "", err
	}
	for _, s := range states {
		if s.Queued > 0 {
			moves = fmt.Sprintf("claims that are not settled: %+v", s)
			if err := w.sweep(ctx); err != nil {
				return "", err
			}
		}
		if s.Out > 0 {
			moves = fmt.Sprintf("units under way: %+v", s)
		}
	}
	if err := w.gates.Complete(ctx, c); err != nil && ignore(err) != nil {
		return "", err
	}
	ops, err := w.db.PermitOps(ctx, w.id, 0, 1000)
	if err != nil {
		return "", err
	}
	if len(ops) > 0 {
		moves = fmt.Sprintf("operations: %+v", ops)
		if err := w.apply(ctx, ops, true); err != nil {
			return "", err
		}
	}
	pending, err := w.db.PendingAdjustments(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range pending {
		if a.Campaign == w.id {
			moves = fmt.Sprintf("an adjustment: %+v", a)
			if err := w.finishAdjustments(ctx); err != nil {
				return "", err
			}
			break
		}
	}
	return moves, nil
}

// judge holds gates, ledger and promises against each other, claim by claim.
func (w *fleet) judge(ctx context.Context) error {
	c, err := w.campaign(ctx)
	if err != nil {
		return err
	}
	if wrong := w.wait(func() string { return w.sums(ctx, c) }); wrong != "" {
		return fmt.Errorf("sim: %s", wrong)
	}
	v, err := w.db.Verify(ctx, w.id, nil)
	if err != nil {
		return err
	}
	if !v.OK {
		return fmt.Errorf("sim: the ledger does not verify: %+v", v)
	}
	rows := map[sluice.ClaimID]sluice.ClaimRow{}
	err = w.db.Load(ctx, w.id, nil, func(all []sluice.ClaimRow) error {
		for _, r := range all {
			rows[r.ID] = r
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, p := range w.promises {
		if _, there := rows[id]; !there && !(w.everLost && w.deaths > 0) {
			return fmt.Errorf("sim: %s/%s was promised and is forgotten", p.claim.User, p.claim.RequestID)
		}
	}
	held := map[sluice.ClaimID]sluice.GateClaim{}
	for shard := range max(1, c.Shards) {
		if err := w.gates.Claims(ctx, c, shard, func(all []sluice.GateClaim) error {
			for _, g := range all {
				held[g.ID] = g
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for id, g := range held {
		r := rows[id]
		if g.Live != (r.LiveUnits > 0) || g.LimitUnits != r.LimitUnits {
			return fmt.Errorf("sim: claim %s: the gate has %+v, the ledger %+v", id, g, r)
		}
	}
	for id, r := range rows {
		if _, there := held[id]; !there && (r.LiveUnits > 0 || r.LimitUnits > 0) {
			return fmt.Errorf("sim: claim %s is in the ledger and not in the gate: %+v", id, r)
		}
	}
	return nil
}

// sums says what is wrong with the gates' sum; units that wait for a lease are waited for.
func (w *fleet) sums(ctx context.Context, c sluice.Campaign) string {
	states, err := w.gates.State(ctx, c)
	if err != nil {
		return err.Error()
	}
	var available, live, other int64
	for _, s := range states {
		available += s.Available + s.Returning // which is available at the next script after the lease
		live += s.Live
		other += s.Out + s.Queued
	}
	if available+live != c.Stock.Total || other != 0 {
		return fmt.Sprintf("%d available and %d live, %d elsewhere, are not %d: %+v", available, live, other, c.Stock.Total,
			states)
	}
	if live != c.Stock.Held+c.Stock.Sold {
		return fmt.Sprintf("%d live in the gates, %d held and %d sold in the ledger", live, c.Stock.Held, c.Stock.Sold)
	}
	return ""
}

// wait asks until is says "", for as long as leases can last.
func (w *fleet) wait(is func() string) (last string) {
	over := time.After(3 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if last = is(); last == "" {
			return ""
		}
		select {
		case <-tick.C:
		case <-over:
			return last
		}
	}
}
