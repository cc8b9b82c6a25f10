package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
)

// ClaimLedger is what every ledger offers for claims.
type ClaimLedger interface {
	Settle(ctx context.Context, claims []sluice.Claim) ([]sluice.Outcome, error)
	Load(ctx context.Context, campaign string, begin func(sluice.Campaign), each func([]sluice.ClaimRow) error) error
	ClaimRecord(ctx context.Context, id sluice.ClaimID) (sluice.ClaimRecord, error)
	UserClaims(ctx context.Context, user, campaign string) ([]sluice.ClaimRecord, error)
	ClaimsPage(ctx context.Context, campaign string, after int64, limit int) ([]sluice.ClaimRecord, int64, error)
}

// CampaignLedger is what every ledger offers for campaigns.
type CampaignLedger interface {
	CreateCampaign(ctx context.Context, c sluice.Campaign, by sluice.Actor, now sluice.Millis) (sluice.Campaign, error)
	UpdateCampaign(ctx context.Context, c sluice.Campaign, check func(sluice.Campaign) error, by sluice.Actor,
		now sluice.Millis) (sluice.Campaign, error)
	SetControl(ctx context.Context, id string, cmd sluice.ControlCommand, note string, by sluice.Actor, now sluice.Millis,
	) (sluice.Campaign, error)
	Campaign(ctx context.Context, id string) (sluice.Campaign, error)
	Campaigns(ctx context.Context) ([]sluice.Campaign, error)
}

// StockLedger is what every ledger offers for totals, for the audit of rows and for the feed.
type StockLedger interface {
	Adjustment(ctx context.Context, changeID string) (sluice.Adjustment, error)
	RecordAdjustment(ctx context.Context, a sluice.Adjustment, by sluice.Actor) (sluice.Adjustment, error)
	Verify(ctx context.Context, campaign string, permit func() sluice.Permit) (sluice.Verification, error)
	Events(ctx context.Context, after sluice.EventID, limit int) ([]sluice.Event, error)
}

// LedgerUnderTest is one ledger, empty, and the handles the suite needs beside it.
type LedgerUnderTest struct {
	Claims    ClaimLedger
	Campaigns CampaignLedger
	Stock     StockLedger
	// Told gives the PermitOps that the permit has been told of so far, in order.
	Told func() []sluice.PermitOp
	// Plant runs a statement past every rule of the ledger, CHECKs included: for drift that must be found.
	Plant func(t *testing.T, statement string)
	// Restart closes the ledger and opens it again.
	Restart func(t *testing.T) LedgerUnderTest
	// OptOut names tests of the suite that this ledger cannot pass, each with the reason. An unknown name fails.
	OptOut map[string]string
}

const ledgerStart sluice.Millis = 1_800_000_000_000

var ledgerActor = sluice.Actor{KeyID: "k", Name: "suite", Role: sluice.RoleOperator}

type ledgerTest struct{ LedgerUnderTest }

// Ledger runs the suite that every ledger passes.
func Ledger(t *testing.T, open func(t *testing.T) LedgerUnderTest) {
	tests := []struct {
		name string
		run  func(*ledgerTest, *testing.T)
	}{
		{"settling again changes nothing", (*ledgerTest).settleAgain},
		{"an id with another body is refused", (*ledgerTest).otherBody},
		{"the limit counts units", (*ledgerTest).limitUnits},
		{"a limit group counts goods and coupons", (*ledgerTest).limitGroup},
		{"Alice is not alice", (*ledgerTest).caseSensitive},
		{"exactly the total is sold", (*ledgerTest).stockBoundary},
		{"a rejected claim is a row with its reason", (*ledgerTest).rejected},
		{"a claim that can never be written fails alone", (*ledgerTest).poison},
		{"overlapping batches at once", (*ledgerTest).overlapping},
		{"random batches against a model", (*ledgerTest).model},
		{"adjustments", (*ledgerTest).adjustments},
		{"decreases stop at what is taken", (*ledgerTest).decreases},
		{"campaigns", (*ledgerTest).campaigns},
		{"controls", (*ledgerTest).controls},
		{"verify finds planted drift", (*ledgerTest).drift},
		{"verify finds users over the limit", (*ledgerTest).overLimit},
		{"events are in order and stay as they are", (*ledgerTest).events},
		{"a load is one moment", (*ledgerTest).loadMoment},
		{"pages hold every claim once", (*ledgerTest).pages},
		{"a restart keeps everything", (*ledgerTest).restart},
	}
	out := open(t).OptOut
	for name := range out {
		if !slices.ContainsFunc(tests, func(tt struct {
			name string
			run  func(*ledgerTest, *testing.T)
		}) bool {
			return tt.name == name
		}) {
			t.Errorf("the suite has no test %q to opt out of", name)
		}
	}
	for _, tc := range tests {
		if why, ok := out[tc.name]; ok {
			t.Logf("opted out of %q: %s", tc.name, why)
			continue
		}
		t.Run(tc.name, func(t *testing.T) { tc.run(&ledgerTest{open(t)}, t) })
	}
}

