package lab_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/lab"
)

func run(t *testing.T, cfg lab.Config) lab.Result {
	t.Helper()
	r, err := lab.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func count(r lab.Result, reason string) int64 {
	for _, s := range r.Funnel {
		if s.Reason == reason {
			return s.Count
		}
	}
	return 0
}

// The audit finds each way of breaking the word, in a server that calls itself right.
func TestVerdict(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		fault fault
		ok    bool
		field string // of the verdict that has to be above 0
	}{
		{"honest", honest, true, ""},
		{"oversells", oversell, false, "Oversold"},
		{"loses claims", lose, false, "Lost"},
		{"answers twice", double, false, "Double"},
		{"changes its mind", fickle, false, "Changed"},
		{"ignores the limit", generous, false, "OverLimit"},
		{"does not answer", mute, true, "Unheard"},
		{"babbles", babble, true, "NoAnswer"},
		{"releases what it confirmed", release, false, "Lost"},
		{"refuses whom it gave a unit", deny, false, "Denied"},
		{"gives what nobody asked for", invent, false, "Unasked"},
		{"takes more units than asked for", inflate, false, "Unasked"},
		{"promises first", queue, true, ""},
		{"promises first and turns some down", turnDown, true, "Rejected"},
		{"promises first and forgets some", forget, false, "Forgotten"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, c.fault)
			cfg := f.config()
			switch c.fault {
			case mute:
				cfg.Retry = 0
			case double:
				cfg.Stock = 5000
			case invent, inflate:
				cfg.Limit = 2
			case forget:
				cfg.Patience = 300 * time.Millisecond
			}
			r := run(t, cfg)
			if o := r.Outcomes; f.queues() && c.ok && (o == nil || o.Queued != 100 || o.Confirmed+o.Rejected != 100 ||
				o.Rejected != r.Verdict.Rejected || o.Wait.Count != 100 || o.Wait.P50 <= 0) || !f.queues() && o != nil {
				t.Errorf("outcomes %+v", o)
			}
			if r.Verdict.OK != c.ok {
				t.Errorf("verdict %+v, want ok = %v", r.Verdict, c.ok)
			}
			if c.field != "" && reflect.ValueOf(r.Verdict).FieldByName(c.field).Int() == 0 {
				t.Errorf("%s is 0 in %+v", c.field, r.Verdict)
			}
			if (r.Speed != nil) != c.ok || (r.Latency != nil) != c.ok || (r.Series != nil) != c.ok {
				t.Errorf("a run with ok = %v has speed %v, latency %v", c.ok, r.Speed, r.Latency)
			}
			if !c.ok && len(r.Verdict.Examples) == 0 && c.fault != oversell {
				t.Error("no example of what is wrong")
			}
		})
	}
}

// Every shape and option: each buyer is served once, by both clients, and nothing is left unsent.
func TestRuns(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		set  func(*lab.Config)
		want int64 // confirmed, without replays
	}{
		{"burst", func(*lab.Config) {}, 100},
		{"ramp", func(c *lab.Config) { c.Shape = lab.ShapeRamp }, 100},
		{"flat", func(c *lab.Config) { c.Shape = lab.ShapeFlat }, 100},
		{"quantity", func(c *lab.Config) { c.Quantity, c.Limit = 3, 5 }, 33},
		{"coupon", func(c *lab.Config) { c.Kind = sluice.KindCoupon }, 100},
		{"page", func(c *lab.Config) { c.Page = true }, 100},
		{"one connection", func(c *lab.Config) { c.Connections = 1 }, 100},
		{"everyone clicks twice", func(c *lab.Config) { c.Retry = 1 }, 100},
		{"stock for all", func(c *lab.Config) { c.Stock = 5000 }, 2000},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, honest)
			cfg := f.config()
			c.set(&cfg)
			var last lab.Progress
			cfg.Progress = func(p lab.Progress) { last = p }
			r := run(t, cfg)
			if !r.Verdict.OK || r.Speed.Confirmed != c.want || r.Verdict.NoAnswer != 0 {
				t.Errorf("verdict %+v, confirmed %d, want %d", r.Verdict, r.Speed.Confirmed, c.want)
			}
			if n := int64(r.Setup.Claims); last.Answered != n || last.Sent != n || !last.Done || r.Latency.All.Count != n {
				t.Errorf("%d claims; the last progress was %+v, latencies of %d", n, last, r.Latency.All.Count)
			}
			if cfg.Page && (f.pages != r.Setup.Claims || r.Latency.Page.Count != int64(f.pages)) {
				t.Errorf("%d pages, %d claims, %+v", f.pages, r.Setup.Claims, r.Latency.Page)
			}
			if got := count(r, "CONFIRMED") + count(r, "SOLD_OUT") + count(r, "REPLAYED"); got != int64(r.Setup.Claims) {
				t.Errorf("funnel %+v", r.Funnel)
			}
			if most := 1.5 * float64(cfg.Buyers) / cfg.Seconds; r.Speed.OfferedPerS > most {
				t.Errorf("%.0f/s offered, more than %.0f: second clicks come later", r.Speed.OfferedPerS, most)
			}
			if got := count(r, "CONFIRMED"); got != c.want {
				t.Errorf("the funnel has %d confirmed, replays apart, want %d", got, c.want)
			}
		})
	}
}

