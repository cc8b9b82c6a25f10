package fleet

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluice-sale/sluice"
)

// Nodes lists every node, dead ones too, in the order of their names. A node counts by its younger heartbeat of the
// two stores; one that does not answer counts by what it said last. ErrUnavailable where neither answers.
func (f *Fleet) Nodes(ctx context.Context) ([]sluice.Node, error) {
	if err := f.ask(ctx); err != nil {
		return nil, err
	}
	byID := f.known(true)
	all := make([]sluice.Node, 0, len(byID))
	for _, n := range byID {
		if n.AgeMS < forgetDeadNode.Milliseconds() {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b sluice.Node) int { return strings.Compare(a.Name+"\x00"+a.ID, b.Name+"\x00"+b.ID) })
	return all, nil
}

// Self is this node as it stands.
func (f *Fleet) Self() sluice.Node { return f.node() }

// Spread has every node look at what was just changed, and returns how many live nodes there are and on how many of
// them the settings as they are now are in force: once it is all of them, after 3 s or at ctx's deadline at the latest.
// Of nodes that no store lists in time, those count that were known to live.
func (f *Fleet) Spread(ctx context.Context) (nodes, inForce int) {
	until := time.Now().Add(spreadTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(until) {
		until = d
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	f.Changed()
	poke(f.look)
	if f.cfg.Control != nil {
		poke(f.meet)
	}
	g := f.aim()
	tick := time.NewTicker(spreadPoll)
	defer tick.Stop()
	for {
		f.revise(ctx, &g)
		answered := f.ask(ctx) == nil
		nodes, inForce = f.count(f.known(answered), g)
		if inForce == nodes && g.known && answered {
			return nodes, inForce
		}
		select {
		case <-ctx.Done():
			return nodes, inForce
		case <-tick.C:
		}
	}
}

// goal is what a node must have in force.
type goal struct {
	known    bool  // settings and control are what they must be; else no other node can be counted
	settings int64 // at least, of the ledger
	control  int64 // at least, of the pending switches
}

// aim gives the goal of what was changed here. What is kept in Redis has its revision already; that of the ledger has
// still to be read.
func (f *Fleet) aim() goal {
	kept, _ := f.cfg.Switches.kept()
	away := !f.ledgerUp.Load() && f.told.Load() == f.wrote.Load()
	return goal{settings: f.rev.Load(), control: kept, known: kept > 0 && away}
}

// revise reads what was still to be read.
func (f *Fleet) revise(ctx context.Context, g *goal) {
	if g.control == owing {
		_, g.control = f.cfg.Switches.kept()
	}
	if g.known {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, revTimeout)
	defer cancel()
	wrote := f.wrote.Load()
	rev, err := f.cfg.Registry.SettingsRev(ctx)
	if err != nil {
		return
	}
	g.known, g.settings = true, rev
	f.tells(wrote)
}

// tells notes that revisions have so many of this node's writes in them.
func (f *Fleet) tells(wrote int64) {
	for {
		told := f.told.Load()
		if told >= wrote || f.told.CompareAndSwap(told, wrote) {
			return
		}
	}
}

// count says how many nodes live and on how many of them the goal is reached: here it is, since a change is in force
// here before others are told.
func (f *Fleet) count(all map[string]sluice.Node, g goal) (nodes, inForce int) {
	nodes, inForce = 1, 1
	for id, n := range all {
		if id == f.cfg.Node.ID || !n.Alive() {
			continue
		}
		nodes++
		if g.known && n.Settings >= g.settings && n.Control >= g.control {
			inForce++
		}
	}
	return nodes, inForce
}

// Changed has the other nodes look soon at what was changed here. It does not block.
func (f *Fleet) Changed() { poke(f.tell) }

func (f *Fleet) nudge(ctx context.Context) {
	if f.cfg.Nudges == nil {
		return
	}
	ask, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_ = f.cfg.Nudges.Nudge(ask) // lost: everybody looks by itself
}

// State is what metrics tell of a fleet.
type State struct {
	Alive, Dead   int
	Settings      int64
	SettingsAge   time.Duration // since the settings in force were last seen to be the newest
	Skew          time.Duration // of this node's clock, less the ledger's
	Pending       int           // switches that are in force and not in the ledger yet
	LedgerAnswers bool
	RedisAnswers  bool
}

// State gives it; nodes are counted where a store answers in time.
func (f *Fleet) State(ctx context.Context) State {
	s := State{
		Settings: f.rev.Load(), SettingsAge: time.Duration(f.mono()-f.current.Load()) * time.Millisecond,
		Skew: time.Duration(f.skew.Load()) * time.Millisecond, Pending: f.cfg.Switches.pending(),
		LedgerAnswers: f.ledgerUp.Load(), RedisAnswers: f.redisUp.Load(),
	}
	all, err := f.Nodes(ctx)
	if err != nil {
		return s
	}
	for _, n := range all {
		if n.Alive() {
			s.Alive++
		} else {
			s.Dead++
		}
	}
	return s
}
