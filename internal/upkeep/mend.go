package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// Looks at sums that move.
const (
	maxSumLooks = 25
	sumPause    = 200 * time.Millisecond
)

// mend carries out the repairs of differences and notes all of them.
func (r *Reconciler) mend(ctx context.Context, c sluice.Campaign, all []verdict, run *sluice.ReconcileRun) error {
	var (
		ops    []sluice.PermitOp
		of     []int // the verdict of each op
		told   []sluice.Claim
		drive  []sluice.Claim
		driven []int
	)
	for i := range all {
		switch v := &all[i]; v.repair {
		case repairTake, repairRelease:
			ops, of = append(ops, v.op(c)), append(of, i)
		case repairSettled:
			told = append(told, *v.claim.gate.Queued)
			v.drift.Repair = v.repair.words()
		case repairRearm:
			r.deps.Rearm(c.ID, c.Epoch)
			v.drift.Repair = v.repair.words()
		case repairSettle:
			drive, driven = append(drive, *v.claim.gate.Queued), append(driven, i)
		}
	}
	var err error
	for at := 0; at < len(ops); at += opsPage {
		piece := ops[at:min(at+opsPage, len(ops))]
		results, e := r.deps.Repairs.Apply(ctx, piece)
		err = errors.Join(err, e)
		for i, result := range results {
			if v := &all[of[at+i]]; result.Verdict == sluice.PermitDone {
				v.drift.Repair = v.repair.words()
			}
		}
	}
	if len(told) > 0 {
		err = errors.Join(err, r.deps.Repairs.Settled(ctx, told))
	}
	if len(drive) > 0 {
		_, e := r.door.settle(ctx, c, drive)
		err = errors.Join(err, e)
		for _, i := range driven {
			all[i].drift.Repair = all[i].repair.words() // or it is a dead letter after its last try
		}
	}
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	for _, v := range all {
		run.Found = append(run.Found, v.drift)
	}
	return nil
}

// sums checks that total = available + in transfer + live over all shards, and that each gate's own sum of live units
// is that of its claims. A single shard is read as of one moment, so that its sum is exact at any time; of several,
// figures that moved meanwhile prove nothing and are read again.
func (r *Reconciler) sums(
	ctx context.Context, c sluice.Campaign, p *comparison, run *sluice.ReconcileRun, b *books,
) error {
	var before []sluice.ShardState
	for look := 0; ; look++ {
		if look > 0 {
			if err := wait(ctx, sumPause); err != nil {
				return err
			}
		}
		s, err := r.sum(ctx, c, b.behind)
		if err != nil {
			return err
		}
		quiet := len(s.states) == 1 || look > 0 && sameStates(before, s.states)
		before = s.states
		if s.off() != 0 && look+1 < maxSumLooks && (!quiet || s.moving || look < r.cfg.Looks) {
			if look == 0 && !b.look {
				if err := r.deps.Repairs.Complete(ctx, c); err != nil {
					return err
				}
			}
			continue
		}
		run.Total, run.Available, run.InTransfer = s.c.Stock.Total, s.available, s.out
		run.Held, run.Sold = s.c.Stock.Held, s.c.Stock.Sold
		run.Queued = s.live - run.Held - run.Sold
		switch {
		case s.off() != 0 && quiet && !s.moving:
			add(run, sluice.DriftSum, distance(s.off(), 0),
				"total %d is not available %d + in transfer %d + live %d", s.expected, s.available, s.out, s.live)
		case s.off() != 0:
			return fmt.Errorf("%w: the shards never stood still", sluice.ErrUnavailable)
		}
		break
	}
	if !p.quiet {
		return nil
	}
	for _, state := range p.states {
		if live := p.scanned[state.Shard]; live != state.Live {
			add(run, sluice.DriftSum, distance(live, state.Live), "shard %d counts %d live units, its claims have %d",
				state.Shard, state.Live, live)
		}
	}
	return nil
}

func sameStates(a, b []sluice.ShardState) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameFigures(a[i], b[i]) {
			return false
		}
	}
	return true
}

// sum is what gates and ledger say of a campaign's units.
type sum struct {
	c                    sluice.Campaign
	states               []sluice.ShardState
	available, out, live int64
	expected             int64 // the total that the gates have to come to
	moving               bool  // a change of the total is under way
}

func (s *sum) off() int64 { return s.expected - s.available - s.out - s.live }

// sum adds up what the gates have now. A change of the total that is committed and has not reached them is not expected
// of them yet; nor is what was added behind the door, which is a difference of its own.
func (r *Reconciler) sum(ctx context.Context, was sluice.Campaign, behind int64) (*sum, error) {
	c, err := r.deps.Campaigns.Campaign(ctx, was.ID)
	if err != nil {
		return nil, err
	}
	if c.Epoch != was.Epoch {
		return nil, errNotArmed
	}
	s := &sum{c: c, expected: c.Stock.Total - behind}
	if s.states, err = r.deps.Gates.State(ctx, c); err != nil {
		return nil, err
	}
	if !allArmed(c, s.states) {
		return nil, errNotArmed
	}
	for _, state := range s.states {
		s.available += state.Available + state.Returning
		s.out += state.Out
		s.live += state.Live
		s.moving = s.moving || state.Revision != c.Revision
	}
	if s.off() != 0 { // the total may have changed between the two
		again, err := r.deps.Campaigns.Campaign(ctx, was.ID)
		if err != nil {
			return nil, err
		}
		s.moving = s.moving || again.Stock.Total != c.Stock.Total
	}
	return s, nil
}
