package main

import (
	"slices"
	"sync"
)

// readiness is what /readyz says: the things that are waited for, in the order in which they began. Empty means
// ready.
type readiness struct {
	mu      sync.Mutex
	waiting []waitingFor
}

type waitingFor struct{ what, detail string }

// begin adds something to wait for; a second time it only changes the detail.
func (r *readiness) begin(what, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.find(what); i >= 0 {
		r.waiting[i].detail = detail
		return
	}
	r.waiting = append(r.waiting, waitingFor{what, detail})
}

// done takes it off the list.
func (r *readiness) done(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.find(what); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
}

func (r *readiness) find(what string) int {
	return slices.IndexFunc(r.waiting, func(w waitingFor) bool { return w.what == what })
}

// list gives what is waited for.
func (r *readiness) list() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waiting {
		s := w.what
		if w.detail != "" {
			s += ": " + w.detail
		}
		all = append(all, s)
	}
	return all
}
