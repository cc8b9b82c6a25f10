package gate_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// stage is what a fault may change before its claim is made.
type stage struct {
	*rig
	config   gate.Config
	campaign sluice.Campaign
	switches []sluice.SwitchSetting
	blocks   []sluice.Block
	request  sluice.ClaimRequest
	before   int // claims that were made before, by the same user and device

	anonymous bool
}

// fault makes a claim deserve want. Of two faults of one group only one can be: they exclude each other.
type fault struct {
	name  string
	want  sluice.Reason
	group string
	edit  func(*stage)
}

func set(name, campaign string, value float64) sluice.SwitchSetting {
	return sluice.SwitchSetting{Name: name, Campaign: campaign, Value: value, Set: true}
}

// faults stand in the order of the funnel.
var faults = []fault{
	{"closed", sluice.ReasonClosed, "", func(s *stage) {
		s.switches = append(s.switches, set(sluice.SwitchClosed, "", 1))
	}},
	{"read only", sluice.ReasonClosed, "", func(s *stage) {
		s.switches = append(s.switches, set(sluice.SwitchReadOnly, "", 1))
	}},
	{"campaign closed", sluice.ReasonClosed, "", func(s *stage) {
		s.switches = append(s.switches, set(sluice.SwitchClosed, "spring", 1))
	}},
	{"draft", sluice.ReasonUnknownCampaign, "control", func(s *stage) { s.campaign.Control = sluice.ControlDraft }},
	{"address", sluice.ReasonBlocked, "", func(s *stage) {
		s.blocks = append(s.blocks, sluice.Block{ID: "blk_address", Scope: sluice.BlockAddress, Value: "192.0.2.0/24"})
	}},
	{"no token", sluice.ReasonUnauthenticated, "", func(s *stage) { s.anonymous = true }},
	{"not started", sluice.ReasonNotStarted, "control", func(s *stage) {
		s.campaign.StartsAt = s.clock.in(1500 * time.Millisecond)
	}},
	{"ended", sluice.ReasonEnded, "control", func(s *stage) { s.campaign.EndsAt = s.clock.millis() }},
	{"ended by hand", sluice.ReasonEnded, "control", func(s *stage) { s.campaign.Control = sluice.ControlEnded }},
	{"paused", sluice.ReasonPaused, "control", func(s *stage) { s.campaign.Control = sluice.ControlPaused }},
	{"frozen", sluice.ReasonPaused, "control", func(s *stage) { s.campaign.Control = sluice.ControlFrozen }},
	{"all paused", sluice.ReasonPaused, "", func(s *stage) {
		s.switches = append(s.switches, set(sluice.SwitchPaused, "", 1))
	}},
	{"campaign paused by switch", sluice.ReasonPaused, "", func(s *stage) {
		s.switches = append(s.switches, set(sluice.SwitchPaused, "spring", 1))
	}},
	{"user", sluice.ReasonBlocked, "", func(s *stage) {
		s.blocks = append(s.blocks, sluice.Block{ID: "blk_user", Scope: sluice.BlockUser, Value: "alice"})
	}},
	{"device", sluice.ReasonBlocked, "", func(s *stage) {
		s.blocks = append(s.blocks, sluice.Block{ID: "blk_device", Scope: sluice.BlockDevice, Value: "telephone"})
	}},
	{"tier", sluice.ReasonNotEligible, "", func(s *stage) {
		s.campaign.Eligibility.Claims = map[string][]string{"tier": {"gold", "platinum"}}
	}},
	{"audience", sluice.ReasonNotEligible, "", func(s *stage) { s.campaign.Eligibility.Audience = true }},
	{"sold out", sluice.ReasonSoldOut, "", func(s *stage) { s.admitter.soldOut.Store(true) }},
	{"too frequent", sluice.ReasonTooFrequent, "", func(s *stage) { s.before = 3 }},
	{"no pass", sluice.ReasonPassRequired, "pass", func(s *stage) { s.campaign.Protection.Pass = sluice.PassAlways }},
	{"challenge all", sluice.ReasonPassRequired, "pass", func(s *stage) {
		s.switches = append(s.switches, set(sluice.SwitchChallengeAll, "", 1))
	}},
	{"campaign challenges all", sluice.ReasonPassRequired, "pass", func(s *stage) {
		s.switches = append(s.switches, set(sluice.SwitchChallengeAll, "spring", 1))
	}},
	{"another's pass", sluice.ReasonPassInvalid, "pass", func(s *stage) {
		s.campaign.Protection.Pass = sluice.PassAlways
		s.request.Pass = s.pass("bob", "telephone", false)
	}},
	{"no signature", sluice.ReasonSignatureInvalid, "pass", func(s *stage) {
		s.campaign.Protection.Signature = true
		s.request.Pass = s.pass("alice", "telephone", false)
	}},
	{"own slot", sluice.ReasonNotStarted, "pass", func(s *stage) { s.spread(alicesSlotIs50s) }},
	{"campaign busy", sluice.ReasonBusy, "", func(s *stage) {
		s.campaign.Protection.MaxRate = 1
		s.config.MaxRate = max(s.config.MaxRate, 3)
		s.before = max(s.before, 1)
	}},
	{"server busy", sluice.ReasonBusy, "", func(s *stage) { s.config.MaxRate, s.before = 1, max(s.before, 1) }},
	{"limit", sluice.ReasonLimitReached, "admission", func(s *stage) {
		s.admitter.answer = sluice.Refuse(sluice.ReasonLimitReached)
	}},
	{"gone", sluice.ReasonSoldOut, "admission", func(s *stage) {
		s.admitter.answer = sluice.Refuse(sluice.ReasonSoldOut)
	}},
	{"trouble", sluice.ReasonUnavailable, "admission", func(s *stage) {
		s.admitter.answer = sluice.Refuse(sluice.ReasonUnavailable)
	}},
}

