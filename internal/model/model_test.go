package model_test

import (
	"strings"
	"testing"

	"github.com/sluice-sale/sluice/internal/model"
)

// asBuilt has every rule of the protocol.
func asBuilt() model.Recovery {
	return model.Recovery{
		Total: 1, Swap: true, SealFence: true, ArmFence: true, OpEpoch: true, Take: true, Join: true, Outbox: true,
		AwaitFlow: true, Sweep: true, LoadAfter: true, AdmitIn: true, Rearmers: 2,
	}
}

func holds(t *testing.T, r model.Result) {
	t.Helper()
	if r.Wrong != "" {
		t.Fatalf("%s after\n  %s", r.Wrong, strings.Join(r.Trace, "\n  "))
	}
	t.Logf("%d states, %d at rest, complete: %v", r.States, r.Resting, r.Complete)
}

func TestRecovery(t *testing.T) {
	tests := []struct {
		name string
		set  func(*model.Recovery)
	}{
		{"emptied, two re-armers", func(m *model.Recovery) { m.Empties, m.Expiries, m.Retries, m.Strict = 1, 1, 1, true }},
		{"emptied twice", func(m *model.Recovery) { m.Empties, m.Expiries, m.Retries, m.Strict = 2, 1, 1, true }},
		{"emptied with a copy under way", func(m *model.Recovery) {
			m.Empties, m.Copies, m.Expiries, m.Retries, m.Strict = 1, 1, 1, 1, true
		}},
		{"an old copy comes back", func(m *model.Recovery) { m.OldCopies, m.Expiries, m.Retries, m.Rearmers = 1, 1, 1, 1 }},
		{"an old copy comes back beside a planned epoch", func(m *model.Recovery) {
			m.OldCopies, m.Expiries, m.Planned = 1, 1, 1
		}},
		{"planned epochs", func(m *model.Recovery) { m.Planned, m.Expiries, m.Retries, m.Strict = 2, 1, 1, true }},
		{"planned epochs, two units, a copy under way", func(m *model.Recovery) {
			m.Total, m.Planned, m.Copies, m.Strict = 2, 1, 1, true
		}},
		{"two units, emptied", func(m *model.Recovery) {
			m.Total, m.Empties, m.Expiries, m.Retries, m.Strict = 2, 1, 1, 1, true
		}},
		{"the node dies with the gate", func(m *model.Recovery) { m.Empties, m.Deaths, m.Retries, m.Expiries = 1, 1, 1, 1 }},
		{"degraded", func(m *model.Recovery) { m.Empties, m.Degraded, m.Expiries, m.Retries = 1, 1, 1, 1 }},
		{"degraded, an old copy", func(m *model.Recovery) { m.OldCopies, m.Degraded, m.Rearmers = 1, 1, 1 }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := asBuilt()
			tc.set(&m)
			holds(t, model.Check(m.Spec(most)))
		})
	}
}

// most bounds the states of one search, so that all of them together stay within a minute.
const most = 800_000

// Each rule is needed: without it, and without the rule that backs it where there is one, some promise breaks.
func TestRecoveryRules(t *testing.T) {
	lossy := func(m *model.Recovery) { m.Empties, m.Planned, m.Expiries, m.Strict = 1, 1, 1, true }
	planned := func(m *model.Recovery) { m.Planned, m.Expiries, m.Strict = 3, 1, true }
	degraded := func(m *model.Recovery) { m.Planned, m.Degraded = 1, 1 }
	dying := func(m *model.Recovery) { m.Planned, m.Deaths = 1, 1 }
	tests := []struct {
		name string
		set  func(*model.Recovery)
		drop func(*model.Recovery)
	}{
		{"an epoch is opened without compare-and-set", planned, func(m *model.Recovery) { m.Swap = false }},
		{"without compare-and-set and fences", planned,
			func(m *model.Recovery) { m.Swap, m.SealFence, m.ArmFence = false, false, false }},
		{"operations without an epoch, arms that do not join", lossy,
			func(m *model.Recovery) { m.OpEpoch, m.Join = false, false }},
		{"a claim of the ledger is not taken from the gate", degraded, func(m *model.Recovery) { m.Take = false }},
		{"a planned arm drops what only the gate knows", planned,
			func(m *model.Recovery) { m.Join, m.Outbox, m.AwaitFlow = false, false, false }},
		{"rows are loaded before the epoch's commit", lossy, func(m *model.Recovery) { m.LoadAfter = false }},
		{"an arm does not wait for the nodes", lossy, func(m *model.Recovery) { m.AwaitFlow = false }},
		{"no sweeper, and a dropped outbox", dying,
			func(m *model.Recovery) { m.Sweep, m.Outbox, m.AwaitFlow = false, false, false }},
		{"admissions without an epoch, arms that do not join", lossy,
			func(m *model.Recovery) { m.AdmitIn, m.Join = false, false }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := asBuilt()
			tc.set(&m)
			tc.drop(&m)
			breaks(t, model.Check(m.Spec(most)))
		})
	}
}

