package main

import (
	"context"
	"fmt"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/gate"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// admission is where stock is taken first, whichever engine it is: what the gate, the desks and the ledger ask of it,
// and what a server needs to start and stop it.
type admission interface {
	gate.Admitter
	admin.Adjuster
	admin.Permits
	sqldb.Permit
	armer
}

type armer interface {
	// Arm takes over all campaigns at the start, Put a new or changed one.
	Arm(ctx context.Context, all []sluice.Campaign, progress func(campaign string, rows, of int64)) error
	Put(ctx context.Context, c sluice.Campaign) error
	Waiting() int
	// Retire forgets what ended long ago and says how many campaigns.
	Retire() int
	Close()
}

// openLedger turns the setting into an adapter.
func (p *parts) openLedger(ctx context.Context, s *server) (err error) {
	switch scheme := s.cfg.Ledger.Scheme(); scheme {
	case "sqlite":
		err = p.openSQLite(ctx, s)
	case "mysql":
		err = p.openMySQL(ctx, s)
	default:
		err = fmt.Errorf("ledger %s is not built in", scheme)
	}
	if err == nil {
		s.onStop("the ledger", func(context.Context) error { return p.ledger.Close() })
	}
	return err
}

// openAdmission turns the setting into an adapter. The configuration has refused what does not go with the ledger.
func (p *parts) openAdmission(ctx context.Context, s *server) error {
	switch scheme := s.cfg.Admission.Scheme(); scheme {
	case "memory":
		p.openMemory(s)
		return nil
	case "ledger":
		p.openDirect(s)
		return nil
	case "redis", "rediss":
		return p.openRedis(ctx, s)
	default:
		return fmt.Errorf("admission %s is not built in", scheme)
	}
}
