package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Lease is how long a shard's word on being dry holds; dry.lua has the same number.
const Lease = time.Second

// pullRounds bounds how often SoldOut asks all shards before it gives up.
const pullRounds = 3

// Out takes units from a shard for another one: what is wanted, or half of what is there if that is more, or all of
// it. A transfer that is under way from that shard is given instead; nil where there is nothing to give.
func (g *Gates) Out(ctx context.Context, c *sluice.Campaign, from, to int, units int64) (*Transfer, error) {
	what := func() string { return fmt.Sprintf("%d units of %s/%d to %d", units, c.ID, from, to) }
	answer, err := g.c.run(ctx, g.c.scripts.out, what, []string{g.c.keys.of(c, from).gate},
		[]string{number(c.Epoch), strconv.Itoa(to), number(units)})
	if err != nil {
		return nil, err
	}
	in := reader{answer: answer}
	if in.int() != 1 {
		return nil, in.err
	}
	t := &Transfer{From: from, Epoch: c.Epoch, To: int(in.int()), Seq: in.int(), Units: in.int()}
	return t, in.err
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// In gives the units of a transfer to their receiver, once.
func (g *Gates) In(ctx context.Context, c *sluice.Campaign, t Transfer) (TransferResult, error) {
	if t.To < 0 || t.To >= shardsOf(c) {
		return TransferRefused, fmt.Errorf("redis: in %s/%d: %w: no such shard", c.ID, t.To, sluice.ErrInvalid)
	}
	k := g.c.keys.of(c, t.To)
	what := func() string { return fmt.Sprintf("%d units to %s/%d from %d", t.Units, c.ID, t.To, t.From) }
	answer, err := g.c.run(ctx, g.c.scripts.in, what, []string{k.gate, k.marks},
		[]string{number(t.Epoch), strconv.Itoa(t.From), number(t.Seq), number(t.Units)})
	if err != nil {
		return TransferRefused, err
	}
	in := reader{answer: answer}
	return TransferResult(in.int()), in.err
}

// Forget ends a transfer at its giver, after TransferApplied or TransferAlready only.
func (g *Gates) Forget(ctx context.Context, c *sluice.Campaign, t Transfer) error {
	what := func() string { return fmt.Sprintf("transfer %d of %s/%d", t.Seq, c.ID, t.From) }
	_, err := g.c.run(ctx, g.c.scripts.forget, what, []string{g.c.keys.of(c, t.From).gate},
		[]string{number(t.Epoch), number(t.Seq)})
	return err
}

// finish brings a transfer to its end, and says whether the units are with the receiver.
func (g *Gates) finish(ctx context.Context, c *sluice.Campaign, t Transfer) (bool, error) {
	r, err := g.In(ctx, c, t)
	if err != nil || r != TransferApplied && r != TransferAlready {
		return false, err
	}
	return true, g.Forget(ctx, c, t)
}

// Complete brings the transfers that are under way between the campaign's shards to their end, as far as it can: one
// whose receiver is dry under a lease, or in another epoch, stays.
func (g *Gates) Complete(ctx context.Context, c sluice.Campaign) error {
	states, err := g.raw(ctx, &c)
	errs := []error{err}
	for i := range states {
		if t := states[i].transfer; t != nil {
			_, err := g.finish(ctx, &c, *t)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Pull brings units to a shard that has run dry from the others, and completes transfers that it meets. It gives the
// units that arrived at the shard. With units and an error some shards did not answer.
func (g *Gates) Pull(ctx context.Context, c *sluice.Campaign, to int, want int64) (got int64, err error) {
	var errs []error
	moved := true
	for round := 0; moved && round < 2; round++ { // once more where units have gone to a shard that was asked before
		moved = false
		for i := 1; i < shardsOf(c) && got < want; i++ {
			units, elsewhere, err := g.pullFrom(ctx, c, (to+i)%shardsOf(c), to, want-got)
			got, moved = got+units, moved || elsewhere
			errs = append(errs, err)
		}
	}
	return got, errors.Join(errs...)
}

// pullFrom pulls from one shard. The first answer may be a transfer from before; the second try is ours.
func (g *Gates) pullFrom(
	ctx context.Context, c *sluice.Campaign, from, to int, want int64,
) (got int64, elsewhere bool, err error) {
	for range 2 {
		t, err := g.Out(ctx, c, from, to, want)
		if err != nil || t == nil {
			return got, elsewhere, err
		}
		arrived, err := g.finish(ctx, c, *t)
		if arrived && t.To == to {
			return got + t.Units, elsewhere, err
		}
		if err != nil || !arrived {
			return got, elsewhere, err
		}
		elsewhere = true
	}
	return got, elsewhere, nil
}

// Dry asks one shard for a lease on being dry.
func (g *Gates) Dry(ctx context.Context, c *sluice.Campaign, shard int) (Dryness, error) {
	return g.dry(ctx, c, shard, "grant")
}

func (g *Gates) dry(ctx context.Context, c *sluice.Campaign, shard int, how string) (Dryness, error) {
	what := func() string { return fmt.Sprintf("%s/%d", c.ID, shard) }
	answer, err := g.c.run(ctx, g.c.scripts.dry, what, []string{g.c.keys.of(c, shard).gate},
		[]string{number(c.Epoch), how})
	if err != nil {
		return Dryness{}, err
	}
	in := reader{answer: answer}
	d := Dryness{Status: statusOf(in.int())}
	if epoch := in.int(); d.Status == GateNone || d.Status == GateEpoch {
		d.Epoch = epoch
		return d, in.err
	}
	d.Epoch = c.Epoch
	d.Granted, d.Available, d.Returning = in.int() == 1, in.int(), in.int()
	t := Transfer{From: shard, Epoch: c.Epoch, To: int(in.int()), Seq: in.int(), Units: in.int()}
	if t.Units > 0 {
		d.Pending = &t
	}
	return d, in.err
}

// asked is one shard's answer and when it was asked and had.
type asked struct {
	Dryness
	err  error
	sent time.Time
}

// dryAll asks every shard at once.
func (g *Gates) dryAll(ctx context.Context, c *sluice.Campaign, how string) []asked {
	all := make([]asked, shardsOf(c))
	if len(all) == 1 { // no goroutine for the common case
		all[0].sent = time.Now()
		all[0].Dryness, all[0].err = g.dry(ctx, c, 0, how)
		return all
	}
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			all[i].sent = time.Now()
			all[i].Dryness, all[i].err = g.dry(ctx, c, i, how)
		})
	}
	wait.Wait()
	return all
}

// SoldOut asks every shard whether it is dry, and pulls units to the shard to where others have some. It is sold
// out only where every shard is dry in the epoch of c. Until then it is BUSY: the answer is false, and a claim may
// be tried again, at once where Pulled says that there are units now. Any error: a shard does not answer; never
// sold out.
//
// Of several shards leases are asked for only where a look has found all of them dry: under a lease a shard takes no
// units from others, and whoever asked again and again would keep a unit on its way for as long.
//
// All leases overlap: each began after its call was sent and all had begun when the last answer was there, which is
// before the first of them can have ended. ErrUnavailable where the answers took too long for that.
func (g *Gates) SoldOut(ctx context.Context, c *sluice.Campaign, to int) (SoldOut, error) {
	for range pullRounds {
		var w weighed
		if shardsOf(c) > 1 {
			w = weigh(g.dryAll(ctx, c, "look"))
		}
		if shardsOf(c) == 1 || w.all() {
			w = weigh(g.dryAll(ctx, c, "grant"))
		}
		switch {
		case w.err != nil || w.status != GateOK:
			return SoldOut{Status: w.status}, w.err
		case w.all():
			s := SoldOut{SoldOut: true, Until: w.first.Add(Lease)}
			if !time.Now().Before(s.Until) {
				return SoldOut{}, fmt.Errorf("redis: dry %s: %w: the answers took too long", c.ID, sluice.ErrUnavailable)
			}
			return s, nil
		case w.dry+w.empty == w.shards:
			return SoldOut{SoldOut: true}, nil
		}
		got, err := g.gather(ctx, c, to, w.pending)
		if err != nil || got {
			return SoldOut{Pulled: got}, err
		}
	}
	return SoldOut{}, nil
}

// weighed is what all shards together say.
type weighed struct {
	shards  int
	dry     int // have, or would have, a lease
	empty   int // have nothing, and something is on its way back
	pending []Transfer
	status  GateStatus // the first that is not GateOK
	err     error      // the first
	first   time.Time  // when the first was asked
}

func (w *weighed) all() bool { return w.err == nil && w.status == GateOK && w.dry == w.shards }

func weigh(all []asked) (w weighed) {
	w.shards, w.first = len(all), all[0].sent
	for i := range all {
		a := &all[i]
		switch {
		case a.err != nil:
			w.err = cmp.Or(w.err, a.err)
		case a.Status != GateOK:
			w.status = cmp.Or(w.status, a.Status)
		case a.Pending != nil:
			w.pending = append(w.pending, *a.Pending)
		case a.Granted:
			w.dry++
		case a.Available <= 0:
			w.empty++
		}
		if a.sent.Before(w.first) {
			w.first = a.sent
		}
	}
	return w
}

// gather completes transfers and pulls. It says whether the shard may have units now.
func (g *Gates) gather(ctx context.Context, c *sluice.Campaign, to int, pending []Transfer) (bool, error) {
	got := shardsOf(c) == 1 // its own units are all there are
	for _, t := range pending {
		arrived, err := g.finish(ctx, c, t)
		if err != nil {
			return got, err
		}
		got = got || arrived && t.To == to
	}
	n, err := g.Pull(ctx, c, to, 1)
	return got || n > 0, err
}