// campaign creates a goods campaign with a price; change alters it first.
func (l *ledgerTest) campaign(t *testing.T, id string, total int64, change func(*sluice.Campaign)) sluice.Campaign {
	t.Helper()
	c := sluice.Campaign{
		ID: id, Kind: sluice.KindGoods, Title: id, Stock: sluice.Stock{Total: total}, PerUserLimit: 1,
		StartsAt: ledgerStart, EndsAt: ledgerStart + 3_600_000, Control: sluice.ControlOpen,
		Goods: sluice.Goods{PriceMinor: 100, Currency: "CNY", UnpaidWindowSec: 900, LimitBackOnClose: true},
	}
	if change != nil {
		change(&c)
	}
	c, err := l.Campaigns.CreateCampaign(t.Context(), c, ledgerActor, ledgerStart)
	if err != nil {
		t.Fatalf("create %s: %v", id, err)
	}
	return c
}

func limitOf(n int) func(*sluice.Campaign) { return func(c *sluice.Campaign) { c.PerUserLimit = n } }

func asCoupon(limit int) func(*sluice.Campaign) {
	return func(c *sluice.Campaign) {
		c.Kind, c.PerUserLimit, c.Goods = sluice.KindCoupon, limit, sluice.Goods{}
		c.Coupon = sluice.CouponTerms{Type: sluice.CouponAmountOff, Value: 5, Currency: "CNY", ValidDays: 7}
	}
}

func ledgerClaim(campaign, user, request string, quantity int) sluice.Claim {
	return sluice.Claim{
		ID:       sluice.NewClaimID(campaign, user, sluice.SourceClaim, request),
		Campaign: campaign, User: user, RequestID: request, Quantity: quantity, At: ledgerStart + 5,
	}
}

func couponClaim(campaign, user, request string, quantity int) sluice.Claim {
	c := ledgerClaim(campaign, user, request, quantity)
	for range quantity {
		c.CouponCodes = append(c.CouponCodes, sluice.NewCouponCode())
	}
	return c
}

func (l *ledgerTest) settle(t *testing.T, claims ...sluice.Claim) []sluice.Outcome {
	t.Helper()
	out, err := l.Claims.Settle(t.Context(), claims)
	if err != nil {
		t.Fatalf("settle: %v", err)
	}
	if len(out) != len(claims) {
		t.Fatalf("%d outcomes for %d claims", len(out), len(claims))
	}
	return out
}

// want settles one claim and compares the reason.
func (l *ledgerTest) want(t *testing.T, c sluice.Claim, want sluice.Reason) {
	t.Helper()
	if got := l.settle(t, c)[0]; got.Reason != want || got.Replayed {
		t.Fatalf("%s of %s by %s, %d units: %+v, want %v", c.RequestID, c.Campaign, c.User, c.Quantity, got, want)
	}
}

// stock checks the campaign's counters and that the rows agree with them.
func (l *ledgerTest) stock(t *testing.T, id string, held, sold int64) {
	t.Helper()
	c, err := l.Campaigns.Campaign(t.Context(), id)
	if err != nil || c.Stock.Held != held || c.Stock.Sold != sold {
		t.Fatalf("stock of %s: %+v %v, want %d held and %d sold", id, c.Stock, err, held, sold)
	}
	v, err := l.Stock.Verify(t.Context(), id, nil)
	if err != nil || !v.OK || v.Held != held || v.Sold != sold {
		t.Fatalf("verify %s: %+v %v", id, v, err)
	}
}

