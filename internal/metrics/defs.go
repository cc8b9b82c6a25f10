package metrics

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// The types of a metric.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	Histogram = "histogram"
)

// Def is one metric: what the reference page says of it.
type Def struct {
	Name   string
	Type   string
	Labels []string
	Help   string
}

func (d Def) desc() *prometheus.Desc { return prometheus.NewDesc(d.Name, d.Help, d.Labels, nil) }

// The steps of the histograms.
var (
	secondsSteps = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	sizeSteps    = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}
)

// The metrics. Defs lists them for the reference page.
var (
	claims = Def{"sluice_claims_total", Counter, []string{"campaign", "reason"},
		"Decisions of the gate by reason; REPLAYED: a recorded answer given again. campaign is empty for claims on " +
			"campaigns that do not exist, whatever id they named."}
	outcomes = Def{"sluice_claim_outcomes_total", Counter, []string{"outcome"},
		"Decisions of the gate by what they mean: admitted, replayed, refused, unknown (UNAVAILABLE)."}
	claimSeconds = Def{"sluice_claim_seconds", Histogram, nil,
		"From the arrival of a claim to its answer."}
	admissionSeconds = Def{"sluice_admission_seconds", Histogram, nil,
		"From the first claim of a batch to the answers of all of it."}
	units = Def{"sluice_campaign_units", Gauge, []string{"campaign", "kind"},
		"Units of a campaign: total, available (by the permit), queued (not committed yet), held (unpaid), sold."}
	campaignState = Def{"sluice_campaign_state", Gauge, []string{"campaign", "state"},
		"1 for the state that a campaign is in, 0 for the others."}
	batchClaims        = Def{"sluice_batch_claims", Histogram, nil, "Claims in one transaction, of those that had any."}
	batchWrites        = Def{"sluice_batch_writes", Histogram, nil, "Pieces of work in one transaction."}
	commitSeconds      = Def{"sluice_commit_seconds", Histogram, nil, "COMMIT alone, with its fsync."}
	transactionSeconds = Def{"sluice_transaction_seconds", Histogram, nil, "A whole transaction of the ledger's writer."}
	transactions       = Def{"sluice_transactions_total", Counter, []string{"result"},
		"Transactions: committed, failed."}
	queueLength = Def{"sluice_queue_length", Gauge, []string{"lane"},
		"Writes that wait for a transaction: urgent (payments, operators), claims, background."}
	claimsWaiting = Def{"sluice_claims_waiting", Gauge, nil, "Claims that are admitted and wait for their commit."}
	inFlight      = Def{"sluice_requests_in_flight", Gauge, []string{"kind"},
		"Requests under way on the public listener, by kind."}
	answers = Def{"sluice_http_answers_total", Counter, []string{"status"},
		"Answers of the public listener by HTTP status."}
	logDrops = Def{"sluice_decision_log_drops_total", Counter, nil,
		"Lines that the decision log lost because they came faster than they could be written."}
	switches = Def{"sluice_switch", Gauge, []string{"switch"},
		"The value of each switch that is set for the whole server; absent while it is not set."}
	agentRuns  = Def{"sluice_agent_runs_total", Counter, []string{"agent", "result"}, "Runs of an agent: ok, failed."}
	agentItems = Def{"sluice_agent_items_total", Counter, []string{"agent"},
		"What an agent worked on: orders closed, rows cleaned."}
	agentLast = Def{"sluice_agent_last_run_timestamp_seconds", Gauge, []string{"agent"}, "When an agent ran last."}
	payments  = Def{"sluice_payments_total", Counter, []string{"result"},
		"Payments by what they came to: applied, refund_due, ignored, mismatch, unknown_order."}
	couponSteps = Def{"sluice_coupon_steps_total", Counter, []string{"op"},
		"Steps of coupons at merchants that were carried out: lock, unlock, redeem, reverse."}
	challengeEvents = Def{"sluice_challenges_total", Counter, []string{"kind", "event"},
		"Challenges by kind and what became of them: issued, solved, failed (a wrong answer), gone (an answer to what is " +
			"over, used up or not the caller's), busy (none could be made), trouble (a store or service gave no answer), " +
			"waived (a service gave no answer, and challenge.siteverify.on_trouble is open)."}
	passAnswers = Def{"sluice_passes_total", Counter, []string{"result"},
		"Calls for a pass by what they came to: given (without a challenge), solved (for one), challenged, failed (a wrong " +
			"solution, or trouble), or the reason of a refusal."}
	ready     = Def{"sluice_ready", Gauge, nil, "1 while /readyz says ready."}
	uptime    = Def{"sluice_uptime_seconds", Gauge, nil, "Since the process started."}
	buildInfo = Def{"sluice_build_info", Gauge, []string{"version", "revision", "go"},
		"Always 1; tells what is running."}
)

// Defs lists every metric of Sluice's own, in the order of the reference page.
func Defs() []Def {
	return append([]Def{
		claims, outcomes, claimSeconds, admissionSeconds, claimsWaiting, units, campaignState, batchClaims, batchWrites,
		commitSeconds, transactionSeconds, transactions, queueLength, inFlight, answers, logDrops, switches, agentRuns,
		agentItems, agentLast, payments, couponSteps, challengeEvents, passAnswers, ready, uptime, buildInfo,
	}, append(riskDefs(), fleetDefs()...)...)
}

const referenceHead = `# Metrics

Generated from the code: {go test ./internal/metrics -update} writes it anew.

The operators' listener answers {GET /metrics} in the Prometheus text format. Labels never take a value that a client
made up: a claim on a campaign that does not exist counts with an empty {campaign}. At most %d campaigns, the newest,
have series of their own; the others are summed as {other}. The usual {go_*} and {process_*} metrics are there too.

| Metric | Type | Labels | What it counts |
|---|---|---|---|
`

// Reference writes docs/reference/metrics.md.
func Reference() string {
	var b strings.Builder
	fmt.Fprintf(&b, strings.NewReplacer("{", "`", "}", "`").Replace(referenceHead), MaxCampaigns)
	for _, d := range Defs() {
		labels := ""
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, labels, d.Help)
	}
	return b.String()
}
