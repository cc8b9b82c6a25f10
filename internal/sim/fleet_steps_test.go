package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
)

// claim is one buyer asking one node.
func (w *fleet) claim(ctx context.Context) error {
	c, err := w.campaign(ctx)
	if err != nil {
		return err
	}
	n := w.rng.IntN(fleetNodes)
	user, request := fmt.Sprint("u", w.rng.IntN(fleetUsers)), fmt.Sprint("r", w.rng.IntN(3))
	claim := sluice.Claim{
		ID: sluice.NewClaimID(w.id, user, sluice.SourceClaim, request), Campaign: w.id, User: user, RequestID: request,
		Quantity: 1 + w.rng.IntN(min(2, c.PerUserLimit)), At: sluice.MillisOf(time.Now()),
	}
	if w.degraded {
		return w.claimInLedger(ctx, claim)
	}
	c.Epoch = w.knows[n]
	if c.Epoch == 0 {
		return nil
	}
	claim.Epoch = c.Epoch
	shard := redis.HomeShard(&c, claim.ID.User())
	for range 2 {
		r, err := w.gates.Admit(ctx, redis.AdmitCall{Campaign: &c, Shard: shard, Claims: []sluice.Claim{claim}})
		if err != nil {
			return err
		}
		if r.Status != redis.GateOK {
			w.note("node %d in epoch %d: %s/%s: the gate says %d", n, c.Epoch, user, request, r.Status)
			return nil
		}
		v := r.Claims[0].Verdict
		w.note("node %d in epoch %d: %s/%s x%d at shard %d: verdict %d", n, c.Epoch, user, request, claim.Quantity, shard, v)
		if v == redis.VerdictAdmitted {
			w.count("admitted")
		}
		if p := w.promises[claim.ID]; p == nil && (v == redis.VerdictAdmitted || v == redis.VerdictQueued) {
			if w.chance(8) {
				w.note("  ... and the answer is lost")
				return nil
			}
			w.promises[claim.ID] = &promise{claim: claim, node: n, kept: true}
		}
		if v != redis.VerdictDry || c.Shards < 2 {
			return nil
		}
		verdict, err := w.gates.SoldOut(ctx, &c, shard)
		if err != nil || !verdict.Pulled {
			return ignore(err)
		}
		w.count("transfer")
	}
	return nil
}

// ignore lets pass what a caller would try again.
func ignore(err error) error {
	if errors.Is(err, sluice.ErrUnavailable) || errors.Is(err, sluice.ErrUncertain) || errors.Is(err, sluice.ErrConflict) {
		return nil
	}
	return err
}

func (w *fleet) claimInLedger(ctx context.Context, claim sluice.Claim) error {
	out, err := w.db.Admit(ctx, []sluice.Claim{claim})
	if err != nil {
		return err
	}
	w.note("degraded: %s/%s x%d: %s", claim.User, claim.RequestID, claim.Quantity, out[0].Reason)
	w.count("degraded")
	w.everSQL = true
	return nil
}

// relay carries one entry of an outbox to the broker.
func (w *fleet) relay(ctx context.Context) error {
	c, err := w.campaign(ctx)
	if err != nil {
		return err
	}
	key := w.client.OutboxKey(&c, w.rng.IntN(max(1, c.Shards)))
	entries, err := w.raw.Do(ctx, w.raw.B().Xrange().Key(key).Start("-").End("+").Count(3).Build()).AsXRange()
	if err != nil || len(entries) == 0 {
		return err
	}
	e := entries[w.rng.IntN(len(entries))]
	text, err := w.textOf(ctx, key, e)
	if err != nil {
		return err
	}
	for _, d := range redis.Deliveries(e.ID, []byte(text)) {
		if d.Fault != "" {
			return fmt.Errorf("sim: entry %s: %s", e.ID, d.Fault)
		}
		for range 1 + w.rng.IntN(5)/4 {
			w.broker = slices.Insert(w.broker, w.rng.IntN(len(w.broker)+1), d.Claim)
		}
		w.note("%s/%s goes to the broker", d.Claim.User, d.Claim.RequestID)
	}
	if w.dies("before it takes the entry out") {
		return nil
	}
	return w.raw.Do(ctx, w.raw.B().Xdel().Key(key).Id(e.ID).Build()).Error()
}

