package redis_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

const (
	queued  = redis.VerdictQueued
	live    = redis.VerdictLive
	ended   = redis.VerdictEnded
	reused  = redis.VerdictReused
	limit   = redis.VerdictLimit
	dry     = redis.VerdictDry
	welcome = redis.VerdictAdmitted
)

// sums checks available = share - live - out - taken, and what the claims themselves come to, and gives all shards.
func (h *house) sums() []sluice.ShardState {
	h.t.Helper()
	all := h.state()
	for _, s := range all {
		if s.Available+s.Returning != s.Share-s.Live-s.Out-s.Taken {
			h.t.Errorf("shard %d: available %d + returning %d is not share %d - live %d - out %d - taken %d", s.Shard,
				s.Available, s.Returning, s.Share, s.Live, s.Out, s.Taken)
		}
		sum, units, waiting := int64(0), int64(0), int64(0)
		err := h.Claims(h.t.Context(), h.c, s.Shard, func(claims []sluice.GateClaim) error {
			for _, c := range claims {
				sum += int64(c.LiveUnits)
				if c.Queued != nil {
					units, waiting = units+int64(c.Quantity), waiting+1
				}
			}
			return nil
		})
		if err != nil {
			h.t.Fatal(err)
		}
		pending := int64(0)
		if err := h.Pending(h.t.Context(), h.c, s.Shard, func(claims []sluice.Claim) error {
			pending += int64(len(claims))
			return nil
		}); err != nil {
			h.t.Fatal(err)
		}
		if sum != s.Live || units != s.Queued || waiting != s.Backlog || pending != waiting {
			h.t.Errorf("shard %d: live %d, by claims %d; queued %d, by claims %d; waiting %d, by claims %d, pending %d", s.Shard,
				s.Live, sum, s.Queued, units, s.Backlog, waiting, pending)
		}
	}
	return all
}

func (h *house) want(what string, r redis.AdmitReply, want ...redis.Verdict) {
	h.t.Helper()
	if got := verdicts(r); !slices.Equal(got, want) {
		h.t.Errorf("%s: verdicts %v, want %v (%+v)", what, got, want, r)
	}
}

