package admin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// SwitchLedger keeps the switches. SetSwitch leaves its event and audit row in the same transaction, moves the
// payment clock with payments_down, and gives the setting before it.
type SwitchLedger interface {
	Switches(ctx context.Context) ([]sluice.SwitchSetting, error)
	SetSwitch(ctx context.Context, s sluice.SwitchSetting, a sluice.Actor) (sluice.SwitchSetting, error)
}

// Switchboard puts settings in force. It is given all of them each time, and has taken them over when it returns.
type Switchboard interface {
	SetSwitches(all []sluice.SwitchSetting)
}

// Fleet has the other nodes take over what was changed here. It returns how many nodes live and on how many of them
// the settings as they are now are in force: once it is all of them, after a few seconds or at ctx's deadline at the
// latest.
type Fleet interface {
	Spread(ctx context.Context) (nodes, inForce int)
}

// SwitchesConfig puts the desk of switches together. Ledger and Board are required.
type SwitchesConfig struct {
	Ledger SwitchLedger
	Board  Switchboard
	Fleet  Fleet // nil: this is the only node
	// NoGates: stock is not taken in a Redis, and what is about that alone cannot be set.
	NoGates bool
	Now     func() time.Time // default time.Now
}

// An operator's answer comes within answerWithin of the call, and the other nodes have spreadLeast of it where the
// stores have taken long.
const (
	answerWithin = 3500 * time.Millisecond
	spreadLeast  = time.Second
)

// Switches is the desk of switches: one catalogue, sluice.Switches.
type Switches struct {
	cfg SwitchesConfig
	mu  sync.Mutex // held over ledger and board, so that the board sees settings in the ledger's order
}

// NewSwitches makes the desk. Load puts in force what the ledger has.
func NewSwitches(cfg SwitchesConfig) *Switches {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Switches{cfg: cfg}
}

// Load puts in force what the ledger has: at start, before the first claim.
func (d *Switches) Load(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.load(ctx)
}

func (d *Switches) load(ctx context.Context) error {
	all, err := d.cfg.Ledger.Switches(ctx)
	if err != nil {
		return fmt.Errorf("admin: load the switches: %w", err)
	}
	d.cfg.Board.SetSwitches(all)
	return nil
}

// Settings lists what is set.
func (d *Switches) Settings(ctx context.Context) ([]sluice.SwitchSetting, error) {
	return d.cfg.Ledger.Switches(ctx)
}

// Set sets a switch, or clears it where s.Set is false, and returns once it is in force. Repeating it is allowed.
func (d *Switches) Set(ctx context.Context, s sluice.SwitchSetting, a sluice.Actor) (sluice.SwitchResult, error) {
	if err := checkSwitch(&s); err != nil {
		return sluice.SwitchResult{}, err
	}
	if s.Name == sluice.SwitchDegraded && s.Value != 0 && d.cfg.NoGates {
		return sluice.SwitchResult{}, sluice.NewFault(sluice.ErrConflict, "NO_GATES",
			"stock is taken in this server's own memory or in the ledger: there are no gates in Redis to do without")
	}
	began, deadline := d.cfg.Now(), time.Now().Add(answerWithin)
	s.Author, s.Reason, s.At = a.Name, a.Reason, sluice.MillisOf(began)
	before, err := d.set(ctx, s, a)
	if err != nil {
		return sluice.SwitchResult{}, err
	}
	r := sluice.SwitchResult{Setting: s, Before: before, Nodes: 1, InForce: 1}
	if d.cfg.Fleet != nil {
		left := max(time.Until(deadline), spreadLeast)
		spread, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
		defer cancel()
		r.Nodes, r.InForce = d.cfg.Fleet.Spread(spread)
	}
	r.TookMS = d.cfg.Now().Sub(began).Milliseconds()
	return r, nil
}

// set records a setting and puts it in force on this node.
func (d *Switches) set(ctx context.Context, s sluice.SwitchSetting, a sluice.Actor) (sluice.SwitchSetting, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, err := d.cfg.Ledger.SetSwitch(ctx, s, a)
	if err != nil && !errors.Is(err, sluice.ErrUncertain) {
		return before, err
	}
	loaded := d.load(context.WithoutCancel(ctx)) // whatever is on disk is in force, also where the commit is in doubt
	if err != nil {
		return before, err
	}
	if loaded != nil {
		return before, &sluice.Fault{Kind: sluice.ErrUnavailable, Code: "NOT_IN_FORCE",
			Detail: "the switch is recorded, but not in force yet: set it again"}
	}
	return before, nil
}

func checkSwitch(s *sluice.SwitchSetting) error {
	var f faults
	spec, ok := specOfSwitch(s.Name)
	if !ok {
		return sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_SWITCH", "there is no switch "+s.Name)
	}
	switch {
	case s.Campaign == "" && !spec.Global:
		f.add("campaign_id", "is required for %s", s.Name)
	case s.Campaign != "" && !spec.Campaign:
		f.add("campaign_id", "must be absent: %s is for the whole server", s.Name)
	case s.Campaign != "":
		f.id("campaign_id", s.Campaign, sluice.MaxCampaignID)
	}
	switch {
	case !s.Set:
		s.Value = 0
	case spec.Kind == sluice.SwitchOnOff && s.Value != 0 && s.Value != 1:
		f.add("value", "must be 0 (off) or 1 (on)")
	case math.IsNaN(s.Value) || s.Value < spec.Min || s.Value > spec.Max:
		f.add("value", "must be from %v to %v, and is %v", spec.Min, spec.Max, s.Value)
	}
	return f.err()
}

func specOfSwitch(name string) (sluice.SwitchSpec, bool) {
	for _, s := range sluice.Switches() {
		if s.Name == name {
			return s, true
		}
	}
	return sluice.SwitchSpec{}, false
}
