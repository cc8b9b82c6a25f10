// Package model is an explicit-state model of the protocol as it is built: what gate, queue, ledger, nodes and agents
// do to each other, reduced to a few claims and units, and every order in which it can happen. It decides nothing and
// nothing imports it: its tests are what it is for. A rule of the protocol stands in a model as a switch, so that
// taking the rule away can be shown to break a promise.
//
// The method is breadth-first search over all reachable states with invariants (E. M. Clarke, O. Grumberg, D. Peled:
// Model Checking, 1999, chapters 2 and 6). Breadth first, the first violation found has a shortest trace.
package model

// Spec is a system: where it starts, what can happen, and what must be true.
type Spec[S comparable] struct {
	Init S
	// Next tells every step that s allows. Progress steps are those that the system will do by itself sooner or later;
	// the others are what clients, operators and faults may do or not.
	Next func(s S, step func(name string, progress bool, to S))
	// Always says what is wrong with s; "" where nothing is.
	Always func(s S) string
	// AtRest says what is wrong with a state that no progress step leaves.
	AtRest func(s S) string
	// Max bounds the states looked at.
	Max int
}

// Result is what a search found.
type Result struct {
	States   int
	Resting  int
	Complete bool     // every reachable state was seen
	Wrong    string   // the first violation; "" where none was found
	Trace    []string // the steps that lead to it
}

// search is one run of Check.
type search[S comparable] struct {
	spec   Spec[S]
	index  map[S]int32
	states []S
	from   []int32
	step   []string
	result Result
	// The progress steps between states, to see whether each state can come to rest.
	before [][2]int32
	rests  []int32
}

// Check looks at every reachable state, breadth first, and at whether each can come to rest by progress alone.
func Check[S comparable](spec Spec[S]) Result {
	r := &search[S]{spec: spec, index: map[S]int32{}}
	r.add(spec.Init, -1, "")
	for at := int32(0); int(at) < len(r.states) && r.result.Wrong == ""; at++ {
		if len(r.states) > spec.Max {
			r.result.States = len(r.states)
			return r.result
		}
		r.expand(at)
	}
	r.result.States, r.result.Resting = len(r.states), len(r.rests)
	if r.result.Wrong == "" {
		r.result.Complete = true
		r.comesToRest()
	}
	return r.result
}

// add notes a state and judges it.
func (r *search[S]) add(s S, from int32, step string) int32 {
	if i, known := r.index[s]; known {
		return i
	}
	i := int32(len(r.states))
	r.index[s] = i
	r.states, r.from, r.step = append(r.states, s), append(r.from, from), append(r.step, step)
	if wrong := r.spec.Always(s); wrong != "" && r.result.Wrong == "" {
		r.wrong(i, wrong)
	}
	return i
}

func (r *search[S]) expand(at int32) {
	s, moves := r.states[at], false
	r.spec.Next(s, func(name string, progress bool, to S) {
		if to == s {
			return
		}
		i := r.add(to, at, name)
		if progress {
			moves = true
			r.before = append(r.before, [2]int32{at, i})
		}
	})
	if moves || r.result.Wrong != "" {
		return
	}
	r.rests = append(r.rests, at)
	if wrong := r.spec.AtRest(s); wrong != "" {
		r.wrong(at, "at rest: "+wrong)
	}
}

func (r *search[S]) wrong(at int32, what string) {
	r.result.Wrong = what
	for i := at; r.from[i] >= 0; i = r.from[i] {
		r.result.Trace = append([]string{r.step[i]}, r.result.Trace...)
	}
}

// comesToRest looks for a state from which no state of rest can be reached.
func (r *search[S]) comesToRest() {
	into := make([][]int32, len(r.states))
	for _, e := range r.before {
		into[e[1]] = append(into[e[1]], e[0])
	}
	seen := make([]bool, len(r.states))
	todo := append([]int32(nil), r.rests...)
	for _, i := range todo {
		seen[i] = true
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range into[i] {
			if !seen[j] {
				seen[j] = true
				todo = append(todo, j)
			}
		}
	}
	for i, ok := range seen {
		if !ok {
			r.wrong(int32(i), "never comes to rest")
			return
		}
	}
}
