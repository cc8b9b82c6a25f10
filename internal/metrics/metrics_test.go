package metrics_test

import (
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/metrics"
)

var update = flag.Bool("update", false, "write the golden files anew")

// full gives a set in which every metric has a value, with n campaigns.
func full(n int) *metrics.Set {
	s := metrics.New(metrics.Config{Version: "v1", Revision: "abc", Started: time.Now(), Agents: []string{"expirer"}})
	s.Answer(200)
	s.Answer(-1)
	s.Claim(3 * time.Millisecond)
	s.Admitted(time.Millisecond)
	s.Committed(metrics.Batch{Writes: 3, Claims: 70, Commit: time.Millisecond, Transaction: 2 * time.Millisecond})
	s.Committed(metrics.Batch{Writes: 3, Failed: true})
	s.AgentRan("expirer", 4, nil, time.Now())
	s.AgentRan("expirer", 0, errors.New("x"), time.Now())
	s.Paid(sluice.PaymentApplied)
	s.CouponStep("redeem")
	s.Challenge(sluice.ChallengeSlider, "solved")
	s.Pass("given")
	s.Settled(metrics.Settlement{Confirmed: 8, Rejected: 2, Took: time.Millisecond, Lag: 30 * time.Millisecond})
	s.Armed(sluice.EpochLost)
	s.Reconciled(sluice.ReconcileRun{Drift: 3})
	s.Watch(metrics.Sources{
		Fleet: func() metrics.Fleet {
			return metrics.Fleet{Alive: 3, Dead: 1, Settings: 17, Age: 90 * time.Second, Up: map[string]bool{"redis": false}}
		},
		Outbox:      func() metrics.Backlog { return metrics.Backlog{Known: true, N: 12, Age: 4 * time.Second} },
		DeadLetters: func() metrics.Backlog { return metrics.Backlog{Known: true} },
		Campaigns: func() (all []metrics.Campaign) {
			for i := range n {
				c := metrics.Campaign{ID: fmt.Sprintf("c%d", i), State: sluice.StateLive}
				c.Total, c.Available, c.Held, c.Sold = 10, 4, 3, 3
				c.Decisions[sluice.ReasonConfirmed], c.Decisions[sluice.ReasonSoldOut] = 6, 20
				all = append(all, c)
			}
			return all
		},
		All: func() (counts [sluice.NumReasons]int64) {
			counts[sluice.ReasonUnknownCampaign], counts[sluice.ReasonUnavailable], counts[sluice.ReasonNone] = 7, 1, 2
			counts[sluice.ReasonConfirmed], counts[sluice.ReasonSoldOut] = int64(6*n), int64(20*n)
			return counts
		},
		Queues:   func() []metrics.Length { return []metrics.Length{{Name: "claims", N: 2}} },
		InFlight: func() []metrics.Length { return []metrics.Length{{Name: "claims", N: 9}} },
		Waiting:  func() int { return 5 },
		LogDrops: func() int64 { return 1 },
		Risk: func() metrics.Risk {
			return metrics.Risk{Acts: []metrics.RiskActs{{Rule: "farm", Mode: "on", Action: "block", N: 7}}, Records: 2,
				Asks: map[string]int64{"allow": 3}}
		},
		Ready: func() bool { return true },
		Switches: func() []sluice.SwitchSetting {
			return []sluice.SwitchSetting{{Name: "closed", Value: 1}, {Name: "closed", Campaign: "c0", Value: 1}}
		},
	})
	return s
}

func scrape(t *testing.T, s *metrics.Set) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestValues(t *testing.T) {
	text := scrape(t, full(2))
	for _, line := range []string{
		`sluice_claims_total{campaign="c1",reason="SOLD_OUT"} 20`,
		`sluice_claims_total{campaign="",reason="UNKNOWN_CAMPAIGN"} 7`,
		`sluice_claim_outcomes_total{outcome="admitted"} 12`,
		`sluice_claim_outcomes_total{outcome="refused"} 47`,
		`sluice_claim_outcomes_total{outcome="unknown"} 1`,
		`sluice_claim_outcomes_total{outcome="replayed"} 2`,
		`sluice_claims_total{campaign="",reason="REPLAYED"} 2`,
		`sluice_payments_total{result="applied"} 1`,
		`sluice_coupon_steps_total{op="redeem"} 1`,
		`sluice_challenges_total{event="solved",kind="slider"} 1`, `sluice_passes_total{result="given"} 1`,
		`sluice_campaign_units{campaign="c0",kind="available"} 4`,
		`sluice_campaign_state{campaign="c0",state="live"} 1`,
		`sluice_campaign_state{campaign="c0",state="paused"} 0`,
		`sluice_batch_claims_bucket{le="128"} 1`,
		`sluice_batch_claims_bucket{le="64"} 0`,
		`sluice_transactions_total{result="failed"} 1`,
		`sluice_http_answers_total{status="200"} 1`,
		`sluice_http_answers_total{status="500"} 1`,
		`sluice_agent_runs_total{agent="expirer",result="failed"} 1`,
		`sluice_agent_items_total{agent="expirer"} 4`,
		`sluice_queue_length{lane="claims"} 2`,
		`sluice_switch{switch="closed"} 1`,
		`sluice_ready 1`,
		`sluice_nodes{state="alive"} 3`,
		`sluice_settings_age_seconds 90`,
		`sluice_store_up{store="redis"} 0`,
		`sluice_outbox_entries 12`,
		`sluice_outbox_oldest_seconds 4`,
		`sluice_dead_letters 0`,
		`sluice_settled_claims_total{result="confirmed"} 8`,
		`sluice_epochs_armed_total{cause="lost"} 1`,
		`sluice_reconcile_runs_total{result="drift"} 1`,
		`sluice_drift_units_total 3`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("not there: %s", line)
		}
	}
}

// TestTheReferenceIsWhole compares the page with what a scrape gives, both ways.
func TestTheReferenceIsWhole(t *testing.T) {
	families, err := full(1).Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "sluice_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		got = append(got, fmt.Sprintln(f.GetName(), strings.ToLower(f.GetType().String()), labels, f.GetHelp()))
	}
	for _, d := range metrics.Defs() {
		labels := slices.Clone(d.Labels)
		slices.Sort(labels)
		want = append(want, fmt.Sprintln(d.Name, d.Type, labels, d.Help))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("scraped:\n%s\ndescribed:\n%s", got, want)
	}
}

// TestSeriesAreBounded: ten thousand campaigns do not make ten thousand times the series, and nothing is lost in the
// sum.
func TestSeriesAreBounded(t *testing.T) {
	text := scrape(t, full(10_000))
	lines := strings.Count(text, "\nsluice_")
	if most := metrics.MaxCampaigns*14 + 200; lines > most {
		t.Errorf("%d series, more than %d", lines, most)
	}
	if line := `sluice_claims_total{campaign="other",reason="CONFIRMED"} 57000`; !strings.Contains(text, line) {
		t.Errorf("not there: %s", line)
	}
	if line := `sluice_claim_outcomes_total{outcome="admitted"} 60000`; !strings.Contains(text, line) {
		t.Errorf("not there: %s", line)
	}
}

func TestReference(t *testing.T) {
	const path = "../../docs/reference/metrics.md"
	got := metrics.Reference()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is old: run go test ./internal/metrics -update", path)
	}
}