func (l *ledgerTest) settleAgain(t *testing.T) {
	l.campaign(t, "g", 10, limitOf(5))
	l.campaign(t, "free", 10, func(c *sluice.Campaign) { c.Goods.PriceMinor = 0 })
	l.campaign(t, "k", 10, asCoupon(5))
	batch := []sluice.Claim{
		ledgerClaim("g", "a", "1", 2), couponClaim("k", "a", "1", 3), ledgerClaim("free", "a", "1", 1),
		ledgerClaim("g", "b", "1", 1), ledgerClaim("g", "b", "1", 1), couponClaim("k", "b", "", 1),
	}
	first := l.settle(t, batch...)
	for i, o := range first {
		if o.Reason != sluice.ReasonConfirmed || o.State != sluice.ClaimConfirmed || o.Replayed != (i == 4) ||
			!slices.Equal(o.CouponCodes, batch[i].CouponCodes) {
			t.Fatalf("claim %d: %+v", i, o)
		}
	}
	told := len(l.Told())
	for range 2 {
		again := slices.Clone(batch)
		slices.Reverse(again)
		for i := range again { // a retry draws new codes; the recorded ones are the answer
			for n := range again[i].CouponCodes {
				again[i].CouponCodes = slices.Clone(again[i].CouponCodes)
				again[i].CouponCodes[n] = sluice.NewCouponCode()
			}
		}
		out := l.settle(t, again...)
		for i, o := range out {
			want := first[len(out)-1-i]
			want.Replayed = true
			if o.Reason != want.Reason || o.State != want.State || !o.Replayed ||
				!slices.Equal(o.CouponCodes, want.CouponCodes) {
				t.Fatalf("replay: %+v, want %+v", o, want)
			}
		}
	}
	if now := l.Told(); len(now) != told {
		t.Fatalf("replays told the permit %+v", now[told:])
	}
	l.stock(t, "g", 3, 0)
	l.stock(t, "k", 0, 4)
	l.stock(t, "free", 0, 1)
}

func (l *ledgerTest) otherBody(t *testing.T) {
	l.campaign(t, "g", 10, limitOf(5))
	l.campaign(t, "k", 10, asCoupon(5))
	goods, coupon := ledgerClaim("g", "a", "1", 2), couponClaim("k", "a", "1", 2)
	l.settle(t, goods, coupon)
	told := len(l.Told())
	more, fewer := goods, couponClaim("k", "a", "1", 1)
	more.Quantity = 3
	for _, c := range []sluice.Claim{more, fewer} {
		o := l.settle(t, c)[0]
		if o.Reason != sluice.ReasonRequestIDReused || o.State != sluice.ClaimNone || o.CouponCodes != nil {
			t.Fatalf("%d units under the id of a claim of 2: %+v", c.Quantity, o)
		}
	}
	if now := l.Told(); len(now) != told {
		t.Fatalf("a reused id told the permit %+v", now[told:])
	}
	l.stock(t, "g", 2, 0)
	l.stock(t, "k", 0, 2)
}

func (l *ledgerTest) limitUnits(t *testing.T) {
	for _, kind := range []string{"g", "k"} {
		claim := ledgerClaim
		if kind == "g" {
			l.campaign(t, kind, 100, limitOf(3))
		} else {
			l.campaign(t, kind, 100, asCoupon(3))
			claim = couponClaim
		}
		l.want(t, claim(kind, "a", "1", 2), sluice.ReasonConfirmed)
		l.want(t, claim(kind, "a", "2", 2), sluice.ReasonLimitReached)
		l.want(t, claim(kind, "a", "3", 1), sluice.ReasonConfirmed)
		l.want(t, claim(kind, "a", "4", 1), sluice.ReasonLimitReached)
		l.want(t, claim(kind, "b", "1", 4), sluice.ReasonLimitReached)
		l.want(t, claim(kind, "b", "2", 3), sluice.ReasonConfirmed)
		out := l.settle(t, claim(kind, "c", "1", 2), claim(kind, "c", "2", 2), claim(kind, "c", "3", 1))
		want := []sluice.Reason{sluice.ReasonConfirmed, sluice.ReasonLimitReached, sluice.ReasonConfirmed}
		for i := range out {
			if out[i].Reason != want[i] {
				t.Fatalf("one batch of one user: %+v", out)
			}
		}
	}
	l.stock(t, "g", 9, 0)
	l.stock(t, "k", 0, 9)
}

