package sqldb_test

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// permitLog is a permit that only notes what it is told.
type permitLog struct {
	mu  sync.Mutex
	ops []sluice.PermitOp
}

func (p *permitLog) Apply(ops []sluice.PermitOp) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, op := range ops {
		if op.Kind == sluice.PermitRelease {
			p.ops = append(p.ops, op)
		}
	}
}

func (p *permitLog) Uncertain([]string) {}

func (p *permitLog) released() []sluice.PermitOp {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ops)
}

func TestTradeConformance(t *testing.T) {
	conformance.Trade(t, func(t *testing.T) conformance.TradeBench {
		db := openLedger(t, filepath.Join(t.TempDir(), "l.db"))
		permit := &permitLog{}
		db.SetPermit(permit)
		return conformance.TradeBench{
			Orders: db, Coupons: db, Due: db, Released: permit.released,
			Create: func(t *testing.T, c sluice.Campaign) { createCampaign(t, db, c) },
			Settle: func(t *testing.T, claims ...sluice.Claim) []sluice.Outcome { return settleAll(t, db, claims...) },
			Stock: func(t *testing.T, campaign string) sluice.Stock {
				c, err := db.Campaign(t.Context(), campaign)
				if err != nil {
					t.Fatal(err)
				}
				return c.Stock
			},
			Down: func(t *testing.T, down bool, now sluice.Millis) { setPaymentsDown(t, db, down, now) },
			Audited: func(t *testing.T) []sluice.AuditEntry {
				log, err := db.Audit(t.Context(), sluice.AuditQuery{Limit: 100})
				if err != nil {
					t.Fatal(err)
				}
				return slices.DeleteFunc(log, func(e sluice.AuditEntry) bool {
					return e.Action == "campaign.create" || e.Action == "switch.set" || e.Action == "switch.clear"
				})
			},
		}
	})
}

func createCampaign(t *testing.T, db *sqldb.DB, c sluice.Campaign) {
	t.Helper()
	if _, err := db.CreateCampaign(t.Context(), c, operator, c.StartsAt); err != nil {
		t.Fatal(err)
	}
}

func settleAll(t *testing.T, db *sqldb.DB, claims ...sluice.Claim) []sluice.Outcome {
	t.Helper()
	out, err := db.Settle(t.Context(), claims)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func setPaymentsDown(t *testing.T, db *sqldb.DB, down bool, now sluice.Millis) {
	t.Helper()
	s := sluice.SwitchSetting{Name: sluice.SwitchPaymentsDown, Set: down, At: now, Author: "ops"}
	if down {
		s.Value = 1
	}
	if _, err := db.SetSwitch(t.Context(), s, operator); err != nil {
		t.Fatal(err)
	}
}
