package main

import (
	"context"
	"errors"

	"github.com/sluice-sale/sluice/internal/lab"
)

// Defaults of lab that mean another default with --bots.
const (
	labBuyers = 100_000
	labStock  = 10_000
)

// runBots raids the same sale with protection off, adaptive and always. Every server is the lab's own: it takes the
// lab for a proxy, so that each of the crowd has an address.
func (c *labCmd) runBots(a *app) error {
	if c.URL != "" || c.AdminURL != "" {
		return usage("--bots starts servers of its own, which take it for a proxy: leave --url and --admin-url away")
	}
	b := lab.Bots{
		RequestShare: c.BotShare, Accounts: c.Accounts, Solvers: c.Solvers, Seed: c.Seed, Carrier: c.Carrier,
		EarlyClaims: c.Early, LeadMS: int(1000 * c.Lead),
	}
	if c.Early == 0 {
		b.EarlyClaims = -1
	}
	if c.Buyers != labBuyers {
		b.Honest = c.Buyers
	}
	if c.Stock != labStock {
		b.Stock = c.Stock
	}
	screen := lab.NewScreen(a.err, isTerminal(a.err), false)
	defer screen.Clear()
	r, err := lab.RunBots(a.ctx, lab.BotsConfig{
		Bots: b, Stage: screen.Stage,
		Start: func(ctx context.Context) (*lab.Process, error) {
			return lab.StartServer(ctx, lab.ServerConfig{Args: lab.BotsServer()})
		},
	})
	screen.Clear()
	if err != nil {
		return labFailure(err)
	}
	if a.json {
		err = r.WriteJSON(a.out)
	} else {
		err = r.WriteText(a.out, a.paint.named)
	}
	if err == nil && !r.OK() {
		err = errors.New("the server broke its word while bots raided it")
	}
	return err
}
