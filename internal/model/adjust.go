package model

import "fmt"

// Adjust models changes of a campaign's total while claims are in flight: an increase is one ledger transaction and an
// operation for the gate; a decrease is written down as pending, taken from the gate, and then done in the ledger.
// Nodes die between the steps, and a new epoch may begin.
type Adjust struct {
	Total  int8
	Deltas [3]int8 // 0: no such change

	Next     bool // the gate applies only the revision after its own; else any that is higher
	Serial   bool // one change of a campaign at a time
	OpEpoch  bool // the operation of an increase carries its epoch
	DoneIn   bool // a decrease is done only in the epoch in which its units were taken
	Remember bool // the gate remembers what each revision took

	Epochs, Claims, Returns, Deaths int8
}

// decrease is a node at work on a pending change: 1 begun, 2 taken from the gate.
type decrease struct{ at, change, taken, epoch int8 }

type adjustState struct {
	total, live, queued, ledger, revision int8
	change                                [3]int8 // 0 none, 1 pending, 2 done
	rev                                   [3]int8
	op                                    [3]bool // an increase's operation is under way
	opEpoch                               [3]int8

	avail, epoch, gateRev int8
	took                  [3]int8 // plus one, by change
	node                  [2]decrease
	arming                bool
	loaded, loadedRev     int8
	rejected              bool

	epochs, claims, returns, deaths int8
}

// Spec gives the system to check, with a bound on its states.
func (m Adjust) Spec(most int) Spec[adjustState] {
	init := adjustState{total: m.Total, avail: m.Total, epochs: m.Epochs, claims: m.Claims, returns: m.Returns,
		deaths: m.Deaths}
	return Spec[adjustState]{Init: init, Max: most, Always: m.always, AtRest: m.atRest,
		Next: func(s adjustState, step func(string, bool, adjustState)) {
			m.sale(s, step)
			for k, d := range m.Deltas {
				if d != 0 {
					m.change(s, int8(k), d, step)
				}
			}
			for i := range s.node {
				m.node(s, i, step)
			}
			m.rearm(s, step)
		}}
}

func (m Adjust) sale(s adjustState, step func(string, bool, adjustState)) {
	open := !s.arming && s.epoch == s.ledger
	if s.claims > 0 && s.avail > 0 && open {
		t := s
		t.claims, t.avail, t.queued = s.claims-1, s.avail-1, s.queued+1
		step("a claim is admitted", false, t)
	}
	if s.queued > 0 {
		t := s
		t.queued--
		if s.live < s.total {
			t.live++
		} else {
			t.rejected = true
		}
		step("a claim is settled", true, t)
	}
	if s.returns > 0 && s.live > 0 && open {
		t := s
		t.returns, t.live, t.avail = s.returns-1, s.live-1, s.avail+1
		step("a unit returns", false, t)
	}
}

func (m Adjust) change(s adjustState, k, d int8, step func(string, bool, adjustState)) {
	busy := false
	for i := range s.change {
		busy = busy || s.change[i] == 1 || s.op[i]
	}
	if s.change[k] == 0 && (!m.Serial || !busy) {
		t := s
		t.revision++
		t.rev[k] = t.revision
		if d > 0 {
			t.total += d
			t.change[k], t.op[k], t.opEpoch[k] = 2, true, s.ledger
		} else {
			t.change[k] = 1
		}
		step(fmt.Sprintf("change %d is written, revision %d", k, t.revision), false, t)
	}
	if s.op[k] && (!m.OpEpoch || s.opEpoch[k] <= s.epoch) {
		t := s
		switch {
		case m.OpEpoch && s.opEpoch[k] < s.epoch: // the rows that were loaded have it
			t.op[k] = false
		case m.Next && s.gateRev+1 < s.rev[k]:
			return
		default:
			if s.rev[k] > s.gateRev {
				t.avail, t.gateRev = s.avail+d, s.rev[k]
			}
			t.op[k] = false
		}
		step(fmt.Sprintf("the gate hears of change %d", k), true, t)
	}
	for i := range s.node {
		if s.node[i].at == 0 && s.change[k] == 1 && (i == 0 || s.node[0].at != 0) {
			t := s
			t.node[i] = decrease{at: 1, change: k}
			step(fmt.Sprintf("node %d begins with change %d", i, k), true, t)
		}
	}
}

func (m Adjust) node(s adjustState, i int, step func(string, bool, adjustState)) {
	n := s.node[i]
	if n.at == 0 {
		return
	}
	k := n.change
	if s.deaths > 0 {
		t := s
		t.deaths--
		t.node[i] = decrease{}
		step(fmt.Sprintf("node %d dies", i), false, t)
	}
	t := s
	t.node[i] = decrease{}
	switch {
	case s.change[k] != 1:
		step(fmt.Sprintf("node %d: change %d is done already", i, k), true, t)
	case n.at == 1 && m.Next && s.gateRev+1 < s.rev[k]:
		step(fmt.Sprintf("node %d: the gate waits for an earlier revision", i), false, t)
	case n.at == 1:
		taken := int8(0)
		if s.rev[k] > s.gateRev {
			taken = min(-m.Deltas[k], s.avail)
			t.avail -= taken
			t.gateRev, t.took[k] = s.rev[k], taken+1
		} else if m.Remember && s.took[k] > 0 {
			taken = s.took[k] - 1
		}
		t.node[i] = decrease{2, k, taken, s.epoch}
		step(fmt.Sprintf("node %d: the gate gives up %d for change %d", i, taken, k), true, t)
	case m.DoneIn && n.epoch != s.ledger:
		step(fmt.Sprintf("node %d: the epoch has moved, change %d stays pending", i, k), true, t)
	default:
		t.total -= n.taken
		t.change[k] = 2
		step(fmt.Sprintf("node %d: change %d took %d", i, k, n.taken), true, t)
	}
}

func (m Adjust) rearm(s adjustState, step func(string, bool, adjustState)) {
	t := s
	if s.arming {
		t.avail, t.gateRev, t.epoch = s.loaded, s.loadedRev, s.ledger
		t.took, t.arming, t.loaded, t.loadedRev = [3]int8{}, false, 0, 0
		step("the new epoch is armed", true, t)
		return
	}
	if s.epochs == 0 {
		return
	}
	t.epochs--
	t.ledger++
	t.arming, t.loaded = true, s.total-s.live-s.queued
	for k := range s.change {
		if s.change[k] == 2 {
			t.loadedRev = max(t.loadedRev, s.rev[k])
		}
	}
	step("a new epoch is opened and loaded", false, t)
}

func (m Adjust) always(s adjustState) string {
	switch {
	case s.live > s.total:
		return "oversold"
	case s.rejected:
		return "an admitted claim was rejected because of an adjustment"
	case !s.arming && s.epoch == s.ledger && s.avail+s.queued+s.live > s.total:
		return "the permit is high"
	}
	return ""
}

func (m Adjust) atRest(s adjustState) string {
	if s.avail+s.live != s.total {
		return fmt.Sprintf("%d available and %d live are not %d", s.avail, s.live, s.total)
	}
	for k, c := range s.change {
		if c == 1 {
			return fmt.Sprintf("change %d is pending for ever", k)
		}
	}
	return ""
}
