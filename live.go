package sluice

import (
	"slices"
	"time"
)

// LivePhase is what the live screen is about: the campaign's state, and what stands in its way or is still to come.
type LivePhase string

// The phases, in the order of precedence: where several apply, the first is given.
const (
	PhaseTrouble  LivePhase = "trouble"  // frozen by the server: an invariant is in doubt
	PhaseStopped  LivePhase = "stopped"  // a switch has it closed
	PhasePaused   LivePhase = "paused"   // by an operator or a switch
	PhaseDegraded LivePhase = "degraded" // stock is taken in the ledger, since Redis is away or by a switch
	PhaseBefore   LivePhase = "before"   // a draft, or more than ArmedBefore before the start
	PhaseArmed    LivePhase = "armed"    // at most ArmedBefore before the start
	PhaseLive     LivePhase = "live"
	PhaseDraining LivePhase = "draining" // nothing more is sold; claims wait to be settled
	PhaseSoldOut  LivePhase = "sold_out"
	PhaseSettling LivePhase = "settling" // over; unpaid orders may still be paid or expire
	PhaseSettled  LivePhase = "settled"  // over; every unit is sold or back
)

// ArmedBefore is how long before its start a campaign counts as armed.
const ArmedBefore Millis = 10 * 60 * 1000

// Phase says what the screen of v is about at now, under the switches that are set. degraded says that stock is taken
// in the ledger for want of Redis.
func (v *CampaignView) Phase(now Millis, set []SwitchSetting, degraded bool) LivePhase {
	on := func(name string) bool { return v.switched(set, name) }
	over := v.State == StateEnded
	switch {
	case v.State == StateFrozen:
		return PhaseTrouble
	case !over && on(SwitchClosed):
		return PhaseStopped
	case !over && (v.State == StatePaused || on(SwitchPaused)):
		return PhasePaused
	case v.State == StateDraft, v.State == StateScheduled && v.StartsAt-now > ArmedBefore:
		return PhaseBefore
	case !over && (degraded || on(SwitchDegraded)):
		return PhaseDegraded
	case v.State == StateScheduled:
		return PhaseArmed
	case v.State == StateLive:
		return PhaseLive
	case v.Queued > 0:
		return PhaseDraining
	case v.State == StateSoldOut:
		return PhaseSoldOut
	case v.Kind == KindGoods && v.Stock.Held > 0:
		return PhaseSettling
	}
	return PhaseSettled
}

// switched says whether a switch is on for v: for everybody, or for this campaign.
func (v *CampaignView) switched(set []SwitchSetting, name string) bool {
	return slices.ContainsFunc(set, func(s SwitchSetting) bool {
		return s.Set && s.Value != 0 && s.Name == name && (s.Campaign == "" || s.Campaign == v.ID)
	})
}

// Told is the state that buyers are told of under the switches that are set: what they would hear if they claimed now.
func (v *CampaignView) Told(set []SwitchSetting) CampaignState {
	switch {
	case v.State == StateDraft, v.State == StateEnded:
		return v.State
	case v.switched(set, SwitchClosed), v.switched(set, SwitchReadOnly):
		return StateClosed
	case v.State == StateFrozen, v.State != StateScheduled && v.switched(set, SwitchPaused):
		return StatePaused
	}
	return v.State
}

// PartState is how a part that Sluice stands on is.
type PartState string

// The states of a part.
const (
	PartUp     PartState = "up"
	PartDown   PartState = "down"
	PartMarked PartState = "marked_down" // by an operator's switch
)

// Health is what a node knows of the parts behind a sale.
type Health struct {
	Parts       map[string]PartState // ledger, redis, broker, payments: those that there are
	Alive, Dead int                  // nodes
	InForce     int                  // live nodes that have the newest settings in force
	Skew        time.Duration        // the largest of a live node's clock, either way
	Letters     int64                // dead letters that wait for a person; -1: not known
	Passes      map[string]int64     // by campaign: handed out by the nodes that live, since each began
	Pages       map[string]int64     // by campaign to come: buyers' pages open in the last minute, about
	Oldest      Millis               // when the oldest message of the queue came; zero: nothing waits, or no queue
}

// UnpaidWave is how many units fall due within Width from At on.
type UnpaidWave struct {
	At    Millis
	Units int64
}

// Unpaid is what unpaid orders of a campaign hold, and when they fall due. While payments are marked down nothing does.
type Unpaid struct {
	Orders  int64
	Units   int64
	NextAt  Millis       // when the first of them falls due; zero: none does
	Minute  int64        // units that fall due within a minute
	Waves   []UnpaidWave // at most MaxUnpaidWaves, the next ones
	Stopped bool         // the clock of unpaid windows stands still
	At      Millis
}

// Bounds of the waves of unpaid orders.
const (
	UnpaidWaveWidth Millis = 10_000
	MaxUnpaidWaves  int    = 12
)

// LiveLook is one look at a running campaign, the same for everybody who asks within a second. Available, queued,
// held and sold units add up to the total by construction; what was measured at one moment, and when, says Exact.
type LiveLook struct {
	At        Millis
	Campaign  CampaignView
	Phase     LivePhase
	Rate      int64 // decisions in the last whole second that all nodes have told of
	RateAt    Millis
	Peak      int64 // the most decisions in one second
	PeakAt    Millis
	Decisions [NumReasons]int64 // since the campaign was made
	Latency   Histogram         // of the last five seconds
	Failing   int64             // UNAVAILABLE in the last five seconds
	PerSecond int64             // units that are settled a second
	Passes    int64             // handed out by the nodes that live, since each began
	PassRate  int64             // of them a second
	Pages     int64             // buyers' pages open in the last minute, about; zero once it has started
	Exact     bool              // the last measure came out exactly
	ExactAt   Millis            // when one did last
	Off       int64             // by how many units the last measure did not
	Verified  Verification      // the last count of all rows; CheckedAt zero: none yet
	Unpaid    Unpaid
	Health    Health
	Switches  []SwitchSetting // set, for the server or this campaign
	Buckets   []Bucket        // those asked for
	Next      Millis          // what to ask from next
	More      bool            // more buckets are there already
}
