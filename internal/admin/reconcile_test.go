package admin_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// armory is a re-armer that only counts epochs. mu guards its fields.
type armory struct {
	mu     sync.Mutex
	epoch  int64
	shards int
	err    error
}

func (a *armory) Rearm(ctx context.Context, _ string, from int64, _ sluice.EpochCause) (int64, error) {
	return a.Reshard(ctx, "", int(from))
}

func (a *armory) Reshard(_ context.Context, _ string, shards int) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.epoch, a.shards = a.epoch+1, shards
	return a.epoch, a.err
}

// reconcile makes the desk of the reconciler as one server has it.
func (s *stack) reconcile() *admin.Reconcile {
	return admin.NewReconcile(admin.ReconcileConfig{
		Ledger: s.db, Campaigns: s.db, Noter: s.db, Rearmer: &armory{epoch: 1}, Now: s.clock.now,
		Reconciler: upkeep.NewReconciler(upkeep.ReconcilerConfig{Config: upkeep.Config{Now: s.clock.now}},
			upkeep.ReconcilerDeps{
				Campaigns: s.db, Rows: s.db, Runs: s.db, Permits: s.admission,
				Freezer: upkeep.FreezeFunc(func(campaign, why string) {
					by := sluice.Actor{Name: "sluice", Reason: why}
					if _, err := s.campaigns.Command(context.Background(), campaign, sluice.CommandFreeze, by); err != nil {
						s.t.Error(err)
					}
				}),
			}),
	})
}

func TestReconcileByHand(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 100))
	if a := s.want(200, "GET", "/v1/admin/reconcile", nil); string(a.body) != "{\"items\":[]}\n" {
		t.Errorf("before the first run: %s", a.body)
	}
	a := s.want(200, "POST", "/v1/admin/reconcile", object{"campaign_id": "spring", "reason": "a look"})
	for path, want := range map[string]any{"campaign_id": "spring", "ok": true, "total": 100.0, "available": 100.0,
		"queued": 0.0, "in_transfer": 0.0, "drift": 0.0, "differences": 0.0} {
		if got := a.get(t, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	s.changeByHand(`UPDATE campaigns SET total = total + 1`)
	a = s.want(200, "POST", "/v1/admin/reconcile", object{"campaign_id": "spring"})
	if a.get(t, "ok") != false || !strings.Contains(string(a.body), `"kind":"total"`) {
		t.Errorf("a total that was changed by hand: %s", a.body)
	}
	if a = s.want(200, "GET", "/v1/admin/campaigns/spring", nil); a.get(t, "state") != "frozen" {
		t.Errorf("it sells on: %s", a.body)
	}
	a = s.want(200, "GET", "/v1/admin/reconcile?campaign_id=spring&limit=1", nil)
	if a.get(t, "items.0.id") != 2.0 || a.get(t, "next_cursor") == nil {
		t.Errorf("the list: %s", a.body)
	}
	if a = s.want(200, "GET", "/v1/admin/reconcile/1", nil); a.get(t, "ok") != true || a.get(t, "id") != 1.0 {
		t.Errorf("the first run: %s", a.body)
	}
	for _, id := range []string{"3", "99"} {
		if a = s.want(404, "GET", "/v1/admin/reconcile/"+id, nil); a.get(t, "code") != "UNKNOWN_RUN" {
			t.Errorf("no run: %s", a.body)
		}
	}
	a = s.want(404, "POST", "/v1/admin/reconcile", object{"campaign_id": "nope"})
	if a.get(t, "code") != "UNKNOWN_CAMPAIGN" {
		t.Errorf("no campaign: %s", a.body)
	}
	s.want(422, "POST", "/v1/admin/reconcile", object{})
	if a = s.want(200, "GET", "/v1/admin/audit-log", nil); !strings.Contains(string(a.body), "campaign.reconcile") {
		t.Errorf("who asked is not on record: %s", a.body)
	}
}

func TestRearmByHand(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 100))
	a := s.want(200, "POST", "/v1/admin/campaigns/spring/rearm", object{"reason": "why not"})
	if a.get(t, "epoch") != 2.0 {
		t.Errorf("armed: %s", a.body)
	}
	if a = s.want(200, "POST", "/v1/admin/campaigns/spring/rearm", object{"shards": 4}); a.get(t, "epoch") != 3.0 {
		t.Errorf("with shards: %s", a.body)
	}
	s.want(422, "POST", "/v1/admin/campaigns/spring/rearm", object{"shards": 65})
	s.want(404, "POST", "/v1/admin/campaigns/nope/rearm", object{})
	desk := admin.NewReconcile(admin.ReconcileConfig{Ledger: s.db, Campaigns: s.db, Noter: s.db})
	if _, err := desk.Rearm(t.Context(), "spring", 0, sluice.Actor{}); !errors.Is(err, sluice.ErrConflict) {
		t.Errorf("armed what has no gates: %v", err)
	}
}

// changeByHand writes to the ledger's file behind the server.
func (s *stack) changeByHand(statement string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", s.path)
	if err == nil {
		_, err = db.ExecContext(s.t.Context(), statement)
		_ = db.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
