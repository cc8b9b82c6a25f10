package upkeep_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// halfAway are operations of two campaigns, one of which has a shard that does not answer.
type halfAway struct {
	upkeep.Repairs
	ops  []sluice.PermitOp
	done map[int64]bool
}

func (h *halfAway) PermitOps(_ context.Context, _ string, after int64, limit int) (page []sluice.PermitOp, _ error) {
	for _, op := range h.ops {
		if op.Seq > after && !h.done[op.Seq] && len(page) < limit {
			page = append(page, op)
		}
	}
	return page, nil
}

func (h *halfAway) DonePermitOps(_ context.Context, seqs []int64) error {
	for _, seq := range seqs {
		h.done[seq] = true
	}
	return nil
}

func (h *halfAway) Apply(_ context.Context, ops []sluice.PermitOp) (all []sluice.PermitResult, err error) {
	for _, op := range ops {
		r := sluice.PermitResult{Verdict: sluice.PermitDone}
		if op.Campaign == "away" {
			r.Verdict, err = sluice.PermitKept, fmt.Errorf("no answer: %w", sluice.ErrUnavailable)
		}
		all = append(all, r)
	}
	return all, err
}

// TestAShardThatIsAwayHoldsNothingElseUp: however many operations wait for it, units come back to the others.
func TestAShardThatIsAwayHoldsNothingElseUp(t *testing.T) {
	h := &halfAway{done: map[int64]bool{}}
	const away, others = 1500, 20
	for seq := int64(1); seq <= away+others; seq++ {
		op := sluice.PermitOp{Seq: seq, Campaign: "away", Units: 1}
		if seq > away {
			op.Campaign = "there"
		}
		h.ops = append(h.ops, op)
	}
	r := upkeep.NewReleaser(upkeep.ReleaserConfig{}, upkeep.ReleaserDeps{Ops: h, Repairs: h})
	s, err := r.RunOnce(t.Context())
	if err == nil {
		t.Error("nobody hears of the shard that is away")
	}
	if s.Done != others || len(h.done) != others {
		t.Errorf("%d of %d operations were carried", s.Done, others)
	}
}
