package redis

import (
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

// Out takes units from a shard for another one: what is wanted, or half of what is there if that is more, or all of it.
// A transfer that is under way from that shard is given instead; nil where there is nothing to give.
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
	n := shardsOf(c)
	var errs []error
	for i := 1; i < n && got < want; i++ {
		from := (to + i) % n
		// The first answer may be a transfer from before; the second try is ours.
		for range 2 {
			t, err := g.Out(ctx, c, from, to, want-got)
			if err != nil {
				errs = append(errs, err)
				break
			}
			if t == nil {
				break
			}
			arrived, err := g.finish(ctx, c, *t)
			if arrived && t.To == to {
				got += t.Units
			}
			if errs = append(errs, err); err != nil || !arrived || t.To == to {
				break
			}
		}
	}
	return got, errors.Join(errs...)
}

// Dry asks one shard for a lease on being dry.
func (g *Gates) Dry(ctx context.Context, c *sluice.Campaign, shard int) (Dryness, error) {
	what := func() string { return fmt.Sprintf("%s/%d", c.ID, shard) }
	answer, err := g.c.run(ctx, g.c.scripts.dry, what, []string{g.c.keys.of(c, shard).gate}, []string{number(c.Epoch)})
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
func (g *Gates) dryAll(ctx context.Context, c *sluice.Campaign) []asked {
	all := make([]asked, shardsOf(c))
	if len(all) == 1 { // no goroutine for the common case
		all[0].sent = time.Now()
		all[0].Dryness, all[0].err = g.Dry(ctx, c, 0)
		return all
	}
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			all[i].sent = time.Now()
			all[i].Dryness, all[i].err = g.Dry(ctx, c, i)
		})
	}
	wait.Wait()
	return all
}

// SoldOut asks every shard whether it is dry, and pulls units to the shard to where others have some. It is sold out only
// where every shard is dry in the epoch of c. Until then it is BUSY: the answer is false, and a claim may be tried
// again, at once where Pulled says that there are units now. Any error: a shard does not answer; never sold out.
//
// All leases overlap: each began after its call was sent and all had begun when the last answer was there, which is
// before the first of them can have ended. ErrUnavailable where the answers took too long for that.
func (g *Gates) SoldOut(ctx context.Context, c *sluice.Campaign, to int) (SoldOut, error) {
	for range pullRounds {
		all := g.dryAll(ctx, c)
		first, granted, empty := all[0].sent, 0, 0
		var pending []Transfer
		for i := range all {
			a := &all[i]
			switch {
			case a.err != nil:
				return SoldOut{}, a.err
			case a.Status != GateOK:
				return SoldOut{Status: a.Status}, nil
			case a.Pending != nil:
				pending = append(pending, *a.Pending)
			case a.Granted:
				granted++
			case a.Available <= 0:
				empty++ // something is on its way back
			}
			if a.sent.Before(first) {
				first = a.sent
			}
		}
		if granted == len(all) {
			s := SoldOut{SoldOut: true, Until: first.Add(Lease)}
			if !time.Now().Before(s.Until) {
				return SoldOut{}, fmt.Errorf("redis: dry %s: %w: the answers took too long", c.ID, sluice.ErrUnavailable)
			}
			return s, nil
		}
		if granted+empty == len(all) {
			return SoldOut{SoldOut: true}, nil
		}
		got, err := g.gather(ctx, c, to, pending)
		if err != nil || got {
			return SoldOut{Pulled: got}, err
		}
	}
	return SoldOut{}, nil
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
