package admin_test

import (
	"context"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
)

// leaver is a part that is asked by somebody who goes away before it has answered.
type leaver struct{ leave context.CancelFunc }

func (l leaver) Reconcile(context.Context, string) (sluice.ReconcileRun, error) {
	l.leave()
	return sluice.ReconcileRun{OK: true}, nil
}

func (l leaver) Compare(ctx context.Context, campaign string) (sluice.ReconcileRun, error) {
	return l.Reconcile(ctx, campaign)
}

func (l leaver) RepairOne(context.Context, string, sluice.ClaimID, string) (sluice.Repair, error) {
	l.leave()
	return sluice.Repair{}, nil
}

func (l leaver) Rearm(context.Context, string, int64, sluice.EpochCause) (int64, error) {
	l.leave()
	return 2, nil
}

func (l leaver) Reshard(context.Context, string, int) (int64, error) {
	l.leave()
	return 2, nil
}

// TestWhoeverLeavesIsStillNoted: what an operator had done is in the audit log also where the operator did not wait for
// the answer.
func TestWhoeverLeavesIsStillNoted(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 100))
	by := sluice.Actor{Name: "Olga", KeyID: "key_1", Role: sluice.RoleOperator}
	for action, act := range map[string]func(context.Context, *admin.Reconcile) error{
		"campaign.reconcile": func(ctx context.Context, d *admin.Reconcile) error {
			_, err := d.RunNow(ctx, "spring", false, by)
			return err
		},
		"campaign.compare": func(ctx context.Context, d *admin.Reconcile) error {
			_, err := d.RunNow(ctx, "spring", true, by)
			return err
		},
		"campaign.rearm": func(ctx context.Context, d *admin.Reconcile) error {
			_, err := d.Rearm(ctx, "spring", 0, by)
			return err
		},
	} {
		ctx, leave := context.WithCancel(t.Context())
		d := admin.NewReconcile(admin.ReconcileConfig{Ledger: s.db, Campaigns: s.db, Noter: s.db, Now: s.clock.now,
			Reconciler: leaver{leave}, Rearmer: leaver{leave}})
		if err := act(ctx, d); err != nil {
			t.Errorf("%s: %v", action, err)
		}
		rows, err := s.db.Audit(t.Context(), sluice.AuditQuery{Action: action, Limit: 5})
		if err != nil || len(rows) != 1 || rows[0].Actor.Name != "Olga" {
			t.Errorf("%s: %d rows, %v", action, len(rows), err)
		}
	}
}
