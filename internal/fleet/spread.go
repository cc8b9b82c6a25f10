package fleet

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluice-sale/sluice"
)

// Nodes lists every node, dead ones too, in the order of their names. A node counts by its younger heartbeat of the
// two stores. ErrUnavailable where neither answers.
func (f *Fleet) Nodes(ctx context.Context) ([]sluice.Node, error) {
	sources, err := f.ask(ctx)
	if err != nil {
		return nil, err
	}
	byID := map[string]sluice.Node{}
	for _, list := range sources {
		for _, n := range list {
			if old, ok := byID[n.ID]; ok {
				n = merge(old, n)
			}
			byID[n.ID] = n
		}
	}
	all := make([]sluice.Node, 0, len(byID))
	for _, n := range byID {
		if n.AgeMS < forgetDeadNode.Milliseconds() {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b sluice.Node) int { return strings.Compare(a.Name+"\x00"+a.ID, b.Name+"\x00"+b.ID) })
	return all, nil
}

// laterGrace is how much longer than Redis the ledger may take to list the nodes.
const laterGrace = 200 * time.Millisecond

// ask reads the nodes from both stores at once. Where Redis has answered, a ledger that is slow or away is not waited
// for.
func (f *Fleet) ask(ctx context.Context) (sources [][]sluice.Node, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	type answer struct {
		nodes []sluice.Node
		err   error
	}
	ledger, redis := make(chan answer, 1), make(chan answer, 1)
	go func() {
		nodes, err := f.cfg.Registry.Nodes(ctx)
		ledger <- answer{nodes, err}
	}()
	go func() {
		if f.cfg.Control == nil {
			redis <- answer{err: sluice.ErrUnavailable}
			return
		}
		nodes, _, err := f.cfg.Control.Meet(ctx, f.node())
		redis <- answer{nodes, err}
	}()
	var late <-chan time.Time
	err = sluice.ErrUnavailable
	for left := 2; left > 0; left-- {
		select {
		case a := <-ledger:
			if a.err == nil {
				sources = append(sources, a.nodes)
			} else {
				err = a.err
			}
		case a := <-redis:
			if a.err == nil {
				sources = append(sources, a.nodes)
				late = time.After(laterGrace)
			}
		case <-late:
			return sources, nil
		}
	}
	if len(sources) == 0 {
		return nil, err
	}
	return sources, nil
}

// merge joins what two stores say of one node: what is in force there only grows.
func merge(a, b sluice.Node) sluice.Node {
	young, old := a, b
	if b.AgeMS < a.AgeMS {
		young, old = b, a
	}
	young.Settings = max(young.Settings, old.Settings)
	young.Control = max(young.Control, old.Control)
	if young.Flushed == nil {
		young.Flushed = old.Flushed
	}
	return young
}

// Self is this node as it stands.
func (f *Fleet) Self() sluice.Node { return f.node() }

// Spread has every node look at what was just changed, and returns how many live nodes there are and on how many of
// them the settings as they are now are in force: once it is all of them, after 3 s at the latest.
func (f *Fleet) Spread(ctx context.Context) (nodes, inForce int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spreadTimeout)
	defer cancel()
	f.nudge(ctx)
	if f.ledgerUp.Load() && f.refresh(ctx) == nil {
		_ = f.beat(ctx) // the loop's own heartbeat comes soon
	}
	want, control := f.rev.Load(), f.control.Load()
	if f.cfg.Control != nil {
		f.meetOnce(ctx)
		control = f.control.Load()
	}
	tick := time.NewTicker(spreadPoll)
	defer tick.Stop()
	nodes, inForce = 1, 1
	for {
		if all, err := f.Nodes(ctx); err == nil {
			nodes, inForce = f.count(all, want, control)
		}
		if inForce == nodes {
			return nodes, inForce
		}
		select {
		case <-ctx.Done():
			return nodes, inForce
		case <-tick.C:
		}
	}
}

// count says how many nodes live and on how many of them revisions as late as these are in force. A node whose ledger
// or Redis is away can only be held to the other one.
func (f *Fleet) count(all []sluice.Node, want, control int64) (nodes, inForce int) {
	for _, n := range all {
		if !n.Alive() && n.ID != f.cfg.Node.ID {
			continue
		}
		nodes++
		if n.ID == f.cfg.Node.ID || n.Settings >= want && (n.Control >= control || !f.redisUp.Load()) {
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
