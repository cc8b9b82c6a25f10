package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/sluice-sale/sluice"
)

// SwitchesConfig joins the two places that keep switches. Ledger and Node are required.
type SwitchesConfig struct {
	Ledger  SwitchLedger
	Control Control // nil without a Redis
	Node    string
	Log     *slog.Logger // default: discard
	// Apply puts all settings in force here; it calls Switches.
	Apply func(ctx context.Context) error
}

// Switches keeps the switches in the ledger, and in Redis while the ledger is away. What is set in Redis lies over
// what the ledger has, unless that is later, and is recorded in the ledger, with its audit row, when that is back.
type Switches struct {
	cfg   SwitchesConfig
	log   *slog.Logger
	fleet *Fleet // set by New of the fleet, before anything runs

	mu    sync.Mutex
	known bool                   // base was read
	wrote int                    // times that base was changed by a write of this node
	base  []sluice.SwitchSetting // as the ledger had it when it was read last
	over  []sluice.PendingSwitch // as Redis had it
	keeps []keeping              // what this node has put there, while it is there
	count int                    // of all that it has ever put there
	last  int64                  // revision of the last of them
	owed  []debt
	acts  bool // Redis may have acts for the audit log
}

// NewSwitches makes it.
func NewSwitches(cfg SwitchesConfig) *Switches {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Switches{cfg: cfg, log: cfg.Log}
}

// Switches gives every switch that is set. While the ledger is away it is what was known of it, under what Redis has.
func (s *Switches) Switches(ctx context.Context) ([]sluice.SwitchSetting, error) {
	strict := ctx.Value(strictly{}) != nil
	ask, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	s.mu.Lock()
	wrote := s.wrote
	s.mu.Unlock()
	err := error(sluice.ErrUnavailable)
	var base []sluice.SwitchSetting
	if strict || s.fleet == nil || s.fleet.ledgerUp.Load() {
		base, err = s.cfg.Ledger.Switches(ask)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && (strict || !s.known):
		return nil, err
	case err == nil && (wrote == s.wrote || !s.known):
		s.base, s.known = base, true
	case strict:
		return nil, fmt.Errorf("fleet: a switch was set while they were read: %w", sluice.ErrUncertain)
	case s.fleet != nil: // it is not known whether this is all; a reading from before a write may not have it
		s.fleet.reread.Store(true)
	}
	return s.joined(), nil
}

// joined lays what is pending over what the ledger has. The caller holds mu.
func (s *Switches) joined() []sluice.SwitchSetting {
	all := slices.Clone(s.base)
	for _, p := range s.over {
		i := slices.IndexFunc(all, func(x sluice.SwitchSetting) bool { return same(x, p.Setting) })
		switch {
		case i < 0 && p.Setting.Set:
			all = append(all, p.Setting)
		case i >= 0 && all[i].At >= p.Setting.At: // the ledger's is later, or the same one
		case i >= 0 && p.Setting.Set:
			all[i] = p.Setting
		case i >= 0:
			all = slices.Delete(all, i, i+1)
		}
	}
	return all
}

func same(a, b sluice.SwitchSetting) bool { return a.Name == b.Name && a.Campaign == b.Campaign }

// SetSwitch records a setting: in the ledger, or in Redis where the ledger is away. ErrUnavailable: both are, and
// nothing is changed.
func (s *Switches) SetSwitch(
	ctx context.Context, x sluice.SwitchSetting, a sluice.Actor,
) (before sluice.SwitchSetting, err error) {
	s.mu.Lock()
	before = sluice.SwitchSetting{Name: x.Name, Campaign: x.Campaign}
	for _, old := range s.joined() {
		if same(old, x) {
			before = old
		}
	}
	s.mu.Unlock()
	err = sluice.ErrUnavailable
	if s.fleet == nil || s.fleet.ledgerUp.Load() || s.cfg.Control == nil {
		before, err = s.setInLedger(ctx, x, a, before)
	}
	away := errors.Is(err, sluice.ErrUnavailable) || errors.Is(err, sluice.ErrUncertain)
	switch {
	case err == nil:
		s.written(x, before, a)
		return before, nil
	case !away || s.cfg.Control == nil:
		return before, err
	}
	p := sluice.PendingSwitch{Setting: x, Actor: a, Before: before}
	ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	rev, e := s.cfg.Control.Keep(ask, p)
	if e != nil {
		s.log.Error("a switch could be recorded in neither store", "switch", x.Name, "ledger", err, "redis", e)
		return before, err
	}
	s.log.Warn("a switch is kept in Redis until the ledger is back", "switch", x.Name, "campaign", x.Campaign, "err", err)
	s.mu.Lock()
	s.owed = slices.DeleteFunc(s.owed, func(d debt) bool { return same(d.p.Setting, x) })
	s.keeping(p, rev)
	s.mu.Unlock()
	return before, nil
}

