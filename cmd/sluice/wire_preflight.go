package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/challenge"
)

// Bounds of what is looked at before a sale.
const (
	preflightSkew = 50 * time.Millisecond
	alarmsEvery   = 5 * time.Minute // somebody has to have read the metrics within that
)

// checks are those of the parts that a sale stands on.
func (p *parts) checks(s *server) []admin.PartCheck {
	type view = sluice.CampaignView
	return []admin.PartCheck{
		{Name: "nodes", Look: func(ctx context.Context, _ *view) sluice.PreflightCheck {
			h := p.health(ctx)
			return foundNodes(&h)
		}},
		{Name: "clocks", Look: func(ctx context.Context, _ *view) sluice.PreflightCheck {
			if p.fleet == nil {
				return sluice.Found(sluice.CheckGo, "clocks_one", nil)
			}
			return foundClocks(p.health(ctx).Skew)
		}},
		{Name: "backlog", Look: func(ctx context.Context, c *view) sluice.PreflightCheck {
			h := p.health(ctx)
			return foundBacklog(&h, c.Queued, p.admission.Waiting() > 0, time.Now())
		}},
		{Name: "passes", Look: func(ctx context.Context, c *view) sluice.PreflightCheck {
			return foundPasses(c, len(p.passKeys.List()), func(kind sluice.ChallengeType) error {
				return p.challenges.Probe(ctx, kind)
			})
		}},
		{Name: "payments", Look: func(_ context.Context, c *view) sluice.PreflightCheck {
			return foundPayments(c, *p.board.set.Load(), s.cfg.Sandbox())
		}},
		{Name: "blocklist", Look: func(ctx context.Context, _ *view) sluice.PreflightCheck {
			all, err := p.ledger.Blocks(ctx, sluice.MillisOf(time.Now()))
			return foundBlocks(len(all), err)
		}},
		{Name: "alarms", Look: func(context.Context, *view) sluice.PreflightCheck {
			return foundAlarms(p.console.scraped.read.Load(), time.Now())
		}},
	}
}

// foundNodes: every part answers, and every node has what is in force.
func foundNodes(h *sluice.Health) sluice.PreflightCheck {
	for _, name := range []string{"ledger", "redis", "broker"} {
		if h.Parts[name] == sluice.PartDown {
			return sluice.Found(sluice.CheckNoGo, "nodes_part_down", sluice.PreflightArgs{"part": name})
		}
	}
	if h.Dead > 0 || h.InForce < h.Alive {
		return sluice.Found(sluice.CheckNoGo, "nodes_behind",
			sluice.PreflightArgs{"alive": h.Alive, "in_force": h.InForce, "dead": h.Dead})
	}
	return sluice.Found(sluice.CheckGo, "nodes_agree", sluice.PreflightArgs{"alive": h.Alive})
}

func foundClocks(skew time.Duration) sluice.PreflightCheck {
	args := sluice.PreflightArgs{"skew_ms": float64(skew) / float64(time.Millisecond)}
	if skew >= preflightSkew {
		return sluice.Found(sluice.CheckNoGo, "clocks_apart", args)
	}
	return sluice.Found(sluice.CheckGo, "clocks_together", args)
}

// foundBacklog: nothing waits from before; waiting says that claims wait at the gate.
func foundBacklog(h *sluice.Health, queued int64, waiting bool, now time.Time) sluice.PreflightCheck {
	switch {
	case h.Letters > 0:
		return sluice.Found(sluice.CheckNoGo, "backlog_letters", sluice.PreflightArgs{"letters": h.Letters})
	case queued > 0 || waiting:
		return sluice.Found(sluice.CheckNoGo, "backlog_queued", sluice.PreflightArgs{"units": queued})
	case h.Oldest > 0:
		return sluice.Found(sluice.CheckNoGo, "backlog_old",
			sluice.PreflightArgs{"age_ms": now.Sub(h.Oldest.Time()).Milliseconds()})
	}
	return sluice.Found(sluice.CheckGo, "backlog_none", nil)
}

// foundPasses says whether buyers of the campaign can get what it asks of them.
func foundPasses(c *sluice.CampaignView, keys int, probe func(sluice.ChallengeType) error) sluice.PreflightCheck {
	if c.Protection.Pass == "" || c.Protection.Pass == sluice.PassOff {
		return sluice.Found(sluice.CheckAbsent, "passes_not_asked", nil)
	}
	if keys == 0 {
		return sluice.Found(sluice.CheckNoGo, "passes_no_key", nil)
	}
	kind := cmp.Or(c.Protection.Challenge, sluice.ChallengePoW)
	switch err := probe(kind); {
	case errors.Is(err, challenge.ErrNoService):
		return sluice.Found(sluice.CheckNoGo, "passes_no_service", nil)
	case err != nil:
		return sluice.Found(sluice.CheckNoGo, "passes_no_challenge",
			sluice.PreflightArgs{"challenge": string(kind), "error": err.Error()})
	}
	return sluice.Found(sluice.CheckGo, "passes_given",
		sluice.PreflightArgs{"pass": string(c.Protection.Pass), "challenge": string(kind)})
}

func foundPayments(c *sluice.CampaignView, set []sluice.SwitchSetting, sandbox bool) sluice.PreflightCheck {
	if c.Kind != sluice.KindGoods || c.Goods.PriceMinor == 0 {
		return sluice.Found(sluice.CheckAbsent, "payments_none", nil)
	}
	for i := range set {
		if x := &set[i]; x.Set && x.Name == sluice.SwitchPaymentsDown && x.Value != 0 {
			return sluice.Found(sluice.CheckNoGo, "payments_down",
				sluice.PreflightArgs{"at": x.At.Time().Format(time.RFC3339)})
		}
	}
	if sandbox {
		return sluice.Found(sluice.CheckGo, "payments_sandbox", nil)
	}
	return sluice.Found(sluice.CheckGo, "payments_taken", nil)
}

func foundBlocks(n int, err error) sluice.PreflightCheck {
	if err != nil {
		return sluice.Found(sluice.CheckUnknown, "blocklist_unknown", nil)
	}
	return sluice.Found(sluice.CheckGo, "blocklist_in_force", sluice.PreflightArgs{"blocks": n})
}

// foundAlarms: somebody reads the metrics. read is when somebody last did, in Unix ms, 0 for never.
func foundAlarms(read int64, now time.Time) sluice.PreflightCheck {
	age := now.Sub(time.UnixMilli(read))
	args := sluice.PreflightArgs{"age_s": age.Seconds()}
	switch {
	case read == 0:
		return sluice.Found(sluice.CheckNoGo, "alarms_never", nil)
	case age > alarmsEvery:
		return sluice.Found(sluice.CheckNoGo, "alarms_silent", args)
	}
	return sluice.Found(sluice.CheckGo, "alarms_read", args)
}
