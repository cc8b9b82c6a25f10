package api_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/valyala/fasthttp"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
	"github.com/sluice-sale/sluice/internal/coupon"
	"github.com/sluice-sale/sluice/internal/order"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// trade is both listeners over a real ledger with a goods and a coupon campaign.
type trade struct {
	t        *testing.T
	now      time.Time
	readOnly bool
	db       *sqldb.DB
	public   *api.Public
	admin    *api.Admin
	n        int
}

// tradeGate only tells whom a token speaks for: the user is the token.
type tradeGate struct{ api.Gate }

func (tradeGate) Identify(token []byte) (sluice.Identity, error) {
	return sluice.Identity{User: string(token)}, nil
}

// tradeKeys knows the keys m1, m2 (merchants), ops and support.
type tradeKeys struct{}

func (tradeKeys) KeyByHash(_ context.Context, hash [32]byte) (sluice.APIKey, error) {
	for _, k := range []sluice.APIKey{
		{ID: "m1", Role: sluice.RoleMerchant, MerchantID: "m1"}, {ID: "m2", Role: sluice.RoleMerchant,
			MerchantID: "m2"},
		{ID: "ops", Role: sluice.RoleOperator}, {ID: "support", Role: sluice.RoleSupport},
		{ID: "viewer", Role: sluice.RoleViewer},
	} {
		if k.Hash = sha256.Sum256([]byte(k.ID)); k.Hash == hash {
			return k, nil
		}
	}
	return sluice.APIKey{}, sluice.ErrNotFound
}

