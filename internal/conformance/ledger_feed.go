package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
)

func (l *ledgerTest) campaigns(t *testing.T) {
	full := sluice.Campaign{
		ID: "full", Kind: sluice.KindCoupon, Title: "满减 & more", ImageURL: "https://example.org/i.png",
		Stock: sluice.Stock{Total: 7}, PerUserLimit: 3, StartsAt: ledgerStart, EndsAt: ledgerStart + 1,
		Coupon: sluice.CouponTerms{Type: sluice.CouponPercentOff, Value: 15, MinSpendMinor: 1, Currency: "EUR",
			MaxDiscountMinor: 9, ValidFrom: 3, ValidUntil: 9, MerchantIDs: []string{"m2", "m1"}},
		Protection: sluice.Protection{Pass: sluice.PassAdaptive, PerUserRate: 0.5, MaxRate: 1e6, SpreadSec: 60,
			Challenge: sluice.ChallengeSlider, Signature: true, SpreadSeed: "00ff"},
		Eligibility: sluice.Eligibility{Claims: map[string][]string{"tier": {"gold", "silver"}}, Audience: true},
		LimitGroup:  "lg", LoadTest: true, Control: sluice.ControlDraft,
	}
	made, err := l.Campaigns.CreateCampaign(t.Context(), full, ledgerActor, ledgerStart)
	if err != nil {
		t.Fatal(err)
	}
	want := full
	want.No, want.Created, want.Revision, want.Epoch = made.No, 7, 1, 1
	want.CreatedAt, want.UpdatedAt = ledgerStart, ledgerStart
	read, err := l.Campaigns.Campaign(t.Context(), "full")
	if err != nil || !reflect.DeepEqual(read, want) || !reflect.DeepEqual(made, want) {
		t.Fatalf("read  %+v\nmade  %+v\nwant %+v\n%v", read, made, want, err)
	}
	_, err = l.Campaigns.CreateCampaign(t.Context(), full, ledgerActor, ledgerStart)
	refused(t, "the same id", err, sluice.ErrConflict, "CAMPAIGN_EXISTS")
	goods := l.campaign(t, "goods", 5, nil)
	next := goods
	next.Title, next.PerUserLimit, next.EndsAt, next.Goods.PriceMinor = "other", 2, goods.EndsAt+5, 7
	next.Stock.Total, next.Control = 99, sluice.ControlEnded // neither is changed here
	no := sluice.NewFault(sluice.ErrConflict, "CAMPAIGN_CHANGED", "no")
	_, err = l.Campaigns.UpdateCampaign(t.Context(), next, func(is sluice.Campaign) error {
		if !reflect.DeepEqual(is, goods) {
			t.Errorf("check was given %+v", is)
		}
		return no
	}, ledgerActor, ledgerStart+1)
	refused(t, "check", err, sluice.ErrConflict, "CAMPAIGN_CHANGED")
	if read, _ := l.Campaigns.Campaign(t.Context(), "goods"); !reflect.DeepEqual(read, goods) {
		t.Fatalf("a refused update changed the campaign: %+v", read)
	}
	after, err := l.Campaigns.UpdateCampaign(t.Context(), next, nil, ledgerActor, ledgerStart+1)
	want = next
	want.Stock, want.Control, want.UpdatedAt = goods.Stock, goods.Control, ledgerStart+1
	if err != nil || !reflect.DeepEqual(after, want) {
		t.Fatalf("updated %+v\nwant %+v\n%v", after, want, err)
	}
	list, err := l.Campaigns.Campaigns(t.Context())
	if err != nil || len(list) != 2 || list[0].ID != "full" || !reflect.DeepEqual(list[1], want) {
		t.Fatalf("list: %+v %v", list, err)
	}
	next.ID = "none"
	_, err = l.Campaigns.UpdateCampaign(t.Context(), next, nil, ledgerActor, 1)
	refused(t, "update nothing", err, sluice.ErrNotFound, "")
	_, err = l.Campaigns.Campaign(t.Context(), "Full")
	refused(t, "read nothing", err, sluice.ErrNotFound, "")
}

