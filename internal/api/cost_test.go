package api_test

import (
	"context"
	"net"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// soldOut is a gate that costs nothing, so that only the handler is measured.
type soldOut struct{ campaign *sluice.Campaign }

func (soldOut) Claim(context.Context, *sluice.ClaimRequest) sluice.Decision {
	return sluice.Decision{Reason: sluice.ReasonSoldOut}
}

func (soldOut) Identify([]byte) (sluice.Identity, error) { return sluice.Identity{User: "alice"}, nil }

func (g soldOut) Campaign(string) (*sluice.Campaign, bool) { return g.campaign, true }

const authorization = "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsImV4cCI6MTc4MTc4NDAwMH0." +
	"c2lnbmF0dXJlLXNpZ25hdHVyZS1zaWduYXR1cmUtc2ln"

// claimCtx is one claim as fasthttp hands it over.
func claimCtx() *fasthttp.RequestCtx {
	var req fasthttp.Request
	req.Header.SetMethod("POST")
	req.SetRequestURI(claims)
	req.Header.SetHost("sluice.test")
	req.Header.SetContentType("application/json")
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8")
	req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)")
	req.SetBodyString(`{"request_id":"0b7bb2a4-7f3f-4a2b-9d1e-6f0b6a2f8c11","quantity":1}`)
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(198, 51, 100, 7), Port: 4711}, nil)
	return &ctx
}

func soldOutListener(t testing.TB) *api.Public {
	return public(t, api.PublicConfig{}, api.PublicDeps{Gate: soldOut{campaign: spring()}})
}

func TestRefusalAllocatesNothing(t *testing.T) {
	p, ctx := soldOutListener(t), claimCtx()
	got := testing.AllocsPerRun(1000, func() {
		ctx.Response.Reset()
		p.Handle(ctx)
	})
	if got != 0 && !raceDetector {
		t.Errorf("a sold-out refusal allocates %v times", got)
	}
	if ctx.Response.StatusCode() != 200 || len(ctx.Response.Body()) == 0 {
		t.Errorf("it answered %d %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
}

// BenchmarkClaimSoldOutHandler and BenchmarkConstantHandler differ by what a refusal costs beyond a constant answer.
func BenchmarkClaimSoldOutHandler(b *testing.B) {
	p, ctx := soldOutListener(b), claimCtx()
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		p.Handle(ctx)
	}
}

func BenchmarkConstantHandler(b *testing.B) {
	ctx := claimCtx()
	body := []byte(`{"code":"SOLD_OUT","message":"已抢光","campaign_id":"spring","replayed":false}`)
	handle := func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetContentType("application/json")
		ctx.Response.SetBody(body)
	}
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		handle(ctx)
	}
}

// The same two through a connection: what a client sees of the difference.
func BenchmarkClaimSoldOutServed(b *testing.B) { benchmarkServed(b, soldOutListener(b).Handle) }

func BenchmarkConstantServed(b *testing.B) {
	body := []byte(`{"code":"SOLD_OUT","message":"已抢光","campaign_id":"spring","replayed":false}`)
	benchmarkServed(b, func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetContentType("application/json")
		ctx.Response.SetBody(body)
	})
}

// benchmarkServed drives one loopback connection with 64 pipelined claims at a time.
func benchmarkServed(b *testing.B, handle fasthttp.RequestHandler) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &fasthttp.Server{
		Handler: handle, NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true,
	}
	go func() { _ = server.Serve(ln) }()
	defer func() { _ = server.Shutdown() }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	const depth = 64
	one := claimCtx().Request.String()
	var batch []byte
	for range depth {
		batch = append(batch, one...)
	}
	in := newCounter(conn)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%depth != 0 {
			continue
		}
		if _, err := conn.Write(batch); err != nil {
			b.Fatal(err)
		}
		if err := in.answers(depth); err != nil {
			b.Fatal(err)
		}
	}
}

// counter counts the ends of answers in what it reads.
type counter struct {
	conn net.Conn
	buf  []byte
}

func newCounter(conn net.Conn) *counter { return &counter{conn: conn, buf: make([]byte, 64<<10)} }

// answers reads until n answers have come, which end with a brace: none of the bodies has one inside.
func (c *counter) answers(n int) error {
	for n > 0 {
		got, err := c.conn.Read(c.buf)
		if err != nil {
			return err
		}
		for _, x := range c.buf[:got] {
			if x == '}' {
				n--
			}
		}
	}
	return nil
}
