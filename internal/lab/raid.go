package lab

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sluice-sale/sluice"
)

// said is what an answer to a claim or to an ask for a pass says.
type said struct {
	Code       string `json:"code"`
	ClaimID    string `json:"claim_id"`
	RetryMS    int64  `json:"retry_after_ms"`
	StartsInMS int64  `json:"starts_in_ms"`
	Pass       string `json:"pass"`
	Challenge  *struct {
		ID   string          `json:"id"`
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	} `json:"challenge"`
}

// post sends a body as the agent: a person through the shop's proxy, a bot with every header forged that it can. mine:
// a pass of the agent's own is in it, or is asked for.
func (f *farm) post(ctx context.Context, a *agent, what string, mine bool, body any) (said, int, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return said{}, 0, fmt.Errorf("lab: %s: %w", what, err)
	}
	via, more := a.addr, ""
	if a.bot {
		via = fmt.Sprintf("%d.%d.%d.%d, %s", 1+a.rng.IntN(200), a.rng.IntN(256), a.rng.IntN(256), 1+a.rng.IntN(250), a.addr)
		more = "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS " + strconv.Itoa(15+a.rng.IntN(4)) + "_0)\r\n" +
			"Sluice-Timestamp: " + strconv.FormatInt(f.opening.Add(time.Second).UnixMilli(), 10) + "\r\n" +
			"X-Real-IP: 10.1.1." + strconv.Itoa(1+a.rng.IntN(250)) + "\r\n"
	}
	switch {
	case a.forger && mine: // a pass is bound to the device that it was given to
		more += "X-Device-Id: made-up-for-" + strconv.Itoa(a.id) + "\r\n"
	case a.forger:
		more += "X-Device-Id: made-up-" + strconv.FormatUint(a.rng.Uint64(), 36) + "\r\n"
	}
	path := f.target.base + "/v1/campaigns/" + f.campaign + "/" + what
	request := "POST " + path + " HTTP/1.1\r\nHost: " + f.target.host +
		"\r\nContent-Type: application/json\r\nAuthorization: Bearer " + a.token + "\r\nX-Forwarded-For: " + via + "\r\n" +
		more + "Content-Length: " + strconv.Itoa(len(raw)) + "\r\n\r\n"
	a.requests++
	status, answer, err := f.trip(ctx, append([]byte(request), raw...))
	if err != nil {
		return said{}, 0, err
	}
	var s said
	if err := json.Unmarshal(answer, &s); err != nil {
		f.trouble.Add(1)
		return s, status, fmt.Errorf("lab: %s: %w", what, err)
	}
	return s, status, nil
}

type claimBody struct {
	RequestID string `json:"request_id"`
	Pass      string `json:"pass,omitempty"`
}

// try claims once, and keeps the unit where there is one.
func (f *farm) try(ctx context.Context, a *agent, pass string) (said, sluice.Reason) {
	a.claims++
	s, _, err := f.post(ctx, a, "claims", pass != "", claimBody{RequestID: "one-" + strconv.Itoa(a.id), Pass: pass})
	if err != nil {
		return s, sluice.ReasonUnavailable
	}
	reason, ok := sluice.ParseReason(s.Code)
	if !ok {
		return s, sluice.ReasonUnavailable
	}
	f.codes[reason].Add(1)
	if reason.Admitted() && !a.won {
		if id, ok := sluice.ParseClaimID(s.ClaimID); ok {
			a.won, a.claim, a.at = true, id, time.Since(f.opening)
			a.early = a.at < 0
		}
	}
	return s, reason
}

// over says that there is nothing more to be had.
func over(r sluice.Reason) bool {
	return r.Admitted() || r == sluice.ReasonSoldOut || r == sluice.ReasonLimitReached || r == sluice.ReasonEnded ||
		r == sluice.ReasonBlocked
}

