package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// ReportDesk tells what happened to campaigns. A report may take a second for each million rows.
type ReportDesk interface {
	Report(ctx context.Context, id string) (sluice.CampaignReport, error)
	Summary(ctx context.Context) (sluice.Summary, error)
}

type (
	bucketAnswer struct {
		StartMS  int64            `json:"start_ms" doc:"UTC ms"`
		WidthMS  int64            `json:"width_ms"`
		Counts   map[string]int64 `json:"counts" doc:"Decisions by reason, each claim once"`
		Replayed int64            `json:"replayed,omitempty" doc:"Recorded answers that were given again"`
		P50US    int64            `json:"p50_us" doc:"Half of the answers took no longer, in microseconds"`
		P99US    int64            `json:"p99_us"`
	}
	rowsAnswer struct {
		Claims      int64            `json:"claims" doc:"Claims that came to be"`
		Grants      int64            `json:"grants" doc:"Of these, issued by hand"`
		Rejected    int64            `json:"rejected"`
		Units       int64            `json:"units"`
		Held        int64            `json:"held"`
		Sold        int64            `json:"sold"`
		FirstUnitAt *time.Time       `json:"first_unit_at,omitempty"`
		LastUnitAt  *time.Time       `json:"last_unit_at,omitempty"`
		Orders      map[string]int64 `json:"orders,omitempty" doc:"By state"`
		Closes      map[string]int64 `json:"closes,omitempty" doc:"By reason"`
		Coupons     map[string]int64 `json:"coupons,omitempty" doc:"By state"`
	}
	moneyAnswer struct {
		Currency       string  `json:"currency,omitempty"`
		Paid           int64   `json:"paid" doc:"Orders that were paid"`
		PaidMinor      int64   `json:"paid_minor"`
		PaidShare      float64 `json:"paid_share" doc:"Of the claims that came to be"`
		RefundDue      int64   `json:"refund_due" doc:"Orders whose money came late or twice, and has not gone back"`
		RefundDueMinor int64   `json:"refund_due_minor"`
		Refunded       int64   `json:"refunded"`
		RefundedMinor  int64   `json:"refunded_minor"`
		SpendMinor     int64   `json:"spend_minor,omitempty" doc:"Of redeemed coupons"`
		DiscountMinor  int64   `json:"discount_minor,omitempty"`
	}
	holderAnswer struct {
		User    string `json:"user_id"`
		Orders  int64  `json:"orders" doc:"Unpaid and expired ones"`
		Unpaid  int64  `json:"unpaid_units"`
		Expired int64  `json:"expired_units"`
	}
	holdingAnswer struct {
		ExpiredUnits int64          `json:"expired_units" doc:"Units of orders that nobody paid in time"`
		ExpiredShare float64        `json:"expired_share" doc:"Of all units of claims"`
		TopUnits     int64          `json:"top_units" doc:"Unpaid and expired units of the top holders together"`
		Top          []holderAnswer `json:"top" nullable:"false" doc:"Who held most without paying, up to 10"`
	}
	reportAnswer struct {
		AsOf         time.Time        `json:"as_of"`
		LoadTest     bool             `json:"load_test" doc:"Marked as a load test"`
		Campaign     adminCampaign    `json:"campaign"`
		Decisions    map[string]int64 `json:"decisions" doc:"By reason, over all buckets"`
		Replayed     int64            `json:"replayed"`
		P50US        int64            `json:"p50_us"`
		P99US        int64            `json:"p99_us"`
		SellOutMS    int64            `json:"sell_out_ms,omitempty" doc:"From the start to the last unit, where it sold out"`
		Rows         rowsAnswer       `json:"rows"`
		Money        moneyAnswer      `json:"money"`
		Holding      holdingAnswer    `json:"holding"`
		Buckets      []bucketAnswer   `json:"buckets" nullable:"false"`
		Verification verificationBody `json:"verification"`
	}
	summaryAnswer struct {
		AsOf      time.Time        `json:"as_of"`
		Campaigns int64            `json:"campaigns"`
		ByState   map[string]int64 `json:"by_state"`
		Total     int64            `json:"total"`
		Held      int64            `json:"held"`
		Sold      int64            `json:"sold"`
		LoadTests int64            `json:"load_tests" doc:"Campaigns that are left out"`
	}
)

// byName turns counts by a word of ours into counts by text; zeros are left out.
func byName[K ~string](counts map[K]int64) map[string]int64 {
	out := map[string]int64{}
	for k, n := range counts {
		if n != 0 {
			out[string(k)] = n
		}
	}
	return out
}

