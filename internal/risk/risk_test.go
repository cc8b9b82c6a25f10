package risk_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/memory"
	"github.com/sluice-sale/sluice/internal/risk"
)

// shelf is a ledger that several engines share.
type shelf struct {
	mu    sync.Mutex
	rules []sluice.RiskRule
	fired []sluice.RiskFired
	away  bool
}

func (s *shelf) enter() error {
	s.mu.Lock()
	if s.away {
		s.mu.Unlock()
		return sluice.ErrUnavailable
	}
	return nil
}

func (s *shelf) RiskRules(context.Context) ([]sluice.RiskRule, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return slices.Clone(s.rules), nil
}

func (s *shelf) RecordFired(_ context.Context, all []sluice.RiskFired) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, f := range all {
		i := slices.IndexFunc(s.fired, func(o sluice.RiskFired) bool { return o.ID == f.ID })
		if i < 0 {
			s.fired = append(s.fired, f)
		} else {
			s.fired[i].Count = f.Count
		}
	}
	return nil
}

func (s *shelf) ActiveFired(_ context.Context, now sluice.Millis, _ int64) ([]sluice.RiskFired, int64, error) {
	if err := s.enter(); err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.fired), func(f sluice.RiskFired) bool { return f.Until <= now }), 1, nil
}

func (s *shelf) PutRiskRule(_ context.Context, r sluice.RiskRule, _ int, _ sluice.Actor) (sluice.RiskRule, error) {
	if err := s.enter(); err != nil {
		return r, err
	}
	defer s.mu.Unlock()
	r.Revision = 1
	for _, o := range s.rules {
		if o.ID == r.ID {
			r.Revision = o.Revision + 1
		}
	}
	s.rules = slices.DeleteFunc(s.rules, func(o sluice.RiskRule) bool { return o.ID == r.ID })
	s.rules = append(s.rules, r)
	return r, nil
}

func (s *shelf) DeleteRiskRule(
	_ context.Context, id string, _ sluice.Actor, _ sluice.Millis,
) (r sluice.RiskRule, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = slices.DeleteFunc(s.rules, func(o sluice.RiskRule) bool { return o.ID == id })
	return r, nil
}

func (s *shelf) FiredPage(context.Context, sluice.RiskFiredQuery) (p sluice.Page[sluice.RiskFired], err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Items = slices.Clone(s.fired)
	return p, nil
}

func (s *shelf) LiftFired(
	_ context.Context, id string, a sluice.Actor, now sluice.Millis,
) (sluice.RiskFired, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.fired {
		if s.fired[i].ID == id {
			s.fired[i].LiftedAt, s.fired[i].LiftedBy = now, a.Name
			return s.fired[i], nil
		}
	}
	return sluice.RiskFired{}, sluice.ErrNotFound
}

// node is an engine with its desk and a clock by hand.
type node struct {
	*risk.Engine
	*risk.Desk
	now *time.Time
}

var start = time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)

func newNode(t *testing.T, s *shelf, name string, x risk.Exchange, change func(*risk.Config)) *node {
	t.Helper()
	now := start
	n := &node{now: &now}
	cfg := risk.Config{Ledger: s, Node: name, Exchange: x, AgeClaim: "created", Now: func() time.Time { return now }}
	if change != nil {
		change(&cfg)
	}
	n.Engine = risk.New(cfg)
	risk.Keyed(n.Engine, risk.Key{1})
	n.Desk = risk.NewDesk(s, n.Engine, nil)
	return n
}

func (n *node) put(t *testing.T, id, rule string, mode sluice.RiskMode) {
	t.Helper()
	r := sluice.RiskRule{ID: id, Rule: rule, Mode: mode}
	if _, err := n.Put(t.Context(), r, sluice.Actor{Name: "ops"}); err != nil {
		t.Fatal(err)
	}
}

func (n *node) who(user, device, addr string) *sluice.Subject {
	return &sluice.Subject{Campaign: "spring", User: user, Device: device, Addr: netip.MustParseAddr(addr),
		Now: sluice.MillisOf(*n.now)}
}

