package api_test

import (
	"regexp"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice/internal/api"
)

// TestParametersAreRead holds that every parameter of a path reaches its handler, and that every list can be
// paged: huma passes over fields of an embedded struct that is not exported, in silence.
func TestParametersAreRead(t *testing.T) {
	admin, err := api.NewAdmin(api.AdminConfig{}, api.AdminDeps{
		Keys:      tradeKeys{},
		Shelf:     struct{ api.CampaignShelf }{},
		Campaigns: struct{ api.CampaignDesk }{},
		Stock:     struct{ api.StockDesk }{},
		Grants:    struct{ api.GrantDesk }{},
		Audience:  struct{ api.AudienceDesk }{},
		Switches:  struct{ api.SwitchDesk }{},
		Blocklist: struct{ api.BlocklistDesk }{},
		KeyDesk:   struct{ api.KeyDesk }{},
		PassKeys:  struct{ api.PassKeyDesk }{},
		Audit:     struct{ api.AuditLog }{},
		Events:    struct{ api.EventFeed }{},
		Reports:   struct{ api.ReportDesk }{},
		Claims:    struct{ api.ClaimIndex }{},
		Lookup:    struct{ api.LookupDesk }{},
		Orders:    struct{ api.OrderDesk }{},
		Payments:  struct{ api.PaymentBook }{},
		Coupons:   struct{ api.CouponDesk }{},
	})
	if err != nil {
		t.Fatal(err)
	}
	inPath := regexp.MustCompile(`\{([a-z_]+)\}`)
	for path, item := range admin.AdminOpenAPI().Paths {
		for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if o == nil {
				continue
			}
			has := map[string]bool{}
			for _, p := range o.Parameters {
				has[p.Name] = true
			}
			for _, m := range inPath.FindAllStringSubmatch(path, -1) {
				if !has[m[1]] {
					t.Errorf("%s %s does not read {%s}", o.Method, path, m[1])
				}
			}
			if has["cursor"] != has["limit"] && !has["after"] {
				t.Errorf("%s %s reads limit: %v, cursor: %v", o.Method, path, has["limit"], has["cursor"])
			}
		}
	}
}