func (l *ledgerTest) controls(t *testing.T) {
	l.campaign(t, "g", 5, func(c *sluice.Campaign) { c.Control = sluice.ControlDraft })
	for i, s := range []struct {
		cmd  sluice.ControlCommand
		want sluice.Control
		code string
	}{
		{sluice.CommandPause, sluice.ControlDraft, "CAMPAIGN_STATE"},
		{sluice.CommandPublish, sluice.ControlOpen, ""},
		{sluice.CommandPublish, sluice.ControlOpen, ""},
		{sluice.CommandPause, sluice.ControlPaused, ""},
		{sluice.CommandFreeze, sluice.ControlFrozen, ""},
		{sluice.CommandResume, sluice.ControlOpen, ""},
		{sluice.CommandEnd, sluice.ControlEnded, ""},
		{sluice.CommandResume, sluice.ControlEnded, "CAMPAIGN_STATE"},
	} {
		at := ledgerStart + sluice.Millis(i)
		c, err := l.Campaigns.SetControl(t.Context(), "g", s.cmd, fmt.Sprint("note ", i), ledgerActor, at)
		if s.code != "" {
			refused(t, string(s.cmd), err, sluice.ErrConflict, s.code)
			continue
		}
		read, e := l.Campaigns.Campaign(t.Context(), "g")
		if err != nil || e != nil || c.Control != s.want || !reflect.DeepEqual(read, c) {
			t.Fatalf("step %d, %s: %+v %v", i, s.cmd, c, err)
		}
	}
	var types []string
	for _, e := range l.feed(t, 100) {
		types = append(types, e.Type)
	}
	want := []string{"campaign.created", "campaign.updated", "campaign.paused", "campaign.frozen", "campaign.resumed",
		"campaign.ended"}
	if !slices.Equal(types, want) {
		t.Fatalf("events %v, want %v", types, want)
	}
	_, err := l.Campaigns.SetControl(t.Context(), "none", sluice.CommandPause, "", ledgerActor, 1)
	refused(t, "no campaign", err, sluice.ErrNotFound, "")
}

// feed reads the whole feed, page by page.
func (l *ledgerTest) feed(t *testing.T, page int) (all []sluice.Event) {
	t.Helper()
	after := sluice.EventID{Index: -1}
	for {
		list, err := l.Stock.Events(t.Context(), after, page)
		if err != nil || len(list) > page {
			t.Fatalf("events after %v: %d of %d, %v", after, len(list), page, err)
		}
		if len(list) == 0 {
			return all
		}
		all = append(all, list...)
		after = list[len(list)-1].ID
	}
}

