// Package metrics turns what the parts count into Prometheus metrics. It owns a registry of its own and decides the
// names, the labels and their bounds: a label never takes a value that a client made up. It refuses to sit on the
// road of a claim: counts of the gate are read when a scrape comes.
package metrics

import (
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice-sale/sluice"
)

// MaxCampaigns bounds the campaigns that have series of their own, the newest first; the rest are summed as "other".
const MaxCampaigns = 500

// Config tells what is running.
type Config struct {
	Version  string
	Revision string
	Started  time.Time
	Agents   []string // the names that AgentRan may be called with
}

// Set is every metric of the process. Its methods are safe for concurrent use and do not block.
type Set struct {
	reg     *prometheus.Registry
	sources atomic.Pointer[Sources]

	answers      [600]atomic.Int64 // by HTTP status
	claimSeconds prometheus.Histogram
	batchClaims  prometheus.Histogram
	batchWrites  prometheus.Histogram
	commit       prometheus.Histogram
	transaction  prometheus.Histogram
	transactions *prometheus.CounterVec
	agentRuns    *prometheus.CounterVec
	agentItems   *prometheus.CounterVec
	agentLast    *prometheus.GaugeVec
	admission    prometheus.Histogram
	payments     *prometheus.CounterVec
	coupons      *prometheus.CounterVec
	challenges   *prometheus.CounterVec
	passes       *prometheus.CounterVec
	fleet        fleetCounters
}

// New makes the registry with everything in it.
func New(cfg Config) *Set {
	s := &Set{reg: prometheus.NewRegistry()}
	s.claimSeconds = histogram(claimSeconds, secondsSteps)
	s.admission = histogram(admissionSeconds, secondsSteps)
	s.batchClaims = histogram(batchClaims, sizeSteps)
	s.batchWrites = histogram(batchWrites, sizeSteps)
	s.commit = histogram(commitSeconds, secondsSteps)
	s.transaction = histogram(transactionSeconds, secondsSteps)
	s.transactions = counters(transactions)
	s.agentRuns, s.agentItems = counters(agentRuns), counters(agentItems)
	opts := prometheus.GaugeOpts{Name: agentLast.Name, Help: agentLast.Help}
	s.agentLast = prometheus.NewGaugeVec(opts, agentLast.Labels)
	s.fleet = newFleetCounters(s.reg)
	s.payments, s.coupons, s.challenges = counters(payments), counters(couponSteps), counters(challengeEvents)
	s.passes = counters(passAnswers)
	for _, result := range []string{"committed", "failed"} {
		s.transactions.WithLabelValues(result)
	}
	for _, a := range cfg.Agents {
		s.agentItems.WithLabelValues(a)
		for _, result := range []string{"ok", "failed"} {
			s.agentRuns.WithLabelValues(a, result)
		}
	}
	s.reg.MustRegister(
		s.claimSeconds, s.admission, s.batchClaims, s.batchWrites, s.commit, s.transaction, s.transactions,
		s.agentRuns, s.agentItems, s.agentLast, s.payments, s.coupons, s.challenges, s.passes,
		&scrape{set: s, cfg: cfg},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return s
}

func histogram(d Def, steps []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: steps})
}

func counters(d Def) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
}

// Watch says where the figures come from that are read at each scrape. Before it, they are absent.
func (s *Set) Watch(from Sources) { s.sources.Store(&from) }

// Handler answers /metrics.
func (s *Set) Handler() http.Handler {
	return promhttp.HandlerFor(s.reg, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// Gatherer gives the registry, for tests.
func (s *Set) Gatherer() prometheus.Gatherer { return s.reg }

// Answer counts an answer of the public listener by its HTTP status.
func (s *Set) Answer(status int) {
	if status < 100 || status >= len(s.answers) {
		status = http.StatusInternalServerError
	}
	s.answers[status].Add(1)
}

// Claim notes how long a claim took from its arrival to its answer.
func (s *Set) Claim(took time.Duration) { s.claimSeconds.Observe(took.Seconds()) }

// Admitted notes how long a batch of claims took from its first claim to its answer.
func (s *Set) Admitted(took time.Duration) { s.admission.Observe(took.Seconds()) }

// Batch is one transaction of the ledger's writer.
type Batch struct {
	Writes, Claims      int
	Commit, Transaction time.Duration
	Failed              bool
}

// Committed notes a transaction.
func (s *Set) Committed(b Batch) {
	result := "committed"
	if b.Failed {
		result = "failed"
	}
	s.transactions.WithLabelValues(result).Inc()
	s.transaction.Observe(b.Transaction.Seconds())
	if b.Failed {
		return
	}
	s.batchWrites.Observe(float64(b.Writes))
	s.commit.Observe(b.Commit.Seconds())
	if b.Claims > 0 {
		s.batchClaims.Observe(float64(b.Claims))
	}
}

// AgentRan notes one run of an agent that ended at the moment given, and how many items it worked on.
func (s *Set) AgentRan(agent string, items int, err error, at time.Time) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	s.agentRuns.WithLabelValues(agent, result).Inc()
	s.agentItems.WithLabelValues(agent).Add(float64(max(0, items)))
	s.agentLast.WithLabelValues(agent).Set(float64(at.UnixMilli()) / 1000)
}

// Paid counts a payment by what it came to.
func (s *Set) Paid(result sluice.PaymentResult) { s.payments.WithLabelValues(string(result)).Inc() }

// CouponStep counts a step of a coupon at a merchant.
func (s *Set) CouponStep(op string) { s.coupons.WithLabelValues(op).Inc() }

// Challenge counts what became of a challenge.
func (s *Set) Challenge(kind sluice.ChallengeType, event string) {
	s.challenges.WithLabelValues(string(kind), event).Inc()
}

// Pass counts what a call for a pass came to.
func (s *Set) Pass(result string) { s.passes.WithLabelValues(result).Inc() }

// Sources are read at each scrape. A nil one is left out. None of them may take longer than about a second.
type Sources struct {
	Campaigns func() []Campaign                   // every campaign, the newest first
	All       func() [sluice.NumReasons]int64     // decisions on every campaign and on none
	Queues    func() []Length                     // writes that wait, by lane
	InFlight  func() []Length                     // requests under way, by kind
	Waiting   func() int                          // claims that wait for their commit
	LogDrops  func() int64                        // lines that the decision log lost
	Risk      func() Risk                         // what risk rules did
	Ready     func() bool                         // whether /readyz says yes
	Switches  func() (set []sluice.SwitchSetting) // those in force

	// Of a server that is one of several:
	Fleet       func() Fleet
	Outbox      func() Backlog
	DeadLetters func() Backlog
}

// Campaign is what a scrape shows of one campaign.
type Campaign struct {
	ID        string
	State     sluice.CampaignState
	Total     int64
	Available int64
	Queued    int64
	Held      int64
	Sold      int64
	Decisions [sluice.NumReasons]int64 // ReasonNone: recorded answers given again
}

// Length is how many of something there are.
type Length struct {
	Name string
	N    int64
}

func buildLabels(cfg Config) []string { return []string{cfg.Version, cfg.Revision, runtime.Version()} }

func statusLabel(status int) string { return strconv.Itoa(status) }
