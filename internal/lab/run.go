package lab

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// The client says that it was the limit from these on.
const (
	busyLoop    = 0.90 // of a processor, by one event loop
	lateMS      = 20   // p99 of sending late although a connection was free
	fullMachine = 0.90 // of all processors, by client and server together
	othersShare = 0.10 // of all processors, by other programs: the machine is not quiet
)

// Run puts the crowd in front of the server and audits what came of it. The error says that the run could not be made
// (ErrInvalid: the config); a server that broke its word is no error but a Verdict that is not OK.
func Run(ctx context.Context, cfg Config) (Result, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return Result{}, err
	}
	ops := NewOperators(cfg)
	defer ops.Close()
	started := time.Now()
	campaign := cfg.Campaign
	if campaign == "" {
		var err error
		if campaign, err = ops.CreateCampaign(ctx, cfg, started); err != nil {
			return Result{}, err
		}
		if cfg.Ready != nil {
			if err = cfg.Ready(ctx, campaign); err != nil {
				return Result{}, fmt.Errorf("lab: the campaign is not on sale: %w", err)
			}
		}
	}
	s, err := newShift(cfg, campaign, started)
	if err != nil {
		return Result{}, err
	}
	before := ops.metrics(ctx)
	cost, err := s.work(ctx)
	if err != nil {
		return Result{}, err
	}
	after := ops.metrics(ctx)
	cfg.Stage("auditing the rows")
	verdict, err := audit(ctx, ops, s, campaign)
	if err != nil {
		return Result{}, fmt.Errorf("lab: the audit: %w", err)
	}
	if verdict.NoAnswer == int64(len(s.records)) {
		return Result{}, fmt.Errorf("lab: nobody got an answer that the lab understands, such as %q: %w", s.samples.list,
			sluice.ErrUnavailable)
	}
	r := Result{
		Started: started.UTC(), Setup: newSetup(cfg, campaign, len(s.records)), Verdict: verdict, Funnel: s.funnel(),
		Server: cost.server, Client: cost.client, Samples: s.samples.list,
	}
	if r.Samples == nil {
		r.Samples = []string{}
	}
	r.Server.fromMetrics(before, after)
	if verdict.OK {
		r.Speed, r.Latency, r.Series = s.speed(), s.latency(), s.series()
		r.Outcomes = s.outcomes()
	} else {
		r.Server.CPUPerClaim = 0
	}
	return r, nil
}

// Measure sends the crowd at a server that has no ledger to audit, such as one that answers every request with a
// constant: what this client can measure at all. Only URL, JWTSecret and Campaign of cfg's addresses are used; the
// result has no verdict.
func Measure(ctx context.Context, cfg Config) (Result, error) {
	cfg = cfg.withDefaults()
	cfg.AdminURL, cfg.AdminKey = "none", "none"
	if err := cfg.check(); err != nil {
		return Result{}, err
	}
	started := time.Now()
	s, err := newShift(cfg, cfg.Campaign, started)
	if err != nil {
		return Result{}, err
	}
	cost, err := s.work(ctx)
	if err != nil {
		return Result{}, err
	}
	return Result{
		Started: started.UTC(), Setup: newSetup(cfg, cfg.Campaign, len(s.records)), Funnel: s.funnel(), Speed: s.speed(),
		Latency: s.latency(), Series: s.series(), Server: cost.server, Client: cost.client, Samples: s.samples.list,
	}, nil
}

// newShift draws the crowd for campaign.
func newShift(cfg Config, campaign string, now time.Time) (*shift, error) {
	cfg.Stage(fmt.Sprintf("signing %s tokens, drawing the schedule (seed %d)", Thousands(int64(cfg.Buyers)), cfg.Seed))
	crowd, err := newCrowd(cfg, campaign, now)
	if err != nil {
		return nil, err
	}
	s := &shift{
		cfg: cfg, crowd: crowd, records: make([]record, len(crowd.arrivals)),
		tallies: make([]tally, cfg.Workers), busy: make([]float64, cfg.Workers),
	}
	s.watch = newWatch(s)
	return s, nil
}

// cost is what the crowd's work took.
type cost struct {
	server Server
	client Client
}

