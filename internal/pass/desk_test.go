package pass_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/pass"
)

// gate answers as a test says.
type gate struct {
	sluice.Standing
	unknown bool
}

func (g *gate) Stand(*sluice.Subject) (sluice.Standing, bool) { return g.Standing, !g.unknown }

// puzzles takes the solution "right", once a challenge.
type puzzles struct {
	asked sluice.ChallengeAsk
	used  bool
}

func (p *puzzles) New(_ context.Context, a sluice.ChallengeAsk) (sluice.Challenge, error) {
	p.asked = a
	return sluice.Challenge{ID: "chl_1", Type: a.Type, Data: json.RawMessage(`{}`), ExpiresAt: opening + 1}, nil
}

func (p *puzzles) Solve(_ context.Context, a sluice.ChallengeAnswer) error {
	if string(a.Solution) != `"right"` || a.User != "alice" {
		return sluice.NewFault(sluice.ErrInvalid, "CHALLENGE_FAILED", "2 tries are left")
	}
	if p.used {
		return sluice.NewFault(sluice.ErrInvalid, "CHALLENGE_GONE", "")
	}
	p.used = true
	return nil
}

// watcher counts how challenges ended.
type watcher struct{ solved, failed int }

func (w *watcher) Challenged(_ *sluice.Subject, solved bool) {
	if solved {
		w.solved++
	} else {
		w.failed++
	}
}

// counter is a desk with everything it stands on.
type counter struct {
	*pass.Desk
	keys    *pass.Keys
	gate    *gate
	puzzles *puzzles
	watcher *watcher
	clock   *clock
	told    []string
}

func newCounter(t *testing.T, p sluice.Protection) *counter {
	c := &counter{puzzles: &puzzles{}, watcher: &watcher{}, clock: &clock{opening}, gate: &gate{Standing: sluice.Standing{
		Campaign: &sluice.Campaign{ID: "spring", Control: sluice.ControlOpen, StartsAt: opening, EndsAt: opening + 7200_000,
			Protection: p},
	}}}
	c.keys = node(t, &ledger{}, c.clock)
	c.Desk = pass.NewDesk(pass.DeskConfig{
		Keys: c.keys, Gate: c.gate, Challenges: c.puzzles, Watcher: c.watcher, Now: c.clock.now,
		Told: func(what string) { c.told = append(c.told, what) },
	})
	return c
}

