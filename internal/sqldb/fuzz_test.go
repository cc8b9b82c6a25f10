package sqldb_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// FuzzCursor: a cursor that no page gave is refused or narrows a list; it is never an error of the store, and no list
// goes on for ever.
func FuzzCursor(f *testing.F) {
	db := openAt(f, sqldb.Config{Path: filepath.Join(f.TempDir(), "l.db"), CacheMB: 8})
	_, err := db.CreateCampaign(f.Context(), sluice.Campaign{
		ID: "c", Kind: sluice.KindGoods, Title: "c", Stock: sluice.Stock{Total: 9}, Created: 9, PerUserLimit: 9,
		StartsAt: dueStart, EndsAt: dueStart + 1000, Control: sluice.ControlOpen,
		Goods: sluice.Goods{SKU: "s", PriceMinor: 1, Currency: "CNY", UnpaidWindowSec: 900},
	}, operator, dueStart)
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range []string{"a", "b", "c", "d"} {
		claim := sluice.Claim{
			ID: sluice.NewClaimID("c", "u", sluice.SourceClaim, r), Campaign: "c", User: "u", RequestID: r, Quantity: 1,
			At: dueStart,
		}
		if _, err := db.Settle(f.Context(), []sluice.Claim{claim}); err != nil {
			f.Fatal(err)
		}
	}
	for _, s := range []string{
		"", "0", "1", "-1", "+7", "9223372036854775807", "9223372036854775808", "4294967299", "7 OR 1=1", "0x7", "1e9",
		"\x00", "７",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		lists := map[string]func(cursor string) (n int, next string, err error){
			"a user's orders": func(cursor string) (int, string, error) {
				p, err := db.Orders(t.Context(), sluice.OrderQuery{User: "u", Cursor: cursor, Limit: 1}, dueStart)
				return len(p.Items), p.Next, err
			},
			"a campaign's orders": func(cursor string) (int, string, error) {
				p, err := db.Orders(t.Context(), sluice.OrderQuery{Campaign: "c", Cursor: cursor, Limit: 1}, dueStart)
				return len(p.Items), p.Next, err
			},
			"coupons": func(cursor string) (int, string, error) {
				p, err := db.Coupons(t.Context(), sluice.CouponQuery{Cursor: cursor, Limit: 1})
				return len(p.Items), p.Next, err
			},
			"payments": func(cursor string) (int, string, error) {
				p, err := db.Payments(t.Context(), sluice.PaymentQuery{Cursor: cursor, Limit: 1})
				return len(p.Items), p.Next, err
			},
		}
		for what, page := range lists {
			seen := 0
			for next, turns := cursor, 0; ; turns++ {
				n, after, err := page(next)
				if err != nil && !errors.Is(err, sluice.ErrInvalid) || turns > 0 && err != nil {
					t.Fatalf("%s after %q: %v", what, next, err)
				}
				if seen += n; seen > 4 || turns > 10 {
					t.Fatalf("%s after %q: %d items in %d pages", what, cursor, seen, turns)
				}
				if next = after; next == "" {
					break
				}
			}
		}
	})
}
