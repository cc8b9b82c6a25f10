package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a checked-in file.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("%s, line %d: got\n%s\nwant\n%s", path, i+1, a[i], b[i])
			break
		}
	}
	t.Errorf("%s: %d lines, want %d; run the test with -update and read the difference", path, len(a), len(b))
}

const claims = "/v1/campaigns/spring/claims"

// bodyCase is one body of a claim, with what comes of it.
type bodyCase struct {
	name, body string
	headers    []string
	status     int
	fault      string // field and detail
}

// formCases are about headers and the form of the body, fieldCases about what is in it.
func formCases() []bodyCase {
	deep := strings.Repeat("[", 33) + strings.Repeat("]", 33)
	long := strings.Repeat("x", 129)
	return []bodyCase{
		{"none", ``, nil, 200, ""},
		{"empty object", `{}`, []string{isJSON}, 200, ""},
		{"all", ` { "request_id" : "r1" , "quantity" : 5 , "pass" : "p" } `, []string{isJSON}, 200, ""},
		{"charset", `{}`, []string{"Content-Type: Application/JSON; charset=utf-8"}, 200, ""},
		{"escaped", `{"request_id":"a\u00e9\ud83d\ude00\n"}`, []string{isJSON}, 422,
			"request_id must not contain control characters"},
		{"header alone", ``, []string{"Idempotency-Key: k"}, 200, ""},
		{"header and body", `{"request_id":"k"}`, []string{isJSON, "Idempotency-Key: k"}, 200, ""},
		{"header and body differ", `{"request_id":"k"}`, []string{isJSON, "Idempotency-Key: l"}, 422,
			"request_id must be the same as the header Idempotency-Key"},
		{"long header", ``, []string{"Idempotency-Key: " + long}, 422, "Idempotency-Key must be 1 to 128 bytes long"},
		{"empty header", ``, []string{"Idempotency-Key: "}, 422, "Idempotency-Key must be 1 to 128 bytes long"},
		{"two headers", ``, []string{"Idempotency-Key: k", "Idempotency-Key: l"}, 422, "Idempotency-Key is there twice"},
		{"header not UTF-8", ``, []string{"Idempotency-Key: \xff"}, 422, "Idempotency-Key must be UTF-8"},
		{"long device", ``, []string{"X-Device-Id: " + long}, 422, "X-Device-Id must be at most 128 bytes long"},

		{"no content type", `{}`, nil, 415, ""},
		{"form", `quantity=1`, []string{"Content-Type: application/x-www-form-urlencoded"}, 415, ""},
		{"text", `{}`, []string{"Content-Type: text/plain"}, 415, ""},
		{"compressed", `{}`, []string{isJSON, "Content-Encoding: gzip"}, 415, ""},
		{"large", `{"pass":"` + strings.Repeat("x", 16<<10) + `"}`, []string{isJSON}, 413, ""},
		{"larger", strings.Repeat("x", 100<<10), []string{isJSON}, 413, ""},

		{"not JSON", `quantity`, []string{isJSON}, 400, ""},
		{"half", `{"quantity":1`, []string{isJSON}, 400, ""},
		{"trailing comma", `{"quantity":1,}`, []string{isJSON}, 400, ""},
		{"two values", `{}{}`, []string{isJSON}, 400, ""},
		{"single quotes", `{'quantity':1}`, []string{isJSON}, 400, ""},
		{"comment", `{/**/}`, []string{isJSON}, 400, ""},
		{"NaN", `{"quantity":NaN}`, []string{isJSON}, 400, ""},
		{"leading zero", `{"quantity":01}`, []string{isJSON}, 400, ""},
		{"plus", `{"quantity":+1}`, []string{isJSON}, 400, ""},
		{"hex", `{"quantity":0x1}`, []string{isJSON}, 400, ""},
		{"only space", ` `, []string{isJSON}, 400, ""},
		{"BOM", "\ufeff{}", []string{isJSON}, 400, ""},
		{"NUL", "{\x00}", []string{isJSON}, 400, ""},
		{"raw control", "{\"pass\":\"a\nb\"}", []string{isJSON}, 400, ""},
		{"not UTF-8", "{\"pass\":\"\xff\"}", []string{isJSON}, 400, ""},
		{"half a surrogate pair", `{"request_id":"\ud800"}`, []string{isJSON}, 400, ""},
		{"bad escape", `{"pass":"\x"}`, []string{isJSON}, 400, ""},
		{"deep", `{"x":` + deep + `}`, []string{isJSON}, 400, ""},
		{"very deep", strings.Repeat(`{"a":`, 2000), []string{isJSON}, 400, ""},
	}
}

