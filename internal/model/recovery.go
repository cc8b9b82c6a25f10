package model

import "fmt"

// Recovery models one campaign on one shard that loses its gate: claims are admitted, promised by a node, settled from
// the outbox, by the sweeper or by the node itself; orders expire; the gate is emptied or comes back as an old copy of
// itself; re-armers open new epochs; nodes die; claims are admitted in the ledger while the gate is away.
//
// Claims 0 and 2 are of one user, claim 1 of another; the limit is one unit a user.
type Recovery struct {
	Total int8

	// The rules. Each can be taken away.
	Swap      bool // a new epoch is opened by compare-and-set
	SealFence bool // a seal forbids every later arm below its epoch
	ArmFence  bool // an arm must be above the gate's epoch
	OpEpoch   bool // permit operations carry the epoch, which gates compare
	Take      bool // settling a claim of an older epoch writes a take
	Join      bool // an arm keeps the gate's claims that the ledger does not know
	Outbox    bool // an arm keeps the outbox
	AwaitFlow bool // an arm waits until the living nodes have settled what they promised
	Sweep     bool // what is only in the gate is settled from there
	LoadAfter bool // rows are loaded after the epoch's commit
	AdmitIn   bool // admissions carry the epoch that the node knows

	// What may happen, and how often.
	Empties, OldCopies, Expiries, Planned, Degraded, Deaths, Copies, Retries int8
	Rearmers                                                                 int8
	// Strict: no promised claim of a living node is rejected.
	Strict bool
}

// recGate is the gate; epoch -1 means that there is none. claim: 0 unknown, 1 live, 2 ended. out holds a bit for each
// epoch in which a message of the claim lies in the outbox.
type recGate struct {
	epoch, sealed, avail int8
	open                 bool
	claim                [3]int8
	out                  [3]uint8
}

// recArm is a re-armer: at 0 it is idle.
type recArm struct {
	at, saw, epoch, avail int8
	claim                 [3]int8
}

type recState struct {
	gate, copy recGate
	hasCopy    bool
	ledger     int8    // epoch
	row        [3]int8 // 0 none, 1 live, 2 ended, 3 rejected
	release    [3]uint8
	take       [3]uint8
	late       [3]uint8 // copies of messages that are still under way
	promised   [3]bool  // on the node's list
	told       [3]int8  // the epoch of the promise plus one; 0 where there is none
	knows      int8     // the epoch the node knows
	dead       bool     // the node died: its list is gone
	doubt      bool     // somebody has seen that the gate is not what it was
	lostAny    bool
	rejected   bool // a promised claim of a living node was rejected
	arm        [2]recArm

	empties, copies, expiries, planned, degraded, deaths, doubles, retries int8
}

var recUser = [3]int{0, 1, 0}

// maxEpoch bounds the epochs of a run.
const maxEpoch = 4

func (s *recState) live() (n int8) {
	for _, r := range s.row {
		if r == 1 {
			n++
		}
	}
	return n
}

func (s *recState) liveOf(u int) (n int8) {
	for c, r := range s.row {
		if r == 1 && recUser[c] == u {
			n++
		}
	}
	return n
}

// Spec gives the system to check, with a bound on its states.
func (m Recovery) Spec(most int) Spec[recState] {
	init := recState{
		gate: recGate{avail: m.Total, open: true}, empties: m.Empties, copies: m.OldCopies, expiries: m.Expiries,
		planned: m.Planned, degraded: m.Degraded, deaths: m.Deaths, doubles: m.Copies, retries: m.Retries,
	}
	return Spec[recState]{Init: init, Max: most, Always: m.always, AtRest: m.atRest,
		Next: func(s recState, step func(string, bool, recState)) {
			m.nodes(s, step)
			for c := range 3 {
				m.claim(s, c, step)
				m.operations(s, c, step)
			}
			m.faults(s, step)
			for k := range int(m.Rearmers) {
				m.rearm(s, k, step)
			}
		}}
}

func (m Recovery) nodes(s recState, step func(string, bool, recState)) {
	if s.knows < s.ledger {
		t := s
		t.knows = s.ledger
		step("the node learns the epoch", true, t)
	}
	if s.deaths > 0 && !s.dead && s.promised != [3]bool{} {
		t := s
		t.deaths--
		t.dead, t.promised = true, [3]bool{}
		step("the node dies", false, t)
	}
}

// settle writes a claim of epoch e to the ledger.
func (m Recovery) settle(t *recState, c int, e int8) string {
	switch {
	case t.row[c] != 0:
		return "is there already"
	case t.live() < m.Total && t.liveOf(recUser[c]) < 1:
		t.row[c] = 1
		if m.Take && e < t.ledger {
			t.take[c] |= 1 << t.ledger
		}
		return "confirmed"
	}
	if t.promised[c] {
		t.rejected = true
	}
	t.row[c] = 3
	t.release[c] |= 1 << t.ledger
	return "rejected"
}

