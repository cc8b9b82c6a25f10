package redis

import (
	"context"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// SameServer says whether a shard's gate is still at the server where it was first looked at after it was armed.
// One that was started anew, or a replica that took over, may have forgotten the last of what was done, and its
// gate does not show it. It is kept beside the gate, so that a node that was started anew itself notices too.
func (g *Gates) SameServer(ctx context.Context, c *sluice.Campaign, shard int) (bool, error) {
	what := func() string { return fmt.Sprintf("%s/%d", c.ID, shard) }
	answer, err := g.c.run(ctx, g.c.scripts.run, what, []string{g.c.keys.of(c, shard).marks}, nil)
	if err != nil {
		return false, err
	}
	in := reader{answer: answer}
	return in.int() == 1, in.err
}
