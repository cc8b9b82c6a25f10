package main

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/metrics"
)

// scrapeTimeout bounds what one scrape reads from the ledger.
const scrapeTimeout = time.Second

// sources says where the metrics come from.
func (p *parts) sources(s *server) metrics.Sources {
	src := metrics.Sources{
		Campaigns: func() []metrics.Campaign { return p.campaignMetrics(s) },
		Waiting:   p.admission.Waiting,
		Queues: func() []metrics.Length {
			urgent, claims, background := p.ledger.Queued()
			return []metrics.Length{
				{Name: "urgent", N: int64(urgent)}, {Name: "claims", N: int64(claims)}, {Name: "background", N: int64(background)},
			}
		},
		InFlight: func() (all []metrics.Length) {
			if public := s.publicNow.Load(); public != nil {
				for name, n := range public.InFlight() {
					all = append(all, metrics.Length{Name: name, N: n})
				}
			}
			return all
		},
		LogDrops: p.gate.DroppedLogLines, Risk: p.riskMetrics,
		Ready:    func() bool { return len(s.ready.list()) == 0 },
		All:      func() [sluice.NumReasons]int64 { return p.gate.Tally().Totals().Reasons },
		Switches: func() []sluice.SwitchSetting { return *p.board.set.Load() },
	}
	if p.fleet != nil {
		src.Fleet, src.DeadLetters = p.fleetMetrics, p.letterMetrics
	}
	if p.remote != nil {
		src.Outbox = p.outboxMetrics
	}
	return src
}

func (p *parts) fleetMetrics() metrics.Fleet {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	s := p.fleet.State(ctx)
	f := metrics.Fleet{Alive: s.Alive, Dead: s.Dead, Settings: s.Settings, Age: s.SettingsAge, Skew: s.Skew,
		PendingSwitches: s.Pending, Up: map[string]bool{"ledger": s.LedgerAnswers}}
	if p.remote != nil {
		f.Up["redis"] = s.RedisAnswers
		if q := p.remote.queue; q.publisher != nil {
			f.Up["broker"] = q.brokerUp.Load()
		}
	}
	return f
}

func (p *parts) outboxMetrics() metrics.Backlog {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	state, err := p.remote.queue.outbox.State(ctx)
	return backlog(state.Entries, state.Oldest, err)
}

func (p *parts) letterMetrics() metrics.Backlog {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	n, oldest, err := p.ledger.DeadLetterCount(ctx)
	return backlog(n, oldest, err)
}

func backlog(n int64, oldest sluice.Millis, err error) metrics.Backlog {
	b := metrics.Backlog{Known: err == nil, N: n}
	if oldest > 0 {
		b.Age = max(0, time.Since(oldest.Time()))
	}
	return b
}

func (p *parts) campaignMetrics(s *server) []metrics.Campaign {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	views, err := p.campaigns.Views(ctx)
	if err != nil {
		s.log.Warn("the metrics have no campaigns", "err", err)
		return nil
	}
	slices.SortStableFunc(views, func(a, b sluice.CampaignView) int { return int(b.No - a.No) })
	all := make([]metrics.Campaign, 0, len(views))
	for _, v := range views {
		totals, _ := p.gate.Tally().Campaign(v.ID)
		all = append(all, metrics.Campaign{ID: v.ID, State: v.State, Total: v.Stock.Total, Available: v.Available,
			Queued: v.Queued, Held: v.Stock.Held, Sold: v.Stock.Sold, Decisions: totals.Reasons})
	}
	return all
}