func (l *ledgerTest) limitGroup(t *testing.T) {
	group := func(f func(*sluice.Campaign)) func(*sluice.Campaign) {
		return func(c *sluice.Campaign) { f(c); c.LimitGroup = "sale" }
	}
	l.campaign(t, "g", 100, group(limitOf(3)))
	l.campaign(t, "k", 100, group(asCoupon(3)))
	l.campaign(t, "h", 100, group(limitOf(2)))
	l.campaign(t, "alone", 100, limitOf(3))
	l.want(t, ledgerClaim("g", "a", "1", 2), sluice.ReasonConfirmed)
	l.want(t, couponClaim("k", "a", "1", 2), sluice.ReasonLimitReached)
	l.want(t, couponClaim("k", "a", "2", 1), sluice.ReasonConfirmed)
	l.want(t, ledgerClaim("g", "a", "2", 1), sluice.ReasonLimitReached)
	l.want(t, ledgerClaim("alone", "a", "1", 3), sluice.ReasonConfirmed)
	l.want(t, couponClaim("k", "b", "1", 1), sluice.ReasonConfirmed)
	l.want(t, ledgerClaim("h", "b", "1", 2), sluice.ReasonLimitReached)
	l.want(t, ledgerClaim("h", "b", "2", 1), sluice.ReasonConfirmed)
	l.want(t, ledgerClaim("g", "b", "1", 1), sluice.ReasonConfirmed)
	for id, want := range map[string][2]int64{"g": {3, 0}, "k": {0, 2}, "h": {1, 0}, "alone": {3, 0}} {
		l.stock(t, id, want[0], want[1])
	}
}

func (l *ledgerTest) caseSensitive(t *testing.T) {
	l.campaign(t, "g", 10, nil)
	l.campaign(t, "G", 10, nil)
	for _, c := range []string{"g", "G"} {
		for _, user := range []string{"alice", "Alice", "ALICE", "alice "} {
			l.want(t, ledgerClaim(c, user, "1", 1), sluice.ReasonConfirmed)
		}
		l.want(t, ledgerClaim(c, "alice", "R", 1), sluice.ReasonLimitReached)
		l.want(t, ledgerClaim(c, "alice", "r", 1), sluice.ReasonLimitReached)
		l.stock(t, c, 4, 0)
	}
	for _, user := range []string{"alice", "Alice"} {
		if list, err := l.Claims.UserClaims(t.Context(), user, "g"); err != nil || list[0].User != user {
			t.Fatalf("claims of %s: %+v %v", user, list, err)
		}
	}
}

func (l *ledgerTest) stockBoundary(t *testing.T) {
	for total := range int64(4) {
		for _, oneBatch := range []bool{true, false} {
			id := fmt.Sprintf("g-%d-%v", total, oneBatch)
			l.campaign(t, id, total, nil)
			var batch []sluice.Claim
			for i := range total + 3 {
				batch = append(batch, ledgerClaim(id, fmt.Sprint("u", i), "1", 1))
			}
			for i := range batch {
				if oneBatch {
					break
				}
				l.settle(t, batch[i])
			}
			for i, o := range l.settle(t, batch...) {
				want := sluice.ReasonConfirmed
				if int64(i) >= total {
					want = sluice.ReasonSoldOut
				}
				if o.Reason != want {
					t.Fatalf("claim %d of a total of %d: %+v", i, total, o)
				}
			}
			l.stock(t, id, total, 0)
		}
	}
	l.campaign(t, "q", 5, limitOf(4))
	out := l.settle(t, ledgerClaim("q", "a", "1", 3), ledgerClaim("q", "b", "1", 3), ledgerClaim("q", "c", "1", 2),
		ledgerClaim("q", "d", "1", 1))
	want := []sluice.Reason{sluice.ReasonConfirmed, sluice.ReasonSoldOut, sluice.ReasonConfirmed, sluice.ReasonSoldOut}
	for i := range out {
		if out[i].Reason != want[i] {
			t.Fatalf("3, 3, 2 and 1 of 5: %+v", out)
		}
	}
	l.stock(t, "q", 5, 0)
}

func (l *ledgerTest) rejected(t *testing.T) {
	l.campaign(t, "g", 2, limitOf(2))
	l.campaign(t, "k", 2, asCoupon(2))
	for id, claim := range map[string]func(string, string, string, int) sluice.Claim{"g": ledgerClaim, "k": couponClaim} {
		l.settle(t, claim(id, "a", "1", 1))
		told := len(l.Told())
		over, out := claim(id, "a", "2", 2), claim(id, "b", "1", 2)
		both := l.settle(t, over, out, claim(id, "c", "1", 1))
		for i, want := range []sluice.Reason{sluice.ReasonLimitReached, sluice.ReasonSoldOut} {
			c := []sluice.Claim{over, out}[i]
			if o := both[i]; o.Reason != want || o.State != sluice.ClaimRejected || o.Replayed || o.CouponCodes != nil {
				t.Fatalf("%s: %+v, want %v", id, o, want)
			}
			r, err := l.Claims.ClaimRecord(t.Context(), c.ID)
			if err != nil || r.State != sluice.ClaimRejected || r.Code != want || r.Quantity != 2 || r.User != c.User ||
				r.RequestID != c.RequestID || r.Campaign != id {
				t.Fatalf("record: %+v %v", r, err)
			}
		}
		var settled, units, limit int64
		for _, op := range l.Told()[told:] {
			switch op.Kind {
			case sluice.PermitSettled:
				settled += op.Units
			case sluice.PermitRelease:
				units, limit = units+op.Units, limit+op.LimitUnits
			}
		}
		if settled != 5 || units != 4 || limit != 4 {
			t.Fatalf("the permit was told of %d settled units and given back %d and %d", settled, units, limit)
		}
		for i, o := range l.settle(t, over, out) {
			if !o.Replayed || o.State != sluice.ClaimRejected || o.Reason != both[i].Reason {
				t.Fatalf("replay of a rejected claim: %+v", o)
			}
		}
	}
	l.stock(t, "g", 2, 0)
	l.stock(t, "k", 0, 2)
}