// setInLedger bounds the attempt, so that there is time left for Redis.
func (s *Switches) setInLedger(
	ctx context.Context, x sluice.SwitchSetting, a sluice.Actor, known sluice.SwitchSetting,
) (sluice.SwitchSetting, error) {
	if s.cfg.Control == nil {
		return s.cfg.Ledger.SetSwitch(ctx, x, a)
	}
	answer := make(chan sluice.SwitchSetting, 1)
	err := within(ctx, storeTimeout, func(ctx context.Context) error {
		before, err := s.cfg.Ledger.SetSwitch(ctx, x, a)
		answer <- before
		return err
	})
	if err == nil {
		return <-answer, nil
	}
	if s.fleet != nil && (errors.Is(err, sluice.ErrUnavailable) || errors.Is(err, sluice.ErrUncertain)) {
		s.fleet.up(&s.fleet.ledgerUp, theLedger, err) // so that nobody waits for it once more
	}
	return known, err
}

func (s *Switches) apply(ctx context.Context) error {
	if s.cfg.Apply == nil {
		return nil
	}
	return s.cfg.Apply(ctx)
}

func (s *Switches) pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.over)
}

// unrecorded says whether Redis may have something for the ledger.
func (s *Switches) unrecorded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acts || len(s.over) > 0
}

// due says whether Redis has something for the ledger.
func (s *Switches) due(ctx context.Context) bool {
	if s.cfg.Control == nil {
		return false
	}
	s.mu.Lock()
	acts, over := s.acts, len(s.over)
	s.acts = false // before it is looked: another may come while it is
	s.mu.Unlock()
	if !acts {
		return over > 0
	}
	left, err := s.cfg.Control.Acts(ctx)
	if err == nil && len(left) == 0 {
		return over > 0
	}
	s.mu.Lock()
	s.acts = true
	s.mu.Unlock()
	return err == nil || over > 0
}

// record writes what is pending into the ledger. One node does it: a second row in the audit log would be a second
// act.
func (s *Switches) record(ctx context.Context) {
	ask, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if !s.due(ask) {
		return
	}
	if _, leads, err := s.cfg.Ledger.Lead(ask, pendingJob, s.cfg.Node, pendingTerm); err != nil || !leads {
		return
	}
	// Read again under the lead: another node may have recorded some.
	over, _, err := s.cfg.Control.Pending(ask)
	if err != nil || !s.note(ask) {
		return
	}
	has, err := s.cfg.Ledger.Switches(ask)
	if err != nil {
		return
	}
	for _, p := range over {
		if s.owes(p.Setting) {
			continue
		}
		i := slices.IndexFunc(has, func(x sluice.SwitchSetting) bool { return same(x, p.Setting) })
		switch {
		case i < 0 && p.Setting.Set || i >= 0 && has[i].At < p.Setting.At:
			if _, err := s.cfg.Ledger.SetSwitch(ask, p.Setting, p.Actor); err != nil {
				s.log.Warn("a pending switch is not in the ledger yet", "switch", p.Setting.Name, "err", err)
				return
			}
			s.log.Info("a switch that was set while the ledger was away is recorded", "switch", p.Setting.Name,
				"campaign", p.Setting.Campaign, "by", p.Actor.Name)
			s.learn(p.Setting)
		case !p.Noted: // there is nothing to clear, or a later one is there: the act alone is to be put down
			if err := s.cfg.Ledger.NoteSwitch(ask, p); err != nil {
				return
			}
		}
		if i >= 0 && has[i].At >= p.Setting.At {
			s.learn(has[i])
		}
		if err := s.cfg.Control.Drop(ask, p); err != nil {
			return
		}
		s.mu.Lock()
		s.over = slices.DeleteFunc(s.over, func(o sluice.PendingSwitch) bool { return o == p })
		s.mu.Unlock()
	}
}

// note puts the acts into the audit log that later ones have replaced while the ledger was away. It gives false where
// some are left.
func (s *Switches) note(ctx context.Context) bool {
	for {
		acts, err := s.cfg.Control.Acts(ctx)
		for i := 0; err == nil && i < len(acts); i++ {
			if err = s.cfg.Ledger.NoteSwitch(ctx, acts[i]); err == nil {
				err = s.cfg.Control.Noted(ctx, acts[i])
			}
		}
		if err != nil {
			s.log.Warn("acts on switches are not in the audit log yet", "acts", len(acts), "err", err)
			return false
		}
		if len(acts) == 0 {
			return true
		}
	}
}