func newTrade(t *testing.T) *trade {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{Path: filepath.Join(t.TempDir(), "l.db"), CacheMB: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	x := &trade{t: t, now: time.Date(2026, 6, 18, 12, 0, 0, 0, time.UTC), db: db}
	now := func() time.Time { return x.now }
	orders := order.New(order.Config{Now: now, Sandbox: true, ReadOnly: func() bool { return x.readOnly }}, db)
	coupons := coupon.New(coupon.Config{Now: now, ReadOnly: func() bool { return x.readOnly }}, db)
	x.public, err = api.NewPublic(
		api.PublicConfig{Now: now, PaymentSecrets: [][]byte{[]byte("old"), []byte("new")}},
		api.PublicDeps{Gate: tradeGate{}, Keys: tradeKeys{}, Orders: orders, Coupons: coupons})
	if err != nil {
		t.Fatal(err)
	}
	x.admin, err = api.NewAdmin(api.AdminConfig{Now: now},
		api.AdminDeps{Keys: tradeKeys{}, Orders: orders, Payments: db, Coupons: coupons})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []sluice.Campaign{
		{ID: "goods", Kind: sluice.KindGoods, Goods: sluice.Goods{
			SKU: "s", PriceMinor: 9900, Currency: "CNY", UnpaidWindowSec: 900, LimitBackOnClose: true,
		}},
		{ID: "coupons", Kind: sluice.KindCoupon, Coupon: sluice.CouponTerms{
			Type: sluice.CouponAmountOff, Value: 1000, MinSpendMinor: 5000, Currency: "CNY", ValidDays: 7,
			MerchantIDs: []string{"m1"},
		}},
	} {
		c.Title, c.Stock.Total, c.Created, c.PerUserLimit, c.Control = c.ID, 100, 100, 10, sluice.ControlOpen
		c.StartsAt, c.EndsAt = sluice.MillisOf(x.now), sluice.MillisOf(x.now.Add(time.Hour))
		if _, err := db.CreateCampaign(t.Context(), c, sluice.Actor{}, c.StartsAt); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func (x *trade) claim(campaign, user string) (sluice.ClaimID, string) {
	x.t.Helper()
	x.n++
	c := sluice.Claim{
		ID: sluice.NewClaimID(campaign, user, sluice.SourceClaim, fmt.Sprint(x.n)), Campaign: campaign, User: user,
		RequestID: fmt.Sprint(x.n), Quantity: 1, At: sluice.MillisOf(x.now),
	}
	if campaign == "coupons" {
		c.CouponCodes = []string{sluice.NewCouponCode()}
	}
	out, err := x.db.Settle(x.t.Context(), []sluice.Claim{c})
	if err != nil || out[0].Reason != sluice.ReasonConfirmed {
		x.t.Fatal(out, err)
	}
	if campaign == "coupons" {
		return c.ID, c.CouponCodes[0]
	}
	return c.ID, ""
}

// call sends a request to the public listener, or to the operators' where the path says so.
func (x *trade) call(method, path, token, body string, headers ...string) (int, map[string]any) {
	x.t.Helper()
	got, doc := answer{}, api.PublicOpenAPI()
	if strings.HasPrefix(path, "/v1/admin") {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		x.admin.ServeHTTP(w, r)
		got, doc = answer{status: w.Code, header: w.Header().Get, body: w.Body.String()}, x.admin.AdminOpenAPI()
	} else {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod(method)
		ctx.Request.SetRequestURI(path)
		if token != "" {
			ctx.Request.Header.Set("Authorization", "Bearer "+token)
		}
		for i := 0; i < len(headers); i += 2 {
			ctx.Request.Header.Set(headers[i], headers[i+1])
		}
		if body != "" {
			ctx.Request.Header.SetContentType("application/json")
			ctx.Request.SetBodyString(body)
		}
		x.public.Handle(&ctx)
		got = answer{ctx.Response.StatusCode(), func(name string) string {
			return string(ctx.Response.Header.Peek(name))
		}, string(ctx.Response.Body())}
	}
	fits(x.t, doc, described(x.t, doc, method, path), method+" "+path, got)
	out := map[string]any{}
	if err := json.Unmarshal([]byte(got.body), &out); err != nil {
		x.t.Fatalf("%s %s: %d %q", method, path, got.status, got.body)
	}
	return got.status, out
}

// described finds the operation that serves path: the one with the fewest parameters in its path.
func described(t *testing.T, doc *huma.OpenAPI, method, path string) *huma.Operation {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	var found *huma.Operation
	least := 99
	for pattern, item := range doc.Paths {
		o := operationOf(item, method)
		want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
		if o == nil || len(want) != len(have) {
			continue
		}
		holes := 0
		for i := range want {
			if strings.HasPrefix(want[i], "{") {
				holes++
			} else if want[i] != have[i] {
				holes = 99
			}
		}
		if holes < least {
			found, least = o, holes
		}
	}
	if found == nil {
		t.Fatalf("%s %s is not described", method, path)
	}
	return found
}

// want checks the status and some fields of the answer.
func (x *trade) want(what string, status int, got map[string]any, wantStatus int, fields ...any) {
	x.t.Helper()
	if status != wantStatus {
		x.t.Fatalf("%s: %d %v, want %d", what, status, got, wantStatus)
	}
	for i := 0; i < len(fields); i += 2 {
		if fmt.Sprint(got[fields[i].(string)]) != fmt.Sprint(fields[i+1]) {
			x.t.Fatalf("%s: %v = %v, want %v", what, fields[i], got[fields[i].(string)], fields[i+1])
		}
	}
}

func TestOrdersOnTheWire(t *testing.T) {
	x := newTrade(t)
	id, _ := x.claim("goods", "alice")
	other, _ := x.claim("goods", "alice")
	path := "/v1/orders/" + id.OrderID()

	status, got := x.call("GET", "/v1/me/orders?limit=1", "alice", "")
	items, _ := got["items"].([]any)
	if status != http.StatusOK || len(items) != 1 || got["next_cursor"] == "" {
		t.Fatalf("wallet: %d %v", status, got)
	}
	wantKeys := "amount_minor campaign_id claim_id created_at currency expires_at id quantity refund_due state"
	if keys := sortedKeys(items[0].(map[string]any)); keys != wantKeys {
		t.Errorf("an order's fields: %s, want %s", keys, wantKeys)
	}
	x.want("an order", http.StatusOK, items[0].(map[string]any), http.StatusOK, "id", other.OrderID(), "state",
		"unpaid",
		"amount_minor", 9900, "expires_at", "2026-06-18T12:15:00Z", "created_at", "2026-06-18T12:00:00Z")

	for _, verb := range []string{"/cancel", "/pay"} {
		status, got = x.call("POST", path+verb, "bob", "")
		x.want("another's order", status, got, http.StatusNotFound)
		status, got = x.call("POST", "/v1/orders/"+id.String()+verb, "alice", "")
		x.want("a claim id", status, got, http.StatusNotFound)
		status, got = x.call("POST", path+verb, "alice", `{"x":1}`)
		x.want("a field that is none", status, got, http.StatusUnprocessableEntity, "code", "VALIDATION")
		status, got = x.call("POST", path+verb, "", "")
		x.want("nobody", status, got, http.StatusUnauthorized)
	}
	for range 2 {
		status, got = x.call("POST", path+"/pay", "alice", "{}")
		x.want("pay", status, got, http.StatusOK, "state", "paid", "refund_due", false)
	}
	status, got = x.call("POST", path+"/cancel", "alice", "")
	x.want("cancel a paid order", status, got, http.StatusConflict, "code", "ORDER_STATE")
	for range 2 {
		status, got = x.call("POST", "/v1/orders/"+other.OrderID()+"/cancel", "alice", "")
		x.want("cancel", status, got, http.StatusOK, "state", "closed", "close_reason", "cancelled")
	}
	status, got = x.call("POST", "/v1/orders/"+other.OrderID()+"/pay", "alice", "")
	x.want("pay a closed order", status, got, http.StatusConflict, "code", "ORDER_STATE")
	x.readOnly = true
	status, got = x.call("POST", path+"/cancel", "alice", "")
	x.want("read only", status, got, http.StatusServiceUnavailable, "code", "READ_ONLY")
}

func sign(secret, stamp, body string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(stamp + "." + body))
	return hex.EncodeToString(h.Sum(nil))
}

func TestNotificationSignatures(t *testing.T) {
	x := newTrade(t)
	id, _ := x.claim("goods", "alice")
	body := fmt.Sprintf(`{"reference":"p1","order_id":%q,"amount_minor":9900,"currency":"CNY","status":"succeeded"}`,
		id.OrderID())
	stamp := func(d time.Duration) string { return fmt.Sprint(x.now.Add(d).Unix()) }
	good := func(d time.Duration, secret string) string {
		return "t=" + stamp(d) + ",v1=" + sign(secret, stamp(d), body)
	}
	for _, tc := range []struct {
		what, header string
		ok           bool
	}{
		{"none", "", false},
		{"no parts", "soup", false},
		{"no stamp", "v1=" + sign("new", stamp(0), body), false},
		{"no mac", "t=" + stamp(0), false},
		{"two stamps", "t=1," + good(0, "new"), false},
		{"a wrong secret", good(0, "other"), false},
		{"another body", "t=" + stamp(0) + ",v1=" + sign("new", stamp(0), body+" "), false},
		{"another moment", "t=" + stamp(1) + ",v1=" + sign("new", stamp(time.Second), body)[:63] + "0", false},
		{"too old", good(-5*time.Minute-time.Second, "new"), false},
		{"too far ahead", good(5*time.Minute+time.Second, "new"), false},
		{"a stamp beyond time", "t=99999999999999999999,v1=" + sign("new", "99999999999999999999", body), false},
		{"half a mac", good(0, "new")[:len(good(0, "new"))-2], false},
		{"the new secret", good(0, "new"), true},
		{"the old secret", good(0, "old"), true},
		{"five minutes old", good(-5*time.Minute, "new"), true},
		{"five minutes ahead", good(5*time.Minute, "new"), true},
		{"several macs", "t=" + stamp(0) + ",v1=" + sign("next", stamp(0), body) + ",v0=x,v1=" + sign("old",
			stamp(0), body), true},
	} {
		status, got := x.call("POST", "/v1/payments/notifications", "", body, "Sluice-Signature", tc.header)
		if tc.ok {
			x.want(tc.what, status, got, http.StatusOK, "state", "paid", "refund_due", false)
		} else {
			x.want(tc.what, status, got, http.StatusUnauthorized, "code", "SIGNATURE_INVALID")
		}
	}
}

func (x *trade) notify(reference, order string, amount int, currency string) (int, map[string]any) {
	x.t.Helper()
	body := fmt.Sprintf(`{"reference":%q,"order_id":%q,"amount_minor":%d,"currency":%q,"status":"succeeded"}`,
		reference, order, amount, currency)
	stamp := fmt.Sprint(x.now.Unix())
	return x.call("POST", "/v1/payments/notifications", "", body, "Sluice-Signature", "t="+stamp+",v1="+sign("new",
		stamp, body))
}

func TestNotificationsOnTheWire(t *testing.T) {
	x := newTrade(t)
	id, _ := x.claim("goods", "alice")
	late, _ := x.claim("goods", "alice")
	for range 2 {
		status, got := x.notify("low", id.OrderID(), 9899, "CNY")
		x.want("a wrong amount", status, got, http.StatusConflict, "code", "PAYMENT_MISMATCH")
		status, got = x.notify("usd", id.OrderID(), 9900, "USD")
		x.want("a wrong currency", status, got, http.StatusConflict, "code", "PAYMENT_MISMATCH")
		status, got = x.notify("text", "order 7", 1, "CNY")
		x.want("an order that is none", status, got, http.StatusNotFound, "code", "UNKNOWN_ORDER")
		status, got = x.notify("p1", id.OrderID(), 9900, "CNY")
		x.want("the payment", status, got, http.StatusOK, "state", "paid", "id", id.OrderID(), "refund_due", false)
	}
	status, got := x.notify("p1", late.OrderID(), 9900, "CNY")
	x.want("a reference used again", status, got, http.StatusConflict, "code", "REFERENCE_REUSED")
	x.readOnly = true // notifications are still taken
	if s, err := x.db.CloseDue(t.Context(), sluice.MillisOf(x.now.Add(time.Hour)), 0); err != nil || s.Done != 1 {
		t.Fatal(s, err)
	}
	status, got = x.notify("p2", late.OrderID(), 9900, "CNY")
	x.want("late money", status, got, http.StatusOK, "state", "closed", "close_reason", "expired", "refund_due", true)

	status, got = x.call("GET", "/v1/admin/orders?refund_due=true", "support", "")
	if items := got["items"].([]any); status != http.StatusOK || len(items) != 1 {
		t.Fatalf("due for a refund: %d %v", status, got)
	}
	status, got = x.call("GET", "/v1/admin/orders/"+late.String(), "support", "")
	x.want("an order by its claim", status, got, http.StatusOK, "user_id", "alice", "live_units", 0)
	if p := got["payments"].([]any); len(p) != 1 || p[0].(map[string]any)["result"] != "refund_due" {
		t.Fatalf("its payments: %v", p)
	}
	status, got = x.call("GET", "/v1/admin/payments?result=unknown_order", "support", "")
	if items := got["items"].([]any); status != http.StatusOK || len(items) != 1 ||
		items[0].(map[string]any)["order_id"] != "order 7" {
		t.Fatalf("kept for a person: %d %v", status, got)
	}
	status, got = x.call("POST", "/v1/admin/orders/"+late.OrderID()+"/refund", "viewer", "{}")
	x.want("a refund by a viewer", status, got, http.StatusForbidden)
	for range 2 {
		status, got = x.call("POST", "/v1/admin/orders/"+late.OrderID()+"/refund", "support",
			`{"extra_only":true,"reason":"late"}`)
		x.want("the refund", status, got, http.StatusOK, "refund_due", false, "state", "closed", "refunded_at",
			"2026-06-18T12:00:00Z")
	}
	status, got = x.call("POST", "/v1/admin/orders/"+id.OrderID()+"/refund", "ops", "")
	x.want("a refund without a body", status, got, http.StatusOK, "state", "refunded", "live_units", 1)
	status, got = x.call("GET", "/v1/admin/orders?payment=p1&user=alice&order="+id.OrderID(), "support", "")
	if items := got["items"].([]any); status != http.StatusOK || len(items) != 1 {
		t.Fatalf("by its payment: %d %v", status, got)
	}
}

func TestCouponsOnTheWire(t *testing.T) {
	x := newTrade(t)
	_, code := x.claim("coupons", "alice")
	_, second := x.claim("coupons", "alice")
	shown := sluice.FormatCouponCode(code)
	path := "/v1/coupons/" + strings.ToLower(shown)

	status, got := x.call("GET", "/v1/me/coupons", "alice", "")
	items := got["items"].([]any)
	if status != http.StatusOK || len(items) != 2 {
		t.Fatalf("wallet: %d %v", status, got)
	}
	x.want("a coupon", http.StatusOK, items[1].(map[string]any), http.StatusOK, "code", shown, "state", "issued",
		"valid_until", "2026-06-25T12:00:00Z")

	status, got = x.call("POST", path+"/redeem", "alice", `{"reference":"r1","amount_minor":8800}`)
	x.want("a buyer", status, got, http.StatusUnauthorized)
	status, got = x.call("POST", path+"/redeem", "m1", `{"reference":"r1","merchant_id":"m2","amount_minor":8800}`)
	x.want("another merchant's name", status, got, http.StatusForbidden)
	status, got = x.call("POST", path+"/redeem", "m2", `{"reference":"r1","amount_minor":8800}`)
	x.want("not valid here", status, got, http.StatusConflict, "code", "COUPON_NOT_VALID_HERE")
	status, got = x.call("POST", path+"/redeem", "m1", `{"reference":"r1"}`)
	x.want("without an amount", status, got, http.StatusUnprocessableEntity)
	for _, forged := range []string{sluice.NewCouponCode(), "0000000000000000", "x", strings.Repeat("A", 200)} {
		status, got = x.call("POST", "/v1/coupons/"+forged+"/redeem", "m1", `{"reference":"r1","amount_minor":8800}`)
		x.want("an unknown code", status, got, http.StatusNotFound)
	}
	status, got = x.call("POST", path+"/lock", "m1", `{"reference":"r1","lock_s":60}`)
	x.want("lock", status, got, http.StatusOK, "state", "locked", "locked_until", "2026-06-18T12:01:00Z")
	status, got = x.call("POST", path+"/redeem", "m1", `{"reference":"r2","amount_minor":8800}`)
	x.want("locked", status, got, http.StatusConflict, "code", "COUPON_LOCKED")
	status, got = x.call("POST", "/v1/admin/coupons/"+shown+"/unlock", "support", `{"reason":"stuck"}`)
	x.want("an operator's unlock", status, got, http.StatusOK, "state", "issued")
	for _, replayed := range []bool{false, true} {
		status, got = x.call("POST", path+"/redeem", "m1", `{"reference":"r2","merchant_id":"m1","amount_minor":8800}`)
		x.want("redeem", status, got, http.StatusOK, "state", "redeemed", "discount_minor", 1000, "replayed", replayed,
			"merchant_id", "m1", "amount_minor", 8800, "currency", "CNY", "code", shown)
	}
	status, got = x.call("POST", path+"/redeem", "m1", `{"reference":"r3","amount_minor":8800}`)
	x.want("redeemed", status, got, http.StatusConflict, "code", "COUPON_REDEEMED")
	status, got = x.call("POST", "/v1/admin/coupons/"+shown+"/revoke", "ops", "")
	x.want("revoke a redeemed one", status, got, http.StatusConflict, "code", "COUPON_STATE")
	for _, replayed := range []bool{false, true} {
		status, got = x.call("POST", path+"/reverse", "m1", `{"reference":"r2","amount_minor":8800}`)
		x.want("reverse", status, got, http.StatusOK, "state", "issued", "discount_minor", 1000, "replayed", replayed)
	}
	status, got = x.call("POST", "/v1/admin/coupons/"+second+"/revoke", "ops", `{"unit_back":true,"reason":"fraud"}`)
	x.want("revoke", status, got, http.StatusOK, "state", "revoked", "live_units", 0, "limit_units", 1)
	status, got = x.call("GET", "/v1/admin/coupons?user=alice&state=revoked", "support", "")
	if items := got["items"].([]any); status != http.StatusOK || len(items) != 1 {
		t.Fatalf("search: %d %v", status, got)
	}
	x.now = x.now.Add(8 * 24 * time.Hour)
	status, got = x.call("POST", path+"/redeem", "m1", `{"reference":"r4","amount_minor":8800}`)
	x.want("expired", status, got, http.StatusConflict, "code", "COUPON_EXPIRED")
	status, got = x.call("GET", "/v1/admin/coupons/"+shown, "support", "")
	x.want("shown expired before it is written", status, got, http.StatusOK, "state", "expired")
}

func TestRedemptionsAtTheDesk(t *testing.T) {
	x := newTrade(t)
	_, code := x.claim("coupons", "alice")
	shown := sluice.FormatCouponCode(code)
	path := "/v1/coupons/" + shown
	desk := "/v1/admin/coupons/" + strings.ToLower(shown)
	status, got := x.call("POST", desk+"/redeem", "support", `{"reference":"d1","merchant_id":"m1","amount_minor":8800}`)
	x.want("redeem by support", status, got, http.StatusForbidden)
	status, got = x.call("POST", desk+"/redeem", "ops", `{"reference":"d1","amount_minor":8800}`)
	x.want("redeem in nobody's name", status, got, http.StatusUnprocessableEntity)
	status, got = x.call("POST", desk+"/redeem", "ops", `{"reference":"d1","merchant_id":"m2","amount_minor":8800}`)
	x.want("redeem where it is not valid", status, got, http.StatusConflict, "code", "COUPON_NOT_VALID_HERE")
	for _, replayed := range []bool{false, true} {
		status, got = x.call("POST", desk+"/redeem", "ops",
			`{"reference":"d1","merchant_id":"m1","amount_minor":8800,"reason":"the till is down"}`)
		x.want("redeem by an operator", status, got, http.StatusOK, "state", "redeemed", "discount_minor", 1000,
			"replayed", replayed, "merchant_id", "m1")
	}
	status, got = x.call("POST", path+"/redeem", "m1", `{"reference":"d1","amount_minor":8800}`)
	x.want("the merchant's own call counts it once", status, got, http.StatusOK, "replayed", true)
	status, got = x.call("POST", desk+"/reverse", "ops", `{"reference":"d2","merchant_id":"m1"}`)
	x.want("reverse another", status, got, http.StatusConflict, "code", "NOT_REDEEMED_BY")
	for _, replayed := range []bool{false, true} {
		status, got = x.call("POST", desk+"/reverse", "ops", `{"reference":"d1","merchant_id":"m1","reason":"a mistake"}`)
		x.want("reverse by an operator", status, got, http.StatusOK, "state", "issued", "replayed", replayed)
	}
	status, got = x.call("POST", path+"/redeem", "m1", `{"reference":"d1","amount_minor":8800}`)
	x.want("under what was reversed", status, got, http.StatusConflict, "code", "REDEMPTION_REVERSED")
	log, err := x.db.Audit(t.Context(), sluice.AuditQuery{Limit: 2})
	if err != nil || len(log) != 2 || log[1].Action != "coupon.redeem" || log[1].Actor.Reason != "the till is down" ||
		log[0].Action != "coupon.reverse" || log[0].Actor.KeyID != "ops" {
		t.Fatalf("audited once each, with the reasons: %+v %v", log, err)
	}
}

func sortedKeys(m map[string]any) string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}