// A server, or a proxy, that ends the connection after each answer is still measured: page, claim and all.
func TestConnectionsThatEnd(t *testing.T) {
	t.Parallel()
	f := newFake(t, closing)
	cfg := f.config()
	cfg.Page, cfg.Buyers = true, 500
	r := run(t, cfg)
	n := int64(r.Setup.Claims)
	if !r.Verdict.OK || r.Speed.Confirmed != 100 || r.Verdict.NoAnswer != 0 || r.Latency.All.Count != n {
		t.Errorf("verdict %+v, speed %+v", r.Verdict, r.Speed)
	}
}

// The same seed draws the same crowd, and a latency counts from the schedule: with one connection and a server that
// takes 2 ms, the last of 100 buyers waits for the 99 before.
func TestLatencyCountsFromTheIntendedStart(t *testing.T) {
	t.Parallel()
	f := newFake(t, honest)
	inner := f.srv.Handler
	slow := make(chan struct{})
	f.srv.Handler = func(c *fasthttp.RequestCtx) {
		timer := time.NewTimer(2 * time.Millisecond)
		select {
		case <-timer.C:
		case <-slow:
		}
		inner(c)
	}
	cfg := f.config()
	cfg.Buyers, cfg.Connections, cfg.Workers, cfg.Seconds, cfg.Retry = 100, 1, 1, 0.01, 0
	r := run(t, cfg)
	if r.Latency.All.Max < 150 || r.Latency.Trip.P50 > 50 {
		t.Errorf("max %.1f ms from the intended start, trip p50 %.1f ms", r.Latency.All.Max, r.Latency.Trip.P50)
	}
	if r.Client.WaitP99 < 100 || r.Client.LagP99 > 100 {
		t.Errorf("the wait for a connection is not the client's lag: %+v", r.Client)
	}
}

// Whoever waits in vain is no reason to call the others fast: his wait counts, and nobody says that everyone was
// answered.
func TestClicksWithoutAnAnswerCount(t *testing.T) {
	t.Parallel()
	f := newFake(t, stall)
	cfg := f.config()
	cfg.Buyers, cfg.Connections, cfg.Retry, cfg.Timeout, cfg.Stock = 200, 64, 0, 300*time.Millisecond, 200
	r := run(t, cfg)
	lost := count(r, "TIMEOUT")
	if lost == 0 || r.Verdict.NoAnswer != lost {
		t.Fatalf("%d timeouts, verdict %+v", lost, r.Verdict)
	}
	if r.Latency.All.Count != int64(r.Setup.Claims) || r.Latency.All.P99 < 300 {
		t.Errorf("latencies of %d of %d claims, p99 %.1f ms", r.Latency.All.Count, r.Setup.Claims, r.Latency.All.P99)
	}
	var summary strings.Builder
	if err := r.WriteSummary(&summary, nil); err != nil || strings.Contains(summary.String(), "everyone") {
		t.Errorf("%v: %s", err, summary.String())
	}
}

// The client says that it was the limit wherever the server may be faster than the figures.
func TestTheClientSaysWhenItWasTheLimit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		c      lab.Client
		shared bool // with the server, in one process
		limit  bool
		says   string
	}{
		{"idle", lab.Client{Cores: 0.2, Busiest: 0.1}, false, false, "not the limit"},
		{"a full loop", lab.Client{Cores: 1, Busiest: 0.95}, false, true, "event loop"},
		{"no loops to be measured, all processors used", lab.Client{Cores: 3.8}, false, true, "all processors"},
		{"the same on a noisy machine", lab.Client{Cores: 3.8, Others: 1}, false, true, "all processors"},
		{"the server in the same process", lab.Client{Cores: 3.8}, true, false, "not the limit"},
		{"half of the machine", lab.Client{Cores: 1.5, MachineFull: true, Share: 0.4}, false, false, "the machine was full"},
		{"others", lab.Client{Cores: 0.5, Others: 1}, false, false, "not quiet"},
		{"late", lab.Client{Cores: 0.5, LagP99: 30}, false, true, "late"},
	} {
		tc.c.Judge(4, tc.shared)
		if tc.c.Limit != tc.limit || !strings.Contains(tc.c.Says, tc.says) {
			t.Errorf("%s: limit %v, %q", tc.name, tc.c.Limit, tc.c.Says)
		}
	}
}

