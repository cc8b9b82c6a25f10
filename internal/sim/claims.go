package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sluice-sale/sluice"
)

func (w *World) newClaim(c *campaign, source sluice.Source) sluice.Claim {
	user := fmt.Sprintf("u%d", w.rng.IntN(users))
	request := w.name("r")
	if source == sluice.SourceClaim && w.rng.IntN(4) == 0 {
		request = ""
	}
	return sluice.Claim{
		ID: sluice.NewClaimID(c.set.ID, user, source, request), Campaign: c.set.ID, User: user, RequestID: request,
		Quantity: 1 + w.rng.IntN(c.set.PerUserLimit), Source: source, At: w.now,
	}
}

// claim makes a new claim and judges the answer.
func (w *World) claim(ctx context.Context) error { return w.admit(ctx, w.pick(), sluice.SourceClaim) }

func (w *World) grant(ctx context.Context) error { return w.admit(ctx, w.pick(), sluice.SourceGrant) }

func (w *World) admit(ctx context.Context, c *campaign, source sluice.Source) error {
	k := w.newClaim(c, source)
	reason, state := c.expect(k.ID, k.User, source, k.Quantity)
	d := w.adm.Admit(ctx, k)
	w.note("%s by %s × %d: %v", source, k.User, k.Quantity, d.Reason)
	if err := c.judge("claim", d, reason, state, nil); err != nil {
		return err
	}
	if reason == sluice.ReasonConfirmed {
		return w.come(c, k, d)
	}
	return nil
}

// come notes a claim that was confirmed.
func (w *World) come(c *campaign, k sluice.Claim, d sluice.Decision) error {
	x := &claim{id: k.ID, user: k.User, request: k.RequestID, source: k.Source, quantity: k.Quantity, codes: d.CouponCodes}
	if c.set.Kind == sluice.KindCoupon && len(d.CouponCodes) != k.Quantity {
		return fmt.Errorf("%d coupons have %d codes", k.Quantity, len(d.CouponCodes))
	}
	c.come(x, w.clock.Read(w.now))
	return nil
}

// copyOfClaim sends a claim again, sometimes with another quantity.
func (w *World) copyOfClaim(ctx context.Context) error {
	c := w.pick()
	x := w.pickClaim(c)
	if x == nil {
		return nil
	}
	quantity := x.quantity
	if w.rng.IntN(4) == 0 {
		quantity++
	}
	w.note("copy of %v × %d", x.id, quantity)
	return w.ask(ctx, c, x, quantity)
}

// ask sends a known claim again, by both roads, and judges the answers.
func (w *World) ask(ctx context.Context, c *campaign, x *claim, quantity int) error {
	reason, state := c.expect(x.id, x.user, x.source, quantity)
	d := w.adm.Admit(ctx, sluice.Claim{
		ID: x.id, Campaign: c.set.ID, User: x.user, RequestID: x.request, Quantity: quantity, Source: x.source, At: w.now,
	})
	if err := c.judge("copy", d, reason, state, x); err != nil {
		return err
	}
	if reason == sluice.ReasonConfirmed && !d.Replayed {
		return fmt.Errorf("a copy of %v is not marked as replayed", x.id)
	}
	d, ok := w.adm.Replay(ctx, c.set.ID, x.id, quantity)
	if !ok {
		return fmt.Errorf("replay of %v: not known", x.id)
	}
	return c.judge("replay", d, reason, state, x)
}

// rush sends several claims of different users, and a copy of each, at once.
func (w *World) rush(ctx context.Context) error {
	c := w.pick()
	if c.paused {
		return nil
	}
	var claims []sluice.Claim
	free := 0
	for i := range users {
		k := sluice.Claim{Campaign: c.set.ID, User: fmt.Sprintf("u%d", i), RequestID: w.name("rush"), Quantity: 1, At: w.now}
		k.ID = sluice.NewClaimID(c.set.ID, k.User, k.Source, k.RequestID)
		if c.used(k.User) < int64(c.set.PerUserLimit) {
			free++
		}
		claims = append(claims, k)
	}
	answers := make([][2]sluice.Decision, len(claims))
	var all sync.WaitGroup
	for i, k := range claims {
		for j := range 2 {
			all.Go(func() { answers[i][j] = w.adm.Admit(ctx, k) })
		}
	}
	all.Wait()
	should := min(free, int(c.available()))
	got := 0
	for i, k := range claims {
		a, b := answers[i][0], answers[i][1]
		if a.Reason != sluice.ReasonConfirmed && b.Reason != sluice.ReasonConfirmed {
			continue
		}
		if a.Reason != sluice.ReasonConfirmed {
			a = b // the copy that came first was refused, the second found a unit
		}
		got++
		if err := w.come(c, k, a); err != nil {
			return err
		}
	}
	w.note("rush on %s: %d of %d confirmed", c.set.ID, got, len(claims))
	if got != should {
		return fmt.Errorf("rush on %s: %d confirmed, %d users could claim", c.set.ID, got, should)
	}
	return nil
}

