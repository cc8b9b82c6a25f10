package memory_test

import (
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/memory"
)

// A pause is an operator's and does not hold operators up. A freeze says that the figures are in doubt: nobody gets a
// unit, whoever asks, until the rows have been read.
func TestGrantsPassAPauseAndNoFreeze(t *testing.T) {
	set := goods("a", 5)
	b := open(t, memory.Config{}, set)
	grant := func(id string) sluice.Reason {
		k := claimOf("a", "u", id)
		k.Source, k.ID = sluice.SourceGrant, sluice.NewClaimID("a", "u", sluice.SourceGrant, id)
		return b.Admit(t.Context(), k).Reason
	}
	for i, tt := range []struct {
		control sluice.Control
		want    sluice.Reason
	}{
		{sluice.ControlPaused, sluice.ReasonConfirmed},
		{sluice.ControlFrozen, sluice.ReasonPaused},
		{sluice.ControlOpen, sluice.ReasonConfirmed},
		{sluice.ControlEnded, sluice.ReasonEnded},
	} {
		set.Control = tt.control
		if err := b.Put(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		if got := grant(string(rune('a' + i))); got != tt.want {
			t.Errorf("a grant on a campaign that is %s: %v, want %v", tt.control, got, tt.want)
		}
	}
}