// prepare makes a gate and the claim that deserves all of these faults, after the claims that must come before it.
func prepare(t *testing.T, these ...fault) (*gate.Gate, *sluice.ClaimRequest) {
	t.Helper()
	base := newRig(t, nil)
	s := &stage{rig: base, campaign: spring(), request: sluice.ClaimRequest{
		Campaign: "spring", Addr: netip.MustParseAddr("192.0.2.7"), Device: "telephone", At: base.clock.millis(),
		Token: sign(t, "alice", jwt.MapClaims{"tier": "silver"}),
	}}
	for _, f := range these {
		f.edit(s)
	}
	s.config.Tokens, s.config.Now, s.config.Mono = base.tokens, base.clock.now, base.clock.since
	s.config.LimiterKeys, s.config.Passes, s.config.Nonces = 64, s.passes, &nonces{}
	g := gate.New(s.config, base.admitter)
	t.Cleanup(g.Close)
	if s.before > 0 {
		soldOut := base.admitter.soldOut.Swap(false)
		easy := s.campaign
		easy.Control, easy.Eligibility = sluice.ControlOpen, sluice.Eligibility{}
		easy.StartsAt, easy.EndsAt = spring().StartsAt, spring().EndsAt
		g.PutCampaign(easy)
		easy.Protection.Pass, easy.Protection.Signature, easy.Protection.SpreadSec = "", false, 0
		for range s.before {
			g.Claim(t.Context(), &s.request)
		}
		base.admitter.soldOut.Store(soldOut)
	}
	g.PutCampaign(s.campaign)
	g.SetSwitches(s.switches)
	g.SetBlocks(s.blocks)
	if s.anonymous {
		s.request.Token = nil
	}
	return g, &s.request
}

func decide(t *testing.T, these ...fault) sluice.Decision {
	t.Helper()
	g, req := prepare(t, these...)
	return g.Claim(t.Context(), req)
}