// person comes to the page, earns a pass where the campaign wants one of everybody, and clicks some time after the
// opening; where a pass is asked for it earns one and clicks again.
func (f *farm) person(ctx context.Context, a *agent) {
	lead := float64(f.b.LeadMS) * float64(time.Millisecond)
	arrives := -time.Duration(lead * 0.9 * a.rng.Float64())
	if a.rng.Float64() < 0.3 {
		arrives = time.Duration(2 * a.rng.Float64() * float64(time.Second))
	}
	if !f.until(ctx, arrives) {
		return
	}
	if f.mode == sluice.PassAlways {
		f.earn(ctx, a, false)
	}
	if a.rng.Float64() < 0.05 && arrives < -time.Second {
		if f.until(ctx, -time.Duration(100+a.rng.IntN(900))*time.Millisecond) {
			f.try(ctx, a, a.pass)
		}
	}
	if !f.until(ctx, max(0, arrives)+a.think(f.b.ThinkMS)) {
		return
	}
	twice := a.rng.Float64() < 0.1
	for range 20 {
		s, reason := f.try(ctx, a, a.pass)
		if twice {
			twice = false
			pause(ctx, time.Duration(300+a.rng.IntN(300))*time.Millisecond)
			f.try(ctx, a, a.pass)
		}
		if over(reason) {
			return
		}
		if reason == sluice.ReasonPassRequired || reason == sluice.ReasonPassInvalid {
			if !f.earn(ctx, a, a.pass != "" && !a.solved) {
				return
			}
			continue
		}
		if !pause(ctx, time.Duration(max(s.RetryMS, s.StartsInMS, 100)+int64(a.rng.IntN(200)))*time.Millisecond) {
			return
		}
	}
}

type askBody struct {
	Challenge string `json:"challenge,omitempty"`
}

// earn asks for a pass until it has one, and solves what it is given; named: a challenge is wanted, since a pass that
// was given for nothing does not do.
func (f *farm) earn(ctx context.Context, a *agent, named bool) bool {
	ask := askBody{}
	if named {
		ask.Challenge = f.b.Challenge
	}
	for range 10 {
		s, _, err := f.post(ctx, a, "passes", true, ask)
		switch {
		case err != nil || ctx.Err() != nil:
		case s.Pass != "":
			a.pass = s.Pass
			return true
		case s.Challenge != nil:
			a.challenged = true
			if f.solve(ctx, a, &s) {
				return true
			}
			continue
		}
		if !pause(ctx, time.Duration(max(300, s.RetryMS)+int64(a.rng.IntN(300)))*time.Millisecond) {
			return false
		}
	}
	return false
}

type answerBody struct {
	ID       string          `json:"challenge_id"`
	Solution json.RawMessage `json:"solution"`
}

// solve works on a challenge for as long as the model says, and hands the solution in.
func (f *farm) solve(ctx context.Context, a *agent, s *said) bool {
	wait, right := a.think(f.b.HonestSolveMS), f.b.HonestSolved
	if a.bot {
		select {
		case <-ctx.Done():
			return false
		case f.solvers <- struct{}{}:
		}
		wait, right = time.Duration(float64(f.b.BotSolveMS)*(0.7+0.6*a.rng.Float64()))*time.Millisecond, f.b.BotSolved
	}
	began := time.Now()
	solution := solvePoW(s.Challenge.Data, a.rng.Float64() >= right)
	done := pause(ctx, wait-time.Since(began))
	if a.bot {
		<-f.solvers
	}
	a.solves++
	if !done || solution == nil {
		return false
	}
	id := s.Challenge.ID
	if a.bot {
		id, solution = f.market(a, id, solution)
	}
	got, _, err := f.post(ctx, a, "passes", true, answerBody{ID: id, Solution: solution})
	if err != nil || got.Pass == "" {
		return false
	}
	if id != s.Challenge.ID {
		f.resoldWon.Add(1)
	}
	a.pass, a.solved = got.Pass, true
	if a.bot {
		select {
		case f.loot <- loot{a.id, got.Pass}:
		default:
		}
	}
	return true
}

// market has one bot in ten hand in a solved challenge that it bought from another account instead of its own.
func (f *farm) market(a *agent, id string, solution []byte) (string, []byte) {
	if a.rng.IntN(10) == 0 {
		select {
		case x := <-f.sold:
			if x.owner != a.id {
				f.resold.Add(1)
				return x.id, x.solution
			}
		default:
		}
	}
	select {
	case f.sold <- sale{a.id, id, solution}:
	default:
	}
	return id, solution
}

