package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-sale/sluice"
)

// The metrics of a server that is one of several, or whose parts are in other processes. They are absent elsewhere.
var (
	nodes = Def{"sluice_nodes", Gauge, []string{"state"},
		"Servers of this fleet by their heartbeats: alive, dead (silent for 5 s or more)."}
	settingsRev = Def{"sluice_settings_revision", Gauge, nil,
		"The revision of the settings that are in force on this server; the same on all of a fleet within seconds."}
	settingsAge = Def{"sluice_settings_age_seconds", Gauge, nil,
		"Since the settings in force were last seen to be the newest: it grows while the ledger is away."}
	clockSkew   = Def{"sluice_clock_skew_seconds", Gauge, nil, "This server's clock less the ledger's."}
	pendingSets = Def{"sluice_switches_pending", Gauge, nil,
		"Switches that were set while the ledger was away and are not recorded in it yet."}
	storeUp = Def{"sluice_store_up", Gauge, []string{"store"},
		"1 while a store answered when it was asked last: ledger, redis, broker."}
	outboxEntries = Def{"sluice_outbox_entries", Gauge, nil, "Entries of the outboxes; one may hold many claims."}
	outboxOldest  = Def{"sluice_outbox_oldest_seconds", Gauge, nil, "The age of the oldest entry of the outboxes."}
	deadLetters   = Def{"sluice_dead_letters", Gauge, nil, "Claims that could not be settled and wait for a person."}
	deadOldest    = Def{"sluice_dead_letter_oldest_seconds", Gauge, nil, "Since the oldest of them failed last."}
	settled       = Def{"sluice_settled_claims_total", Counter, []string{"result"},
		"Claims that this server settled from a queue: confirmed, rejected, replayed (found in the ledger), failed."}
	settleSeconds = Def{"sluice_settle_seconds", Histogram, nil, "One transaction of a settler."}
	settleLag     = Def{"sluice_settle_lag_seconds", Histogram, nil,
		"From the first claim of a settled batch to its commit: what a buyer waits from QUEUED to CONFIRMED."}
	epochsArmed = Def{"sluice_epochs_armed_total", Counter, []string{"cause"},
		"Times that this server armed a campaign's gates: planned, lost."}
	reconcileRuns = Def{"sluice_reconcile_runs_total", Counter, []string{"result"},
		"Comparisons of a campaign's gates with the ledger: ok, drift, failed."}
	driftUnits = Def{"sluice_drift_units_total", Counter, nil, "Units in doubt that comparisons have found."}
)

// fleetDefs lists them in the order of the reference page.
func fleetDefs() []Def {
	return []Def{
		nodes, settingsRev, settingsAge, clockSkew, pendingSets, storeUp, outboxEntries, outboxOldest, deadLetters,
		deadOldest, settled, settleSeconds, settleLag, epochsArmed, reconcileRuns, driftUnits,
	}
}

// fleetCounters are what is counted as it happens.
type fleetCounters struct {
	settled       *prometheus.CounterVec
	settleSeconds prometheus.Histogram
	settleLag     prometheus.Histogram
	epochs        *prometheus.CounterVec
	runs          *prometheus.CounterVec
	drift         prometheus.Counter
}

func newFleetCounters(reg *prometheus.Registry) fleetCounters {
	f := fleetCounters{
		settled: counters(settled), settleSeconds: histogram(settleSeconds, secondsSteps),
		settleLag: histogram(settleLag, secondsSteps), epochs: counters(epochsArmed), runs: counters(reconcileRuns),
		drift: prometheus.NewCounter(prometheus.CounterOpts{Name: driftUnits.Name, Help: driftUnits.Help}),
	}
	reg.MustRegister(f.settled, f.settleSeconds, f.settleLag, f.epochs, f.runs, f.drift)
	return f
}

// Settlement is one transaction of a settler.
type Settlement struct {
	Confirmed, Rejected, Replayed, Failed int
	Took, Lag                             time.Duration
}

// Settled notes one.
func (s *Set) Settled(b Settlement) {
	for _, x := range []Length{
		{"confirmed", int64(b.Confirmed)}, {"rejected", int64(b.Rejected)}, {"replayed", int64(b.Replayed)},
		{"failed", int64(b.Failed)},
	} {
		s.fleet.settled.WithLabelValues(x.Name).Add(float64(x.N))
	}
	s.fleet.settleSeconds.Observe(b.Took.Seconds())
	s.fleet.settleLag.Observe(b.Lag.Seconds())
}

// Armed notes that the gates of a campaign were armed.
func (s *Set) Armed(cause sluice.EpochCause) { s.fleet.epochs.WithLabelValues(string(cause)).Inc() }

// Reconciled notes a comparison.
func (s *Set) Reconciled(r sluice.ReconcileRun) {
	result := "ok"
	switch {
	case r.Error != "":
		result = "failed"
	case !r.OK:
		result = "drift"
	}
	s.fleet.runs.WithLabelValues(result).Inc()
	s.fleet.drift.Add(float64(max(0, r.Drift)))
}

// Fleet is what a scrape shows of the servers and of what they stand on.
type Fleet struct {
	Alive, Dead     int
	Settings        int64
	Age, Skew       time.Duration
	PendingSwitches int
	Up              map[string]bool // by store
}

func (f *Fleet) send(to sink) {
	to.send(nodes, float64(f.Alive), "alive")
	to.send(nodes, float64(f.Dead), "dead")
	to.send(settingsRev, float64(f.Settings))
	to.send(settingsAge, f.Age.Seconds())
	to.send(clockSkew, f.Skew.Seconds())
	to.send(pendingSets, float64(f.PendingSwitches))
	for store, up := range f.Up {
		to.send(storeUp, truth(up), store)
	}
}

// Backlog is how much waits, and since when; Known is false where it could not be read.
type Backlog struct {
	Known bool
	N     int64
	Age   time.Duration // of the oldest; zero where nothing waits
}

func (b Backlog) send(to sink, n, age Def) {
	if b.Known {
		to.send(n, float64(b.N))
		to.send(age, b.Age.Seconds())
	}
}

func (src *Sources) several(to sink) {
	if src.Fleet != nil {
		f := src.Fleet()
		f.send(to)
	}
	if src.Outbox != nil {
		src.Outbox().send(to, outboxEntries, outboxOldest)
	}
	if src.DeadLetters != nil {
		src.DeadLetters().send(to, deadLetters, deadOldest)
	}
}