// work opens the connections, then the sale, and returns when everyone was answered.
func (s *shift) work(ctx context.Context) (c cost, err error) {
	pumps := make([]pump, s.cfg.Workers)
	for i := range pumps {
		pumps[i] = newPump(s, i)
		defer pumps[i].close()
	}
	s.cfg.Stage(fmt.Sprintf("opening %s connections", Thousands(int64(s.cfg.Connections))))
	for _, p := range pumps {
		if err := p.connect(ctx); err != nil {
			return c, err
		}
	}
	runtime.GC() // what the preparation left behind is not to be collected during the run
	serverCPU, known := s.cfg.serverCPU()
	own := ownCPU()
	machine, watched := machineCPU()
	s.opening = time.Now()
	stop := s.report()
	var wg sync.WaitGroup
	for _, p := range pumps {
		wg.Go(func() { p.run(ctx) })
	}
	wg.Wait()
	stop()
	if n := s.watch.waiting.Load(); n > 0 {
		s.cfg.Stage(fmt.Sprintf("%s buyers wait for what became of their claims", Thousands(n)))
	}
	s.watch.end(ctx)
	took := time.Since(s.opening).Seconds()
	if err := ctx.Err(); err != nil {
		return c, fmt.Errorf("lab: stopped after %.1f s: %w", took, err)
	}
	c.client.CPU = ownCPU() - own
	if known {
		if now, ok := s.cfg.serverCPU(); ok {
			c.server.CPU = round(now-serverCPU, 3)
			c.server.CPUPerClaim = round(c.server.CPU*1e6/float64(len(s.records)), 2)
			c.server.Cores = round(c.server.CPU/took, 2)
		}
	}
	if all, ok := machineCPU(); ok && watched && known {
		c.client.Others = round(max(0, all-machine-c.client.CPU-c.server.CPU)/took, 2)
	}
	s.judgeClient(&c, took)
	return c, nil
}

// serverCPU gives the seconds of CPU that the server and what belongs to it have used; false where that is not known.
func (c *Config) serverCPU() (sum float64, known bool) {
	for _, pid := range append([]int{c.PID}, c.PIDs...) {
		s, ok := processCPU(pid)
		if !ok {
			return 0, false
		}
		sum += s
	}
	return sum, true
}

// report tells Progress five times a second until the function it gives is called.
func (s *shift) report() (stop func()) {
	if s.cfg.Progress == nil {
		return func() {}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				s.cfg.Progress(s.progress(true))
				return
			case <-tick.C:
				s.cfg.Progress(s.progress(false))
			}
		}
	}()
	return func() { close(done); <-gone }
}

// judgeClient says whether the client was what was measured.
func (s *shift) judgeClient(c *cost, took float64) {
	lag, wait := newHistogram(), newHistogram()
	for i := range s.records {
		if r := &s.records[i]; r.flags&flagSent != 0 {
			_ = lag.RecordValue(int64(r.lag))
			_ = wait.RecordValue(int64(r.sent - min(r.sent, s.crowd.arrivals[i].at)))
		}
	}
	k := &c.client
	k.CPU, k.Cores = round(k.CPU, 3), round(k.CPU/took, 2)
	k.Loops = len(s.busy)
	for _, b := range s.busy {
		k.Busiest = round(max(k.Busiest, b), 2)
	}
	k.LagP99, k.LagMax, k.WaitP99 = quantiles(lag).P99, quantiles(lag).Max, quantiles(wait).P99
	if c.server.CPU > 0 {
		k.Share = round(k.CPU/(k.CPU+c.server.CPU), 2)
		k.MachineFull = k.Cores+c.server.Cores >= fullMachine*float64(runtime.NumCPU())
	}
	k.judge(runtime.NumCPU(), s.cfg.Shared)
}

// judge sets Limit and Says from what was measured, on a machine of so many processors. shared: the client's CPU is the
// server's too.
func (k *Client) judge(cpus int, shared bool) {
	switch {
	case k.Busiest >= busyLoop:
		k.Limit = true
		k.Says = fmt.Sprintf("the client was the limit: an event loop used %.0f%% of a processor", k.Busiest*100)
	case k.Cores >= fullMachine*float64(cpus) && !shared:
		k.Limit = true
		k.Says = fmt.Sprintf("the client was the limit: it used all processors, %.2f of %d", k.Cores, cpus)
	case k.Others >= othersShare*float64(cpus):
		k.Says = fmt.Sprintf("the machine was not quiet: other programs used %.2f processors", k.Others)
	case k.LagP99 >= lateMS && !k.MachineFull:
		k.Limit = true
		k.Says = fmt.Sprintf("the client was the limit: 1%% of its requests left over %.0f ms late with a connection free",
			k.LagP99)
	case k.MachineFull:
		k.Says = fmt.Sprintf("the machine was full: the client took %.0f%% of the CPU that both used", k.Share*100)
	case k.Busiest == 0:
		k.Says = fmt.Sprintf("the client was not the limit: it used %.2f of %d processors", k.Cores, cpus)
	default:
		k.Says = fmt.Sprintf("the client was not the limit: its busiest event loop used %.0f%% of a processor", k.Busiest*100)
	}
}

// fromMetrics reads the ledger's batches from what the server itself counted.
func (s *Server) fromMetrics(before, after map[string]float64) {
	if before == nil || after == nil {
		return
	}
	delta := func(name string) float64 { return after[name] - before[name] }
	s.Batches = delta(metricBatch + "_count")
	if s.Batches > 0 {
		s.ClaimsABatch = round(delta(metricBatch+"_sum")/s.Batches, 1)
	}
	if n := delta(metricCommit + "_count"); n > 0 {
		s.CommitMS = round(delta(metricCommit+"_sum")/n*1000, 2)
	}
}

// The server's histograms of its ledger.
const (
	metricBatch  = "sluice_batch_claims"
	metricCommit = "sluice_commit_seconds"
)
