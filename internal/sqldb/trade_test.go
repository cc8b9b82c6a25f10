package sqldb_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/servers"
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
	t.Run("sqlite", func(t *testing.T) {
		tradeOn(t, func(t *testing.T) *sqldb.DB { return openLedger(t, filepath.Join(t.TempDir(), "l.db")) })
	})
	t.Run("mariadb", func(t *testing.T) {
		tradeOn(t, func(t *testing.T) *sqldb.DB {
			return openMySQL(t, sqldb.MySQLConfig{URL: servers.MariaDB(t).URL, Remote: true})
		})
	})
}

func tradeOn(t *testing.T, open func(t *testing.T) *sqldb.DB) {
	conformance.Trade(t, func(t *testing.T) conformance.TradeBench {
		db := open(t)
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

// TestACouponThatExpiresInAStepIsAnnounced: whichever step finds that a coupon's validity is over writes that down, and
// the feed tells it as what it is. An unlock of what was not locked any more is no unlock.
func TestACouponThatExpiresInAStepIsAnnounced(t *testing.T) {
	const day = 86_400_000
	for _, tc := range []struct {
		name string
		step func(db *sqldb.DB, code string, at sluice.Millis) error
	}{
		{"an operator's unlock", func(db *sqldb.DB, code string, at sluice.Millis) error {
			_, err := db.FreeCoupon(t.Context(), code, operator, at)
			return err
		}},
		{"a merchant's unlock", func(db *sqldb.DB, code string, at sluice.Millis) error {
			_, err := db.UseCoupon(t.Context(), sluice.CouponUse{
				Op: sluice.CouponUnlock, Code: code, Merchant: "m2", Reference: "of somebody else", At: at,
			})
			return err
		}},
	} {
		for _, locked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, locked before %v", tc.name, locked), func(t *testing.T) {
				db := openLedger(t, filepath.Join(t.TempDir(), "l.db"))
				createCampaign(t, db, sluice.Campaign{
					ID: "c", Kind: sluice.KindCoupon, Title: "c", Stock: sluice.Stock{Total: 5}, PerUserLimit: 1, StartsAt: dueStart,
					EndsAt: dueStart + day, Control: sluice.ControlOpen,
					Coupon: sluice.CouponTerms{Type: sluice.CouponAmountOff, Value: 1, Currency: "CNY", ValidDays: 1},
				})
				code := sluice.NewCouponCode()
				settleAll(t, db, sluice.Claim{
					ID: sluice.NewClaimID("c", "u", sluice.SourceClaim, "r"), Campaign: "c", User: "u", RequestID: "r", Quantity: 1,
					CouponCodes: []string{code}, At: dueStart,
				})
				if locked {
					_, err := db.UseCoupon(t.Context(), sluice.CouponUse{
						Op: sluice.CouponLock, Code: code, Merchant: "m1", Reference: "a", At: dueStart, LockedUntil: dueStart + 1000,
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := tc.step(db, code, dueStart+day); err != nil {
					t.Fatal(err)
				}
				if s, err := db.ExpireCoupons(t.Context(), dueStart+day, 0); err != nil || s.Done != 0 {
					t.Fatalf("left to the sweep: %+v %v", s, err)
				}
				events, err := db.Events(t.Context(), sluice.EventID{}, 100)
				if err != nil {
					t.Fatal(err)
				}
				var types []string
				for _, e := range events {
					types = append(types, e.Type)
				}
				want := []string{"campaign.created", "coupon.issued", "coupon.locked", "coupon.expired"}
				if !locked {
					want = slices.Delete(want, 2, 3)
				}
				if !slices.Equal(types, want) {
					t.Errorf("the feed tells %v, want %v", types, want)
				}
			})
		}
	}
}

// TestTheFeedTellsWhichCouponExpired: the coupons of one claim are told apart by their number.
func TestTheFeedTellsWhichCouponExpired(t *testing.T) {
	const day = 86_400_000
	db := openLedger(t, filepath.Join(t.TempDir(), "l.db"))
	createCampaign(t, db, sluice.Campaign{
		ID: "c", Kind: sluice.KindCoupon, Title: "c", Stock: sluice.Stock{Total: 9}, PerUserLimit: 3, StartsAt: dueStart,
		EndsAt: dueStart + day, Control: sluice.ControlOpen,
		Coupon: sluice.CouponTerms{Type: sluice.CouponAmountOff, Value: 1, Currency: "CNY", ValidDays: 1},
	})
	three := []string{sluice.NewCouponCode(), sluice.NewCouponCode(), sluice.NewCouponCode()}
	for user, codes := range map[string][]string{"u": three, "v": {sluice.NewCouponCode()}} {
		settleAll(t, db, sluice.Claim{
			ID: sluice.NewClaimID("c", user, sluice.SourceClaim, "r"), Campaign: "c", User: user, RequestID: "r",
			Quantity: len(codes), CouponCodes: codes, At: dueStart,
		})
	}
	if _, err := db.UseCoupon(t.Context(), sluice.CouponUse{
		Op: sluice.CouponRedeem, Code: three[1], Merchant: "m", Reference: "a", At: dueStart,
	}); err != nil {
		t.Fatal(err)
	}
	if s, err := db.ExpireCoupons(t.Context(), dueStart+day, 0); err != nil || s.Done != 3 {
		t.Fatalf("%+v %v", s, err)
	}
	events, err := db.Events(t.Context(), sluice.EventID{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, e := range events {
		var data struct {
			User  string `json:"user_id"`
			N     int    `json:"n"`
			State string `json:"state"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		if e.Type == "coupon.expired" && data.State == "expired" {
			told[fmt.Sprint(data.User, data.N)]++
		}
	}
	if want := map[string]int{"u0": 1, "u2": 1, "v0": 1}; !maps.Equal(told, want) {
		t.Errorf("expired are %v, want %v", told, want)
	}
}