func (m Recovery) claim(s recState, c int, step func(string, bool, recState)) {
	g := &s.gate
	var used int8
	for d := range 3 {
		if recUser[d] == recUser[c] && g.claim[d] == 1 {
			used++
		}
	}
	if g.epoch >= 0 && g.open && g.claim[c] == 0 && used == 0 && g.avail > 0 &&
		(s.told[c] == 0 || s.retries > 0) && (!m.AdmitIn || g.epoch == s.knows) {
		t := s
		if s.told[c] != 0 { // the client sends its request id again
			t.retries--
		}
		t.gate.avail--
		t.gate.claim[c] = 1
		t.gate.out[c] |= 1 << g.epoch
		t.told[c], t.promised[c] = g.epoch+1, !s.dead
		step(fmt.Sprintf("claim %d is admitted in epoch %d", c, g.epoch), false, t)
	}
	for e := range int8(maxEpoch + 1) {
		bit := uint8(1) << e
		if g.out[c]&bit != 0 {
			t := s
			t.gate.out[c] &^= bit
			how := m.settle(&t, c, e)
			step(fmt.Sprintf("claim %d of epoch %d is settled: %s", c, e, how), true, t)
			if s.doubles > 0 {
				t.doubles--
				t.late[c] |= bit
				step(fmt.Sprintf("claim %d is settled (%s), and a copy of it stays under way", c, how), false, t)
			}
		}
		if s.late[c]&bit != 0 {
			t := s
			t.late[c] &^= bit
			step(fmt.Sprintf("a late copy of claim %d: %s", c, m.settle(&t, c, e)), true, t)
		}
	}
	m.promise(s, c, step)
	if m.Sweep && g.epoch >= 0 && g.claim[c] == 1 && s.row[c] == 0 && g.out[c] == 0 && s.late[c] == 0 {
		t := s
		step(fmt.Sprintf("the sweeper settles claim %d: %s", c, m.settle(&t, c, g.epoch)), true, t)
	}
}

// promise is what the node does about a claim that it answered QUEUED.
func (m Recovery) promise(s recState, c int, step func(string, bool, recState)) {
	if s.promised[c] && s.row[c] != 0 {
		t := s
		t.promised[c] = false
		step(fmt.Sprintf("the node sees the outcome of claim %d", c), true, t)
	}
	if s.promised[c] && s.row[c] == 0 && s.told[c]-1 < s.knows {
		t := s
		step(fmt.Sprintf("the node settles its claim %d: %s", c, m.settle(&t, c, s.told[c]-1)), true, t)
	}
	// LOST: only after a loss, to whoever was promised by a node that is dead, and where nothing holds the claim.
	if s.told[c] > 0 && s.row[c] == 0 && s.dead && s.lostAny && s.told[c]-1 < s.ledger && s.gate.epoch == s.ledger &&
		s.gate.claim[c] == 0 && s.late[c] == 0 && s.gate.out[c] == 0 {
		t := s
		t.row[c] = 3
		t.release[c] |= 1 << s.ledger
		step(fmt.Sprintf("claim %d is recorded as lost", c), true, t)
	}
	if s.expiries > 0 && s.row[c] == 1 {
		t := s
		t.expiries--
		t.row[c] = 2
		t.release[c] |= 1 << s.ledger
		step(fmt.Sprintf("order %d expires", c), false, t)
	}
	if s.degraded > 0 && s.row[c] == 0 && s.told[c] == 0 && s.promised == [3]bool{} &&
		s.live() < m.Total && s.liveOf(recUser[c]) < 1 {
		t := s
		t.degraded--
		t.row[c] = 1
		if m.Take {
			t.take[c] |= 1 << s.ledger
		}
		step(fmt.Sprintf("claim %d is admitted in the ledger", c), false, t)
	}
}

// operations carries what the ledger tells the gate.
func (m Recovery) operations(s recState, c int, step func(string, bool, recState)) {
	for e := range int8(maxEpoch + 1) {
		bit := uint8(1) << e
		if s.release[c]&bit != 0 && s.gate.epoch >= 0 && (!m.OpEpoch || s.gate.epoch >= e) {
			t := s
			t.release[c] &^= bit
			if !m.OpEpoch || s.gate.epoch == e {
				if s.gate.claim[c] == 1 {
					t.gate.avail++
				}
				t.gate.claim[c] = 2
			}
			step(fmt.Sprintf("release of claim %d, epoch %d", c, e), true, t)
		}
		if s.take[c]&bit != 0 && s.gate.epoch >= 0 && (!m.OpEpoch || s.gate.epoch >= e) {
			t := s
			t.take[c] &^= bit
			if s.gate.claim[c] == 0 && (!m.OpEpoch || s.gate.epoch == e) {
				t.gate.avail--
				t.gate.claim[c] = 1
			}
			step(fmt.Sprintf("take of claim %d, epoch %d", c, e), true, t)
		}
	}
}