func fieldCases() []bodyCase {
	long := strings.Repeat("x", 129)
	return []bodyCase{
		{"null", `null`, []string{isJSON}, 422, " must be an object"},
		{"array", `[{"quantity":1}]`, []string{isJSON}, 422, " must be an object"},
		{"string", `"x"`, []string{isJSON}, 422, " must be an object"},
		{"unknown field", `{"user_id":"bob"}`, []string{isJSON}, 422, "user_id is not a field of a claim"},
		{"other case", `{"Quantity":1}`, []string{isJSON}, 422, "Quantity is not a field of a claim"},
		{"twice", `{"quantity":1,"quantity":1}`, []string{isJSON}, 422, "quantity is there twice"},
		{"twice, escaped", `{"quantity":1,"qu\u0061ntity":2}`, []string{isJSON}, 422, "quantity is there twice"},
		{"null quantity", `{"quantity":null}`, []string{isJSON}, 422, "quantity must be a whole number"},
		{"text quantity", `{"quantity":"1"}`, []string{isJSON}, 422, "quantity must be a whole number"},
		{"float", `{"quantity":1.0}`, []string{isJSON}, 422, "quantity must be a whole number"},
		{"exponent", `{"quantity":1e0}`, []string{isJSON}, 422, "quantity must be a whole number"},
		{"true", `{"quantity":true}`, []string{isJSON}, 422, "quantity must be a whole number"},
		{"zero", `{"quantity":0}`, []string{isJSON}, 422, "quantity must be at least 1"},
		{"minus zero", `{"quantity":-0}`, []string{isJSON}, 422, "quantity must be at least 1"},
		{"negative", `{"quantity":-5}`, []string{isJSON}, 422, "quantity must be at least 1"},
		{"above the limit", `{"quantity":6}`, []string{isJSON}, 422, "quantity must be at most 5"},
		{"2^32+1", `{"quantity":4294967297}`, []string{isJSON}, 422, "quantity must be at most 5"},
		{"2^64+1", `{"quantity":18446744073709551617}`, []string{isJSON}, 422, "quantity must be at most 5"},
		{"very negative", `{"quantity":-18446744073709551617}`, []string{isJSON}, 422, "quantity must be at least 1"},
		{"null id", `{"request_id":null}`, []string{isJSON}, 422, "request_id must be a string"},
		{"number id", `{"request_id":7}`, []string{isJSON}, 422, "request_id must be a string"},
		{"empty id", `{"request_id":""}`, []string{isJSON}, 422, "request_id must be 1 to 128 bytes long"},
		{"long id", `{"request_id":"` + long + `"}`, []string{isJSON}, 422, "request_id must be 1 to 128 bytes long"},
		{"two faults", `{"quantity":0,"x":{"y":[1,"z",null,true,false,-1.5e+3]}}`, []string{isJSON}, 422,
			"quantity must be at least 1, x is not a field of a claim"},
	}
}

func TestClaimBodies(t *testing.T) {
	for _, tt := range append(formCases(), fieldCases()...) {
		t.Run(tt.name, func(t *testing.T) {
			gate := &fakeGate{campaign: spring()}
			p := public(t, api.PublicConfig{}, api.PublicDeps{Gate: gate})
			got := do(p, peer, "POST", claims, tt.body, append(tt.headers, alice)...)
			if got.status != tt.status {
				t.Fatalf("status %d, want %d: %s", got.status, tt.status, got.body)
			}
			if _, asked := gate.last(); asked != (tt.status == 200) {
				t.Errorf("the gate was asked: %t", asked)
			}
			if tt.status == 200 {
				return
			}
			if ct := got.header("Content-Type"); ct != "application/problem+json" {
				t.Errorf("Content-Type %q", ct)
			}
			if f := faults(t, got); f != tt.fault {
				t.Errorf("faults %q, want %q", f, tt.fault)
			}
		})
	}
}

func faults(t testing.TB, a answer) string {
	t.Helper()
	var p api.Problem
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range p.Errors {
		all = append(all, e.Field+" "+e.Detail)
	}
	return strings.Join(all, ", ")
}

