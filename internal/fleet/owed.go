package fleet

import (
	"context"
	"math"
	"slices"

	"github.com/sluice-sale/sluice"
)

// keeping is a switch that this node has put into Redis.
type keeping struct {
	p   sluice.PendingSwitch
	rev int64 // of the pending switches, with it
	no  int   // counts them
}

// debt is what Redis has still to be told of a switch that the ledger has in a later setting. It is told after the
// operator is, and until it has heard.
type debt struct {
	p     sluice.PendingSwitch
	clear bool // p clears what is pending, rather than that p is to be taken out
}

// owing is the revision of what Redis has not been told yet: no node has it in force.
const owing = math.MaxInt64

// keeping notes what is pending in Redis because of this node. The caller holds mu.
func (s *Switches) keeping(p sluice.PendingSwitch, rev int64) {
	s.over = lay(s.over, p)
	s.count, s.last = s.count+1, rev
	s.keeps = slices.DeleteFunc(s.keeps, func(k keeping) bool { return same(k.p.Setting, p.Setting) })
	s.keeps = append(s.keeps, keeping{p, rev, s.count})
}

// lay puts a pending switch in the place of the one before.
func lay(over []sluice.PendingSwitch, p sluice.PendingSwitch) []sluice.PendingSwitch {
	return append(slices.DeleteFunc(over, func(o sluice.PendingSwitch) bool { return same(o.Setting, p.Setting) }), p)
}

// keepings says how many switches this node has put into Redis so far.
func (s *Switches) keepings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// kept gives the revision that a node must have seen in Redis to have in force what this one has put there and what is
// pending still. 0: nothing is; owing: it is not there yet. paid is the revision of whatever was put there last.
func (s *Switches) kept() (rev, paid int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.owed, func(d debt) bool { return d.clear }) {
		return owing, owing
	}
	for _, k := range s.keeps {
		if slices.Contains(s.over, k.p) {
			rev = max(rev, k.rev)
		}
	}
	return rev, s.last
}

// learn takes over a setting that the ledger is known to have.
func (s *Switches) learn(x sluice.SwitchSetting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learned(x)
}

// learned is learn for a caller that holds mu.
func (s *Switches) learned(x sluice.SwitchSetting) {
	s.wrote++
	s.base = slices.DeleteFunc(slices.Clone(s.base), func(o sluice.SwitchSetting) bool { return same(o, x) })
	if x.Set {
		s.base = append(s.base, x)
	}
}

// written takes over a setting that the ledger has now, and takes back what is pending of the switch. One that is
// cleared says so over what is pending, rather than to take it out: a node that is about to record it would bring it
// back.
func (s *Switches) written(x, before sluice.SwitchSetting, a sluice.Actor) {
	if s.fleet != nil {
		s.fleet.wrote.Add(1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learned(x)
	i := slices.IndexFunc(s.over, func(o sluice.PendingSwitch) bool { return same(o.Setting, x) })
	if i < 0 {
		return
	}
	p := s.over[i]
	s.owed = slices.DeleteFunc(s.owed, func(d debt) bool { return same(d.p.Setting, x) })
	if x.Set {
		s.over = slices.Delete(s.over, i, i+1)
		s.owed = append(s.owed, debt{p: p})
		return
	}
	// A ledger that had nothing to clear has no row of it either.
	p = sluice.PendingSwitch{Setting: x, Actor: a, Before: p.Setting, Noted: before.Set}
	s.over = lay(s.over, p)
	s.owed = append(s.owed, debt{p: p, clear: true})
}

// owes says whether Redis has still to be told of a switch.
func (s *Switches) owes(x sluice.SwitchSetting) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.owed, func(d debt) bool { return same(d.p.Setting, x) })
}

// pay tells Redis what it is owed, and says whether it was told anything.
func (s *Switches) pay(ctx context.Context) (told bool) {
	s.mu.Lock()
	owed := slices.Clone(s.owed)
	s.mu.Unlock()
	if len(owed) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	there, _, err := s.cfg.Control.Pending(ctx)
	if err != nil {
		return false
	}
	for _, d := range owed {
		rev := int64(0)
		later := slices.ContainsFunc(there, func(o sluice.PendingSwitch) bool {
			return same(o.Setting, d.p.Setting) && o.Setting.At > d.p.Setting.At
		})
		switch {
		case later: // it was set anew since
		case d.clear:
			rev, err = s.cfg.Control.Keep(ctx, d.p)
		default:
			err = s.cfg.Control.Shift(ctx, d.p)
		}
		if err != nil {
			s.log.Warn("a switch that is pending in Redis is not taken back there yet", "switch", d.p.Setting.Name, "err", err)
			return told
		}
		told = true
		s.mu.Lock()
		if i := slices.Index(s.owed, d); i >= 0 {
			s.owed = slices.Delete(s.owed, i, i+1)
			if rev > 0 {
				s.keeping(d.p, rev)
			}
		}
		s.mu.Unlock()
	}
	return told
}

// overlay takes over what Redis has, less what it is owed and with what this node has put there since it was asked.
// Entries that are gone from there stay until the ledger has been read again: whoever took them out has recorded them
// in it.
func (s *Switches) overlay(all []sluice.PendingSwitch, since int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.joined()
	for _, k := range s.keeps {
		if k.no > since {
			all = lay(all, k.p)
		}
	}
	for _, d := range s.owed {
		if d.clear {
			all = lay(all, d.p)
		} else {
			all = slices.DeleteFunc(all, func(o sluice.PendingSwitch) bool { return o == d.p })
		}
	}
	s.over, s.acts = all, true
	s.keeps = slices.DeleteFunc(s.keeps, func(k keeping) bool { return !slices.Contains(all, k.p) })
	if s.fleet != nil && !s.fleet.ledgerUp.Load() {
		s.base = old
	}
}