// solvePoW finds the number of a proof of work; wrong gives another one. nil: it is none that the lab can read.
func solvePoW(data json.RawMessage, wrong bool) []byte {
	var c struct {
		Algorithm string `json:"algorithm"`
		Challenge string `json:"challenge"`
		Salt      string `json:"salt"`
		Max       int64  `json:"maxnumber"`
		Signature string `json:"signature"`
	}
	if json.Unmarshal(data, &c) != nil || c.Algorithm != "SHA-256" {
		return nil
	}
	want, err := hex.DecodeString(c.Challenge)
	if err != nil || len(want) != sha256.Size {
		return nil
	}
	text := []byte(c.Salt)
	for n := int64(0); n <= c.Max; n++ {
		text = strconv.AppendInt(text[:len(c.Salt)], n, 10)
		if sha256.Sum256(text) != [sha256.Size]byte(want) {
			continue
		}
		if wrong {
			n++
		}
		raw, err := json.Marshal(map[string]any{
			"algorithm": c.Algorithm, "challenge": c.Challenge, "number": n, "salt": c.Salt, "signature": c.Signature,
		})
		if err != nil {
			return nil
		}
		out, err := json.Marshal(base64.StdEncoding.EncodeToString(raw))
		if err != nil {
			return nil
		}
		return out
	}
	return nil
}

// bot claims before the opening, then from its first millisecond on, without a pause for thought. Beside that it earns
// a pass from the moment there are any, where the campaign has passes at all, until nothing is left to be had.
func (f *farm) bot(ctx context.Context, a *agent) {
	earner, earned, enough := f.earner(ctx, a)
	defer func() {
		enough()
		<-earned
		a.requests, a.solves, a.challenged = a.requests+earner.requests, earner.solves, earner.challenged
	}()
	for i := range f.b.EarlyClaims {
		if !f.until(ctx, -time.Duration(1500-i*1500/f.b.EarlyClaims+a.rng.IntN(100))*time.Millisecond) {
			return
		}
		f.try(ctx, a, "")
	}
	f.until(ctx, time.Duration(a.rng.IntN(5))*time.Millisecond)
	wait := earned
	for n := f.b.EarlyClaims; n < f.b.Tries; n++ {
		if over(f.grab(ctx, a)) {
			enough()
		}
		if !pause(ctx, time.Duration(150+a.rng.IntN(200))*time.Millisecond) {
			return
		}
		select {
		case <-wait:
			a.pass, wait = earner.pass, nil
		default:
		}
	}
	for wait != nil && pause(ctx, time.Duration(1000+a.rng.IntN(500))*time.Millisecond) {
		select {
		case <-wait:
			a.pass, wait = earner.pass, nil
		default:
		}
		if over(f.grab(ctx, a)) {
			return
		}
	}
}

// earner earns a pass for a bot while it claims. What it gives belongs to the earner until earned is closed.
func (f *farm) earner(ctx context.Context, a *agent) (e *agent, earned <-chan struct{}, enough func()) {
	e = &agent{
		id: a.id, bot: true, forger: a.forger, user: a.user, device: a.device, addr: a.addr, token: a.token,
		rng: rand.New(rand.NewPCG(f.b.Seed, uint64(a.id)+0xea42)),
	}
	done := make(chan struct{})
	ctx, enough = context.WithCancel(ctx)
	go func() {
		defer close(done)
		if f.mode != sluice.PassOff && pause(ctx, time.Duration(e.rng.IntN(1+f.b.LeadMS/4))*time.Millisecond) {
			f.earnSolved(ctx, e)
		}
	}()
	return e, done, enough
}

// grab claims with the bot's own pass, or now and then with one that another account earned.
func (f *farm) grab(ctx context.Context, a *agent) sluice.Reason {
	pass, foreign := a.pass, false
	if pass == "" && f.mode != sluice.PassOff && a.rng.IntN(5) == 0 {
		select {
		case x := <-f.loot:
			if x.owner != a.id {
				pass, foreign = x.pass, true
				f.foreign.Add(1)
			}
			select {
			case f.loot <- x:
			default:
			}
		default:
		}
	}
	won := a.won
	_, reason := f.try(ctx, a, pass)
	if foreign && reason.Admitted() && !won {
		f.foreignWon.Add(1)
	}
	return reason
}

// earnSolved asks for challenges, by their name, until a pass was earned by solving: what was given for nothing does
// not help a source that is far above normal.
func (f *farm) earnSolved(ctx context.Context, a *agent) {
	for ctx.Err() == nil && !a.solved {
		if f.earn(ctx, a, true); a.solved || !pause(ctx, time.Duration(500+a.rng.IntN(1000))*time.Millisecond) {
			return
		}
	}
}