func TestClaimReachesTheGateWhole(t *testing.T) {
	gate := &fakeGate{campaign: spring()}
	now := newClock()
	p := public(t, api.PublicConfig{Now: now.now}, api.PublicDeps{Gate: gate})
	do(p, peer, "POST", "/v1/campaigns/spring/claims?x=y", `{"request_id":"r\u00e91","quantity":3,"pass":"pp"}`, isJSON,
		"Authorization: bEARER  tok ", "X-Device-Id: d1", "X-Forwarded-For: 203.0.113.9")
	got, _ := gate.last()
	want := "spring tok 198.51.100.7 d1 ré1 3 pp"
	if s := fmt.Sprintf("%s %s %s %s %s %d %s", got.Campaign, got.Token, got.Addr, got.Device, got.RequestID, got.Quantity,
		got.Pass); s != want || got.At != sluice.MillisOf(now.now()) {
		t.Errorf("the gate was asked %q at %d, want %q", s, got.At, want)
	}
	do(p, peer, "POST", "/v1/campaigns/%73pring/claims", "", "Authorization: Basic abc")
	if got, _ = gate.last(); got.Campaign != "spring" || len(got.Token) != 0 || got.Quantity != 0 || got.RequestID != "" {
		t.Errorf("of the call before, or of the wrong scheme: %+v", got)
	}
}

// decisions are one for each kind of answer.
func decisions() []sluice.Decision {
	id := sluice.NewClaimID("spring", "alice", sluice.SourceClaim, "r1")
	all := []sluice.Decision{}
	for _, r := range sluice.Reasons() {
		d := sluice.Refuse(r)
		switch r {
		case sluice.ReasonBusy, sluice.ReasonTooFrequent:
			d.RetryAfterMS = 1200
		case sluice.ReasonNotStarted:
			d.StartsInMS = 37_000
		case sluice.ReasonBlocked:
			d.Reference = `blk "1"`
		case sluice.ReasonLimitReached:
			d.Claims = []sluice.ClaimID{id, sluice.NewClaimID("spring", "alice", sluice.SourceClaim, "r2")}
		case sluice.ReasonUnavailable:
			d.HasID, d.ID = true, id
		case sluice.ReasonDiscarded, sluice.ReasonLost:
			d.HasID, d.ID, d.Kind, d.Quantity, d.State = true, id, sluice.KindGoods, 1, sluice.ClaimRejected
			d.Replayed = true
		case sluice.ReasonConfirmed:
			d.HasID, d.ID, d.Kind, d.Quantity, d.State = true, id, sluice.KindGoods, 2, sluice.ClaimConfirmed
		case sluice.ReasonQueued:
			d.HasID, d.ID, d.Kind, d.Quantity, d.State = true, id, sluice.KindGoods, 1, sluice.ClaimQueued
		}
		all = append(all, d)
	}
	coupon := sluice.Decision{Reason: sluice.ReasonConfirmed, State: sluice.ClaimConfirmed, HasID: true, ID: id,
		Kind: sluice.KindCoupon, Quantity: 1, CouponCodes: []string{"0123456789ABCDEF"}}
	two := coupon
	two.Quantity, two.CouponCodes, two.Replayed = 2, []string{"0123456789ABCDEF", "FEDCBA9876543210"}, true
	released := sluice.Decision{Reason: sluice.ReasonConfirmed, State: sluice.ClaimReleased, HasID: true, ID: id,
		Kind: sluice.KindGoods, Quantity: 1, Replayed: true}
	rejected := sluice.Decision{Reason: sluice.ReasonSoldOut, State: sluice.ClaimRejected, HasID: true, ID: id,
		Quantity: 1}
	return append(all, coupon, two, released, rejected)
}

// TestDecisionsOnTheWire holds status, headers and body of every kind of answer, in both modes and languages.
func TestDecisionsOnTheWire(t *testing.T) {
	var out bytes.Buffer
	for _, mode := range []string{"body", "http"} {
		for _, lang := range []string{"", "zh-CN,zh;q=0.9,en;q=0.8"} {
			gate := &fakeGate{campaign: spring()}
			p := public(t, api.PublicConfig{DecisionStatus: mode, Now: newClock().now}, api.PublicDeps{Gate: gate})
			fmt.Fprintf(&out, "# decision_status %s, Accept-Language %q\n", mode, lang)
			for _, d := range decisions() {
				gate.decide = func(context.Context, *sluice.ClaimRequest) sluice.Decision { return d }
				got := do(p, peer, "POST", claims, "", alice, "X-Request-Id: req-1", "Accept-Language: "+lang)
				if !json.Valid([]byte(got.body)) || !utf8.ValidString(got.body) {
					t.Errorf("%v: not JSON: %s", d.Reason, got.body)
				}
				fmt.Fprintf(&out, "%d %s retry-after=%s %s\n", got.status, got.header("Content-Type"), got.header("Retry-After"),
					got.body)
			}
		}
	}
	golden(t, "testdata/decisions.txt", out.Bytes())
}

