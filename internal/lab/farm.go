package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// agent is one account and who is behind it.
type agent struct {
	id      int
	bot     bool
	forger  bool // makes up a device id for each request
	shares  bool // shares its device with another person
	carrier bool
	user    string
	device  string // of the token's claim; empty for forgers
	addr    string
	token   string
	rng     *rand.Rand

	// What came of it, written by its own goroutine.
	requests   int
	claims     int
	challenged bool
	solves     int
	claim      sluice.ClaimID
	won        bool
	at         time.Duration // after the opening, of the unit
	early      bool          // it was given the unit before the opening
	pass       string
	solved     bool
}

// farm is one raid under way.
type farm struct {
	b        Bots
	mode     sluice.PassMode
	target   target
	secret   string
	campaign string
	opening  time.Time
	end      time.Time
	agents   []*agent
	conns    chan *botConn
	dialed   []*botConn
	solvers  chan struct{} // the bots' hands
	loot     chan loot     // solved passes that bots hand around
	sold     chan sale     // solved challenges on the market

	foreign, foreignWon atomic.Int64 // claims with another's pass, and those admitted
	resold, resoldWon   atomic.Int64 // solutions of another's challenge, and those accepted
	trouble             atomic.Int64 // requests without an answer
	codes               [sluice.NumReasons]atomic.Int64
}

// loot is a pass that was earned by solving.
type loot struct {
	owner int
	pass  string
}

// sale is a solved challenge that is offered to other accounts.
type sale struct {
	owner    int
	id       string
	solution []byte
}

func newFarm(b Bots, mode sluice.PassMode, p *Process) (*farm, error) {
	t, err := parseTarget(p.URL)
	if err != nil {
		return nil, err
	}
	f := &farm{
		b: b, mode: mode, target: t, secret: p.JWTSecret, conns: make(chan *botConn, botConns),
		solvers: make(chan struct{}, b.Solvers), loot: make(chan loot, 64), sold: make(chan sale, 64),
	}
	f.people()
	f.bots()
	for range botConns {
		c := &botConn{farm: f}
		f.dialed = append(f.dialed, c)
		f.conns <- c
	}
	return f, nil
}

func (f *farm) close() {
	for _, c := range f.dialed {
		c.drop()
	}
}

// add gives the agent its token and its own source of chance, the same for the same seed.
func (f *farm) add(a *agent) {
	a.id = len(f.agents)
	kind := "person"
	if a.bot {
		kind = "bot"
	}
	a.user = fmt.Sprintf("%s-%s-%d", kind, strconv.FormatUint(f.b.Seed, 36), a.id)
	a.rng = rand.New(rand.NewPCG(f.b.Seed, uint64(a.id)+0xb0b))
	a.token = deviceToken(f.secret, a.user, a.device, time.Now().Add(time.Hour))
	f.agents = append(f.agents, a)
}

// people come from addresses of their own all over 10.0.0.0/8, one to eight of them in a subnet.
func (f *farm) people() {
	rng := rand.New(rand.NewPCG(f.b.Seed, 0x9e09))
	family := ""
	for i := range f.b.Honest {
		a := &agent{device: fmt.Sprintf("phone-%d", i)}
		a.addr = fmt.Sprintf("10.%d.%d.%d", rng.IntN(200), rng.IntN(256), 1+rng.IntN(250))
		if rng.Float64() < f.b.Carrier {
			a.carrier, a.addr = true, "100.64.7.7"
		}
		switch {
		case family != "":
			a.device, a.shares, family = family, true, ""
		case rng.Float64() < f.b.Family/2 && i+1 < f.b.Honest:
			a.shares, family = true, a.device
		}
		f.add(a)
	}
}

// bots sit on few devices and few addresses, four addresses to a subnet.
func (f *farm) bots() {
	for i := range f.b.Accounts {
		address := i / f.b.PerAddress
		a := &agent{bot: true, addr: fmt.Sprintf("203.%d.%d.%d", address/1024, address/4%256, 10+address%4)}
		if float64(i) >= float64(f.b.Accounts)*f.b.Forgers {
			a.device = fmt.Sprintf("rack-%d", i/f.b.PerDevice)
		} else {
			a.forger = true
		}
		f.add(a)
	}
}

