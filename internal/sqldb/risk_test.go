package sqldb_test

import (
	"errors"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

func TestHeldPlaces(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		conformance.Holders(t, []conformance.HeldPlaces{
			open(t, sqldb.Config{}).HeldPlaces(), open(t, sqldb.Config{}).HeldPlaces(),
		})
	})
}

func TestRiskRulesAndWhatTheyDid(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db, ctx := open(t, sqldb.Config{}), t.Context()
		before, err := db.SettingsRev(ctx)
		if err != nil {
			t.Fatal(err)
		}
		r := sluice.RiskRule{ID: "farm", Rule: "account age < 1d -> log", Mode: sluice.RiskDryRun, UpdatedAt: 1000}
		put := func(r sluice.RiskRule) (sluice.RiskRule, error) { return db.PutRiskRule(ctx, r, 2, operator) }
		if got, err := put(r); err != nil || got.Revision != 1 || got.CreatedAt != 1000 {
			t.Fatal(got, err)
		}
		r.Mode, r.Revision, r.UpdatedAt = sluice.RiskOn, 1, 2000
		got, err := put(r)
		if err != nil || got.Revision != 2 || got.CreatedAt != 1000 {
			t.Fatal(got, err)
		}
		if _, err := put(r); !errors.Is(err, sluice.ErrConflict) { // it is at 2 now
			t.Fatal(err)
		}
		r.ID, r.Revision = "second", 0
		if _, err := put(r); err != nil {
			t.Fatal(err)
		}
		r.ID = "third"
		if _, err := put(r); !errors.Is(err, sluice.ErrConflict) {
			t.Fatal(err)
		}
		if all, err := db.RiskRules(ctx); err != nil || len(all) != 2 || all[0] != got {
			t.Fatal(all, err)
		}
		if after, err := db.SettingsRev(ctx); err != nil || after <= before {
			t.Fatalf("the settings' revision went from %d to %d, %v", before, after, err)
		}
		firedRecords(t, db)
		r = sluice.RiskRule{ID: "farm", Rule: r.Rule, Mode: sluice.RiskOn, UpdatedAt: 3500}
		if _, err := put(r); err != nil {
			t.Fatal(err)
		}
		if n := active(t, db, "farm"); n == 0 {
			t.Fatal("a change of a rule that stays on ended what it did")
		}
		for _, r.Mode = range []sluice.RiskMode{sluice.RiskOff, sluice.RiskOn} {
			if _, err := put(r); err != nil {
				t.Fatal(err)
			}
		}
		if n := active(t, db, "farm"); n != 0 || active(t, db, "else") == 0 {
			t.Errorf("the rule was off, and is on again: %d of its records hold", n)
		}
		if _, err := db.DeleteRiskRule(ctx, "farm", operator, 3000); err != nil {
			t.Fatal(err)
		}
		if _, err := db.DeleteRiskRule(ctx, "farm", operator, 3000); !errors.Is(err, sluice.ErrNotFound) {
			t.Fatal(err)
		}
	})
}

