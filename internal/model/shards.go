package model

import "fmt"

// Shards models two shards of one campaign: units move between them, an observer asks both whether they are dry before
// it says "sold out", units return, and a new epoch may begin in the middle of all that.
type Shards struct {
	Total int8

	HighWater  bool // a receiver remembers the highest transfer it has applied, for the whole epoch
	InEpoch    bool // a transfer carries its giver's epoch, which the receiver compares
	ForgetOnly bool // a giver forgets a transfer only once it is applied
	SealAll    bool // all shards are sealed before the rows are loaded
	SeePending bool // a shard with units on their way is not dry
	Lease      bool // a dry shard grants a lease; meanwhile what comes in waits

	Verdicts, Epochs, Ghosts, Claims, Returns, Transfers int8
}

// shard is one of the two. pending is the transfer under way, with the epoch it began in.
type shard struct {
	avail, returning, epoch        int8
	open, leased                   bool
	pending, pendingEpoch, seq, hi int8
	applied                        uint8
}

// puller moves a unit: 1 after out, 2 after in.
type puller struct{ at, giver, id, epoch int8 }

type shardState struct {
	s     [2]shard
	pull  [2]puller
	ghost struct{ to, id, epoch int8 } // an "in" that is still on the wire; to is the receiver plus one
	sold  int8
	// The observer: it has asked so many shards. free: there was a unit to be had all the time.
	asked int8
	free  bool
	wrong bool
	// The re-armer.
	arm, loaded, ledger int8

	verdicts, epochs, ghosts, claims, returns int8
}

// Spec gives the system to check, with a bound on its states.
func (m Shards) Spec(most int) Spec[shardState] {
	init := shardState{verdicts: m.Verdicts, epochs: m.Epochs, ghosts: m.Ghosts, claims: m.Claims, returns: m.Returns}
	init.s[0].open, init.s[1].open, init.s[1].avail = true, true, m.Total
	return Spec[shardState]{Init: init, Max: most, Always: m.always, AtRest: m.atRest,
		Next: func(s shardState, to func(string, bool, shardState)) {
			step := func(name string, progress bool, t shardState) {
				if t.asked > 0 && m.units(&t) == 0 {
					t.free = false
				}
				to(name, progress, t)
			}
			for i := range int8(2) {
				m.shard(s, i, step)
				m.pullers(s, i, step)
			}
			m.wire(s, step)
			m.observer(s, step)
			m.rearm(s, step)
		}}
}

// isApplied says whether the receiver r has the transfer id.
func (m Shards) isApplied(s *shardState, r, id int8) bool {
	if m.InEpoch && s.s[1-r].pendingEpoch != s.s[r].epoch {
		return false
	}
	if m.HighWater {
		return s.s[r].hi >= id
	}
	return s.s[r].applied&(1<<id) != 0
}

// units counts what can be claimed or soon can; what waits for a lease is counted as taken, for its one second.
func (m Shards) units(s *shardState) int8 {
	n := s.s[0].avail + s.s[1].avail
	for g := range int8(2) {
		if s.s[g].pending != 0 && !m.isApplied(s, 1-g, s.s[g].pending) {
			n++
		}
	}
	return n
}

// in applies a transfer to r, and says whether the giver may forget it.
func (m Shards) in(t *shardState, r, id, epoch int8) (done bool) {
	s := &t.s[r]
	switch {
	case m.InEpoch && s.epoch != epoch:
		return false
	case m.HighWater && s.hi >= id || !m.HighWater && s.applied&(1<<id) != 0:
		return true
	case s.leased:
		return false
	}
	s.avail++
	s.hi = id
	s.applied |= 1 << id
	return true
}

func (m Shards) forget(t *shardState, g int8) {
	id := t.s[g].pending
	t.s[g].pending, t.s[g].pendingEpoch = 0, 0
	if !m.HighWater {
		t.s[1-g].applied &^= 1 << id
	}
}

func (m Shards) shard(s shardState, i int8, step func(string, bool, shardState)) {
	h := s.s[i]
	if s.claims > 0 && h.avail > 0 && h.open {
		t := s
		t.claims--
		t.s[i].avail--
		t.sold++
		step(fmt.Sprintf("a claim on shard %d", i), false, t)
	}
	if s.returns > 0 && s.sold > 0 && s.arm == 0 && h.epoch == s.ledger {
		t := s
		t.returns--
		t.sold--
		if h.leased {
			t.s[i].returning++
		} else {
			t.s[i].avail++
		}
		step(fmt.Sprintf("a unit returns to shard %d", i), false, t)
	}
	if h.leased {
		t := s
		t.s[i].leased = false
		t.s[i].avail += h.returning
		t.s[i].returning = 0
		if t.asked > 0 { // leases have to overlap
			t.asked, t.free = 0, false
		}
		step(fmt.Sprintf("the lease of shard %d ends", i), true, t)
	}
	if h.pending == 0 {
		return
	}
	t := s
	if m.in(&t, 1-i, h.pending, h.pendingEpoch) {
		step(fmt.Sprintf("somebody completes transfer %d of shard %d", h.pending, i), true, t)
	}
	if m.isApplied(&s, 1-i, h.pending) {
		t = s
		m.forget(&t, i)
		step(fmt.Sprintf("somebody forgets transfer %d of shard %d", h.pending, i), true, t)
	}
}