func (l *ledgerTest) poison(t *testing.T) {
	l.campaign(t, "g", 10, limitOf(5))
	l.campaign(t, "k", 10, asCoupon(5))
	good := couponClaim("k", "z", "1", 1)
	l.settle(t, good)
	none, wrong, taken := ledgerClaim("g", "a", "0", 0), couponClaim("k", "a", "1", 2), couponClaim("k", "b", "1", 2)
	wrong.CouponCodes = wrong.CouponCodes[:1]
	taken.CouponCodes[1] = good.CouponCodes[0]
	alien := ledgerClaim("g", "c", "1", 1)
	alien.User = "d"
	told := len(l.Told())
	out := l.settle(t, ledgerClaim("g", "a", "1", 1), ledgerClaim("nowhere", "a", "1", 1), none, wrong, taken, alien,
		couponClaim("k", "b", "2", 2))
	want := []sluice.Reason{sluice.ReasonConfirmed, sluice.ReasonUnknownCampaign, sluice.ReasonUnavailable,
		sluice.ReasonUnavailable, sluice.ReasonUnavailable, sluice.ReasonUnavailable, sluice.ReasonConfirmed}
	for i, o := range out {
		if o.Reason != want[i] {
			t.Errorf("claim %d: %+v, want %v", i, o, want[i])
		}
	}
	for _, c := range []sluice.Claim{none, wrong, taken, alien} {
		if _, err := l.Claims.ClaimRecord(t.Context(), c.ID); !errors.Is(err, sluice.ErrNotFound) {
			t.Errorf("a claim that failed has left a row: %v", err)
		}
	}
	queued := map[string]int64{}
	for _, op := range l.Told()[told:] {
		if op.Kind == sluice.PermitRelease {
			queued[op.Campaign+"-"] += op.Units
		} else {
			queued[op.Campaign] += op.Units
		}
	}
	if queued["g"] != 2 || queued["g-"] != 1 || queued["k"] != 6 || queued["k-"] != 4 {
		t.Errorf("the permit was told %v", queued)
	}
	l.stock(t, "g", 1, 0)
	l.stock(t, "k", 0, 3)
}

// overlapping settles batches that share claims from several goroutines: each claim has one outcome, whoever asks.
func (l *ledgerTest) overlapping(t *testing.T) {
	const workers, rounds = 8, 12
	l.campaign(t, "g", 100, limitOf(2))
	l.campaign(t, "h", 70, nil)
	var all []sluice.Claim
	for i := range 120 {
		user := fmt.Sprint("u", i%90)
		all = append(all, ledgerClaim("g", user, fmt.Sprint(i), 1+i%2), ledgerClaim("h", user, fmt.Sprint(i), 1))
	}
	var mu sync.Mutex
	seen := map[sluice.ClaimID]sluice.Reason{}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for range rounds {
				batch := make([]sluice.Claim, 40)
				for i := range batch {
					batch[i] = all[rng.IntN(len(all))]
				}
				out, err := l.Claims.Settle(t.Context(), batch)
				if err != nil {
					t.Errorf("settle: %v", err)
					return
				}
				mu.Lock()
				for i, o := range out {
					if was, ok := seen[batch[i].ID]; ok && was != o.Reason {
						t.Errorf("one claim came to %v and to %v", was, o.Reason)
					}
					seen[batch[i].ID] = o.Reason
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	var units [2]int64
	for _, c := range all {
		if seen[c.ID] == sluice.ReasonConfirmed {
			units[map[string]int{"g": 0, "h": 1}[c.Campaign]] += int64(c.Quantity)
		}
	}
	l.stock(t, "g", units[0], 0)
	l.stock(t, "h", units[1], 0)
}
