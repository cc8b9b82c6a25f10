package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// opsPage is how many operations the releaser has in hand.
const opsPage = 512

// ReleaserConfig adds to Config. Zero values mean the defaults given.
type ReleaserConfig struct {
	Config
	KeepGate time.Duration // after the end, when operations for a gate that is gone are given up; default 300 s
}

// ReleaserDeps are the parts of the releaser. All are required.
type ReleaserDeps struct {
	Ops       Ops
	Campaigns Campaigns
	Gates     Gates
	Repairs   Repairs
}

// Releaser carries to the gates what the ledger has committed: units that come back, claims that the gates do not
// know, changes of the total. Whoever committed has usually done so before it; the releaser is the sure road, and
// ends the rows. It keeps the order in which they were written, by campaign.
type Releaser struct {
	*agent
	cfg  ReleaserConfig
	deps ReleaserDeps
}

// NewReleaser makes the agent; Start sets it going. It looks every 500 ms by default.
func NewReleaser(cfg ReleaserConfig, deps ReleaserDeps) *Releaser {
	if cfg.Every <= 0 {
		cfg.Every = 500 * time.Millisecond
	}
	if cfg.KeepGate <= 0 {
		cfg.KeepGate = defaultKeepGate
	}
	r := &Releaser{cfg: cfg, deps: deps}
	r.agent = newAgent("releaser", cfg.Config, r.release)
	return r
}

// release goes through all operations that are open now, page by page. What cannot be carried, to a shard that does not
// answer say, must not stand before what can: it goes on to the next page, unless its time is over.
func (r *Releaser) release(ctx context.Context, now sluice.Millis, _ int) (w sluice.Sweep, err error) {
	kept := map[string][]int64{}
	var failed error // the first
	for began, after := time.Now(), int64(0); ; {
		ops, err := r.deps.Ops.PermitOps(ctx, "", after, opsPage)
		if err != nil {
			return w, err
		}
		n, err := r.apply(ctx, ops, kept)
		w.Done += n
		failed = cmp.Or(failed, err)
		if len(ops) < opsPage || failed != nil && (ctx.Err() != nil || time.Since(began) > r.agent.cfg.Term/2) {
			break
		}
		after = ops[len(ops)-1].Seq
	}
	if failed != nil {
		return w, failed
	}
	n, err := r.giveUp(ctx, now, kept)
	w.Done += n
	return w, err
}

// apply hands ops to the gates and ends those that need not come again; the others are noted by campaign.
func (r *Releaser) apply(ctx context.Context, ops []sluice.PermitOp, kept map[string][]int64) (int, error) {
	if len(ops) == 0 {
		return 0, nil
	}
	results, applied := r.deps.Repairs.Apply(ctx, ops)
	var done []int64
	for i, op := range ops {
		if i < len(results) && results[i].Verdict != sluice.PermitKept {
			done = append(done, op.Seq)
		} else {
			kept[op.Campaign] = append(kept[op.Campaign], op.Seq)
		}
	}
	if applied != nil {
		applied = fmt.Errorf("upkeep: apply %d operations: %w", len(ops), applied)
	}
	if len(done) == 0 {
		return 0, applied
	}
	return len(done), errors.Join(applied, r.deps.Ops.DonePermitOps(ctx, done))
}

// giveUp ends operations for gates that were deleted after the end of their campaign: nobody asks them any more.
func (r *Releaser) giveUp(ctx context.Context, now sluice.Millis, kept map[string][]int64) (n int, err error) {
	for campaign, seqs := range kept {
		c, err := r.deps.Campaigns.Campaign(ctx, campaign)
		if err != nil {
			return n, err
		}
		if now <= endOf(&c).Add(r.cfg.KeepGate) {
			continue
		}
		states, err := r.deps.Gates.State(ctx, c)
		if err != nil || anyArmed(states) {
			continue // it may be taken yet
		}
		for len(seqs) > 0 {
			piece := seqs[:min(len(seqs), opsPage)]
			seqs = seqs[len(piece):]
			if err := r.deps.Ops.DonePermitOps(ctx, piece); err != nil {
				return n, err
			}
			n += len(piece)
		}
	}
	return n, nil
}

func anyArmed(states []sluice.ShardState) bool {
	for _, s := range states {
		if s.Armed {
			return true
		}
	}
	return false
}
