package admin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// fakeAdmitter confirms every claim once, and counts how many are under way at once.
type fakeAdmitter struct {
	seen    atomic.Int64
	running atomic.Int64
	most    atomic.Int64
	gate    chan struct{} // closed or nil: claims go through
}

func (f *fakeAdmitter) Admit(ctx context.Context, c sluice.Claim) sluice.Decision {
	n := f.running.Add(1)
	for most := f.most.Load(); n > most && !f.most.CompareAndSwap(most, n); most = f.most.Load() {
	}
	if f.gate != nil {
		<-f.gate
	}
	f.running.Add(-1)
	f.seen.Add(1)
	if ctx.Err() != nil {
		return sluice.Refuse(sluice.ReasonUnavailable)
	}
	return sluice.Decision{Reason: sluice.ReasonConfirmed, State: sluice.ClaimConfirmed, HasID: true, ID: c.ID,
		Kind: sluice.KindGoods, Quantity: c.Quantity}
}

// oneCampaign is a ledger of one campaign that takes every note.
type oneCampaign struct{ notes []string }

func (*oneCampaign) Campaign(_ context.Context, id string) (sluice.Campaign, error) {
	if id != "spring" {
		return sluice.Campaign{}, sluice.ErrNotFound
	}
	return sluice.Campaign{ID: id, Kind: sluice.KindGoods, PerUserLimit: 1, Control: sluice.ControlOpen}, nil
}

func (l *oneCampaign) Note(_ context.Context, _ sluice.Actor, action, _ string, _, _ any, _ sluice.Millis) error {
	l.notes = append(l.notes, action)
	return nil
}