// claims sends n claims of one subject.
func (n *node) claims(s *sluice.Subject, times int, reason sluice.Reason) {
	for range times {
		n.Saw(s, reason)
	}
}

// signals are, for each signal and scope, what makes a rule hold for u1 on d1, and not yet before the last step.
var signals = []struct {
	when string
	do   func(n *node, i int) // i counts to above three
}{
	{"accounts per device > 3 in 10m", func(n *node, i int) {
		n.Saw(n.who(fmt.Sprint("x", i), "d1", "10.0.0.1"), sluice.ReasonSoldOut)
	}},
	{"devices per account > 3 in 10m", func(n *node, i int) {
		n.Saw(n.who("u1", fmt.Sprint("x", i), "10.0.0.1"), sluice.ReasonSoldOut)
	}},
	{"accounts per address > 3 in 10m", func(n *node, i int) {
		n.Saw(n.who(fmt.Sprint("x", i), "", "10.0.0.1"), sluice.ReasonSoldOut)
	}},
	{"accounts per subnet > 3 in 10m", func(n *node, i int) {
		n.Saw(n.who(fmt.Sprint("x", i), "", fmt.Sprint("10.0.0.", 10+i)), sluice.ReasonSoldOut)
	}},
	{"claims per address > 3 in 10m", func(n *node, _ int) { n.Saw(n.who("x", "", "10.0.0.1"), sluice.ReasonSoldOut) }},
	{"claims per subnet > 3 in 10m", func(n *node, i int) {
		n.Saw(n.who("x", "", fmt.Sprint("10.0.0.", 10+i)), sluice.ReasonSoldOut)
	}},
	{"claims per account > 3 in 10m", func(n *node, _ int) {
		n.Saw(n.who("u1", "", "10.9.0.1"), sluice.ReasonSoldOut)
	}},
	{"orders per device > 3 in 10m", func(n *node, _ int) {
		n.Saw(n.who("x", "d1", "10.9.0.1"), sluice.ReasonConfirmed)
	}},
	{"failed challenges per account > 3 in 10m", func(n *node, _ int) {
		n.Challenged(n.who("u1", "", "10.9.0.1"), false)
	}},
	{"early claims per device > 3 in 10m", func(n *node, _ int) {
		n.Saw(n.who("x", "d1", "10.9.0.1"), sluice.ReasonNotStarted)
	}},
	{"refused share per account > 0.35 in 10m", func(n *node, i int) {
		if i == 0 {
			n.claims(n.who("u1", "", "10.9.0.1"), 7, sluice.ReasonSoldOut) // no doing of the buyer's
		}
		n.Saw(n.who("u1", "", "10.9.0.1"), sluice.ReasonTooFrequent)
	}},
}

// TestEverySignal drives each signal up to its threshold, where nothing happens, and one step further.
func TestEverySignal(t *testing.T) {
	for _, tt := range signals {
		t.Run(tt.when, func(t *testing.T) {
			n := newNode(t, &shelf{}, "a", nil, nil)
			n.put(t, "r", tt.when+" -> challenge", sluice.RiskOn)
			for i := range 4 {
				if v := n.Look(n.who("u1", "d1", "10.0.0.1")); v != (sluice.Verdict{}) {
					t.Fatalf("after %d steps: %+v", i, v)
				}
				tt.do(n, i)
			}
			if v := n.Look(n.who("u1", "d1", "10.0.0.1")); !v.Challenge || v.Block || v.Rule != "r" {
				t.Fatalf("after 4 steps: %+v", v)
			}
			if v := n.Look(n.who("other", "else", "192.0.2.1")); v != (sluice.Verdict{}) {
				t.Fatalf("somebody else: %+v", v)
			}
			*n.now = n.now.Add(10*time.Minute + time.Second)
			if v := n.Look(n.who("u1", "d1", "10.0.0.1")); v != (sluice.Verdict{}) {
				t.Fatalf("after the window: %+v", v)
			}
		})
	}
}