// TestAdmit goes through PROTOCOL "admit" line by line; each call is sent twice.
func TestAdmit(t *testing.T) {
	now := sluice.MillisOf(time.Now())
	type step struct {
		claims string // user, request, quantity as digit; separated by blanks
		first  []redis.Verdict
		again  []redis.Verdict
	}
	tests := []struct {
		name   string
		change func(*sluice.Campaign)
		total  int64
		limit  int
		steps  []step
	}{
		{"a claim, and its replay", nil, 5, 1, []step{{"a11", []redis.Verdict{welcome}, []redis.Verdict{queued}}}},
		{"the same id with another quantity", nil, 5, 3, []step{
			{"a11", []redis.Verdict{welcome}, []redis.Verdict{queued}},
			{"a12", []redis.Verdict{reused}, []redis.Verdict{reused}},
		}},
		{"the limit counts units", nil, 9, 3, []step{
			{"a12 a22 a31", []redis.Verdict{welcome, limit, welcome}, []redis.Verdict{queued, limit, queued}},
			{"a41", []redis.Verdict{limit}, []redis.Verdict{limit}},
		}},
		{"fifty parallel clicks of one user", nil, 9, 1, []step{
			{"a11 a21 a31 b11 a11", []redis.Verdict{welcome, limit, limit, welcome, queued},
				[]redis.Verdict{queued, limit, limit, queued, queued}},
		}},
		{"exactly the stock", nil, 2, 1, []step{
			{"a11 b11 c11", []redis.Verdict{welcome, welcome, dry}, []redis.Verdict{queued, queued, dry}},
		}},
		{"one that is too large is refused alone", nil, 3, 5, []step{
			{"a12 b12 c11", []redis.Verdict{welcome, dry, welcome}, []redis.Verdict{queued, dry, queued}},
		}},
		{"the limit before the stock", nil, 1, 1, []step{
			{"a11 a21 b11", []redis.Verdict{welcome, limit, dry}, []redis.Verdict{queued, limit, dry}},
		}},
		{"before the window", func(c *sluice.Campaign) { c.StartsAt = now + 60_000 }, 5, 1, []step{
			{"a11 G11", []redis.Verdict{redis.VerdictNotStarted, welcome}, []redis.Verdict{redis.VerdictNotStarted, queued}},
		}},
		{"after the window", func(c *sluice.Campaign) { c.EndsAt = now - 1 }, 5, 1, []step{
			{"a11 G11", []redis.Verdict{redis.VerdictEndedWindow, redis.VerdictEndedWindow},
				[]redis.Verdict{redis.VerdictEndedWindow, redis.VerdictEndedWindow}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := aSale("spring", tt.limit)
			if tt.change != nil {
				tt.change(&c)
			}
			h, _ := single(t, c, tt.total)
			for _, s := range tt.steps {
				claims := h.parse(s.claims)
				h.want(s.claims, h.admit(claims...), s.first...)
				before := h.sums()
				h.want(s.claims+" again", h.admit(claims...), s.again...)
				if after := h.sums(); before[0] != after[0] {
					t.Errorf("the second time changed something: %+v, %+v", before[0], after[0])
				}
			}
		})
	}
}

// parse reads claims as "a12": user a, request 1, 2 units; an upper-case user is an operator's grant.
func (h *house) parse(text string) (all []sluice.Claim) {
	for i := 0; i+2 < len(text); i += 4 {
		c := h.claim(text[i:i+1], text[i+1:i+2], int(text[i+2]-'0'))
		if text[i] < 'a' {
			c.Source = sluice.SourceGrant
			c.ID = sluice.NewClaimID(c.Campaign, c.User, c.Source, c.RequestID)
		}
		all = append(all, c)
	}
	return all
}

func TestAdmitByGate(t *testing.T) {
	h, server := single(t, aSale("spring", 2), 5)
	a := h.claim("a", "1", 1)
	h.want("live", h.admit(a), welcome)
	for _, tt := range []struct {
		name  string
		epoch int64
		do    func()
		want  redis.GateStatus
	}{
		{"a gate that is behind", 2, func() {}, redis.GateEpoch},
		{"a gate that is ahead", 1, func() { h.arm(3, 5) }, redis.GateEpoch},
		{"no gate", 1, func() { server.FlushAll() }, redis.GateNone},
	} {
		tt.do()
		h.c.Epoch = tt.epoch
		r := h.admit(h.claim("b", "1", 1), a)
		if r.Status != tt.want || len(r.Claims) != 0 {
			t.Errorf("%s: %+v", tt.name, r)
		}
		if n := server.Do("DBSIZE"); tt.want == redis.GateNone && n != "0" {
			t.Errorf("%s: it wrote %s keys", tt.name, n)
		}
	}
}

// TestAdmitSealed: a sealed gate gives replays, and nobody new.
func TestAdmitSealed(t *testing.T) {
	h, _ := single(t, aSale("spring", 2), 5)
	a, b := h.claim("a", "1", 1), h.claim("b", "1", 1)
	h.admit(a)
	if _, err := h.Seal(t.Context(), h.c, 2); err != nil {
		t.Fatal(err)
	}
	h.want("sealed", h.admit(a, b), queued, redis.VerdictClosed)
	if s := h.sums()[0]; s.Available != 4 || s.Open || s.SealedFor != 2 {
		t.Errorf("%+v", s)
	}
}

// TestAdmitNamesClaims: over the limit the user hears which claims take it, newest first.
func TestAdmitNamesClaims(t *testing.T) {
	h, _ := single(t, aSale("spring", 3), 9)
	a1, a2, a3 := h.claim("a", "1", 1), h.claim("a", "2", 1), h.claim("a", "3", 1)
	h.admit(a1, a2)
	h.admit(a3)
	h.apply(release(a2, 1, 1))
	r := h.admit(h.claim("a", "4", 2))
	if got := r.Claims[0].Claims; !slices.Equal(got, []sluice.ClaimID{a3.ID, a1.ID}) {
		t.Errorf("%v", got)
	}
}

// TestAdmitGroup: what a user has in one campaign of a limit group counts in the others.
func TestAdmitGroup(t *testing.T) {
	c := aSale("spring", 2)
	c.LimitGroup = "season"
	h, server := single(t, c, 5)
	d := aSale("summer", 2)
	d.LimitGroup = "season"
	other := on(t, server.URL(), d)
	other.arm(1, 5)
	h.want("one campaign", h.admit(h.claim("a", "1", 1)), welcome)
	call := func(q int, request string) redis.AdmitReply {
		r, err := other.Admit(t.Context(), redis.AdmitCall{
			Campaign: &other.c, Peers: []string{"spring"}, Claims: []sluice.Claim{other.claim("a", request, q)},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := call(2, "1")
	other.want("the other, too many", r, limit)
	if len(r.Claims[0].Claims) != 1 {
		t.Errorf("names %v", r.Claims[0].Claims)
	}
	other.want("the other", call(1, "2"), welcome)
}

// TestAdmitChecksFirst: what cannot be right is refused before anything is written.
func TestAdmitChecksFirst(t *testing.T) {
	h, server := single(t, aSale("spring", 2), 5)
	before := server.Do("DBSIZE")
	for name, claim := range map[string]sluice.Claim{
		"negative": h.claim("a", "1", -5), "zero": h.claim("a", "1", 0), "too many": h.claim("a", "1", 70_000),
		"another campaign": {ID: h.claim("a", "1", 1).ID, Campaign: "x", User: "a", Quantity: 1},
		"a long name":      {ID: h.claim("a", "1", 1).ID, Campaign: "spring", User: string(make([]byte, 300)), Quantity: 1},
	} {
		if _, err := h.tryAdmit(t.Context(), h.claim("b", "1", 1), claim); !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := h.sums()[0]; s.Available != 5 || server.Do("DBSIZE") != before {
		t.Errorf("it wrote: %+v", s)
	}
}

// TestScriptsCheckArguments calls every script with each argument left out, or nonsense in its place: nothing is
// written.
func TestScriptsCheckArguments(t *testing.T) {
	h, server := single(t, aSale("spring", 2), 5, servers.With("enable-debug-command", "yes"))
	h.admit(h.claim("a", "1", 1))
	scripts, samples := h.client.Sources(), redis.SampleArgs(&h.c)
	before := server.Do("DEBUG", "DIGEST")
	if len(before) != 40 {
		t.Fatal(before)
	}
	for name, source := range scripts {
		sample, ok := samples[name]
		if !ok {
			t.Errorf("no sample call of %s", name)
			continue
		}
		var calls [][]string
		for i := range sample.Args {
			calls = append(calls, sample.Args[:i])
			if !sample.Free[i] {
				calls = append(calls, replaced(sample.Args, i, "nonsense that is long"), replaced(sample.Args, i, "-1.5"))
			}
		}
		for _, args := range calls {
			if code := h.client.Eval(t.Context(), source, sample.Keys, args); code != "ARGS" {
				t.Errorf("%s with %q: %s", name, args, code)
			}
		}
		if code := h.client.Eval(t.Context(), source, sample.Keys[:len(sample.Keys)-1], sample.Args); code != "ARGS" {
			t.Errorf("%s with a key left out: %s", name, code)
		}
	}
	if server.Do("DEBUG", "DIGEST") != before {
		t.Error("something was written")
	}
}

func replaced(args []string, i int, by string) []string {
	all := slices.Clone(args)
	all[i] = by
	return all
}

func release(c sluice.Claim, units, limit int64) sluice.PermitOp {
	return sluice.PermitOp{
		Kind: sluice.PermitRelease, Campaign: c.Campaign, Claim: c.ID, Units: units, LimitUnits: limit, Epoch: 1, Seq: 1,
		Quantity: int64(c.Quantity),
	}
}

func take(c sluice.Claim) sluice.PermitOp {
	q := int64(c.Quantity)
	return sluice.PermitOp{
		Kind: sluice.PermitTake, Campaign: c.Campaign, Claim: c.ID, Units: q, LimitUnits: q, Epoch: 1, Seq: 2, Quantity: q,
	}
}

// with changes an operation.
func with(op sluice.PermitOp, epoch, seq int64) sluice.PermitOp {
	op.Epoch, op.Seq = epoch, seq
	return op
}

// apply applies operations and gives their verdicts.
func (h *house) apply(ops ...sluice.PermitOp) (all []sluice.PermitVerdict) {
	h.t.Helper()
	results, err := h.Apply(h.t.Context(), ops)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range results {
		all = append(all, r.Verdict)
	}
	return all
}

// TestOps goes through PROTOCOL "release" and "take"; each list of operations is sent twice.
func TestOps(t *testing.T) {
	const done, kept, dropped = sluice.PermitDone, sluice.PermitKept, sluice.PermitDropped
	type ops = []sluice.PermitOp
	tests := []struct {
		name      string
		ops       func(a, b, three sluice.Claim) ops // a is live with 1 unit, three with 3, b is unknown; epoch 1, total 10
		want      sluice.PermitVerdict
		available int64 // 6 before
		live      int64 // 4 before
		claim     int   // of a: 0; b: 1; three: 2
		left      *sluice.GateClaim
	}{
		{"a release gives back and ends", func(a, _, _ sluice.Claim) ops { return ops{release(a, 1, 1)} }, done, 7, 3, 0,
			&sluice.GateClaim{}},
		{"the limit may stay", func(a, _, _ sluice.Claim) ops { return ops{release(a, 1, 0)} }, done, 7, 3, 0,
			&sluice.GateClaim{LimitUnits: 1}},
		{"only the limit may come back", func(a, _, _ sluice.Claim) ops { return ops{release(a, 0, 1)} }, done, 6, 4, 0,
			&sluice.GateClaim{Live: true, LiveUnits: 1}},
		{"twice in one call", func(a, _, _ sluice.Claim) ops {
			return ops{release(a, 1, 1), release(a, 1, 1)}
		}, done, 7, 3, 0, &sluice.GateClaim{}},
		{"an unknown claim is marked ended", func(_, b, _ sluice.Claim) ops { return ops{release(b, 1, 1)} }, done, 6, 4, 1,
			&sluice.GateClaim{}},
		{"a take", func(_, b, _ sluice.Claim) ops { return ops{take(b)} }, done, 5, 5, 1,
			&sluice.GateClaim{Live: true, LiveUnits: 1, LimitUnits: 1}},
		{"a take of a known claim", func(a, _, _ sluice.Claim) ops { return ops{take(a)} }, done, 6, 4, 0,
			&sluice.GateClaim{Live: true, LiveUnits: 1, LimitUnits: 1}},
		{"a take after its release", func(_, b, _ sluice.Claim) ops { return ops{release(b, 1, 1), take(b)} }, done, 6, 4, 1,
			&sluice.GateClaim{}},
		{"one coupon of three", func(_, _, c sluice.Claim) ops { return ops{release(c, 1, 1)} }, done, 7, 3, 2,
			&sluice.GateClaim{Live: true, LiveUnits: 2, LimitUnits: 2}},
		{"one coupon of three, twice in one call", func(_, _, c sluice.Claim) ops {
			return ops{release(c, 1, 1), release(c, 1, 1)}
		}, done, 7, 3, 2, &sluice.GateClaim{Live: true, LiveUnits: 2, LimitUnits: 2}},
		{"two coupons of three, by two operations", func(_, _, c sluice.Claim) ops {
			return ops{with(release(c, 1, 1), 1, 5), with(release(c, 1, 1), 1, 6)}
		}, done, 8, 2, 2, &sluice.GateClaim{Live: true, LiveUnits: 1, LimitUnits: 1}},
		{"one coupon of three, nobody knows by which operation", func(_, _, c sluice.Claim) ops {
			return ops{with(release(c, 1, 1), 1, 0)}
		}, kept, 6, 4, 2, &sluice.GateClaim{Live: true, LiveUnits: 3, LimitUnits: 3}},
		{"of a later epoch", func(a, b, _ sluice.Claim) ops {
			return ops{with(release(a, 1, 1), 2, 1), with(take(b), 2, 2)}
		}, kept, 6, 4, 1, nil},
		{"of an earlier epoch", func(a, b, _ sluice.Claim) ops {
			return ops{with(release(a, 1, 1), 0, 1), with(take(b), 0, 2)}
		}, dropped, 6, 4, 1, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, _ := single(t, aSale("spring", 5), 10)
			claims := []sluice.Claim{h.claim("a", "1", 1), h.claim("b", "1", 1), h.claim("c", "1", 3)}
			h.admit(claims[0], claims[2])
			for _, turn := range []string{"first", "again"} {
				for i, got := range h.apply(tt.ops(claims[0], claims[1], claims[2])...) {
					if got != tt.want {
						t.Errorf("%s: operation %d: %d, want %d", turn, i, got, tt.want)
					}
				}
				if s := h.sums()[0]; s.Available != tt.available || s.Live != tt.live {
					t.Errorf("%s: available %d, live %d; want %d, %d", turn, s.Available, s.Live, tt.available, tt.live)
				}
			}
			h.wantClaim(claims[tt.claim], tt.left)
		})
	}
}

// wantClaim looks a claim up; id and quantity are those of c.
func (h *house) wantClaim(c sluice.Claim, want *sluice.GateClaim) {
	h.t.Helper()
	all, err := h.Lookup(h.t.Context(), h.c, []sluice.ClaimID{c.ID})
	if err != nil {
		h.t.Fatal(err)
	}
	got, ok := all[c.ID]
	if want == nil {
		if ok {
			h.t.Errorf("there is %+v", got)
		}
		return
	}
	w := *want
	w.ID, w.Quantity = c.ID, int32(c.Quantity)
	got.Queued = nil
	if got != w {
		h.t.Errorf("there is %+v, want %+v", got, w)
	}
}

// TestOpsWithoutGate: an operation waits for its gate.
func TestOpsWithoutGate(t *testing.T) {
	h, server := single(t, aSale("spring", 5), 10)
	server.FlushAll()
	got := h.apply(release(h.claim("a", "1", 1), 1, 1), take(h.claim("b", "1", 1)),
		sluice.PermitOp{Kind: sluice.PermitAdjust, Campaign: "spring", Units: 5, Revision: 1, Epoch: 1})
	if !slices.Equal(got, []sluice.PermitVerdict{sluice.PermitKept, sluice.PermitKept, sluice.PermitKept}) ||
		server.Do("DBSIZE") != "0" {
		t.Errorf("%v, %s keys", got, server.Do("DBSIZE"))
	}
	bad := release(h.claim("a", "1", 1), -1, 0)
	if _, err := h.Apply(t.Context(), []sluice.PermitOp{bad}); !errors.Is(err, sluice.ErrInvalid) {
		t.Errorf("negative units: %v", err)
	}
}

// TestABadOperationHoldsNoOtherUp: what can never be right stays and is told of, the operations beside it are done.
func TestABadOperationHoldsNoOtherUp(t *testing.T) {
	h, _ := single(t, aSale("spring", 5), 10)
	a, b := h.claim("a", "1", 1), h.claim("b", "1", 1)
	h.admit(a, b)
	results, err := h.Apply(t.Context(), []sluice.PermitOp{release(a, -1, 0), release(b, 1, 1)})
	if !errors.Is(err, sluice.ErrInvalid) || len(results) != 2 || results[0].Verdict != sluice.PermitKept ||
		results[1].Verdict != sluice.PermitDone {
		t.Errorf("%v, %v", results, err)
	}
}

// TestTakeMayLeaveADebt, and a release pays it back before anybody is admitted.
func TestTakeMayLeaveADebt(t *testing.T) {
	h, _ := single(t, aSale("spring", 5), 1)
	a, b := h.claim("a", "1", 1), h.claim("b", "1", 1)
	h.admit(a)
	h.apply(take(b))
	if s := h.sums()[0]; s.Available != -1 {
		t.Errorf("%+v", s)
	}
	h.apply(release(a, 1, 1))
	h.want("with nothing left", h.admit(h.claim("c", "1", 1)), dry)
}

func TestSettled(t *testing.T) {
	h, _ := single(t, aSale("spring", 5), 10)
	a, b, c := h.claim("a", "1", 1), h.claim("b", "1", 2), h.claim("a", "2", 1)
	h.admit(a, b, c)
	got, ok, err := h.Find(t.Context(), []sluice.Campaign{aSale("other", 1), h.c}, c.ID)
	if c.Epoch = 1; err != nil || !ok || got.ID != c.ID || got.Epoch != 1 || got.RequestID != "2" || got.At != c.At {
		t.Errorf("find: %+v %v %v", got, ok, err)
	}
	for range 2 {
		if err := h.Gates.Settled(t.Context(), []sluice.Claim{a, c, c, h.claim("z", "1", 1)}); err != nil {
			t.Fatal(err)
		}
		if s := h.sums()[0]; s.Queued != 2 || s.Backlog != 1 || s.Live != 4 {
			t.Errorf("%+v", s)
		}
	}
	h.want("replays", h.admit(a, b), live, queued)
	h.apply(release(b, 2, 2)) // it has a row, so it is not pending
	if s := h.sums()[0]; s.Queued != 0 || s.Backlog != 0 {
		t.Errorf("%+v", s)
	}
	h.want("replays", h.admit(a, b), live, ended)
	if _, ok, err := h.Find(t.Context(), []sluice.Campaign{h.c}, b.ID); ok || err != nil {
		t.Errorf("found %v %v", ok, err)
	}
}
