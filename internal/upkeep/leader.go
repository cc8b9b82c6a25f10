package upkeep

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// resignTimeout bounds how long a stop waits for the job to be given up; its term ends by itself.
const resignTimeout = time.Second

// tenure is one node's hold on one job. A leader that believes in its office for longer than it lasts does no harm:
// what it writes is refused by the fence. mu guards token and until.
type tenure struct {
	job string
	cfg Config

	mu    sync.Mutex
	token int64
	until time.Time // by this machine's steady clock, counted from before the ledger was asked; zero: no office
}

func newTenure(job string, cfg Config) *tenure { return &tenure{job: job, cfg: cfg} }

// hold takes the office, or keeps it, and gives a context under which the ledger refuses the writes of a deposed
// leader. It asks the ledger only where less than half of the term is left, so that it may be called often; an error
// where the ledger cannot say who leads, and no term of this node is running.
func (t *tenure) hold(ctx context.Context) (context.Context, bool, error) {
	if t.cfg.Leader == nil {
		return ctx, true, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	began := time.Now()
	if t.until.Sub(began) < t.cfg.Term/2 {
		token, leads, err := t.cfg.Leader.Lead(ctx, t.job, t.cfg.Node, t.cfg.Term)
		switch {
		case err != nil && began.After(t.until):
			t.until = time.Time{}
			return ctx, false, fmt.Errorf("upkeep: lead %s: %w", t.job, err)
		case err == nil && !leads:
			t.until = time.Time{}
			return ctx, false, nil
		case err == nil:
			t.token, t.until = token, began.Add(t.cfg.Term)
		}
	}
	return sluice.WithFence(ctx, sluice.Fence{Job: t.job, Token: t.token}), true, nil
}

// resign frees the job for another node.
func (t *tenure) resign() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cfg.Leader == nil || t.until.IsZero() {
		return
	}
	t.until = time.Time{}
	ctx, cancel := context.WithTimeout(context.Background(), resignTimeout)
	defer cancel()
	if err := t.cfg.Leader.Resign(ctx, t.job, t.cfg.Node); err != nil {
		t.cfg.Log.Warn("a job was not given up; its term ends by itself", "job", t.job, "err", err)
	}
}
