package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/lab"
)

// The evening sale goes on after the verdicts, so that console and sale page have something to show: a crowd that
// comes over ten minutes, for fewer units than it is, of whom most pay.
const (
	demoEvening    = "evening-sale"
	eveningSeconds = 600
	eveningBuyers  = 24_000
	eveningStock   = 10_000
	payersEvery    = time.Second
	payersOf       = 3 // two of three orders are paid
	payersBatch    = 60
)

// evening starts it. The function that it gives ends it.
func (d *demo) evening() (stop func(), err error) {
	ctx, cancel := context.WithCancel(d.a.ctx)
	ops := lab.NewOperators(lab.Config{AdminURL: d.server.adminURL(), AdminKey: d.key})
	defer ops.Close()
	cfg := lab.Config{
		URL: d.server.publicURL(), AdminURL: d.server.adminURL(), AdminKey: d.key, JWTSecret: d.secret,
		NewID: demoEvening, Title: "Evening sale: a teapot for two", Buyers: min(d.Buyers, eveningBuyers),
		Stock: min(d.Stock, eveningStock), Kind: sluice.KindGoods, Limit: 1, Listed: true,
	}
	cfg.Campaign, err = ops.CreateCampaign(ctx, cfg, time.Now())
	if err != nil {
		cancel()
		return nil, err
	}
	cfg.Seconds, cfg.Shape, cfg.Connections, cfg.Workers, cfg.Shared = eveningSeconds, lab.ShapeFlat, 32, 1, true
	var all sync.WaitGroup
	all.Go(func() {
		// Nobody waits for its verdict: the console has it, all the time.
		if _, err := lab.Run(ctx, cfg); err != nil && ctx.Err() == nil {
			d.server.log.Warn("the evening's crowd went home", "err", err)
		}
	})
	all.Go(func() { d.payers(ctx) })
	return func() { cancel(); all.Wait() }, nil
}

// payers pay for most of the evening's orders, a while after they came.
func (d *demo) payers(ctx context.Context) {
	tick := time.NewTicker(payersEvery)
	defer tick.Stop()
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := sluice.MillisOf(time.Now())
		page, err := d.server.parts.ledger.Orders(ctx, sluice.OrderQuery{
			Campaign: demoEvening, State: sluice.OrderUnpaid, Limit: payersBatch}, now)
		if err != nil {
			continue
		}
		for i := range page.Items {
			o := &page.Items[i]
			if o.ID[len(o.ID)-1]%payersOf == 0 {
				continue // these never do
			}
			n++
			_, err := d.server.parts.orders.Notify(ctx, sluice.Payment{Reference: fmt.Sprintf("demo-%d-%s", n, o.ID.OrderID()),
				Order: o.ID, AmountMinor: o.AmountMinor, Currency: o.Currency, Status: "succeeded", Received: now})
			if err != nil {
				break
			}
		}
	}
}