// TestPrecedence: a claim that deserves two reasons gets the one that stands first, for every pair.
func TestPrecedence(t *testing.T) {
	for i, first := range faults {
		if d := decide(t, first); d.Reason != first.want {
			t.Errorf("%s: %s, want %s", first.name, d.Reason, first.want)
		}
		for _, second := range faults[i+1:] {
			if first.group != "" && first.group == second.group {
				continue
			}
			if d := decide(t, first, second); d.Reason != first.want {
				t.Errorf("%s and %s: %s, want %s", first.name, second.name, d.Reason, first.want)
			}
		}
	}
	if d := decide(t); d.Reason != sluice.ReasonConfirmed {
		t.Errorf("no fault: %s", d.Reason)
	}
}

// TestAllFaultsAtOnce lifts one fault after the other from a claim that deserves all of them.
func TestAllFaultsAtOnce(t *testing.T) {
	var all []fault
	groups := map[string]bool{"control": true}
	for _, f := range faults {
		if f.group == "" || !groups[f.group] {
			all = append(all, f)
		}
		groups[f.group] = true
	}
	for i, f := range all {
		if d := decide(t, all[i:]...); d.Reason != f.want {
			t.Errorf("from %s on: %s, want %s", f.name, d.Reason, f.want)
		}
	}
}

// TestOneList: the order of the checks is the order of the reasons.
func TestOneList(t *testing.T) {
	last, seen := sluice.ReasonNone, map[sluice.Reason]bool{}
	for _, c := range gate.Funnel() {
		for _, r := range c.Reasons {
			if r < last && !seen[r] {
				t.Errorf("%s gives %s after %s", c.Name, r, last)
			}
			seen[r], last = true, max(last, r)
		}
	}
	for _, r := range sluice.Reasons() {
		if !seen[r] {
			t.Errorf("no check gives %s", r)
		}
	}
}

func TestWhatARefusalTells(t *testing.T) {
	find := func(name string) fault {
		return faults[slices.IndexFunc(faults, func(f fault) bool { return f.name == name })]
	}
	if d := decide(t, find("not started")); d.StartsInMS != 1500 {
		t.Errorf("starts in %d ms, want 1500", d.StartsInMS)
	}
	for _, scope := range []string{"address", "user", "device"} {
		if d := decide(t, find(scope)); d.Reference != "blk_"+scope {
			t.Errorf("%s: reference %q", scope, d.Reference)
		}
	}
	// Three at once are let through, the next a third of a second later.
	if d := decide(t, find("too frequent")); d.RetryAfterMS < 330 || d.RetryAfterMS > 336 {
		t.Errorf("too frequent: retry after %d ms", d.RetryAfterMS)
	}
	spread := map[int64]bool{}
	for range 20 {
		d := decide(t, find("server busy"))
		if d.RetryAfterMS < 600 || d.RetryAfterMS > 1100 {
			t.Errorf("busy: retry after %d ms", d.RetryAfterMS)
		}
		spread[d.RetryAfterMS] = true
	}
	if len(spread) < 5 {
		t.Errorf("those refused together return together: %v", spread)
	}
}

func TestUnknownCampaign(t *testing.T) {
	r := newRig(t, nil)
	req := r.request(t, "alice")
	req.Campaign = "autumn"
	r.claim(t, req, sluice.ReasonUnknownCampaign)
	autumn := spring()
	autumn.ID = "autumn"
	r.PutCampaign(autumn)
	r.claim(t, req, sluice.ReasonConfirmed)
	r.DropCampaign("autumn")
	r.claim(t, req, sluice.ReasonUnknownCampaign)
}