// failing makes the next commit fail and sends a claim into it; then it finds out what is true, as a client would.
func (w *World) failing(ctx context.Context) error {
	c := w.pick()
	k := w.newClaim(c, sluice.SourceClaim)
	reason, _ := c.expect(k.ID, k.User, k.Source, k.Quantity)
	if reason != sluice.ReasonConfirmed {
		return nil
	}
	mode := claimFault(1 + w.rng.IntN(3))
	w.flaky.next = mode
	d := w.adm.Admit(ctx, k)
	w.flaky.next = faultNone
	w.note("commit fails (%d) under a claim by %s × %d: %v", mode, k.User, k.Quantity, d.Reason)
	rec, err := w.db.ClaimRecord(ctx, k.ID)
	there := err == nil
	if err != nil && !errors.Is(err, sluice.ErrNotFound) {
		return err
	}
	switch {
	case there != (mode == faultLostAfter):
		return fmt.Errorf("fault %d: in the ledger: %v", mode, there)
	case there && d.Reason != sluice.ReasonConfirmed, !there && d.Reason != sluice.ReasonBusy:
		return fmt.Errorf("fault %d: in the ledger: %v, answered %v", mode, there, d.Reason)
	case there:
		d.CouponCodes = rec.CouponCodes
		return w.come(c, k, d)
	}
	return nil
}

// crash loses everything in process memory and builds it from the ledger.
func (w *World) crash(ctx context.Context) error {
	w.note("crash")
	w.stop()
	return w.start(ctx)
}

func (w *World) pause(ctx context.Context) error {
	c := w.pick()
	cmd := sluice.CommandPause
	if c.paused {
		cmd = sluice.CommandResume
	}
	set, err := w.db.SetControl(ctx, c.set.ID, cmd, "sim", operator, w.now)
	if err != nil {
		return err
	}
	c.paused = !c.paused
	w.note("%s %s", cmd, c.set.ID)
	return w.adm.Put(ctx, set)
}

func (w *World) adjust(ctx context.Context) error {
	c := w.pick()
	change, delta := w.name("change"), int64(1+w.rng.IntN(4))
	if w.rng.IntN(2) == 0 {
		delta = -delta
	}
	var old *sluice.Adjustment
	if n := len(c.changes); n > 0 && w.rng.IntN(3) == 0 {
		old = &c.changes[w.rng.IntN(n)]
		change, delta = old.ChangeID, old.Asked
	}
	asked := sluice.Adjustment{ChangeID: change, Campaign: c.set.ID, Asked: delta, At: w.now}
	var got sluice.Adjustment
	_, err := w.write(func() (err error) {
		got, err = w.adm.Adjust(ctx, asked, operator)
		return err
	})
	if err != nil {
		return fmt.Errorf("adjust %s by %d: %w", c.set.ID, delta, err)
	}
	w.note("adjust %s by %d: %+d", c.set.ID, delta, got.Applied)
	if old != nil {
		if *old != got {
			return fmt.Errorf("adjustment %s: first %+v, again %+v", change, *old, got)
		}
		return nil
	}
	applied := max(delta, -c.available())
	c.set.Stock.Total += applied
	c.changes = append(c.changes, got)
	if got.Applied != applied || got.Total != c.set.Stock.Total {
		return fmt.Errorf("adjust %s by %d: %+v, has to apply %d and leave %d",
			c.set.ID, delta, got, applied, c.set.Stock.Total)
	}
	return nil
}
