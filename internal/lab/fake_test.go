package lab_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/lab"
)

// fault is the way in which a fake server breaks its word.
type fault int

const (
	honest    fault = iota
	oversell        // sells five units too many
	lose            // forgets the row of every tenth confirmed claim
	double          // a second click under the same request id is a second claim
	fickle          // says SOLD_OUT to whoever asks again
	generous        // ignores the limit: each user has a second claim under another request id
	mute            // closes the connection instead of answering every seventh claim, after recording it
	gibberish       // answers all of them so
	babble          // answers half of the claims with what no client understands
	closing         // ends the connection after each answer
	release         // gives the unit of every tenth confirmed claim away again
	deny            // records every tenth claim and says SOLD_OUT, also when asked again
	invent          // adds a row that nobody asked for to every tenth claim, within the limit
	inflate         // takes two units where one was asked for, within the limit
	stall           // never answers every seventh claim
	queue           // promises first, and confirms when asked for the second time
	turnDown        // promises first, and rejects every tenth claim on record
	forget          // promises first, and knows nothing of every tenth claim
)

// fake speaks as much of the API as the lab uses, from memory.
type fake struct {
	fault  fault
	public string
	admin  *httptest.Server
	srv    *fasthttp.Server

	mu     sync.Mutex
	total  int64
	left   int64
	rows   []fakeRow
	known  map[string]int // request id → row
	denied map[string]bool
	n      int
	pages  int
	asked  map[string]int // by claim id
}

type fakeRow struct {
	ID        string `json:"claim_id"`
	User      string `json:"user_id"`
	RequestID string `json:"request_id"`
	Quantity  int64  `json:"quantity"`
	State     string `json:"state"`
}

func newFake(t *testing.T, kind fault) *fake {
	t.Helper()
	f := &fake{fault: kind, known: map[string]int{}, denied: map[string]bool{}, asked: map[string]int{}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.public = "http://" + ln.Addr().String()
	f.srv = &fasthttp.Server{Handler: f.serve}
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = f.srv.Serve(ln) }()
	f.admin = httptest.NewServer(http.HandlerFunc(f.operators))
	t.Cleanup(func() {
		f.admin.Close()
		_ = f.srv.Shutdown()
		<-stopped
	})
	return f
}

// config is a small run against f.
func (f *fake) config() lab.Config {
	return lab.Config{
		URL: f.public, AdminURL: f.admin.URL, AdminKey: "k", JWTSecret: "s", Buyers: 2000, Stock: 100, Seconds: 0.2,
		Connections: 64, Retry: 0.3, Seed: 7, Workers: 2,
	}
}