// textOf gives the messages of an entry of an outbox: those of the call that it names, none where that is settled.
func (w *fleet) textOf(ctx context.Context, key string, e rueidis.XRangeEntry) (string, error) {
	call, named := e.FieldValues[redis.CallField]
	if !named {
		return e.FieldValues[redis.OutboxField], nil
	}
	pending := strings.TrimSuffix(key, "outbox") + "pending"
	text, err := w.raw.Do(ctx, w.raw.B().Hget().Key(pending).Field("m"+call).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		w.note("a call in the outbox was settled already")
		return "", nil
	}
	return text, err
}

// settle is a settler with a few messages.
func (w *fleet) settle(ctx context.Context) error {
	n := min(len(w.broker), 1+w.rng.IntN(3))
	if n == 0 {
		return nil
	}
	batch := slices.Clone(w.broker[:n])
	if err := w.write(ctx, "the settler", batch); err != nil {
		return err
	}
	if w.dies("after the commit") {
		return nil
	}
	if err := w.gates.Settled(ctx, batch); err != nil {
		return err
	}
	if w.dies("before it acknowledges") {
		return nil
	}
	w.broker = w.broker[n:]
	return nil
}

// write puts claims into the ledger.
func (w *fleet) write(ctx context.Context, who string, claims []sluice.Claim) error {
	out, err := w.db.Settle(ctx, claims)
	if err != nil {
		return err
	}
	for i, o := range out {
		w.note("%s: %s/%s of epoch %d: %s (%s, replayed %v)", who, claims[i].User, claims[i].RequestID, claims[i].Epoch,
			o.Reason, o.State, o.Replayed)
		switch {
		case o.Replayed:
		case o.State == sluice.ClaimConfirmed:
			w.count("confirmed")
		case o.State == sluice.ClaimRejected:
			w.count("rejected")
			if !w.everLost && !w.everSQL {
				return fmt.Errorf("sim: %s/%s was promised and is rejected with %s, and nothing was ever lost",
					claims[i].User, claims[i].RequestID, o.Reason)
			}
		}
	}
	return nil
}

// learn is a node that sees the ledger's epoch: it settles what it promised in earlier ones.
func (w *fleet) learn(ctx context.Context, n int) error {
	c, err := w.campaign(ctx)
	if err != nil {
		return err
	}
	w.knows[n] = c.Epoch
	var old []sluice.Claim
	for _, p := range w.promises {
		if p.node == n && p.kept && p.claim.Epoch < c.Epoch {
			old = append(old, p.claim)
		}
	}
	slices.SortFunc(old, func(a, b sluice.Claim) int { return slices.Compare(a.ID[:], b.ID[:]) })
	if len(old) == 0 {
		return nil
	}
	if err := w.write(ctx, fmt.Sprint("node ", n), old); err != nil {
		return err
	}
	for _, p := range old {
		w.promises[p.ID].kept = false
	}
	return nil
}

// node is a node that learns the epoch, or dies and comes back with nothing.
func (w *fleet) node(ctx context.Context) error {
	n := w.rng.IntN(fleetNodes)
	if !w.chance(4) {
		return w.learn(ctx, n)
	}
	w.note("node %d dies", n)
	w.count("died")
	w.deaths++
	for _, p := range w.promises {
		if p.node == n {
			p.kept = false
		}
	}
	return nil
}

// release carries operations from the ledger to the gates.
func (w *fleet) release(ctx context.Context) error {
	ops, err := w.db.PermitOps(ctx, w.id, 0, 1+w.rng.IntN(4))
	if err != nil || len(ops) == 0 {
		return err
	}
	return w.apply(ctx, ops, true)
}