// open creates the campaign. Passes can be had at once; the sale opens after the lead.
func (f *farm) open(ctx context.Context, ops *Operators) error {
	now := time.Now()
	f.opening = now.Add(time.Duration(f.b.LeadMS) * time.Millisecond).Truncate(time.Millisecond)
	f.end = f.opening.Add(botsPatience)
	body := campaignBody{
		Kind: sluice.KindGoods, Title: "bots, protection " + string(f.mode), Total: f.b.Stock, PerUserLimit: 1,
		StartsAt: f.opening.UTC(), EndsAt: f.opening.Add(time.Hour).UTC(), LoadTest: true,
		Goods:      &goodsBody{SKU: "LAB", PriceMinor: 9900, Currency: "CNY", UnpaidWindowS: unpaidWindow},
		Protection: &protectionBody{Pass: string(f.mode)},
	}
	if f.mode != sluice.PassOff {
		body.Protection.Challenge = f.b.Challenge
	}
	var made struct {
		ID string `json:"id"`
	}
	if err := ops.call(ctx, http.MethodPost, "/v1/admin/campaigns", body, http.StatusCreated, &made); err != nil {
		return err
	}
	f.campaign = made.ID
	return nil
}

// run lets everybody loose, and returns when all have come to an end.
func (f *farm) run(ctx context.Context) {
	ctx, stop := context.WithDeadline(ctx, f.end)
	defer stop()
	var wg sync.WaitGroup
	for _, a := range f.agents {
		wg.Go(func() {
			if a.bot {
				f.bot(ctx, a)
			} else {
				f.person(ctx, a)
			}
		})
	}
	wg.Wait()
}

// until waits for a moment after the opening; false where ctx ended first.
func (f *farm) until(ctx context.Context, after time.Duration) bool {
	return pause(ctx, time.Until(f.opening.Add(after)))
}

func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// think draws a log-normal time with the given median, cut at maxThink of it.
func (a *agent) think(medianMS int) time.Duration {
	times := min(maxThink, math.Exp(0.6*a.rng.NormFloat64()))
	return time.Duration(float64(medianMS) * times * float64(time.Millisecond))
}

// botConn is one keep-alive connection, dialled when it is first needed.
type botConn struct {
	farm *farm
	conn net.Conn
	buf  []byte
}

func (c *botConn) drop() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// errNoAnswer means that a request was not answered.
var errNoAnswer = errors.New("no answer")

// trip sends one request and gives status and body, which is the caller's.
func (f *farm) trip(ctx context.Context, request []byte) (int, []byte, error) {
	var c *botConn
	select {
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	case c = <-f.conns:
	}
	defer func() { f.conns <- c }()
	status, body, err := c.trip(ctx, request)
	if err != nil {
		c.drop()
		f.trouble.Add(1)
	}
	return status, body, err
}

func (c *botConn) trip(ctx context.Context, request []byte) (int, []byte, error) {
	if c.conn == nil {
		d := &net.Dialer{Timeout: botsTimeout}
		conn, err := d.DialContext(ctx, "tcp", c.farm.target.addr)
		if err != nil {
			return 0, nil, fmt.Errorf("lab: %w: %w", errNoAnswer, err)
		}
		c.conn = conn
	}
	_ = c.conn.SetDeadline(time.Now().Add(botsTimeout))
	if _, err := c.conn.Write(request); err != nil {
		return 0, nil, fmt.Errorf("lab: %w: %w", errNoAnswer, err)
	}
	c.buf = c.buf[:0]
	for {
		if cap(c.buf)-len(c.buf) < 4096 {
			c.buf = append(make([]byte, 0, 2*cap(c.buf)+8192), c.buf...)
		}
		n, err := c.conn.Read(c.buf[len(c.buf):cap(c.buf)])
		c.buf = c.buf[:len(c.buf)+n]
		a, more, bad := parseAnswer(c.buf)
		switch {
		case bad != nil:
			return 0, nil, bad
		case !more:
			if a.close {
				c.drop()
			}
			return a.status, append([]byte(nil), a.body...), nil
		case err != nil:
			return 0, nil, fmt.Errorf("lab: %w: %w", errNoAnswer, err)
		}
	}
}