func (f *fake) serve(c *fasthttp.RequestCtx) {
	if f.fault == closing {
		c.SetConnectionClose()
	}
	if id, poll := strings.CutPrefix(string(c.Path()), "/v1/claims/"); poll {
		f.outcome(c, id)
		return
	}
	if c.IsGet() {
		f.mu.Lock()
		f.pages++
		f.mu.Unlock()
		c.SetBodyString(`{"id":"fake"}`)
		return
	}
	token := strings.TrimPrefix(string(c.Request.Header.Peek("Authorization")), "Bearer ")
	part := strings.Split(token, ".")
	raw, _ := base64.RawURLEncoding.DecodeString(part[1])
	var who struct{ Sub string }
	var body struct {
		RequestID string `json:"request_id"`
		Quantity  int64  `json:"quantity"`
	}
	if json.Unmarshal(raw, &who) != nil || json.Unmarshal(c.PostBody(), &body) != nil || body.RequestID == "" {
		c.Error("bad", 400)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claim(c, who.Sub, body.RequestID, max(1, body.Quantity))
}

func (f *fake) claim(c *fasthttp.RequestCtx, user, rid string, q int64) {
	f.n++
	if row, ok := f.known[rid]; ok && f.fault != double {
		if f.fault == fickle || f.denied[rid] {
			fmt.Fprint(c, `{"code":"SOLD_OUT"}`)
			return
		}
		fmt.Fprintf(c, `{"code":"CONFIRMED","claim_id":"%s","replayed":true}`, f.rows[row].ID)
		return
	}
	if f.fault == babble && f.n%2 == 0 || f.fault == gibberish {
		c.Error("<html>teapot</html>", 418)
		return
	}
	if f.left < q {
		fmt.Fprint(c, `{"code":"SOLD_OUT","message":"sold out"}`)
		return
	}
	f.left -= q
	id := sluice.NewClaimID("fake", user, sluice.SourceClaim, "").String()
	row := fakeRow{id, user, rid, q, "confirmed"}
	if f.fault == inflate && len(f.rows)%10 == 0 && f.left > 0 {
		f.left--
		row.Quantity++
	}
	if f.fault == release && len(f.rows)%10 == 0 {
		row.State = "released"
	}
	if f.fault != lose || f.n%10 != 0 {
		f.known[rid] = len(f.rows)
		f.rows = append(f.rows, row)
	}
	if f.fault == deny && len(f.rows)%10 == 0 {
		f.denied[rid] = true
		fmt.Fprint(c, `{"code":"SOLD_OUT"}`)
		return
	}
	if f.fault == generous || f.fault == invent && f.n%10 == 0 && f.left > 0 {
		second := sluice.NewClaimID("fake", user, sluice.SourceClaim, "").String()
		f.rows = append(f.rows, fakeRow{second, user, "other-" + rid, q, "confirmed"})
		f.left -= q
	}
	if f.fault == stall && f.n%7 == 0 {
		c.HijackSetNoResponse(true)
		c.Hijack(func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
		return
	}
	if f.fault == mute && f.n%7 == 0 {
		c.HijackSetNoResponse(true)
		c.Hijack(func(net.Conn) {})
		return
	}
	if f.queues() {
		fmt.Fprintf(c, `{"code":"QUEUED","claim_id":"%s","state":"queued"}`, id)
		return
	}
	fmt.Fprintf(c, `{"code":"CONFIRMED","message":"yours","claim_id":"%s","quantity":%d,"replayed":false}`, id, q)
}

func (f *fake) queues() bool { return f.fault == queue || f.fault == turnDown || f.fault == forget }

// outcome answers a long poll, to the owner only.
func (f *fake) outcome(c *fasthttp.RequestCtx, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.rows {
		r := &f.rows[i]
		switch {
		case r.ID != id:
		case f.fault == forget && i%10 == 0 || !strings.Contains(string(c.Request.Header.Peek("Authorization")), "."):
			c.Error(`{"code":"NOT_FOUND"}`, 404)
			return
		case f.asked[id] == 0:
			f.asked[id]++
			fmt.Fprint(c, `{"code":"QUEUED","state":"queued"}`)
			return
		default:
			if f.fault == turnDown && i%10 == 0 {
				r.State = "rejected"
			}
			fmt.Fprintf(c, `{"code":"X","state":"%s"}`, r.State)
			return
		}
	}
	c.Error(`{"code":"NOT_FOUND"}`, 404)
}

func (f *fake) operators(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer k":
		http.Error(w, `{"code":"UNAUTHENTICATED"}`, http.StatusUnauthorized)
	case r.Method == http.MethodPost:
		var b struct {
			Total    int64 `json:"total"`
			LoadTest bool  `json:"load_test"`
		}
		if json.NewDecoder(r.Body).Decode(&b) != nil || !b.LoadTest {
			http.Error(w, "not a load test", http.StatusBadRequest)
			return
		}
		f.total, f.left = b.Total, b.Total
		if f.fault == oversell {
			f.left += 5
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"id":"fake"}`)
	case strings.HasSuffix(r.URL.Path, "/verify"):
		// A broken server calls itself right: the audit must not believe it.
		fmt.Fprintf(w, `{"ok":true,"total":%d,"available":%d}`, f.total, max(0, f.left))
	case r.URL.Path == "/metrics":
		// Two campaigns' worth of labels, and one batch of four claims with a commit of 2 ms for every four claims.
		b := f.n / 4
		fmt.Fprintf(w, "# HELP sluice_batch_claims x\nsluice_batch_claims_bucket{le=\"+Inf\"} %d\n", b)
		fmt.Fprintf(w, "sluice_batch_claims_sum %d\nsluice_batch_claims_count %d\n", b*4, b)
		fmt.Fprintf(w, "sluice_commit_seconds_sum{a=\"x\"} %g\nsluice_commit_seconds_sum{a=\"y\"} %g\n",
			float64(b)*0.001, float64(b)*0.001)
		fmt.Fprintf(w, "sluice_commit_seconds_count %d\n", b)
	case r.URL.Path == "/v1/admin/claims":
		f.list(w, r)
	default:
		http.NotFound(w, r)
	}
}

// list gives pages of 30 rows, whatever was asked for, so that the lab has to turn them.
func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	to := min(from+30, len(f.rows))
	page := map[string]any{"items": f.rows[from:to]}
	if to < len(f.rows) {
		page["next_cursor"] = strconv.Itoa(to)
	}
	_ = json.NewEncoder(w).Encode(page)
}