func TestAccountAge(t *testing.T) {
	n := newNode(t, &shelf{}, "a", nil, nil)
	n.put(t, "young", "account age < 1d -> slow 4", sluice.RiskOn)
	s := n.who("u1", "", "10.0.0.1")
	for _, tt := range []struct {
		claim string
		slow  float64
	}{
		{fmt.Sprint(start.Add(-time.Hour).Unix()), 4}, {fmt.Sprint(start.Add(-25 * time.Hour).Unix()), 0},
		{"", 0}, {"yesterday", 0}, {"-5", 0}, {fmt.Sprint(start.Add(time.Hour).Unix()), 4},
	} {
		s.Claims = map[string][]string{"created": {tt.claim}}
		if v := n.Look(s); v.Slow != tt.slow {
			t.Errorf("%q: slow %v, want %v", tt.claim, v.Slow, tt.slow)
		}
	}
	s.Claims = nil
	if v := n.Look(s); v.Slow != 0 {
		t.Errorf("without the claim: %+v", v)
	}
}

// farm makes d1 a device of four accounts.
func farm(n *node) {
	for i := range 4 {
		n.Saw(n.who(fmt.Sprint("bot", i), "d1", "10.0.0.1"), sluice.ReasonSoldOut)
	}
}

const farmRule = "accounts per device > 3 in 10m -> "

func TestEveryAction(t *testing.T) {
	for _, tt := range []struct {
		action string
		want   sluice.Verdict
	}{
		{"log", sluice.Verdict{}},
		{"challenge", sluice.Verdict{Challenge: true, Rule: "r"}},
		{"slow 2.5", sluice.Verdict{Slow: 2.5, Rule: "r"}},
		{"block 15m", sluice.Verdict{Block: true, Rule: "r"}},
	} {
		n := newNode(t, &shelf{}, "a", nil, nil)
		n.put(t, "r", farmRule+tt.action, sluice.RiskOn)
		farm(n)
		v := n.Look(n.who("bot1", "d1", "10.0.0.1"))
		page, err := n.Fired(t.Context(), sluice.RiskFiredQuery{})
		if err != nil || len(page.Items) != 1 {
			t.Fatal(tt.action, page, err)
		}
		f := page.Items[0]
		if tt.want.Block {
			tt.want.Reference = f.ID
		}
		if v != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.action, v, tt.want)
		}
		if f.Rule != "r" || f.Action != tt.action || f.Scope != sluice.RiskDevice || f.Value != "d1" ||
			f.Saw != "accounts per device 4 > 3 in 10m" || f.Node != "a" || f.Campaign != "spring" {
			t.Errorf("%s: the record says %+v", tt.action, f)
		}
	}
}

// TestBlockOutlastsItsCause: a block holds for its time, also when what caused it is over, and ends.
func TestBlockOutlastsItsCause(t *testing.T) {
	n := newNode(t, &shelf{}, "a", nil, nil)
	n.put(t, "r", "accounts per device > 3 in 1m -> block 1h", sluice.RiskOn)
	farm(n)
	if !n.Look(n.who("u", "d1", "10.0.0.1")).Block {
		t.Fatal("not blocked")
	}
	*n.now = n.now.Add(59 * time.Minute)
	if !n.Look(n.who("u", "d1", "10.0.0.1")).Block {
		t.Fatal("not blocked any more")
	}
	*n.now = n.now.Add(time.Minute)
	if n.Look(n.who("u", "d1", "10.0.0.1")).Block {
		t.Fatal("blocked beyond its time")
	}
}

