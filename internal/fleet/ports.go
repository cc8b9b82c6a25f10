package fleet

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// Registry is where nodes meet in the ledger. Every call may be repeated; an error means only that it is not known
// now.
type Registry interface {
	// Beat writes a node's heartbeat, dated by the ledger's clock.
	Beat(ctx context.Context, n sluice.Node) error
	// Leave takes a node that stops out of the list.
	Leave(ctx context.Context, id string) error
	// Nodes lists every node that has a heartbeat, dead ones too, with AgeMS by the ledger's clock.
	Nodes(ctx context.Context) ([]sluice.Node, error)
	// SettingsRev moves with every committed change of settings.
	SettingsRev(ctx context.Context) (int64, error)
	// Clock reads the ledger's clock.
	Clock(ctx context.Context) (sluice.Millis, error)
}

// SwitchLedger keeps the switches, with event and audit row; the setting before comes back.
type SwitchLedger interface {
	Switches(ctx context.Context) ([]sluice.SwitchSetting, error)
	SetSwitch(ctx context.Context, s sluice.SwitchSetting, a sluice.Actor) (sluice.SwitchSetting, error)
	// NoteSwitch puts an act down in the audit log that a later one has replaced; repeating it changes nothing.
	NoteSwitch(ctx context.Context, p sluice.PendingSwitch) error
	// Lead makes one node the one that records what others could not: see sqldb.
	Lead(ctx context.Context, job, node string, term time.Duration) (token int64, leads bool, err error)
}

// Control is where nodes meet in Redis.
type Control interface {
	// Meet writes a node's heartbeat and gives those of all nodes, with AgeMS by the clock of Redis, and the revision of
	// the pending switches.
	Meet(ctx context.Context, n sluice.Node) (nodes []sluice.Node, rev int64, err error)
	// Pending gives the switches that are not in the ledger yet, as of rev.
	Pending(ctx context.Context) (all []sluice.PendingSwitch, rev int64, err error)
	// Keep adds one and gives the revision with it. A later setting of the same switch takes the place of the one before,
	// which goes to the acts, unless it is noted.
	Keep(ctx context.Context, p sluice.PendingSwitch) (rev int64, err error)
	// Drop takes one out that is in the ledger now, unless it was set anew since.
	Drop(ctx context.Context, p sluice.PendingSwitch) error
	// Shift takes one out that a later one in the ledger has made pointless, unless it was set anew since, and puts it to
	// the acts.
	Shift(ctx context.Context, p sluice.PendingSwitch) error
	// Acts gives acts that others have replaced before the ledger had them, the oldest first; a call may give but some.
	Acts(ctx context.Context) ([]sluice.PendingSwitch, error)
	// Noted takes an act out that the audit log has.
	Noted(ctx context.Context, p sluice.PendingSwitch) error
	// Part takes a node that stops out of the list.
	Part(ctx context.Context, id string) error
}

// Nudges carry "look now" between nodes. They may be lost: everybody looks by itself as well.
type Nudges interface {
	Nudge(ctx context.Context) error
	// Listen calls back at each nudge, until ctx ends or the connection does.
	Listen(ctx context.Context, nudged func()) error
}

// Loader takes over one kind of setting. Load reads all of it and puts it in force; an error leaves in force what was.
type Loader struct {
	What string
	Load func(ctx context.Context) error
}
