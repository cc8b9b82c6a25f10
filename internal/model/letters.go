package model

import "fmt"

// Letters models the road from the gate to the ledger: two settlers, messages that come twice, a poisoned one that
// becomes a dead letter, an operator who replays or discards it, clients who send their request id again, orders that
// expire. Claims 0 and 1 are of one user, claim 2 of another; the limit is one unit.
type Letters struct {
	Total int8

	Marks   bool // a released claim leaves an ended mark in the gate
	OneRow  bool // outcomes of either kind are one row under one unique id
	Truth   bool // discarding writes a rejection where there is no row; else it only releases
	Locked  bool // a settler looks and writes under the campaign's lock; else it looks first and writes later
	Doubles int8
	Again   int8
	Deaths  int8 // messages that use up their tries
}

type settler struct{ at, claim, saw int8 }

type letterState struct {
	avail               int8
	gate                [3]int8 // 0 unknown, 1 live, 2 ended
	queue, dead         [3]int8
	order               [3]int8 // 0 none, 1 unpaid, 2 paid, 3 closed
	rejected            [3]bool
	release             [3]int8
	asked, told         [3]bool
	s                   [2]settler
	toldRecorded        bool
	doubles, again, die int8
}

var letterUser = [3]int{0, 0, 1}

func (s *letterState) live() (n int8) {
	for _, o := range s.order {
		if o == 1 || o == 2 {
			n++
		}
	}
	return n
}

func (s *letterState) liveOf(u int) (n int8) {
	for c, o := range s.order {
		if letterUser[c] == u && (o == 1 || o == 2) {
			n++
		}
	}
	return n
}

// Spec gives the system to check, with a bound on its states.
func (m Letters) Spec(most int) Spec[letterState] {
	init := letterState{avail: m.Total, doubles: m.Doubles, again: m.Again, die: m.Deaths}
	return Spec[letterState]{Init: init, Max: most, Always: m.always, AtRest: m.atRest,
		Next: func(s letterState, step func(string, bool, letterState)) {
			for c := range int8(3) {
				m.client(s, c, step)
				m.order(s, c, step)
				m.letter(s, c, step)
			}
			for k := range s.s {
				m.settle(s, k, step)
			}
		}}
}

func (m Letters) client(s letterState, c int8, step func(string, bool, letterState)) {
	if s.asked[c] && s.again == 0 || s.gate[c] != 0 {
		return
	}
	var used int8
	for d := range 3 {
		if letterUser[d] == letterUser[c] && s.gate[d] == 1 {
			used++
		}
	}
	if used > 0 || s.avail == 0 {
		return
	}
	t := s
	if s.asked[c] {
		t.again--
	}
	t.asked[c], t.told[c] = true, true
	t.avail--
	t.gate[c] = 1
	t.queue[c]++
	t.toldRecorded = s.order[c] != 0 || s.rejected[c]
	step(fmt.Sprintf("claim %d is admitted", c), false, t)
	if s.doubles > 0 {
		t.doubles--
		t.queue[c]++
		step(fmt.Sprintf("claim %d is admitted, its message comes twice", c), false, t)
	}
}

func (m Letters) order(s letterState, c int8, step func(string, bool, letterState)) {
	if s.order[c] == 1 {
		t := s
		t.order[c] = 3
		t.release[c]++
		step(fmt.Sprintf("order %d expires", c), false, t)
		t = s
		t.order[c] = 2
		step(fmt.Sprintf("order %d is paid", c), false, t)
	}
	if s.release[c] > 0 {
		t := s
		if s.gate[c] == 1 {
			t.avail++
			t.gate[c] = 0
		}
		if m.Marks {
			t.gate[c] = 2
		}
		if s.doubles > 0 {
			d := t
			d.doubles--
			step(fmt.Sprintf("claim %d is released, the reply is lost", c), false, d)
		}
		t.release[c]--
		step(fmt.Sprintf("claim %d is released", c), true, t)
	}
}