// TestDryRunThenOnThenOff: a dry run records and touches nobody; on acts at once; what a rule did ends with it.
func TestDryRunThenOnThenOff(t *testing.T) {
	n := newNode(t, &shelf{}, "a", nil, nil)
	n.put(t, "r", farmRule+"block 15m", "") // a new rule is a dry run
	farm(n)
	s := n.who("bot1", "d1", "10.0.0.1")
	for range 3 {
		if v := n.Look(s); v != (sluice.Verdict{}) {
			t.Fatalf("a dry run: %+v", v)
		}
	}
	page, _ := n.Fired(t.Context(), sluice.RiskFiredQuery{})
	if len(page.Items) != 1 || page.Items[0].Mode != sluice.RiskDryRun || page.Items[0].Count != 3 {
		t.Fatalf("the dry run recorded %+v", page.Items)
	}
	n.put(t, "r", farmRule+"block 15m", sluice.RiskOn)
	if !n.Look(s).Block {
		t.Fatal("on, and nobody is blocked")
	}
	if stats, _, _ := n.Stats(); len(stats) != 1 || stats[0].Mode != sluice.RiskOn || stats[0].Acts != 1 {
		t.Fatalf("stats %+v", stats)
	}
	n.put(t, "r", farmRule+"block 15m", sluice.RiskOff)
	if v := n.Look(s); v != (sluice.Verdict{}) {
		t.Fatalf("off: %+v", v)
	}
	if _, err := n.Delete(t.Context(), "r", sluice.Actor{}); err != nil {
		t.Fatal(err)
	}
	if all, err := n.Desk.Rules(t.Context()); err != nil || len(all) != 0 {
		t.Fatal(all, err)
	}
}