// TestReplayComesFirst: a claim that is known is answered as recorded, whatever has changed since, and costs its user
// nothing.
func TestReplayComesFirst(t *testing.T) {
	r := newRig(t, func(c *gate.Config) { c.MaxRate = 1 })
	req := r.request(t, "alice")
	req.RequestID = "the first"
	id := sluice.NewClaimID("spring", "alice", sluice.SourceClaim, "the first")
	r.admitter.known[id] = sluice.Decision{
		Reason: sluice.ReasonConfirmed, State: sluice.ClaimConfirmed, Replayed: true, HasID: true, ID: id, Quantity: 1,
	}
	r.admitter.soldOut.Store(true)
	for range 50 {
		if d := r.claim(t, req, sluice.ReasonConfirmed); !d.Replayed || d.ID != id {
			t.Fatalf("decision %+v", d)
		}
	}
	r.SetBlocks([]sluice.Block{{ID: "b", Scope: sluice.BlockUser, Value: "alice"}})
	c := spring()
	c.Control = sluice.ControlEnded
	r.PutCampaign(c)
	r.claim(t, req, sluice.ReasonConfirmed)
	req.RequestID = "the second"
	r.claim(t, req, sluice.ReasonEnded)
	r.admitter.soldOut.Store(false)
	r.SetBlocks(nil)
	r.PutCampaign(spring())
	r.claim(t, req, sluice.ReasonConfirmed)
	if n := r.admitter.admitted.Load(); n != 1 {
		t.Errorf("%d claims reached admission, want 1", n)
	}
}

// TestOfficeAddress: many buyers behind one address do not slow each other down.
func TestOfficeAddress(t *testing.T) {
	r := newRig(t, nil)
	for i := range 500 {
		r.claim(t, r.request(t, fmt.Sprintf("clerk-%d", i)), sluice.ReasonConfirmed)
	}
}

// TestCaseMatters: users, devices and campaigns that differ in case are different.
func TestCaseMatters(t *testing.T) {
	r := newRig(t, nil)
	for range 3 {
		r.claim(t, r.request(t, "alice"), sluice.ReasonConfirmed)
	}
	r.claim(t, r.request(t, "alice"), sluice.ReasonTooFrequent)
	r.claim(t, r.request(t, "Alice"), sluice.ReasonConfirmed)
	r.SetBlocks([]sluice.Block{
		{ID: "u", Scope: sluice.BlockUser, Value: "alice"}, {ID: "d", Scope: sluice.BlockDevice, Value: "telephone"},
	})
	r.claim(t, r.request(t, "Alice"), sluice.ReasonConfirmed)
	req := r.request(t, "bob")
	req.Device = "Telephone"
	r.claim(t, req, sluice.ReasonConfirmed)
	req.Campaign = "Spring"
	r.claim(t, req, sluice.ReasonUnknownCampaign)
}

// TestQuantity: whatever a caller lets through, nothing below one reaches admission.
func TestQuantity(t *testing.T) {
	r := newRig(t, nil)
	for user, tt := range map[string]struct {
		quantity int
		want     sluice.Reason
	}{"a": {-5, sluice.ReasonLimitReached}, "b": {0, sluice.ReasonConfirmed}, "c": {2, sluice.ReasonConfirmed}} {
		req := r.request(t, user)
		req.Quantity = tt.quantity
		if d := r.claim(t, req, tt.want); d.Reason.Admitted() && d.Quantity != max(1, tt.quantity) {
			t.Errorf("quantity %d became %d", tt.quantity, d.Quantity)
		}
	}
}

// TestDeviceOfTheToken beats the one that the client says, for blocks and for the rate.
func TestDeviceOfTheToken(t *testing.T) {
	r := newRig(t, nil)
	r.SetBlocks([]sluice.Block{{ID: "d", Scope: sluice.BlockDevice, Value: "stolen"}})
	req := r.request(t, "alice")
	req.Token, req.Device = sign(t, "alice", jwt.MapClaims{"did": "stolen"}), "innocent"
	r.claim(t, req, sluice.ReasonBlocked)
	r.SetBlocks(nil)
	for i := range 4 {
		req.Token = sign(t, fmt.Sprintf("user-%d", i), jwt.MapClaims{"did": "shared"})
		req.Device = fmt.Sprintf("device-%d", i)
		want := sluice.ReasonConfirmed
		if i == 3 {
			want = sluice.ReasonTooFrequent
		}
		r.claim(t, req, want)
	}
}