func (m Recovery) faults(s recState, step func(string, bool, recState)) {
	if s.empties > 0 && s.gate.epoch >= 0 {
		t := s
		t.empties--
		t.gate = recGate{epoch: -1}
		t.doubt, t.lostAny = true, true
		step("the gate is emptied", false, t)
	}
	if s.copies > 0 && !s.hasCopy && s.gate.epoch >= 0 {
		t := s
		t.hasCopy, t.copy = true, s.gate
		step("a copy of the gate falls behind", false, t)
	}
	if s.copies > 0 && s.hasCopy && s.gate != s.copy {
		t := s
		t.copies--
		t.gate, t.copy, t.hasCopy = s.copy, recGate{}, false
		t.doubt, t.lostAny = true, true
		step("the old copy becomes the gate", false, t)
	}
}

// rearm is a re-armer: seal, open the epoch, wait for the nodes, load the rows, arm.
func (m Recovery) rearm(s recState, k int, step func(string, bool, recState)) {
	a := s.arm[k]
	t := s
	switch a.at {
	case 0:
		needed := s.doubt || s.gate.epoch != s.ledger && s.arm[1-k].at == 0
		if !needed && s.planned == 0 || s.ledger >= maxEpoch {
			return
		}
		if !needed {
			t.planned--
		}
		t.doubt = false
		t.arm[k] = recArm{at: 1, saw: s.ledger}
		if !m.LoadAfter {
			t.arm[k].claim, t.arm[k].avail = m.rows(&s), m.Total-s.live()
		}
		if s.gate.epoch >= 0 {
			t.gate.open = false
			if m.SealFence {
				t.gate.sealed = max(t.gate.sealed, s.ledger+1)
			}
		}
		step(fmt.Sprintf("re-armer %d seals", k), needed, t)
	case 1:
		if m.Swap && s.ledger != a.saw {
			t.arm[k] = recArm{}
			step(fmt.Sprintf("re-armer %d gives up: the epoch has moved", k), true, t)
			return
		}
		t.ledger = a.saw + 1
		t.arm[k].at, t.arm[k].epoch = 2, t.ledger
		step(fmt.Sprintf("re-armer %d opens epoch %d", k, t.ledger), true, t)
	case 2:
		if m.AwaitFlow && !s.dead && (s.knows < a.epoch || m.owes(&s, a.epoch)) {
			return
		}
		t.arm[k].at = 3
		if m.LoadAfter {
			t.arm[k].claim, t.arm[k].avail = m.rows(&s), m.Total-s.live()
		}
		step(fmt.Sprintf("re-armer %d has the rows", k), true, t)
	case 3:
		t.arm[k] = recArm{}
		if m.ArmFence && s.gate.epoch >= a.epoch || m.SealFence && s.gate.epoch >= 0 && s.gate.sealed > a.epoch {
			step(fmt.Sprintf("re-armer %d is refused epoch %d", k, a.epoch), true, t)
			return
		}
		t.gate = m.armed(s.gate, a)
		step(fmt.Sprintf("re-armer %d arms epoch %d with %d", k, a.epoch, t.gate.avail), true, t)
	}
}

// owes says whether the node still has an open promise from before the epoch.
func (m Recovery) owes(s *recState, epoch int8) bool {
	for c, p := range s.promised {
		if p && s.row[c] == 0 && s.told[c]-1 < epoch {
			return true
		}
	}
	return false
}

func (m Recovery) rows(s *recState) (claim [3]int8) {
	for c, r := range s.row {
		claim[c] = min(r, 2)
	}
	return claim
}

func (m Recovery) armed(was recGate, a recArm) recGate {
	g := recGate{epoch: a.epoch, sealed: a.epoch, open: true, avail: a.avail, claim: a.claim}
	if m.Outbox && was.epoch >= 0 {
		g.out = was.out
	}
	if m.Join && was.epoch >= 0 {
		g.avail = m.Total
		for c := range g.claim {
			if g.claim[c] = max(g.claim[c], was.claim[c]); g.claim[c] == 1 {
				g.avail--
			}
		}
	}
	return g
}

func (m Recovery) always(s recState) string {
	switch {
	case s.live() > m.Total:
		return "oversold"
	case s.liveOf(0) > 1:
		return "over the limit"
	case m.Strict && s.rejected:
		return "a promised claim of a living node was rejected"
	}
	return ""
}

func (m Recovery) atRest(s recState) string {
	if s.ledger >= maxEpoch {
		return "" // the run has used up its epochs
	}
	if s.gate.epoch != s.ledger || !s.gate.open {
		return fmt.Sprintf("the gate is at epoch %d (open: %v), the ledger at %d", s.gate.epoch, s.gate.open, s.ledger)
	}
	if s.gate.avail+s.live() != m.Total {
		return fmt.Sprintf("%d available and %d live are not %d", s.gate.avail, s.live(), m.Total)
	}
	for c := range 3 {
		if s.told[c] > 0 && s.row[c] == 0 {
			return fmt.Sprintf("claim %d was promised and is forgotten", c)
		}
		if (s.gate.claim[c] == 1) != (s.row[c] == 1) {
			return fmt.Sprintf("gate and ledger differ on claim %d", c)
		}
	}
	return ""
}