func (l *ledgerTest) events(t *testing.T) {
	l.campaign(t, "g", 4, nil)
	l.campaign(t, "k", 4, asCoupon(3))
	l.campaign(t, "free", 4, func(c *sluice.Campaign) { c.Goods.PriceMinor = 0 })
	var batch []sluice.Claim
	for i := range 6 {
		batch = append(batch, ledgerClaim("g", fmt.Sprint("u", i), "r", 1))
	}
	batch = append(batch, couponClaim("k", "u1", "r", 3), couponClaim("k", "u2", "r", 1), ledgerClaim("free", "u1", "", 1))
	l.settle(t, batch...)
	l.settle(t, batch...) // replays are no news
	l.adjust(t, "g", "c1", 1, 0)
	all := l.feed(t, 1000)
	var got []string
	for i, e := range all {
		got = append(got, e.Type+" "+e.Subject)
		if i > 0 && (e.ID.Seq < all[i-1].ID.Seq || e.ID.Seq == all[i-1].ID.Seq && e.ID.Index != all[i-1].ID.Index+1) {
			t.Errorf("%v comes after %v", e.ID, all[i-1].ID)
		}
		if e.Campaign == "" || e.At == 0 || !json.Valid(e.Data) {
			t.Errorf("event %+v", e)
		}
	}
	want := []string{"campaign.created g", "campaign.created k", "campaign.created free"}
	for i := range 4 {
		want = append(want, "order.created "+batch[i].ID.OrderID())
	}
	want = append(want, "coupon.issued "+batch[6].ID.String(), "coupon.issued "+batch[7].ID.String(),
		"order.created "+batch[8].ID.OrderID(), "order.paid "+batch[8].ID.OrderID(), "campaign.adjusted g")
	if !slices.Equal(got, want) {
		t.Fatalf("events\n%q\nwant\n%q", got, want)
	}
	var note struct {
		State     string `json:"state"`
		User      string `json:"user_id"`
		RequestID string `json:"request_id"`
		Quantity  int    `json:"quantity"`
		Amount    int64  `json:"amount_minor"`
		Currency  string `json:"currency"`
	}
	if err := json.Unmarshal(all[4].Data, &note); err != nil || note.State != "unpaid" || note.User != "u1" ||
		note.RequestID != "r" || note.Quantity != 1 || note.Amount != 100 || note.Currency != "CNY" {
		t.Fatalf("data of an order: %s", all[4].Data)
	}
	l.Plant(t, `UPDATE orders SET state = 'closed', live_units = 0, limit_units = 0, closed_ms = 1,
		close_reason = 'expired'`)
	for page := 1; page <= len(all)+1; page++ {
		if again := l.feed(t, page); !reflect.DeepEqual(again, all) {
			t.Fatalf("in pages of %d the feed is\n%v\nwas\n%v", page, again, all)
		}
	}
}

// loadMoment loads while claims are settled: the rows must be those, and only those, of which the permit had been
// told when begin ran.
func (l *ledgerTest) loadMoment(t *testing.T) {
	l.campaign(t, "g", 1_000_000, nil)
	l.campaign(t, "other", 10, nil)
	l.settle(t, ledgerClaim("other", "x", "1", 1))
	done := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				var batch []sluice.Claim
				for j := range 17 {
					batch = append(batch, ledgerClaim("g", fmt.Sprintf("u%d-%d-%d", w, i, j), "1", 1))
				}
				if _, err := l.Claims.Settle(t.Context(), batch); err != nil {
					t.Errorf("settle: %v", err)
					return
				}
			}
		})
	}
	for range 10 {
		var told, held, rows int64
		err := l.Claims.Load(t.Context(), "g", func(c sluice.Campaign) {
			for _, op := range l.Told() {
				if op.Campaign == "g" && op.Kind == sluice.PermitSettled {
					told += op.Units
				}
			}
			held = c.Stock.Held
		}, func(list []sluice.ClaimRow) error {
			for _, r := range list {
				rows += int64(r.LiveUnits)
			}
			return nil
		})
		if err != nil || told != held || held != rows {
			t.Errorf("load: %v; told of %d, the campaign holds %d, rows %d", err, told, held, rows)
			break
		}
	}
	close(done)
	wg.Wait()
	stop := errors.New("stop")
	if err := l.Claims.Load(t.Context(), "g", nil, func([]sluice.ClaimRow) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of each: %v", err)
	}
	err := l.Claims.Load(t.Context(), "none", func(sluice.Campaign) { t.Error("begin ran") }, nil)
	if !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("load nothing: %v", err)
	}
}

// rows loads a campaign's claims.
func (l *ledgerTest) rows(t *testing.T, id string) (all []sluice.ClaimRow) {
	t.Helper()
	err := l.Claims.Load(t.Context(), id, nil, func(list []sluice.ClaimRow) error {
		all = append(all, list...)
		return nil
	})
	if err != nil {
		t.Fatalf("load %s: %v", id, err)
	}
	return all
}

