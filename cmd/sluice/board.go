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
	logDecisions bool   // the decision log's state where its switch is not set
	queue        *queue // nil without one
	readOnly     atomic.Bool
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
	readOnly := false
	for _, s := range all {
		readOnly = readOnly || s.Set && s.Name == sluice.SwitchReadOnly && s.Campaign == "" && s.Value != 0
	}
	b.readOnly.Store(readOnly)
	if b.queue != nil {
		b.queue.heed(all)
	}
	b.set.Store(&all)
}