// breaks says how a promise broke; it has to.
func breaks(t *testing.T, r model.Result) {
	t.Helper()
	if r.Wrong == "" {
		t.Errorf("nothing breaks without it in %d states (complete: %v)", r.States, r.Complete)
	}
	t.Logf("%s after %d steps: %s", r.Wrong, len(r.Trace), strings.Join(r.Trace, "; "))
}

func TestShards(t *testing.T) {
	built := model.Shards{
		Total: 1, HighWater: true, InEpoch: true, ForgetOnly: true, SealAll: true, SeePending: true, Lease: true,
		Verdicts: 1, Epochs: 1, Ghosts: 1, Claims: 1, Returns: 1, Transfers: 2,
	}
	t.Run("as built", func(t *testing.T) { holds(t, model.Check(built.Spec(most))) })
	t.Run("two units", func(t *testing.T) {
		m := built
		m.Total, m.Claims, m.Ghosts, m.Epochs = 2, 2, 0, 0
		holds(t, model.Check(m.Spec(most)))
	})
	tests := []struct {
		name string
		drop func(*model.Shards)
	}{
		{"a forgotten transfer mark mints a unit", func(m *model.Shards) { m.HighWater = false }},
		{"transfers without an epoch, forgotten when refused", func(m *model.Shards) {
			m.InEpoch, m.ForgetOnly = false, false
		}},
		{"sold out is told while a unit is in transit", func(m *model.Shards) { m.SeePending = false }},
		{"a verdict without leases", func(m *model.Shards) { m.Lease = false }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := built
			m.Transfers = 3
			tc.drop(&m)
			breaks(t, model.Check(m.Spec(4*most)))
		})
	}
}

func TestMarker(t *testing.T) {
	built := model.Marker{HoldersFirst: true, FromSend: true, Lease: true, Returns: 2, Until: 9}
	t.Run("as built", func(t *testing.T) { holds(t, model.Check(built.Spec(most))) })
	for name, drop := range map[string]func(*model.Marker){
		"the marker hides a winner from himself":     func(m *model.Marker) { m.HoldersFirst = false },
		"the marker's time runs from the reply":      func(m *model.Marker) { m.FromSend = false },
		"returned units are claimed under the lease": func(m *model.Marker) { m.Lease = false },
		"the lease is renewed while units wait":      func(m *model.Marker) { m.KeepsRenewing = true },
	} {
		t.Run(name, func(t *testing.T) {
			m := built
			drop(&m)
			breaks(t, model.Check(m.Spec(4*most)))
		})
	}
}

func TestAdjust(t *testing.T) {
	built := model.Adjust{
		Total: 2, Deltas: [3]int8{-1, 1}, Next: true, Serial: true, OpEpoch: true, DoneIn: true, Remember: true,
		Epochs: 1, Claims: 2, Returns: 1, Deaths: 1,
	}
	t.Run("as built", func(t *testing.T) { holds(t, model.Check(built.Spec(most))) })
	t.Run("three changes, two epochs", func(t *testing.T) {
		m := built
		m.Total, m.Deltas, m.Epochs, m.Claims = 3, [3]int8{-1, 1, -2}, 2, 3
		holds(t, model.Check(m.Spec(most)))
	})
	for name, drop := range map[string]func(*model.Adjust){
		"two adjustments applied out of order lose one": func(m *model.Adjust) { m.Next, m.Serial = false, false },
		"operations without an epoch":                   func(m *model.Adjust) { m.OpEpoch = false },
		"a decrease is done in another epoch":           func(m *model.Adjust) { m.DoneIn = false },
		"the gate forgets what a revision took":         func(m *model.Adjust) { m.Remember = false },
	} {
		t.Run(name, func(t *testing.T) {
			m := built
			drop(&m)
			breaks(t, model.Check(m.Spec(4*most)))
		})
	}
}

func TestLetters(t *testing.T) {
	built := model.Letters{Total: 1, Marks: true, OneRow: true, Truth: true, Locked: true, Doubles: 2, Again: 1, Deaths: 1}
	t.Run("as built", func(t *testing.T) { holds(t, model.Check(built.Spec(most))) })
	t.Run("two units", func(t *testing.T) {
		m := built
		m.Total, m.Doubles = 2, 1
		holds(t, model.Check(m.Spec(most)))
	})
	for name, drop := range map[string]func(*model.Letters){
		"a retry after a close is queued again":        func(m *model.Letters) { m.Marks = false },
		"a discard releases a unit that is confirmed":  func(m *model.Letters) { m.Truth = false },
		"a rejection elsewhere lets a claim end twice": func(m *model.Letters) { m.OneRow, m.Locked = false, false },
	} {
		t.Run(name, func(t *testing.T) {
			m := built
			drop(&m)
			breaks(t, model.Check(m.Spec(4*most)))
		})
	}
}