func (m Letters) letter(s letterState, c int8, step func(string, bool, letterState)) {
	if s.queue[c] > 0 && s.die > 0 {
		t := s
		t.die--
		t.queue[c]--
		t.dead[c]++
		step(fmt.Sprintf("claim %d becomes a dead letter", c), false, t)
	}
	if s.dead[c] == 0 {
		return
	}
	t := s
	t.dead[c]--
	t.queue[c]++
	step(fmt.Sprintf("dead letter %d is replayed", c), true, t)
	t = s
	t.dead[c]--
	if !m.Truth {
		t.release[c]++
	} else if s.order[c] == 0 && !s.rejected[c] {
		t.rejected[c] = true
		t.release[c]++
	}
	step(fmt.Sprintf("dead letter %d is discarded", c), true, t)
}

func (m Letters) settle(s letterState, k int, step func(string, bool, letterState)) {
	p := s.s[k]
	switch p.at {
	case 0:
		for c := range int8(3) {
			if s.queue[c] == 0 || k == 1 && s.s[0].at == 0 {
				continue
			}
			t := s
			t.s[k] = settler{at: 1, claim: c}
			if s.order[c] != 0 || s.rejected[c] {
				t.s[k].saw = 1
			}
			step(fmt.Sprintf("settler %d reads claim %d", k, c), true, t)
		}
	case 1:
		t := s
		t.s[k].at = 2
		how := m.write(&t, p)
		step(fmt.Sprintf("settler %d, claim %d: %s", k, p.claim, how), true, t)
	default:
		t := s
		t.s[k] = settler{}
		if s.doubles > 0 {
			t.doubles--
			step(fmt.Sprintf("settler %d dies before it acknowledges claim %d", k, p.claim), false, t)
			t.doubles++
		}
		t.queue[p.claim] = max(0, s.queue[p.claim]-1)
		step(fmt.Sprintf("settler %d acknowledges claim %d", k, p.claim), true, t)
	}
}

// write is the settler's transaction. What it saw before may be out of date where it looked without the lock.
func (m Letters) write(t *letterState, p settler) string {
	c := p.claim
	known := t.order[c] != 0 || t.rejected[c]
	if !m.Locked {
		known = p.saw == 1
		if !known && (t.order[c] != 0 || m.OneRow && t.rejected[c]) {
			return "a duplicate key, begins again and skips it"
		}
	}
	switch {
	case known:
		return "is there already"
	case t.live() < m.Total && t.liveOf(letterUser[c]) < 1:
		t.order[c] = 1
		return "confirmed"
	case t.rejected[c]:
		return "a duplicate key, begins again and skips it"
	}
	t.rejected[c] = true
	t.release[c]++
	return "rejected"
}

func (m Letters) always(s letterState) string {
	used := int8(0)
	for c := range 3 {
		if s.order[c] != 0 && s.rejected[c] {
			return fmt.Sprintf("claim %d is confirmed and rejected", c)
		}
		if s.gate[c] == 1 || s.order[c] == 1 || s.order[c] == 2 {
			used++
		}
	}
	switch {
	case s.live() > m.Total:
		return "oversold"
	case s.liveOf(0) > 1:
		return "over the limit"
	case s.avail+used > m.Total:
		return "the permit is high"
	case s.toldRecorded:
		return "queued was said of a claim whose outcome is recorded"
	}
	return ""
}

func (m Letters) atRest(s letterState) string {
	if s.avail+s.live() != m.Total {
		return fmt.Sprintf("%d available and %d live are not %d", s.avail, s.live(), m.Total)
	}
	for c := range 3 {
		if s.told[c] && s.order[c] == 0 && !s.rejected[c] {
			return fmt.Sprintf("claim %d was promised and is forgotten", c)
		}
		if (s.gate[c] == 1) != (s.order[c] == 1 || s.order[c] == 2) {
			return fmt.Sprintf("gate and ledger differ on claim %d", c)
		}
	}
	return ""
}