func (w *fleet) apply(ctx context.Context, ops []sluice.PermitOp, mark bool) error {
	results, err := w.gates.Apply(ctx, ops)
	if err != nil {
		return err
	}
	var done []int64
	for i, r := range results {
		w.note("operation %d (kind %d, %d units) of epoch %d: %d", ops[i].Seq, ops[i].Kind, ops[i].Units, ops[i].Epoch,
			r.Verdict)
		if r.Verdict != sluice.PermitKept {
			done = append(done, ops[i].Seq)
			w.count("released")
		}
	}
	if w.chance(4) {
		w.late = append(w.late, ops...)
	}
	if !mark || w.dies("before the operations are marked") {
		return nil
	}
	return w.db.DonePermitOps(ctx, done)
}

// deliverLate applies operations and transfers again that somebody still had in hand.
func (w *fleet) deliverLate(ctx context.Context) error {
	if len(w.late) > 0 {
		i := w.rng.IntN(len(w.late))
		op := w.late[i]
		w.late = slices.Delete(w.late, i, i+1)
		w.note("late:")
		if err := w.apply(ctx, []sluice.PermitOp{op}, false); err != nil {
			return err
		}
	}
	if len(w.transfers) > 0 {
		return w.arrive(ctx)
	}
	return nil
}

// close ends an order, or pays it.
func (w *fleet) close(ctx context.Context) error {
	page, _, err := w.db.ClaimsPage(ctx, w.id, 0, 100)
	if err != nil || len(page) == 0 {
		return err
	}
	r := page[w.rng.IntN(len(page))]
	if r.OrderState != sluice.OrderUnpaid {
		return nil
	}
	now := sluice.MillisOf(time.Now())
	if w.chance(4) {
		w.changes++
		_, err := w.db.Pay(ctx, sluice.Payment{
			Reference: fmt.Sprint(w.id, "-", w.changes), Order: r.ID, AmountMinor: 100 * int64(r.Quantity), Currency: "CNY",
			Status: "succeeded", Received: now,
		})
		w.note("%s pays: %v", r.User, err)
		return ignore(err)
	}
	why := sluice.CloseExpired
	if w.chance(2) {
		why = sluice.CloseCancelled
	}
	_, err = w.db.CloseOrder(ctx, r.ID, why, sluice.Actor{}, now)
	w.note("the order of %s/%s ends: %s", r.User, r.RequestID, why)
	return ignore(err)
}

// move begins, carries on or ends a transfer between shards.
func (w *fleet) move(ctx context.Context) error {
	c, err := w.campaign(ctx)
	if err != nil || c.Shards < 2 {
		return err
	}
	if c.Epoch = w.knows[w.rng.IntN(fleetNodes)]; c.Epoch == 0 {
		return nil // that node knows of no gate yet
	}
	if w.chance(2) && len(w.transfers) > 0 {
		return w.arrive(ctx)
	}
	from := w.rng.IntN(c.Shards)
	t, err := w.gates.Out(ctx, &c, from, (from+1)%c.Shards, int64(1+w.rng.IntN(3)))
	if err != nil || t == nil {
		return ignore(err)
	}
	w.note("out: %+v", *t)
	w.count("transfer")
	w.transfers = append(w.transfers, *t)
	return nil
}

func (w *fleet) arrive(ctx context.Context) error {
	c, err := w.campaign(ctx)
	if err != nil {
		return err
	}
	i := w.rng.IntN(len(w.transfers))
	t := w.transfers[i]
	r, err := w.gates.In(ctx, &c, t)
	w.note("in: %+v: %d %v", t, r, err)
	if err != nil {
		return ignore(err)
	}
	if r != redis.TransferApplied && r != redis.TransferAlready || w.dies("before it forgets the transfer") {
		return nil
	}
	if !w.chance(4) { // else somebody still has it
		w.transfers = slices.Delete(w.transfers, i, i+1)
	}
	err = w.gates.Forget(ctx, &c, t)
	w.note("forget: %+v: %v", t, err)
	return ignore(err)
}