func (c *counter) ask(t *testing.T, edit func(*sluice.PassAsk)) sluice.PassAnswer {
	t.Helper()
	q := sluice.PassAsk{Subject: sluice.Subject{Campaign: "spring", User: "alice", Device: "phone"}}
	if edit != nil {
		edit(&q)
	}
	a, err := c.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (c *counter) check(t *testing.T, text string) sluice.Pass {
	t.Helper()
	p, ok := c.keys.Check(c.clock.at, "spring", "alice", "phone", text)
	if !ok {
		t.Fatalf("%q is not believed", text)
	}
	return p
}

// TestWhoGetsAChallenge: every mode of a campaign, with a buyer who looks normal and one who does not.
func TestWhoGetsAChallenge(t *testing.T) {
	for _, tt := range []struct {
		mode        sluice.PassMode
		own         sluice.ChallengeType
		asked       sluice.ChallengeType
		suspicious  bool
		want        sluice.ChallengeType // empty: the pass
		description string
	}{
		{sluice.PassOff, "", "", false, "", "off"},
		{sluice.PassAdaptive, "slider", "", false, "", "adaptive, normal"},
		{sluice.PassAdaptive, "slider", "", true, "slider", "adaptive, suspicious"},
		{sluice.PassAdaptive, "", "", true, "pow", "adaptive, suspicious, without a kind"},
		{sluice.PassAlways, "", "", false, "", "always, without a kind"},
		{sluice.PassAlways, "image", "", false, "image", "always"},
		{sluice.PassAlways, "image", "pow", false, "pow", "always, and the accessible way"},
		{sluice.PassOff, "", "pow", false, "pow", "off, and asked for by name"},
	} {
		c := newCounter(t, sluice.Protection{Pass: tt.mode, Challenge: tt.own})
		c.gate.Challenge, c.gate.Times = tt.suspicious, 12
		a := c.ask(t, func(q *sluice.PassAsk) { q.Challenge = tt.asked })
		if a.Challenge.Type != tt.want || (a.Pass == "") != (tt.want != "") {
			t.Errorf("%s: %+v", tt.description, a)
			continue
		}
		if tt.want == "" {
			if c.check(t, a.Pass).Solved {
				t.Errorf("%s: the pass says that a challenge was solved", tt.description)
			}
			continue
		}
		if c.puzzles.asked.Difficulty != 12 || c.puzzles.asked.User != "alice" || c.puzzles.asked.Device != "phone" {
			t.Errorf("%s: asked for %+v", tt.description, c.puzzles.asked)
		}
		a = c.ask(t, func(q *sluice.PassAsk) { q.ChallengeID, q.Solution = a.Challenge.ID, json.RawMessage(`"right"`) })
		if !c.check(t, a.Pass).Solved || c.watcher.solved != 1 {
			t.Errorf("%s: solved, and got %+v", tt.description, a)
		}
	}
}

// TestWrongSolutions: they give no pass, and the watcher hears of each.
func TestWrongSolutions(t *testing.T) {
	c := newCounter(t, sluice.Protection{Pass: sluice.PassAlways, Challenge: "pow"})
	for _, tt := range []struct{ user, solution, code string }{
		{"alice", `"wrong"`, "CHALLENGE_FAILED"}, {"bob", `"right"`, "CHALLENGE_FAILED"}, {"alice", `"right"`, ""},
		{"alice", `"right"`, "CHALLENGE_GONE"},
	} {
		a, err := c.Ask(t.Context(), sluice.PassAsk{
			Subject:     sluice.Subject{Campaign: "spring", User: tt.user, Device: "phone"},
			ChallengeID: "chl_1", Solution: json.RawMessage(tt.solution),
		})
		f, code := (*sluice.Fault)(nil), ""
		if errors.As(err, &f) {
			code = f.Code
		}
		if code != tt.code || (err == nil) != (a.Pass != "") {
			t.Errorf("%s with %s: %+v %v", tt.user, tt.solution, a, err)
		}
	}
	if told := strings.Join(c.told, " "); told != "failed failed solved failed" {
		t.Errorf("told %s", told)
	}
	if c.watcher.failed != 3 || c.watcher.solved != 1 {
		t.Errorf("%+v", *c.watcher)
	}
}

// TestWhoGetsNeither in the order of the funnel: a closed sale, a blocked buyer, too early, too late, too often.
func TestWhoGetsNeither(t *testing.T) {
	c := newCounter(t, sluice.Protection{Pass: sluice.PassAlways})
	c.gate.WaitMS = 77
	want := func(what string, reason sluice.Reason, retry int64, reference string) {
		t.Helper()
		a := c.ask(t, nil)
		if a.Reason != reason || a.RetryAfterMS != retry || a.Reference != reference || a.Pass != "" {
			t.Errorf("%s: %+v", what, a)
		}
	}
	want("too often", sluice.ReasonTooFrequent, 77, "")
	c.clock.at = opening + 7200_000
	want("over", sluice.ReasonEnded, 0, "")
	c.clock.at = opening - sluice.PassEarlyMS - 1
	want("eleven minutes before", sluice.ReasonNotStarted, 1, "")
	c.gate.Blocked, c.gate.Reference = true, "blk_1"
	want("blocked", sluice.ReasonBlocked, 0, "blk_1")
	c.gate.Closed = true
	want("closed", sluice.ReasonClosed, 0, "")
	c.gate.unknown = true
	want("unknown", sluice.ReasonUnknownCampaign, 0, "")
	for _, q := range []sluice.PassAsk{
		{Challenge: "slider"}, {Challenge: "quiz"}, {ChallengeID: "chl_1"}, {Solution: json.RawMessage(`1`)},
		{ChallengeID: "chl_1", Solution: json.RawMessage(`1`), Challenge: "pow"},
	} {
		c := newCounter(t, sluice.Protection{Pass: sluice.PassAlways})
		q.Campaign, q.User = "spring", "alice"
		if _, err := c.Ask(t.Context(), q); !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// TestPassEarnedBeforeTheOpening holds through the opening, and says when it opens: for a spread one the own slot.
func TestPassEarnedBeforeTheOpening(t *testing.T) {
	c := newCounter(t, sluice.Protection{Pass: sluice.PassAlways, SpreadSec: 60, Signature: true})
	c.gate.Seed, c.gate.HasSeed = sluice.Seed{7}, true
	c.clock.at = opening - sluice.PassEarlyMS
	a := c.ask(t, nil)
	slot := sluice.SpreadMS(sluice.Seed{7}.Draw("alice"), 60)
	if a.StartsInMS != sluice.PassEarlyMS+slot || a.SigningKey == "" {
		t.Errorf("%+v, want a start in %d ms", a, sluice.PassEarlyMS+slot)
	}
	c.clock.at = opening + sluice.Millis(pass.DefaultTTL/time.Millisecond) - 1
	if p := c.check(t, a.Pass); p.Draw != (sluice.Seed{7}).Draw("alice") || p.Until != a.ValidUntil {
		t.Errorf("%+v", p)
	}
	if again := c.ask(t, nil); again.StartsInMS != 0 || again.ValidUntil <= a.ValidUntil {
		t.Errorf("later: %+v", again)
	}
	if _, ok := c.keys.Check(c.clock.at+1, "spring", "alice", "phone", a.Pass); ok {
		t.Error("it never ends")
	}
	c.clock.at = opening + 7200_000 - 5000
	if a := c.ask(t, nil); a.ValidUntil != opening+7200_000 {
		t.Errorf("the pass outlives the sale: %+v", a)
	}
}