func byReason(counts *[sluice.NumReasons]int64) map[string]int64 {
	out := map[string]int64{}
	for _, r := range sluice.Reasons() {
		if n := counts[r]; n != 0 {
			out[r.String()] = n
		}
	}
	return out
}

func bucketAnswers(all []sluice.Bucket) []bucketAnswer {
	out := make([]bucketAnswer, len(all))
	for i := range all {
		b := &all[i]
		out[i] = bucketAnswer{int64(b.Start), int64(b.Width), byReason(&b.Counts), b.Counts[sluice.ReasonNone],
			b.Latency.Quantile(0.5).Microseconds(), b.Latency.Quantile(0.99).Microseconds()}
	}
	return out
}

func holdingAnswerOf(t *sluice.Tallies) holdingAnswer {
	a := holdingAnswer{ExpiredUnits: t.Holding.ExpiredUnits, TopUnits: t.Holding.TopUnits, Top: []holderAnswer{}}
	if t.Units > 0 {
		a.ExpiredShare = float64(a.ExpiredUnits) / float64(t.Units)
	}
	for _, h := range t.Holding.Top {
		a.Top = append(a.Top, holderAnswer(h))
	}
	return a
}

func reportAnswerOf(r *sluice.CampaignReport) reportAnswer {
	t := &r.Rows
	a := reportAnswer{
		AsOf: r.At.Time(), LoadTest: r.Campaign.LoadTest, Campaign: adminCampaignOf(&r.Campaign),
		Decisions: byReason(&r.Decisions), Replayed: r.Decisions[sluice.ReasonNone],
		P50US: r.Latency.Quantile(0.5).Microseconds(), P99US: r.Latency.Quantile(0.99).Microseconds(),
		Rows: rowsAnswer{
			Claims: t.Claims, Grants: t.Grants, Rejected: t.Rejected, Units: t.Units, Held: t.Held, Sold: t.Sold,
			FirstUnitAt: moment(t.FirstUnitAt), LastUnitAt: moment(t.LastUnitAt), Orders: byName(t.Orders),
			Closes: byName(t.Closes), Coupons: byName(t.Coupons),
		},
		Money: moneyAnswer{
			Currency: r.Campaign.Goods.Currency, Paid: t.PaidCount, PaidMinor: t.PaidMinor, RefundDue: t.RefundDueCount,
			RefundDueMinor: t.RefundDueMinor, Refunded: t.RefundedCount, RefundedMinor: t.RefundedMinor,
			SpendMinor: t.RedeemedSpendMinor, DiscountMinor: t.DiscountMinor,
		},
		Holding: holdingAnswerOf(t),
		Buckets: bucketAnswers(r.Buckets), Verification: verificationOf(&r.Verification),
	}
	if r.Campaign.Kind == sluice.KindCoupon {
		a.Money.Currency = r.Campaign.Coupon.Currency
	} else if t.Claims > 0 {
		a.Money.PaidShare = float64(t.PaidCount) / float64(t.Claims)
	}
	if r.Campaign.Available == 0 && t.LastUnitAt > r.Campaign.StartsAt {
		a.SellOutMS = int64(t.LastUnitAt - r.Campaign.StartsAt)
	}
	return a
}

// registerReports adds the report of a campaign and the summary of all.
func (a *Admin) registerReports(api huma.API) {
	desk := a.deps.Reports
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/campaigns/{id}/report", "Everything about one campaign", sluice.RoleViewer),
		func(ctx context.Context, in *CampaignPath) (*struct{ Body reportAnswer }, error) {
			r, err := desk.Report(ctx, in.ID)
			if err != nil {
				return nil, problemOf(err)
			}
			return &struct{ Body reportAnswer }{reportAnswerOf(&r)}, nil
		})
	huma.Register(api, op("GET", "/v1/admin/summary", "All campaigns in sums, load tests left out", sluice.RoleViewer),
		func(ctx context.Context, _ *struct{}) (*struct{ Body summaryAnswer }, error) {
			s, err := desk.Summary(ctx)
			if err != nil {
				return nil, problemOf(err)
			}
			return &struct{ Body summaryAnswer }{summaryAnswer{s.At.Time(), s.Campaigns, byName(s.ByState), s.Total,
				s.Held, s.Sold, s.LoadTests}}, nil
		})
}