func (l *ledgerTest) pages(t *testing.T) {
	l.campaign(t, "g", 20, limitOf(2))
	l.campaign(t, "k", 40, asCoupon(3))
	want := map[string][]sluice.ClaimRow{}
	for i := range 30 {
		for _, c := range []sluice.Claim{
			ledgerClaim("g", fmt.Sprint("u", i), "1", 1+i%2), couponClaim("k", fmt.Sprint("u", i), "1", 1+i%3),
		} {
			r := sluice.ClaimRow{ID: c.ID, Quantity: int32(c.Quantity), At: c.At}
			if o := l.settle(t, c)[0]; o.Reason == sluice.ReasonConfirmed {
				r.LiveUnits, r.LimitUnits = r.Quantity, r.Quantity
			} else {
				r.Rejected = o.Reason
			}
			want[c.Campaign] = append(want[c.Campaign], r)
		}
	}
	for id, rows := range want {
		if got := l.rows(t, id); !slices.Equal(got, rows) {
			t.Fatalf("load %s:\n%v\nwant\n%v", id, got, rows)
		}
		for _, limit := range []int{1, 2, 7, 29, 30, 31, 5000} {
			var got []sluice.ClaimRow
			for after := int64(0); ; {
				list, next, err := l.Claims.ClaimsPage(t.Context(), id, after, limit)
				if err != nil || len(list) > limit {
					t.Fatalf("page of %d: %d claims, %v", limit, len(list), err)
				}
				for _, c := range list {
					got = append(got, rowOf(c))
				}
				if next == 0 {
					break
				}
				after = next
			}
			if !slices.Equal(got, rows) {
				t.Fatalf("%s in pages of %d:\n%v\nwant\n%v", id, limit, got, rows)
			}
		}
	}
}

// rowOf gives the row of a claim of which nothing has been given back.
func rowOf(c sluice.ClaimRecord) sluice.ClaimRow {
	r := sluice.ClaimRow{ID: c.ID, Quantity: int32(c.Quantity), At: c.At}
	if c.Code == sluice.ReasonConfirmed {
		r.LiveUnits, r.LimitUnits = r.Quantity, r.Quantity
	} else {
		r.Rejected = c.Code
	}
	return r
}

func (l *ledgerTest) restart(t *testing.T) {
	l.campaign(t, "g", 3, limitOf(2))
	l.campaign(t, "k", 3, asCoupon(2))
	batch := []sluice.Claim{ledgerClaim("g", "a", "1", 2), ledgerClaim("g", "b", "1", 2), couponClaim("k", "a", "1", 2),
		couponClaim("k", "a", "2", 1)}
	before := l.settle(t, batch...)
	l.adjust(t, "g", "c1", 4, 0)
	list, err := l.Campaigns.Campaigns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	feed, rows := l.feed(t, 100), append(l.rows(t, "g"), l.rows(t, "k")...)
	l.LedgerUnderTest = l.Restart(t)
	after, err := l.Campaigns.Campaigns(t.Context())
	if err != nil || !reflect.DeepEqual(after, list) {
		t.Fatalf("campaigns %+v %v, were %+v", after, err, list)
	}
	if again := l.feed(t, 100); !reflect.DeepEqual(again, feed) {
		t.Fatalf("the feed is %v, was %v", again, feed)
	}
	if again := append(l.rows(t, "g"), l.rows(t, "k")...); !slices.Equal(again, rows) {
		t.Fatalf("rows %v, were %v", again, rows)
	}
	for i, o := range l.settle(t, batch...) {
		if !o.Replayed || o.Reason != before[i].Reason || o.State != before[i].State ||
			!slices.Equal(o.CouponCodes, before[i].CouponCodes) {
			t.Fatalf("replay %d: %+v, was %+v", i, o, before[i])
		}
	}
	if a := l.adjust(t, "g", "c1", 4, 0); a.Total != 7 {
		t.Fatalf("adjustment: %+v", a)
	}
	l.want(t, ledgerClaim("g", "c", "1", 2), sluice.ReasonConfirmed)
	l.want(t, couponClaim("k", "b", "1", 1), sluice.ReasonConfirmed)
	l.stock(t, "g", 4, 0)
	l.stock(t, "k", 0, 3)
}