// pullers begin transfers from shard g to the other one, and carry them on.
func (m Shards) pullers(s shardState, g int8, step func(string, bool, shardState)) {
	h := s.s[g]
	for k := range 2 {
		p := s.pull[k]
		if p.at == 0 {
			if h.avail > 0 && h.open && h.pending == 0 && h.seq < m.Transfers && s.s[1-g].avail == 0 &&
				(k == 0 || s.pull[0].at != 0) {
				t := s
				t.s[g].avail--
				t.s[g].seq++
				t.s[g].pending, t.s[g].pendingEpoch = h.seq+1, h.epoch
				t.pull[k] = puller{1, g, h.seq + 1, h.epoch}
				step(fmt.Sprintf("node %d: out, transfer %d from shard %d", k, h.seq+1, g), false, t)
			}
			continue
		}
		if p.giver != g {
			continue
		}
		t := s
		t.pull[k] = puller{}
		step(fmt.Sprintf("node %d dies", k), false, t)
		t = s
		if p.at == 1 {
			done := m.in(&t, 1-g, p.id, p.epoch)
			t.pull[k].at = 2
			if m.ForgetOnly && !done {
				t.pull[k] = puller{}
			}
			step(fmt.Sprintf("node %d: in, transfer %d", k, p.id), true, t)
			if s.ghosts > 0 && s.ghost.to == 0 {
				t = s
				t.ghosts--
				t.ghost.to, t.ghost.id, t.ghost.epoch = 2-g, p.id, p.epoch
				t.pull[k] = puller{}
				step(fmt.Sprintf("node %d gives up while its in of transfer %d is on the wire", k, p.id), false, t)
			}
			continue
		}
		t.pull[k] = puller{}
		if h.pending == p.id && h.epoch == p.epoch {
			m.forget(&t, g)
		}
		step(fmt.Sprintf("node %d: forget, transfer %d", k, p.id), true, t)
	}
}

func (m Shards) wire(s shardState, step func(string, bool, shardState)) {
	if s.ghost.to == 0 {
		return
	}
	t := s
	m.in(&t, s.ghost.to-1, s.ghost.id, s.ghost.epoch)
	t.ghost.to, t.ghost.id, t.ghost.epoch = 0, 0, 0
	step("an in that was on the wire arrives", true, t)
}

// observer asks one shard after the other whether it is dry.
func (m Shards) observer(s shardState, step func(string, bool, shardState)) {
	if s.asked == 0 {
		if s.verdicts > 0 {
			t := s
			t.verdicts--
			t.asked, t.free = 1, m.units(&s)+s.s[0].returning+s.s[1].returning > 0
			step("the observer begins", false, t)
		}
		return
	}
	h := s.s[s.asked-1]
	t := s
	if h.avail > 0 || !h.open || m.SeePending && h.pending != 0 || m.Lease && (h.returning > 0 || h.epoch != s.ledger) {
		t.asked, t.free = 0, false
		step(fmt.Sprintf("the observer: shard %d is not dry", s.asked-1), true, t)
		return
	}
	if m.Lease {
		t.s[s.asked-1].leased = true
	}
	t.asked++
	if s.asked == 2 {
		t.wrong = s.free
		t.asked, t.free = 0, false
		step("the observer says sold out", true, t)
		return
	}
	step(fmt.Sprintf("the observer: shard %d is dry", s.asked-1), true, t)
}

func (m Shards) rearm(s shardState, step func(string, bool, shardState)) {
	t := s
	switch s.arm {
	case 0:
		if s.epochs == 0 {
			return
		}
		t.epochs--
		t.s[0].open, t.arm = false, 1
		if !m.SealAll {
			t.ledger, t.arm, t.loaded = s.ledger+1, 2, m.Total-s.sold
		}
		step("shard 0 is sealed", false, t)
	case 1:
		t.s[1].open = false
		t.ledger, t.arm, t.loaded = s.ledger+1, 2, m.Total-s.sold
		step("shard 1 is sealed, the epoch opened, the rows loaded", true, t)
	default:
		i := s.arm - 2
		t.s[i] = shard{epoch: s.ledger, open: true}
		t.asked, t.free = 0, false
		if t.arm++; i == 0 {
			t.s[0].avail = s.loaded
		} else {
			t.arm, t.loaded = 0, 0
		}
		step(fmt.Sprintf("shard %d is armed", i), true, t)
	}
}

func (m Shards) always(s shardState) string {
	switch {
	case s.wrong:
		return "sold out was said while a unit was free all the time"
	case s.arm == 0 && m.units(&s)+s.s[0].returning+s.s[1].returning+s.sold > m.Total:
		return "the permit is high"
	}
	return ""
}

func (m Shards) atRest(s shardState) string {
	if n := s.s[0].avail + s.s[1].avail + s.sold; n != m.Total {
		return fmt.Sprintf("%d units of %d are left", n, m.Total)
	}
	return ""
}
