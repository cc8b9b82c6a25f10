package upkeep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of one comparison.
const (
	maxSuspects = 100_000 // claims that are looked at again; a gate that differs by more has forgotten: it is armed anew
	lookPiece   = 256     // claims of one look
	armedPolls  = 12      // looks at whether gates are armed, between two comparisons of one that waits for that
)

// entry is a row of the ledger, in the memory of a comparison: 36 bytes a claim.
type entry struct {
	row  sluice.ClaimRow
	seen bool
}

// comparison is one look at a campaign's gates and rows. The two are read one after the other while both move, so
// that a difference is a suspicion, which judge looks at again.
type comparison struct {
	c        sluice.Campaign // as of the moment of its rows
	rows     []entry         // by id
	states   []sluice.ShardState
	quiet    bool          // no figure of the gates moved while their claims were read
	scanned  map[int]int64 // by shard: live units of its claims
	suspects []sluice.ClaimID
	claims   int64 // compared

	stuckBefore sluice.Millis // what was admitted later and is not settled is in flight, as it should be
}

// errNotArmed says that a gate is missing or of another epoch than the ledger's: there is nothing to compare yet.
var errNotArmed = fmt.Errorf("%w: the gate is not armed for the campaign's epoch", sluice.ErrUnavailable)

// compare reads both sides of a campaign. Gates go first, since what they have admitted reaches the ledger after them.
func (r *Reconciler) compare(ctx context.Context, c sluice.Campaign) (*comparison, error) {
	now := sluice.MillisOf(r.agent.cfg.Now())
	p := &comparison{scanned: map[int]int64{}, stuckBefore: now.Add(-r.cfg.Stuck)}
	before, err := r.deps.Gates.State(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := p.load(ctx, r.deps.Rows, c.ID); err != nil {
		return nil, err
	}
	if p.c.Epoch != c.Epoch || !allArmed(p.c, before) {
		return p, errNotArmed
	}
	for _, s := range before {
		if err := p.scan(ctx, r.deps.Gates, s.Shard); err != nil {
			return nil, err
		}
	}
	if p.states, err = r.deps.Gates.State(ctx, c); err != nil {
		return nil, err
	}
	if !allArmed(p.c, p.states) {
		return p, errNotArmed
	}
	p.quiet = slices.EqualFunc(before, p.states, sameFigures)
	for i := range p.rows {
		if !p.rows[i].seen {
			p.claims++
			p.suspect(p.rows[i].row.ID)
		}
	}
	return p, nil
}

// sure compares until the sums of the gates and of their claims agree, or have not at several looks: a unit that came
// back and one that went while claims were read leave the figures as they were.
func (r *Reconciler) sure(ctx context.Context, c sluice.Campaign) (p *comparison, err error) {
	for look := 0; ; look++ {
		if p, err = r.compare(ctx, c); err != nil || look+1 >= r.cfg.Looks || !p.quiet || p.counted() {
			return p, err
		}
		if err = wait(ctx, r.cfg.Between); err != nil {
			return nil, err
		}
	}
}

// counted says whether each gate's own sum of live units is that of its claims.
func (p *comparison) counted() bool {
	return !slices.ContainsFunc(p.states, func(s sluice.ShardState) bool { return p.scanned[s.Shard] != s.Live })
}

// sameFigures compares what claims move. The time of the last claim tells where one came and another went.
func sameFigures(a, b sluice.ShardState) bool {
	return a.Shard == b.Shard && a.Epoch == b.Epoch && a.Available == b.Available && a.Returning == b.Returning &&
		a.Live == b.Live && a.Queued == b.Queued && a.Out == b.Out && a.Revision == b.Revision && a.Share == b.Share &&
		a.LastAt == b.LastAt
}

func (p *comparison) load(ctx context.Context, rows Rows, campaign string) error {
	err := rows.Load(ctx, campaign, func(c sluice.Campaign) { p.c = c }, func(batch []sluice.ClaimRow) error {
		for _, row := range batch {
			p.rows = append(p.rows, entry{row: row})
		}
		return nil
	})
	slices.SortFunc(p.rows, func(a, b entry) int { return bytes.Compare(a.row.ID[:], b.row.ID[:]) })
	return err
}

// scan reads the claims of a shard and looks for the row of each.
func (p *comparison) scan(ctx context.Context, gates Gates, shard int) error {
	twice := map[sluice.ClaimID]bool{}
	return gates.Claims(ctx, p.c, shard, func(batch []sluice.GateClaim) error {
		for _, g := range batch {
			i, known := slices.BinarySearchFunc(p.rows, g.ID, func(e entry, id sluice.ClaimID) int {
				return bytes.Compare(e.row.ID[:], id[:])
			})
			if known && p.rows[i].seen || !known && twice[g.ID] {
				continue
			}
			p.claims++
			p.scanned[shard] += int64(g.LiveUnits)
			if !known {
				twice[g.ID] = true
				if g.Queued == nil || g.Queued.At < p.stuckBefore { // the others are in flight
					p.suspect(g.ID)
				}
				continue
			}
			p.rows[i].seen = true
			if int64(g.LiveUnits) != int64(p.rows[i].row.LiveUnits) || g.Queued != nil {
				p.suspect(g.ID)
			}
		}
		return nil
	})
}

func (p *comparison) suspect(id sluice.ClaimID) {
	if len(p.suspects) <= maxSuspects {
		p.suspects = append(p.suspects, id)
	}
}

// differences looks at suspects again and again, and gives those that differ each time: things move, and what is on its
// way arrives meanwhile.
func (r *Reconciler) differences(
	ctx context.Context, c sluice.Campaign, suspects []sluice.ClaimID,
) (stand []verdict, err error) {
	for look := 0; look < r.cfg.Looks && len(suspects) > 0; look++ {
		if look > 0 {
			if err := wait(ctx, r.cfg.Between); err != nil {
				return nil, err
			}
		}
		dead, err := r.door.dead(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		if stand, err = r.look(ctx, c, suspects, dead); err != nil {
			return nil, err
		}
		suspects = suspects[:0:0]
		for _, v := range stand {
			suspects = append(suspects, v.claim.id)
		}
	}
	return stand, nil
}

// look reads both records of claims and judges them.
func (r *Reconciler) look(
	ctx context.Context, c sluice.Campaign, ids []sluice.ClaimID, dead map[sluice.ClaimID]bool,
) (found []verdict, err error) {
	// In this order: what has left the list of operations has reached the gate.
	coming, err := r.coming(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	for len(ids) > 0 {
		piece := ids[:min(len(ids), lookPiece)]
		ids = ids[len(piece):]
		gate, err := r.deps.Gates.Lookup(ctx, c, piece)
		if err != nil {
			return nil, err
		}
		rows, err := r.deps.Rows.ClaimRows(ctx, c.ID, piece)
		if err != nil {
			return nil, err
		}
		now := sluice.MillisOf(r.agent.cfg.Now())
		for _, id := range piece {
			e := evidence{id: id, onItsWay: coming[id], dead: dead[id]}
			e.gate, e.inGate = gate[id]
			e.row, e.inLedger = rows[id]
			if v, differs := judge(e, now, r.cfg.Stuck); differs {
				v.describe(c.ID, c.Epoch)
				found = append(found, v)
			}
		}
	}
	return found, nil
}

// coming gives the claims for which the ledger has an operation that is not marked done.
func (r *Reconciler) coming(ctx context.Context, campaign string) (map[sluice.ClaimID]bool, error) {
	all := map[sluice.ClaimID]bool{}
	for after := int64(0); ; {
		ops, err := r.deps.Rows.PermitOps(ctx, campaign, after, opsPage)
		if err != nil {
			return nil, err
		}
		for _, op := range ops {
			all[op.Claim] = true
		}
		if len(ops) < opsPage {
			return all, nil
		}
		after = ops[len(ops)-1].Seq
	}
}

// wait lets d go by.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return errors.Join(sluice.ErrUnavailable, ctx.Err())
	case <-timer.C:
		return nil
	}
}
