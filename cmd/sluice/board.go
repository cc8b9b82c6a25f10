package main

import (
	"slices"
	"sync/atomic"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// board puts switches in force in all parts that heed them.
type board struct {
	gate         *gate.Gate
	logDecisions bool          // the decision log's state where its switch is not set
	queue        *queue        // nil without one
	degrade      func(on bool) // nil where stock is not taken in a Redis
	readOnly     atomic.Bool
	degraded     atomic.Bool
	set          atomic.Pointer[[]sluice.SwitchSetting]
}

// SetSwitches takes over all settings at once.
func (b *board) SetSwitches(all []sluice.SwitchSetting) {
	set := all
	logging := func(s sluice.SwitchSetting) bool { return s.Set && s.Name == sluice.SwitchDecisionLog }
	if b.logDecisions && !slices.ContainsFunc(all, logging) {
		set = append(slices.Clone(all), sluice.SwitchSetting{Name: sluice.SwitchDecisionLog, Value: 1, Set: true})
	}
	b.gate.SetSwitches(set)
	on := func(name string) bool {
		return slices.ContainsFunc(all, func(s sluice.SwitchSetting) bool {
			return s.Set && s.Name == name && s.Campaign == "" && s.Value != 0
		})
	}
	b.readOnly.Store(on(sluice.SwitchReadOnly))
	b.degraded.Store(on(sluice.SwitchDegraded))
	if b.degrade != nil {
		b.degrade(b.degraded.Load())
	}
	if b.queue != nil {
		b.queue.heed(all)
	}
	b.set.Store(&all)
}

// degradedByHand says whether an operator has campaigns sold in the ledger though gates could be armed.
func (p *parts) degradedByHand() bool { return p.board != nil && p.board.degraded.Load() }