func record(user, request string, state sluice.ClaimState) sluice.ClaimRecord {
	return sluice.ClaimRecord{
		Claim: sluice.Claim{ID: sluice.NewClaimID("spring", user, sluice.SourceClaim, request), Campaign: "spring",
			User: user, RequestID: request, Quantity: 1},
		State: state, Code: sluice.ReasonConfirmed, OrderState: sluice.OrderUnpaid,
	}
}

func TestResultsAreTheOwnersOnly(t *testing.T) {
	ledger := &fakeClaims{}
	r := record("alice", "r1", sluice.ClaimConfirmed)
	ledger.put(r)
	// Two users may share a key, if hardly ever: whose claim it is, the row says.
	shared := record("alice", "r9", sluice.ClaimConfirmed)
	shared.User = "mallory"
	ledger.put(shared)
	p := public(t, api.PublicConfig{}, api.PublicDeps{Gate: &fakeGate{}, Claims: ledger})
	bob := "Authorization: Bearer buyer-bob"
	for _, tt := range []struct {
		name, uri, who string
		status         int
		has            string
	}{
		{"owner", "/v1/claims/" + r.ID.String(), alice, 200, `"order_id":"` + r.ID.OrderID() + `"`},
		{"other", "/v1/claims/" + r.ID.String(), bob, 404, `"NOT_FOUND"`},
		{"nobody", "/v1/claims/" + r.ID.String(), "X-None: 1", 401, `"UNAUTHENTICATED"`},
		{"bad token", "/v1/claims/" + r.ID.String(), "Authorization: Bearer x", 401, `"UNAUTHENTICATED"`},
		{"of the same key", "/v1/claims/" + shared.ID.String(), alice, 404, `"NOT_FOUND"`},
		{"of the same key by request id", claims + "?request_id=r9", alice, 200, `{"items":[]}`},
		{"order id", "/v1/claims/" + r.ID.OrderID(), alice, 404, `"NOT_FOUND"`},
		{"made up", "/v1/claims/clm_1", alice, 404, `"NOT_FOUND"`},
		{"wait too long", "/v1/claims/" + r.ID.String() + "?wait_ms=30001", alice, 422, `"wait_ms"`},
		{"wait negative", "/v1/claims/" + r.ID.String() + "?wait_ms=-1", alice, 422, `"wait_ms"`},
		{"wait not a number", "/v1/claims/" + r.ID.String() + "?wait_ms=1s", alice, 422, `"wait_ms"`},
		{"by request id", claims + "?request_id=r1", alice, 200, r.ID.String()},
		{"by request id of another", claims + "?request_id=r1", bob, 200, `{"items":[]}`},
		{"by unknown request id", claims + "?request_id=r2", alice, 200, `{"items":[]}`},
		{"by empty request id", claims + "?request_id=", alice, 422, `"request_id"`},
		{"all of mine", claims, alice, 200, r.ID.String()},
		{"all of bob's", claims, bob, 200, `{"items":[]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := do(p, peer, "GET", tt.uri, "", tt.who)
			if got.status != tt.status || !strings.Contains(got.body, tt.has) {
				t.Errorf("%d %s, want %d with %s", got.status, got.body, tt.status, tt.has)
			}
		})
	}
}

func TestResultWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &fakeClaims{}
		queued := record("alice", "r1", sluice.ClaimQueued)
		ledger.put(queued)
		p := public(t, api.PublicConfig{}, api.PublicDeps{Gate: &fakeGate{}, Claims: ledger})
		uri := "/v1/claims/" + queued.ID.String()

		began := time.Now()
		time.AfterFunc(3*time.Second, func() {
			queued.State = sluice.ClaimConfirmed
			ledger.put(queued)
		})
		got := do(p, peer, "GET", uri+"?wait_ms=30000", "", alice)
		if took := time.Since(began); got.field(t, "state") != "confirmed" || took < 3*time.Second || took > 4*time.Second {
			t.Errorf("%s after %v", got.body, took)
		}

		queued.State = sluice.ClaimQueued
		ledger.put(queued)
		began = time.Now()
		got = do(p, peer, "GET", uri+"?wait_ms=2000", "", alice)
		if took := time.Since(began); got.field(t, "state") != "queued" || took != 2*time.Second {
			t.Errorf("%s after %v", got.body, took)
		}

		began = time.Now()
		time.AfterFunc(time.Second, func() { _ = p.Shutdown(context.Background()) })
		got = do(p, peer, "GET", uri+"?wait_ms=30000", "", alice)
		if took := time.Since(began); got.field(t, "state") != "queued" || took != time.Second {
			t.Errorf("a stop: %s after %v", got.body, took)
		}
	})
}

func TestClaimRunsOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &fakeGate{campaign: spring()}
		gate.decide = func(ctx context.Context, _ *sluice.ClaimRequest) sluice.Decision {
			<-ctx.Done()
			return sluice.Decision{Reason: sluice.ReasonUnavailable}
		}
		p := public(t, api.PublicConfig{ClaimTimeout: time.Second}, api.PublicDeps{Gate: gate})
		began := time.Now()
		got := do(p, peer, "POST", claims, `{"request_id":"a b"}`, isJSON, alice)
		if took := time.Since(began); got.status != 503 || took != time.Second {
			t.Errorf("%d after %v", got.status, took)
		}
		if ask := got.field(t, "ask"); ask != claims+"?request_id=a+b" {
			t.Errorf("ask %q", ask)
		}
	})
}

// Whoever waited on a claim's context may look at it after the claim was answered, as database/sql does from a
// goroutine of its own: it stays that claim's, and ended.
func TestAClaimsContextIsNotUsedAgain(t *testing.T) {
	var kept []context.Context
	gate := &fakeGate{campaign: spring()}
	gate.decide = func(ctx context.Context, _ *sluice.ClaimRequest) sluice.Decision {
		_ = ctx.Done()
		for i, old := range kept {
			if old == ctx || old.Err() == nil {
				t.Errorf("claim %d runs on the context of claim %d", len(kept), i)
			}
		}
		kept = append(kept, ctx)
		return sluice.Refuse(sluice.ReasonSoldOut)
	}
	p := public(t, api.PublicConfig{}, api.PublicDeps{Gate: gate})
	for range 20 {
		do(p, peer, "POST", claims, "", alice)
	}
	for _, old := range kept {
		<-old.Done()
	}
}

// FuzzClaimBody compares the decoder with encoding/json: what it lets through is what encoding/json reads, and
// what it calls malformed is, but for text that is no Unicode and for deep nesting.
func FuzzClaimBody(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"request_id":"r","quantity":2,"pass":"p"}`, `{"quantity":1.5}`, `{"request_id":"\u00e9\ud83d\ude00\\\""}`,
		`{"x":[1,{"y":null}]}`, `[]`, `{"quantity":1}x`, `{"quantity":1,"quantity":2}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}",
		`{"quantity":99999999999999999999}`, ` { "pass" : "" } `, `{"quantity":-0}`,
		`{"quantity":1e9}`, `{"":0}`, `{"a":tru}`,
	} {
		f.Add([]byte(s))
	}
	gate := &fakeGate{campaign: spring()}
	p := public(f, api.PublicConfig{}, api.PublicDeps{Gate: gate})
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 || len(body) > 4096 {
			return
		}
		gate.asked = gate.asked[:0]
		got := do(p, peer, "POST", claims, string(body), isJSON)
		asked, ok := gate.last()
		switch got.status {
		case 200:
			var v struct {
				RequestID *string `json:"request_id"`
				Quantity  *int    `json:"quantity"`
				Pass      *string `json:"pass"`
			}
			dec := json.NewDecoder(bytes.NewReader(body))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&v); err != nil || !ok {
				t.Fatalf("let through: %q: %v", body, err)
			}
			if deref(v.RequestID) != asked.RequestID || deref(v.Quantity) != asked.Quantity || deref(v.Pass) != asked.Pass {
				t.Fatalf("%q read as %+v", body, asked)
			}
			if v.Quantity != nil && (*v.Quantity < 1 || *v.Quantity > 5) {
				t.Fatalf("quantity %d let through", *v.Quantity)
			}
		case 400:
			unicode := utf8.Valid(body) && !bytes.Contains(bytes.ToLower(body), []byte(`\ud`))
			if json.Valid(body) && unicode && bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) <= 32 {
				t.Fatalf("called malformed: %q", body)
			}
		case 422:
			if !json.Valid(body) {
				t.Fatalf("malformed, but 422: %q", body)
			}
		default:
			t.Fatalf("status %d for %q", got.status, body)
		}
		if got.status != 200 && ok {
			t.Fatalf("refused, but the gate was asked: %q", body)
		}
	})
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