// What the run cost is measured where the server runs on this machine, and read from its own metrics.
func TestCosts(t *testing.T) {
	t.Parallel()
	f := newFake(t, honest)
	cfg := f.config()
	cfg.PID = os.Getpid()
	cfg.Buyers = 20_000
	r := run(t, cfg)
	if n := float64(r.Setup.Claims / 4); r.Server.Batches != n || r.Server.ClaimsABatch != 4 || r.Server.CommitMS != 2 {
		t.Errorf("%v batches of %v, %v ms a commit", r.Server.Batches, r.Server.ClaimsABatch, r.Server.CommitMS)
	}
	if runtime.GOOS == "linux" && (r.Server.CPU <= 0 || r.Client.CPU <= 0 || r.Client.Share <= 0 || r.Client.Says == "") {
		t.Errorf("server %+v, client %+v", r.Server, r.Client)
	}
}

// A server without a ledger can be measured, with no verdict.
func TestMeasure(t *testing.T) {
	t.Parallel()
	f := newFake(t, honest)
	r, err := lab.Measure(t.Context(), lab.Config{
		URL: f.public, JWTSecret: "s", Campaign: "any", Buyers: 500, Seconds: 0.1, Connections: 8,
	})
	if err != nil || r.Latency.All.Count != 500 || r.Verdict.OK {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	f := newFake(t, honest)
	cfg := f.config()
	cfg.Seconds = 600
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Progress = func(p lab.Progress) { cancel() }
	if _, err := lab.Run(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped run gave %v", err)
	}
}

func TestUnusable(t *testing.T) {
	t.Parallel()
	f := newFake(t, honest)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	cases := []struct {
		name string
		set  func(*lab.Config)
		want error
	}{
		{"no server", func(c *lab.Config) { c.AdminURL = "http://" + closed.Addr().String() }, sluice.ErrUnavailable},
		{"no url", func(c *lab.Config) { c.URL = "" }, sluice.ErrInvalid},
		{"no http", func(c *lab.Config) { c.URL = "ftp://x" }, sluice.ErrInvalid},
		{"too many buyers", func(c *lab.Config) { c.Buyers = lab.MaxBuyers + 1 }, sluice.ErrInvalid},
		{"quantity above the limit", func(c *lab.Config) { c.Quantity, c.Limit = 3, 2 }, sluice.ErrInvalid},
		{"retry above one", func(c *lab.Config) { c.Retry = 1.5 }, sluice.ErrInvalid},
		{"no such shape", func(c *lab.Config) { c.Shape = "cone" }, sluice.ErrInvalid},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := f.config()
			c.set(&cfg)
			if _, err := lab.Run(t.Context(), cfg); !errors.Is(err, c.want) {
				t.Errorf("gave %v, want %v", err, c.want)
			}
		})
	}
	t.Run("wrong key", func(t *testing.T) {
		t.Parallel()
		cfg := f.config()
		cfg.AdminKey = "wrong"
		if _, err := lab.Run(t.Context(), cfg); err == nil {
			t.Error("a wrong key is no error")
		}
	})
	t.Run("no answer is understood", func(t *testing.T) {
		t.Parallel()
		if _, err := lab.Run(t.Context(), newFake(t, gibberish).config()); !errors.Is(err, sluice.ErrUnavailable) {
			t.Errorf("gave %v", err)
		}
	})
	t.Run("nobody listens for buyers", func(t *testing.T) {
		t.Parallel()
		cfg := f.config()
		cfg.URL = "http://" + closed.Addr().String()
		if _, err := lab.Run(t.Context(), cfg); err == nil {
			t.Error("no connection is no error")
		}
	})
}

// Over TLS the client with a goroutine a connection does the same work.
func TestTLS(t *testing.T) {
	t.Parallel()
	f := newFake(t, honest)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	keys := httptest.NewUnstartedServer(nil)
	keys.StartTLS()
	defer keys.Close()
	secure := tls.NewListener(ln, &tls.Config{Certificates: keys.TLS.Certificates})
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = f.srv.Serve(secure) }()
	defer func() { _ = secure.Close(); <-stopped }()
	cfg := f.config()
	cfg.URL, cfg.RootCAs = "https://"+ln.Addr().String(), x509.NewCertPool()
	cfg.RootCAs.AddCert(keys.Certificate())
	cfg.Page = true
	r := run(t, cfg)
	if !r.Verdict.OK || r.Speed.Confirmed != 100 || r.Latency.All.Count != int64(r.Setup.Claims) {
		t.Errorf("verdict %+v, speed %+v", r.Verdict, r.Speed)
	}
}