// TestLift: what an operator undoes stays undone, on every node, although the cause is still there.
func TestLift(t *testing.T) {
	s := &shelf{}
	a, b := newNode(t, s, "a", nil, nil), newNode(t, s, "b", nil, nil)
	a.put(t, "r", farmRule+"block 15m", sluice.RiskOn)
	farm(a)
	v := a.Look(a.who("bot1", "d1", "10.0.0.1"))
	if _, err := a.Fired(t.Context(), sluice.RiskFiredQuery{}); err != nil { // writes it down
		t.Fatal(err)
	}
	if err := b.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w := b.Look(b.who("bot2", "d1", "10.0.0.9")); !w.Block || w.Reference != v.Reference {
		t.Fatalf("the other node: %+v", w)
	}
	if _, err := b.Lift(t.Context(), v.Reference, sluice.Actor{Name: "ops"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*node{a, b} {
		if w := n.Look(n.who("bot1", "d1", "10.0.0.1")); w != (sluice.Verdict{}) {
			t.Fatalf("lifted: %+v", w)
		}
	}
	if _, err := a.Lift(t.Context(), "rsk_nothing", sluice.Actor{}); !errors.Is(err, sluice.ErrNotFound) {
		t.Fatal(err)
	}
}

// TestLiftMeansTheSubject: nodes that saw the same at once have a record each; a lift by one reference undoes what the
// rule did, whichever record a node has, written already or not, and whichever ends later.
func TestLiftMeansTheSubject(t *testing.T) {
	s := &shelf{}
	a, b := newNode(t, s, "a", nil, nil), newNode(t, s, "b", nil, nil)
	a.put(t, "r", farmRule+"block 15m", sluice.RiskOn)
	if err := b.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	*b.now = b.now.Add(time.Second)
	farm(a)
	farm(b)
	v, w := a.Look(a.who("bot1", "d1", "10.0.0.1")), b.Look(b.who("bot1", "d1", "10.0.0.1"))
	if !v.Block || !w.Block || v.Reference == w.Reference {
		t.Fatalf("%+v and %+v", v, w)
	}
	*a.now = a.now.Add(2 * time.Second)
	*b.now = *a.now
	if _, err := a.Lift(t.Context(), v.Reference, sluice.Actor{Name: "ops"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time b has written what it did
		for _, n := range []*node{b, a} {
			risk.Trade(t, n.Engine)
			if err := n.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if x := n.Look(n.who("bot1", "d1", "10.0.0.1")); x != (sluice.Verdict{}) {
				t.Errorf("lifted: %+v", x)
			}
		}
	}
}

func TestAllowedBeatsRules(t *testing.T) {
	n := newNode(t, &shelf{}, "a", nil, func(c *risk.Config) {
		c.Allowed = func(s *sluice.Subject) bool { return s.User == "vip" }
	})
	n.put(t, "r", farmRule+"block 15m", sluice.RiskOn)
	farm(n)
	if !n.Look(n.who("bot1", "d1", "10.0.0.1")).Block || n.Look(n.who("vip", "d1", "10.0.0.1")).Block {
		t.Fatal("the allowlist does not beat a block by rule")
	}
}

// TestRuleOfOneCampaign blocks on its campaign alone.
func TestRuleOfOneCampaign(t *testing.T) {
	n := newNode(t, &shelf{}, "a", nil, nil)
	_, err := n.Put(t.Context(), sluice.RiskRule{ID: "r", Rule: farmRule + "block 15m", Mode: sluice.RiskOn,
		Campaign: "spring"}, sluice.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	farm(n)
	s := n.who("bot1", "d1", "10.0.0.1")
	if !n.Look(s).Block {
		t.Fatal("not blocked on its campaign")
	}
	if s.Campaign = "autumn"; n.Look(s).Block {
		t.Fatal("blocked on another one")
	}
}

// TestFileRules: a rule of the file is in force, and an operator's rule of the same name beats it.
func TestFileRules(t *testing.T) {
	f, err := risk.FileRule("farm (on): accounts per device>3 in 10m -> challenge")
	if err == nil {
		t.Fatal("read without blanks: ", f)
	}
	if f, err = risk.FileRule("farm (on):  accounts per device > 3  in 600s  -> challenge"); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, &shelf{}, "a", nil, func(c *risk.Config) { c.File = []sluice.RiskRule{f} })
	if err := n.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	farm(n)
	s := n.who("bot1", "d1", "10.0.0.1")
	if !n.Look(s).Challenge {
		t.Fatal("not in force")
	}
	n.put(t, "farm", farmRule+"log", sluice.RiskOn)
	if n.Look(s).Challenge {
		t.Fatal("the operator's rule does not beat it")
	}
}

// TestNodesAddUp: what no node would see alone, both see together; one member at both counts once.
func TestNodesAddUp(t *testing.T) {
	s, hub := &shelf{}, memory.NewExchange()
	a, b := newNode(t, s, "a", hub, nil), newNode(t, s, "b", hub, nil)
	a.put(t, "r", farmRule+"challenge", sluice.RiskOn)
	a.put(t, "c", "claims per address > 30 in 10m -> log", sluice.RiskOn)
	risk.Trade(t, a.Engine) // the first trade brings the key that all hash with
	if err := b.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	risk.Trade(t, b.Engine)
	for i := range 3 {
		a.Saw(a.who(fmt.Sprint("bot", i), "d1", "10.0.0.1"), sluice.ReasonSoldOut)
		b.Saw(b.who(fmt.Sprint("bot", i+1), "d1", "10.0.0.1"), sluice.ReasonSoldOut)
	}
	probe := func(n *node) bool { return n.Look(n.who("u", "d1", "192.0.2.1")).Challenge }
	if probe(a) || probe(b) {
		t.Fatal("a node alone has seen but three")
	}
	for range 2 {
		risk.Trade(t, a.Engine)
		risk.Trade(t, b.Engine)
	}
	if !probe(a) || !probe(b) {
		t.Fatalf("together they have seen four: a %v, b %v", probe(a), probe(b))
	}
	a.claims(a.who("x", "", "10.0.0.7"), 16, sluice.ReasonSoldOut)
	b.claims(b.who("y", "", "10.0.0.7"), 15, sluice.ReasonSoldOut)
	for range 3 { // told once, however often nodes trade
		risk.Trade(t, a.Engine)
		risk.Trade(t, b.Engine)
	}
	b.Look(b.who("z", "", "10.0.0.7"))
	page, _ := b.Fired(t.Context(), sluice.RiskFiredQuery{})
	last := page.Items[len(page.Items)-1]
	if last.Rule != "c" || last.Saw != "claims per address 31 > 30 in 10m" {
		t.Fatalf("seen %q", last.Saw)
	}
}