func firedRecords(t *testing.T, db *sqldb.DB) {
	t.Helper()
	ctx := t.Context()
	f := sluice.RiskFired{ID: "rsk_1", Rule: "farm", Revision: 2, Mode: sluice.RiskOn, Action: "block 15m",
		Scope: sluice.RiskDevice, Value: "D1", Campaign: "spring", CampaignOnly: true, Saw: "x", Node: "n", At: 10,
		Until: 5000, Count: 1}
	old := f
	old.ID, old.Value, old.Until = "rsk_0", "d1", 100
	if err := db.RecordFired(ctx, []sluice.RiskFired{old, f}); err != nil {
		t.Fatal(err)
	}
	f.Count = 9
	if err := db.RecordFired(ctx, []sluice.RiskFired{f}); err != nil {
		t.Fatal(err)
	}
	all, last, err := db.ActiveFired(ctx, 1000, 0)
	if err != nil || len(all) != 1 || all[0] != f {
		t.Fatal(all, err)
	}
	if all, _, err := db.ActiveFired(ctx, 1000, last); err != nil || len(all) != 0 {
		t.Fatal(all, err)
	}
	page, err := db.FiredPage(ctx, sluice.RiskFiredQuery{Limit: 1})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != "rsk_1" || page.Next == "" {
		t.Fatal(page, err)
	}
	if page, err = db.FiredPage(ctx, sluice.RiskFiredQuery{Limit: 1, Cursor: page.Next}); err != nil ||
		len(page.Items) != 1 || page.Items[0].ID != "rsk_0" || page.Next != "" {
		t.Fatal(page, err)
	}
	if page, err = db.FiredPage(ctx, sluice.RiskFiredQuery{Value: "d1"}); err != nil || len(page.Items) != 1 {
		t.Fatal(page, err)
	}
	for range 2 {
		if got, err := db.LiftFired(ctx, "rsk_1", operator, 2000); err != nil || got.LiftedAt != 2000 {
			t.Fatal(got, err)
		}
	}
	same, other := f, f
	same.ID, same.Node, other.ID, other.Rule = "rsk_2", "m", "rsk_3", "else"
	second := same
	second.ID = "rsk_4"
	if err := db.RecordFired(ctx, []sluice.RiskFired{same, other, second}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.LiftFired(ctx, "rsk_2", operator, 3000); err != nil {
		t.Fatal(err)
	}
	all, _, err = db.ActiveFired(ctx, 1000, 0)
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	for _, got := range all { // what a rule did about one subject is lifted on whatever node; another rule's is not
		want := map[string]sluice.Millis{"rsk_1": 2000, "rsk_2": 3000, "rsk_3": 0, "rsk_4": 3000}[got.ID]
		if got.LiftedAt != want {
			t.Errorf("%s was lifted at %d, want %d", got.ID, got.LiftedAt, want)
		}
	}
	if _, err := db.LiftFired(ctx, "rsk_9", operator, 2000); !errors.Is(err, sluice.ErrNotFound) {
		t.Fatal(err)
	}
}

// TestHoldEverything: somebody orders nearly all and pays nothing. The report names them, and once the window is over
// every unit is for sale again.
func TestHoldEverything(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db, ctx := open(t, sqldb.Config{}), t.Context()
		c := priced("spring")
		c.PerUserLimit = 9
		c = create(t, db, c)
		for n := range 8 {
			settleAll(t, db, dueClaim("spring", "hoarder", n))
		}
		settleAll(t, db, dueClaim("spring", "honest", 1))
		see := func() sluice.Hoarding {
			t.Helper()
			tallies, err := db.Tallies(ctx, "spring")
			if err != nil {
				t.Fatal(err)
			}
			return tallies.Holding
		}
		h := see()
		if len(h.Top) != 2 || h.Top[0] != (sluice.Holder{User: "hoarder", Orders: 8, Unpaid: 8}) || h.TopUnits != 9 {
			t.Fatalf("while it lasts: %+v", h)
		}
		window := sluice.Millis(c.Goods.UnpaidWindowSec*1000) + 1
		if s, err := db.CloseDue(ctx, dueStart+window, 0); err != nil || s.Done != 9 {
			t.Fatal(s, err)
		}
		h = see()
		if h.ExpiredUnits != 9 || h.Top[0] != (sluice.Holder{User: "hoarder", Orders: 8, Expired: 8}) {
			t.Fatalf("after the window: %+v", h)
		}
		if got, err := db.Campaign(ctx, "spring"); err != nil || got.Stock.Free() != 10 {
			t.Fatalf("%d units free, %v", got.Stock.Free(), err)
		}
	})
}

// active says how many records of a rule hold at 4000.
func active(t *testing.T, db *sqldb.DB, rule string) (n int) {
	t.Helper()
	all, _, err := db.ActiveFired(t.Context(), 4000, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Rule == rule {
			n++
		}
	}
	return n
}
