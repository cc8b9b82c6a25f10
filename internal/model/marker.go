package model

import "fmt"

// Marker models two nodes that know by themselves that a campaign is sold out, for so long; units that return; and a
// winner who asks again at a node that did not admit him. Time is in half seconds: a marker stands for two, and nobody
// may be told "sold out" more than four after a unit became free.
type Marker struct {
	HoldersFirst   bool // a marker refuses only once the holders are known, which are asked for after the verdict
	FromSend       bool // its time runs from the sending of the call, not from the reply
	Lease          bool // the gate keeps returned units back until the lease is over
	KeepsRenewing  bool // wrong: a lease is renewed while units wait for its end
	Returns, Until int8
}

type markerNode struct {
	until   int8 // the marker stands while now < until
	holders uint8
	known   bool
	asking  bool // a reply is on the wire
	sent    int8
	granted bool
}

type markerState struct {
	now, avail, returning, lease int8
	live                         [3]bool
	node                         [2]markerNode
	freeSince                    int8
	hidden, late                 bool
	returns                      int8
}

const (
	markerTicks = 2
	lateTicks   = 4
)

// Spec gives the system to check, with a bound on its states.
func (m Marker) Spec(most int) Spec[markerState] {
	init := markerState{live: [3]bool{true}, freeSince: -1, returns: m.Returns}
	return Spec[markerState]{Init: init, Max: most, Next: m.next,
		Always: func(s markerState) string {
			switch {
			case s.hidden:
				return "a winner was told sold out"
			case s.late:
				return "sold out was said too long after a unit became free"
			}
			return ""
		}, AtRest: func(markerState) string { return "" }}
}

func (m Marker) next(s markerState, step func(string, bool, markerState)) {
	if s.now < m.Until {
		t := s
		t.now++
		if t.returning > 0 && t.now >= t.lease {
			t.avail, t.returning = t.avail+t.returning, 0
		}
		step(fmt.Sprintf("it is %d", t.now), false, t)
	}
	for u := range 3 {
		if s.live[u] && s.returns > 0 {
			t := s
			t.returns--
			t.live[u], t.freeSince = false, s.now
			if m.Lease && s.now < s.lease {
				t.returning++
			} else {
				t.avail++
			}
			step(fmt.Sprintf("user %d's unit returns", u), false, t)
		}
		for k := range 2 {
			m.ask(s, u, k, step)
		}
	}
	for k := range 2 {
		n := s.node[k]
		if n.asking {
			t := s
			t.node[k].asking, t.node[k].sent, t.node[k].granted = false, 0, false
			if n.granted {
				t.node[k].until, t.node[k].known = s.now+markerTicks, false
				if m.FromSend {
					t.node[k].until = n.sent + markerTicks
				}
			}
			step(fmt.Sprintf("the reply reaches node %d", k), true, t)
		}
		if s.now < n.until && !n.known {
			t := s
			t.node[k].known, t.node[k].holders = true, 0
			for u, live := range s.live {
				if live {
					t.node[k].holders |= 1 << u
				}
			}
			step(fmt.Sprintf("node %d knows the holders", k), false, t)
		}
	}
}

// ask is user u's claim at node k.
func (m Marker) ask(s markerState, u, k int, step func(string, bool, markerState)) {
	n := s.node[k]
	if n.asking {
		return
	}
	t := s
	late := s.freeSince >= 0 && s.now-s.freeSince > lateTicks
	if s.now < n.until && (n.known || !m.HoldersFirst) {
		if n.known && n.holders&(1<<u) != 0 {
			return // the winner's own answer
		}
		t.hidden, t.late = s.live[u], late
		step(fmt.Sprintf("node %d tells user %d by its marker: sold out", k, u), false, t)
		return
	}
	switch {
	case s.live[u]:
	case s.avail > 0:
		t.avail--
		t.live[u] = true
		if t.avail+t.returning == 0 {
			t.freeSince = -1
		}
		step(fmt.Sprintf("node %d admits user %d", k, u), false, t)
	default:
		t.node[k].asking, t.node[k].sent, t.node[k].granted = true, s.now, true
		switch {
		case m.Lease && s.returning > 0 && !m.KeepsRenewing:
			t.node[k].granted = false
		case m.Lease:
			t.lease = s.now + markerTicks
		}
		t.late = late
		step(fmt.Sprintf("the gate says to node %d for user %d: sold out", k, u), false, t)
	}
}