// rows writes n lines of JSON, and then fails with err.
func rows(n int, err error) io.Reader {
	var all []io.Reader
	for i := range n {
		all = append(all, strings.NewReader(fmt.Sprintf("{\"user_id\":\"u%d\",\"grant_id\":\"g%d\"}\n", i, i)))
	}
	return io.MultiReader(append(all, failing{err})...)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestABulkThatBreaksOffLeavesWholeLinesDone(t *testing.T) {
	gone := errors.New("the connection is gone")
	for _, c := range []struct {
		name    string
		body    io.Reader
		emit    func(n int64) error // given how many results came before
		ctx     func() context.Context
		want    error
		results func(n int64) bool
	}{
		{name: "the body breaks off", body: rows(5000, gone), want: gone, results: func(n int64) bool { return n == 5000 }},
		{name: "nobody reads the results", body: rows(5000, io.EOF), want: gone,
			emit:    func(n int64) error { return map[bool]error{true: gone}[n >= 10] },
			results: func(n int64) bool { return n < 5000 }},
		{name: "the call is over before it began", body: rows(5000, io.EOF), want: context.Canceled,
			ctx: func() context.Context {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				return ctx
			}, results: func(n int64) bool { return n < 5000 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			admitter, ledger := &fakeAdmitter{}, &oneCampaign{}
			desk := admin.NewGrants(admin.GrantsConfig{Ledger: ledger, Admitter: admitter, Noter: ledger, Window: 64})
			ctx := context.Background()
			if c.ctx != nil {
				ctx = c.ctx()
			}
			var got int64
			emit := func(sluice.GrantResult) error {
				got++
				if c.emit != nil {
					return c.emit(got)
				}
				return nil
			}
			totals, err := desk.Bulk(ctx, "spring", sluice.FormatJSONLines, c.body, sluice.Actor{}, emit)
			if !errors.Is(err, c.want) {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
			if totals.Lines != admitter.seen.Load() || totals.Confirmed != totals.Lines || !c.results(totals.Lines) {
				t.Errorf("%d lines counted, %d confirmed, %d admitted", totals.Lines, totals.Confirmed, admitter.seen.Load())
			}
			if strings.Join(ledger.notes, " ") != "grants.begin grants.end" {
				t.Errorf("the audit log has %v", ledger.notes)
			}
			if admitter.running.Load() != 0 {
				t.Error("claims are under way after the end")
			}
		})
	}
}

func TestABulkKeepsAWindowUnderWayAndNoMore(t *testing.T) {
	admitter, ledger := &fakeAdmitter{gate: make(chan struct{})}, &oneCampaign{}
	desk := admin.NewGrants(admin.GrantsConfig{Ledger: ledger, Admitter: admitter, Noter: ledger, Window: 64})
	done := make(chan sluice.GrantTotals)
	line := int64(0)
	go func() {
		totals, _ := desk.Bulk(context.Background(), "spring", sluice.FormatJSONLines, rows(1000, io.EOF), sluice.Actor{},
			func(r sluice.GrantResult) error {
				if line++; r.Line != line {
					t.Errorf("result %d is of line %d", line, r.Line)
				}
				return nil
			})
		done <- totals
	}()
	for admitter.running.Load() < 64 { // a window waits for its commit
		runtime.Gosched()
		if admitter.seen.Load() > 0 {
			t.Fatal("a claim went through a closed gate")
		}
	}
	close(admitter.gate)
	totals := <-done
	if totals.Confirmed != 1000 || admitter.most.Load() > 64+2 {
		t.Errorf("%d confirmed, at most %d under way at once, want 1000 and a window of 64",
			totals.Confirmed, admitter.most.Load())
	}
}

// slowAdmitter does not answer in time as often as it is told, and has the claim all the same.
type slowAdmitter struct {
	fakeAdmitter
	silent int64
}

func (f *slowAdmitter) Admit(ctx context.Context, c sluice.Claim) sluice.Decision {
	d := f.fakeAdmitter.Admit(ctx, c)
	if n := f.seen.Load(); n <= f.silent {
		return sluice.Decision{Reason: sluice.ReasonUnavailable, HasID: true, ID: c.ID}
	} else if n > 1 {
		d.Replayed = true
	}
	return d
}

// TestABulkAsksAgainForWhatIsNotKnown: a store that is slow once does not leave a hole in a bulk; one that stays silent
// is told of, and asked no more than three times.
func TestABulkAsksAgainForWhatIsNotKnown(t *testing.T) {
	for silent, want := range map[int64]sluice.Reason{
		0: sluice.ReasonConfirmed, 2: sluice.ReasonConfirmed, 3: sluice.ReasonUnavailable,
	} {
		admitter, ledger := &slowAdmitter{silent: silent}, &oneCampaign{}
		desk := admin.NewGrants(admin.GrantsConfig{Ledger: ledger, Admitter: admitter, Noter: ledger})
		var got sluice.GrantResult
		_, err := desk.Bulk(t.Context(), "spring", sluice.FormatJSONLines, rows(1, io.EOF), sluice.Actor{},
			func(r sluice.GrantResult) error { got = r; return nil })
		if err != nil || got.Decision.Reason != want || got.Decision.Replayed || admitter.seen.Load() > 3 {
			t.Errorf("silent %d times: %+v, %v, asked %d times", silent, got.Decision, err, admitter.seen.Load())
		}
	}
}

func TestABulkIsBounded(t *testing.T) {
	admitter, ledger := &fakeAdmitter{}, &oneCampaign{}
	desk := admin.NewGrants(admin.GrantsConfig{Ledger: ledger, Admitter: admitter, Noter: ledger, MaxLines: 10_000})
	line := "x\n" // a fault is a line too
	body := io.MultiReader(strings.NewReader("user_id,grant_id\n"), strings.NewReader(strings.Repeat(line, 10_001)))
	totals, err := desk.Bulk(context.Background(), "spring", sluice.FormatCSV, body, sluice.Actor{},
		func(sluice.GrantResult) error { return nil })
	if !errors.Is(err, sluice.ErrInvalid) || totals.Lines != 10_000 || totals.Faults != 10_000 {
		t.Errorf("%v after %d lines", err, totals.Lines)
	}
}

// deafPublisher refuses until it hears.
type deafPublisher struct {
	next  admin.Publisher
	deaf  bool
	heard int
}

func (p *deafPublisher) Publish(ctx context.Context, c sluice.Campaign) error {
	if p.deaf {
		return sluice.ErrUnavailable
	}
	p.heard++
	return p.next.Publish(ctx, c)
}

func TestWhatIsRecordedAndNotInForceIsSaidAndMadeGood(t *testing.T) {
	s := newStack(t)
	ctx := context.Background()
	p := &deafPublisher{next: s}
	desk := admin.NewCampaigns(admin.CampaignsConfig{Ledger: s.db, Publisher: p, Permits: s.admission, Verifier: s.db,
		Noter: s.db, Now: s.clock.now})
	spec := goodsSpec()
	if _, err := desk.Create(ctx, *spec, sluice.Actor{}); err != nil {
		t.Fatal(err)
	}
	p.deaf = true
	_, err := desk.Command(ctx, "spring", sluice.CommandPause, sluice.Actor{})
	var fault *sluice.Fault
	if !errors.As(err, &fault) || fault.Code != "NOT_IN_FORCE" || !errors.Is(err, sluice.ErrUnavailable) {
		t.Fatalf("a pause that the gate did not take: %v", err)
	}
	p.deaf = false
	v, err := desk.Command(ctx, "spring", sluice.CommandPause, sluice.Actor{})
	if err != nil || v.State != sluice.StatePaused {
		t.Fatalf("the pause again: %+v %v", v, err)
	}
	if c, _ := s.gate.Campaign("spring"); c.Control != sluice.ControlPaused {
		t.Errorf("the gate has %s", c.Control)
	}
	rows, err := s.db.Audit(ctx, sluice.AuditQuery{Action: "campaign.pause", Limit: 9})
	if err != nil || len(rows) != 1 {
		t.Errorf("paused twice, %d rows in the audit log, want 1 (%v)", len(rows), err)
	}
}

func TestTheLimitIsNotLoweredUnderWhomHasUnits(t *testing.T) {
	s := newStack(t)
	body := goodsBody("spring", 10)
	body["starts_at"] = now.Time().Add(time.Minute)
	s.want(201, "POST", "/v1/admin/campaigns", body)
	s.want(200, "PATCH", "/v1/admin/campaigns/spring", object{"per_user_limit": 2})
	s.want(200, "POST", "/v1/admin/campaigns/spring/grants", object{"grant_id": "g", "user_id": "u", "quantity": 2})
	s.want(422, "PATCH", "/v1/admin/campaigns/spring", object{"per_user_limit": 1})
	s.want(200, "PATCH", "/v1/admin/campaigns/spring", object{"per_user_limit": 3})
	s.verified("spring")
}

// Grants come before the start: what an order is paid in and what a coupon is worth stand in the terms.
func TestTermsDoNotChangeUnderWhomHasUnits(t *testing.T) {
	s := newStack(t)
	soon := now.Time().Add(time.Minute)
	goods, coupon := goodsBody("spring", 10), couponBody("tenoff", 10)
	goods["starts_at"], coupon["starts_at"] = soon, soon
	terms := maps.Clone(coupon["coupon"].(object))
	terms["value"] = 1
	currency, value := object{"goods": object{"currency": "EUR"}}, object{"coupon": terms}
	s.want(201, "POST", "/v1/admin/campaigns", goods)
	s.want(201, "POST", "/v1/admin/campaigns", coupon)
	s.want(200, "PATCH", "/v1/admin/campaigns/spring", object{"goods": object{"currency": "USD"}})
	for _, id := range []string{"spring", "tenoff"} {
		s.want(200, "POST", "/v1/admin/campaigns/"+id+"/grants", object{"grant_id": "g", "user_id": "u", "quantity": 1})
	}
	s.want(422, "PATCH", "/v1/admin/campaigns/spring", currency)
	s.want(422, "PATCH", "/v1/admin/campaigns/tenoff", value)
	s.want(200, "PATCH", "/v1/admin/campaigns/spring", object{"goods": object{"price_minor": 1}}) // of later orders
	s.verified("spring")
}

func TestPaymentsDownStopsTheClockOverARestart(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 10))
	d := s.claim("spring", "ann", "r")
	expires := func() sluice.Millis {
		t.Helper()
		o, err := s.db.Order(context.Background(), d.ID, sluice.MillisOf(s.clock.now()))
		if err != nil {
			t.Fatal(err)
		}
		return o.ExpiresAt
	}
	before := expires()
	s.want(200, "PUT", "/v1/admin/switches/payments_down", object{"value": 1})
	s.clock.add(10 * time.Minute)
	s.restart()
	s.want(200, "PUT", "/v1/admin/switches/payments_down", object{"value": 1}) // again: the stop goes on
	s.clock.add(20 * time.Minute)
	s.want(200, "PUT", "/v1/admin/switches/payments_down", object{"value": 0})
	s.clock.add(5 * time.Minute)
	if got, want := expires(), before.Add(30*time.Minute); got != want {
		t.Errorf("expires %d, want %d: 30 minutes later", got, want)
	}
}