// adjust changes the total.
func (w *fleet) adjust(ctx context.Context) error {
	w.changes++
	a := sluice.Adjustment{
		ChangeID: fmt.Sprint(w.id, "-", w.changes), Campaign: w.id, Asked: int64(1 + w.rng.IntN(3)),
		At: sluice.MillisOf(time.Now()),
	}
	var err error
	if w.chance(2) {
		a.Asked = -a.Asked
		_, err = w.db.BeginAdjustment(ctx, a, operator)
	} else {
		_, err = w.db.RecordAdjustment(ctx, a, operator)
	}
	w.note("an adjustment of %d: %v", a.Asked, err)
	w.count("adjusted")
	return ignore(err)
}

func (w *fleet) finishAdjustments(ctx context.Context) error {
	_, err := w.adjuster.RunOnce(ctx)
	w.note("the adjuster looks: %v", err)
	return ignore(err)
}

// plannedEpoch lets a re-armer work that may die in the middle.
func (w *fleet) plannedEpoch(ctx context.Context) error {
	calls := 0
	if w.chance(2) {
		calls = 1 + w.rng.IntN(4)
	}
	return ignore(w.rearm(ctx, calls))
}

// letter makes a dead letter of a message, and a person replays or discards it.
func (w *fleet) letter(ctx context.Context) error {
	if len(w.broker) == 0 {
		return nil
	}
	c := w.broker[0]
	for range 3 {
		dead, err := w.db.FailTries(ctx, []sluice.Claim{c}, "simulated")
		if err != nil {
			return err
		}
		if len(dead) > 0 {
			break
		}
	}
	w.broker = w.broker[1:]
	w.note("%s/%s is a dead letter", c.User, c.RequestID)
	return w.judgeLetters(ctx, w.chance(2))
}

func (w *fleet) judgeLetters(ctx context.Context, discard bool) error {
	q := sluice.DeadLetterQuery{Campaign: w.id, State: sluice.DeadLetterKept, Limit: 100}
	if discard {
		done, _, err := w.db.DiscardDeadLetters(ctx, q, operator, sluice.MillisOf(time.Now()))
		if len(done) > 0 {
			w.note("%d dead letters are discarded", len(done))
			w.count("discarded")
		}
		return err
	}
	done, _, err := w.db.ReplayDeadLetters(ctx, q, operator, sluice.MillisOf(time.Now()))
	for _, l := range done {
		w.note("the dead letter of %s/%s is replayed", l.Claim.User, l.Claim.RequestID)
		w.broker = append(w.broker, l.Claim)
	}
	return err
}

// sweep settles what is pending in the gates from their own record.
func (w *fleet) sweep(ctx context.Context) error {
	c, err := w.campaign(ctx)
	if err != nil {
		return err
	}
	for shard := range max(1, c.Shards) {
		var all []sluice.Claim
		err := w.gates.Pending(ctx, c, shard, func(claims []sluice.Claim) error {
			all = append(all, claims...)
			return nil
		})
		if err != nil {
			return err
		}
		if len(all) == 0 {
			continue
		}
		w.count("swept")
		slices.SortFunc(all, func(a, b sluice.Claim) int { return slices.Compare(a.ID[:], b.ID[:]) })
		if err := w.write(ctx, "the sweeper", all); err != nil {
			return err
		}
		if w.dies("after the commit") {
			return nil
		}
		if err := w.gates.Settled(ctx, all); err != nil {
			return err
		}
	}
	return nil
}

// degrade is a time in which nobody reaches the gates: an epoch of its own, in which claims go to the ledger once every
// node has settled what it promised.
func (w *fleet) degrade(ctx context.Context) error {
	if w.degraded {
		return nil
	}
	c, err := w.campaign(ctx)
	if err != nil {
		return err
	}
	ok, err := w.db.OpenEpoch(ctx, w.id, c.Epoch, sluice.EpochDegraded)
	if err != nil || !ok {
		return err
	}
	w.note("epoch %d is opened to sell in the ledger", c.Epoch+1)
	for n := range fleetNodes {
		if err := w.learn(ctx, n); err != nil {
			return err
		}
	}
	w.degraded = true
	return nil
}
