package redis_test

import (
	"testing"

	"github.com/sluice-sale/sluice"
)

// TestAdjust goes through PROTOCOL "adjust" on three shards.
func TestAdjust(t *testing.T) {
	c := aSale("spring", 5)
	c.Shards = 3
	h, _ := single(t, c, 10)
	op := func(units, revision, epoch int64) sluice.PermitOp {
		return sluice.PermitOp{Kind: sluice.PermitAdjust, Campaign: c.ID, Units: units, Revision: revision, Epoch: epoch}
	}
	for _, tt := range []struct {
		name  string
		op    sluice.PermitOp
		want  sluice.PermitVerdict
		taken int64
		total int64 // available over all shards
	}{
		{"an increase", op(5, 1, 1), sluice.PermitDone, 0, 15},
		{"the same again", op(5, 1, 1), sluice.PermitDone, 0, 15},
		{"one that is ahead waits", op(-2, 3, 1), sluice.PermitKept, 0, 15},
		{"a decrease", op(-12, 2, 1), sluice.PermitDone, 12, 3},
		{"the same again has the same answer", op(-12, 2, 1), sluice.PermitDone, 12, 3},
		{"its turn has come", op(-9, 3, 1), sluice.PermitDone, 3, 0},
		{"the same again", op(-9, 3, 1), sluice.PermitDone, 3, 0},
		{"the one before it, again", op(-12, 2, 1), sluice.PermitDone, 12, 0},
		{"of a later epoch", op(1, 4, 2), sluice.PermitKept, 0, 0},
		{"of an earlier epoch", op(1, 4, 0), sluice.PermitDropped, 0, 0},
	} {
		r, err := h.Apply(t.Context(), []sluice.PermitOp{tt.op})
		if err != nil || r[0].Verdict != tt.want || r[0].Taken != tt.taken {
			t.Errorf("%s: %+v %v", tt.name, r, err)
		}
		sum := int64(0)
		for _, s := range h.sums() {
			sum += s.Available
		}
		if sum != tt.total {
			t.Errorf("%s: %d available, want %d", tt.name, sum, tt.total)
		}
	}
}