func TestViewsTellTheNextRelease(t *testing.T) {
	s := newStack(t)
	for _, id := range []string{"spring", "summer", "autumn"} {
		s.want(201, "POST", "/v1/admin/campaigns", goodsBody(id, 10))
	}
	at := sluice.MillisOf(s.clock.now())
	s.claim("spring", "ann", "r")
	s.clock.add(time.Minute)
	s.claim("spring", "bob", "r")
	s.claim("summer", "bob", "r")
	want := map[string]sluice.Millis{"spring": at.Add(15 * time.Minute), "summer": at.Add(16 * time.Minute), "autumn": 0}
	check := func(when string, want map[string]sluice.Millis) {
		t.Helper()
		views, err := s.campaigns.Views(context.Background())
		if err != nil || len(views) != 3 {
			t.Fatalf("%s: %v %v", when, views, err)
		}
		for _, v := range views {
			if v.NextReleaseAt != want[v.ID] {
				t.Errorf("%s: %s is released next at %d, want %d", when, v.ID, v.NextReleaseAt, want[v.ID])
			}
		}
	}
	check("two orders", want)
	s.want(200, "PUT", "/v1/admin/switches/payments_down", object{"value": 1})
	check("payments down", nil)
	s.clock.add(time.Hour)
	s.want(200, "DELETE", "/v1/admin/switches/payments_down", nil)
	for id, at := range want {
		if at != 0 {
			want[id] = at.Add(time.Hour)
		}
	}
	check("an hour later", want)
}

