package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/lab"
)

// bots raids sales: the share of the units that people get with adaptive protection, and with a pass for everybody,
// beside that with none, and how many people were challenged who share no device.
func bots(ctx context.Context, b *bench) error {
	var off, adaptive, always, challenged samples
	model := lab.Bots{Honest: b.of(2000, 400)}
	for range b.runs {
		r, err := lab.RunBots(ctx, lab.BotsConfig{Bots: model, Start: func(ctx context.Context) (*lab.Process, error) {
			return lab.StartServer(ctx, lab.ServerConfig{Binary: b.binary, Args: lab.BotsServer()})
		}})
		if err != nil {
			return err
		}
		if !r.OK() {
			return errors.New("the server broke its word while bots raided it")
		}
		for _, x := range r.Raids {
			switch x.Mode {
			case sluice.PassOff:
				off = append(off, 100*x.Share)
			case sluice.PassAdaptive:
				adaptive, challenged = append(adaptive, 100*x.Share), append(challenged, 100*x.ShareChal)
			case sluice.PassAlways:
				always = append(always, 100*x.Share)
			}
		}
		model = r.Model
		model.Seed = 0
	}
	note := fmt.Sprintf("%d people, %d accounts of bots, %d units, %d challenges solved at once", model.Honest,
		model.Accounts, model.Stock, model.Solvers)
	triple := ratioAtLeast(3, "at least 3 times the baseline")
	return errors.Join(
		b.record("bots_adaptive_people", "% of units", adaptive, "protection off", off, triple, costs{}, note),
		b.record("bots_always_people", "% of units", always, "protection off", off, triple, costs{}, note),
		b.record("bots_adaptive_challenged", "% of people", challenged, "", samples{0}, atMost(1, "below 1%"), costs{},
			"of those who share no device"))
}