// busyLedger is a ledger on which somebody else edits a campaign just after it was read, as often as times says.
type busyLedger struct {
	*sqldb.DB
	times int
}

func (l *busyLedger) Campaign(ctx context.Context, id string) (sluice.Campaign, error) {
	c, err := l.DB.Campaign(ctx, id)
	if err != nil || l.times == 0 {
		return c, err
	}
	l.times--
	other := c
	other.Title = fmt.Sprint("theirs ", l.times)
	_, err = l.UpdateCampaign(ctx, other, nil, sluice.Actor{}, c.UpdatedAt+1)
	return c, err
}

func TestEditsDoNotUndoEachOther(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 10))
	ledger := &busyLedger{DB: s.db, times: 3}
	desk := admin.NewCampaigns(admin.CampaignsConfig{Ledger: ledger, Publisher: s, Permits: s.admission, Verifier: s.db,
		Noter: s.db, Now: s.clock.now})
	ctx := context.Background()
	v, err := desk.Edit(ctx, "spring", sluice.CampaignPatch{ImageURL: ptr("/mine.png")}, sluice.Actor{})
	if err != nil || v.ImageURL != "/mine.png" || v.Title != "theirs 0" {
		t.Errorf("title %q, image %q, %v: both edits should stand", v.Title, v.ImageURL, err)
	}
	ledger.times = 1000
	_, err = desk.Edit(ctx, "spring", sluice.CampaignPatch{ImageURL: ptr("/x")}, sluice.Actor{})
	if !errors.Is(err, sluice.ErrConflict) {
		t.Errorf("an edit that never gets its turn: %v", err)
	}
}

// comingPermits is a permit that falls into doubt when it has been looked at once.
type comingPermits struct {
	admin.Permits
	looks int
}

func (p *comingPermits) Permit(string) (sluice.Permit, sluice.Millis, bool) {
	p.looks++
	return sluice.Permit{}, 0, p.looks == 1
}

// What admission is just counting anew is compared with nothing: it would look like drift.
func TestVerifyIsNotAlarmedByAReadBack(t *testing.T) {
	s := newStack(t)
	s.want(201, "POST", "/v1/admin/campaigns", goodsBody("spring", 10))
	desk := admin.NewCampaigns(admin.CampaignsConfig{Ledger: s.db, Publisher: s, Permits: &comingPermits{}, Verifier: s.db,
		Noter: s.db, Now: s.clock.now})
	v, err := desk.Verify(t.Context(), "spring")
	if !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("%+v, %v", v, err)
	}
}
