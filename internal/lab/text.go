package lab

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// Paint colours a text for people: good, bad, dim or bold. A nil Paint leaves it as it is.
type Paint func(style, text string) string

func (p Paint) of(style, text string) string {
	if p == nil {
		return text
	}
	return p(style, text)
}

// WriteText writes r for people, at most 100 columns wide.
func (r Result) WriteText(w io.Writer, paint Paint) error {
	t := &text{paint: paint}
	t.verdict(r)
	t.setup(r.Setup)
	if r.Speed != nil {
		t.speed(r)
		t.latency(*r.Latency)
		t.outcomes(r.Outcomes)
	}
	t.funnel(r.Funnel)
	t.cost(r)
	t.audit(r)
	_, err := io.WriteString(w, t.b.String())
	return err
}

// WriteSummary writes the little of r that fits beside other things: the verdict, and the speed if it has one.
func (r Result) WriteSummary(w io.Writer, paint Paint) error {
	t := &text{paint: paint}
	t.verdict(r)
	if v := r.Speed; v != nil {
		t.line("      %s %.2f s · %s claims/s · %s confirmed in %.2f s", r.answered(), v.AnsweredIn,
			Thousands(int64(v.ClaimsPerS)), Thousands(v.Confirmed), v.ConfirmedIn)
		t.line("      from each click to its answer: p50 %s ms · p99 %s ms · p99.9 %s ms · max %s ms",
			ms(r.Latency.All.P50), ms(r.Latency.All.P99), ms(r.Latency.All.P999), ms(r.Latency.All.Max))
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// text gathers the lines of one report.
type text struct {
	b     strings.Builder
	paint Paint
}

func (t *text) line(format string, args ...any) {
	t.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

func (t *text) head(s string) { t.line("\n  %s", t.paint.of("bold", s)) }

func (t *text) verdict(r Result) {
	if r.Verdict.OK {
		t.line("%s  %s", t.paint.of("good", "PASS"), r.Verdict.Sentence())
		return
	}
	t.line("%s  %s", t.paint.of("bad", "FAIL"), r.Verdict.Sentence())
	t.line("      A run that breaks its word has no speed.")
}

// Sentence says the verdict in words.
func (v Verdict) Sentence() string {
	if v.OK {
		return fmt.Sprintf("%s of %s units taken; nothing oversold, lost, doubled or over the limit",
			Thousands(v.Sold), Thousands(v.Stock))
	}
	var wrong []string
	for _, f := range v.faults() {
		if f.n > 0 {
			wrong = append(wrong, fmt.Sprintf("%s %s", Thousands(f.n), f.words))
		}
	}
	if len(wrong) == 0 {
		wrong = []string{"its own verify says that the campaign is not right"}
	}
	return strings.Join(wrong, ", ")
}

// answered says what AnsweredIn means: with clicks that had no answer it is not everyone's.
func (r Result) answered() string {
	if r.Verdict.NoAnswer > 0 {
		return "the last answer after"
	}
	return "everyone answered in"
}

type auditFault struct {
	name  string
	words string
	n     int64
}

func (v Verdict) faults() []auditFault {
	return []auditFault{
		{"oversold", "units oversold", v.Oversold},
		{"lost", "promised claims lost", v.Lost + v.Forgotten},
		{"double", "claims doubled under one request id", v.Double},
		{"changed", "confirmed claims refused when asked again", v.Changed},
		{"denied", "units given to clients who were refused", v.Denied},
		{"unasked", "claims that nobody asked for", v.Unasked},
		{"over limit", "users over their limit", v.OverLimit},
		{"drift", "units of drift", max(v.Drift, -v.Drift)},
	}
}

// verifyFault is the fault that only the server's own verify sees.
const verifyFault = "verify"

// Broken gives what was broken, and how often: oversold, lost, double, changed, denied, unasked, over_limit, drift,
// or verify where only the server's own verify is not well. It is empty where the verdict is OK.
func (v Verdict) Broken() map[string]int64 {
	all := map[string]int64{}
	for _, f := range v.faults() {
		if f.n > 0 {
			all[strings.ReplaceAll(f.name, " ", "_")] = f.n
		}
	}
	if len(all) == 0 && !v.OK {
		all[verifyFault] = 1
	}
	return all
}

func (s Setup) words() []string {
	w := []string{
		Thousands(int64(s.Buyers)) + " buyers", Thousands(s.Stock) + " units of " + string(s.Kind),
		fmt.Sprintf("limit %d", s.Limit), fmt.Sprintf("%s over %s s", s.Shape, trim(s.Seconds)),
	}
	if s.Quantity > 1 {
		w = append(w, fmt.Sprintf("%d a claim", s.Quantity))
	}
	if s.Retry > 0 {
		w = append(w, fmt.Sprintf("%s%% click twice", trim(s.Retry*100)))
	}
	if s.Page {
		w = append(w, "page first")
	}
	return append(w, Thousands(int64(s.Connections))+" connections", fmt.Sprintf("seed %d", s.Seed))
}

func (t *text) setup(s Setup) {
	line := ""
	t.line("")
	for _, w := range s.words() {
		if line != "" && utf8.RuneCountInString(line)+utf8.RuneCountInString(w) > 90 {
			t.line("  %s", t.paint.of("dim", line+" ·"))
			line = ""
		}
		if line != "" {
			line += " · "
		}
		line += w
	}
	t.line("  %s", t.paint.of("dim", line))
	where := fmt.Sprintf("%s · campaign %s · %d processors · %s", s.URL, s.Campaign, s.CPUs, s.Go)
	t.line("  %s", t.paint.of("dim", where))
}

func (t *text) speed(r Result) {
	v := r.Speed
	t.head("Speed")
	t.line("    %-21s %8s s", r.answered(), fmt.Sprintf("%.2f", v.AnsweredIn))
	t.line("    claims answered       %8s /s   peak %s/s, offered %s/s", Thousands(int64(v.ClaimsPerS)),
		Thousands(int64(v.PeakPerS)), Thousands(int64(v.OfferedPerS)))
	t.line("    claims confirmed      %8s /s   %s within %.2f s", Thousands(int64(v.ConfirmedPerS)),
		Thousands(v.Confirmed), v.ConfirmedIn)
}

func (t *text) latency(l Latency) {
	t.head("Latency in ms, from the moment each buyer meant to click")
	t.line("    %-12s %9s %9s %9s %9s %9s %9s", "", "p50", "p90", "p99", "p99.9", "max", "claims")
	row := func(name string, q Quantiles) {
		if q.Count > 0 {
			t.line("    %-12s %9s %9s %9s %9s %9s %9s", name, ms(q.P50), ms(q.P90), ms(q.P99), ms(q.P999), ms(q.Max),
				Thousands(q.Count))
		}
	}
	row("all", l.All)
	row("confirmed", l.Confirmed)
	row("refused", l.Refused)
	if l.Page != nil {
		row("page", *l.Page)
	}
	row("on the wire", l.Trip)
}

// outcomes tells of the claims that were promised first and settled later.
func (t *text) outcomes(o *Outcomes) {
	if o == nil {
		return
	}
	t.head("From QUEUED to the outcome, in ms")
	w := o.Wait
	t.line("    %-12s %9s %9s %9s %9s %9s %9s", "waited", ms(w.P50), ms(w.P90), ms(w.P99), ms(w.P999), ms(w.Max),
		Thousands(w.Count))
	t.line("    %s queued: %s confirmed, %s rejected, %s open; the last one %.2f s after the last answer",
		Thousands(o.Queued), Thousands(o.Confirmed), Thousands(o.Rejected), Thousands(o.Open), o.LastAfter)
}

func (t *text) funnel(list []Share) {
	t.head("Funnel")
	const width = 40
	for _, s := range list {
		bar := strings.Repeat("█", int(s.Share*width+0.5))
		style := "dim"
		if reason, ok := sluice.ParseReason(s.Reason); ok && reason.Admitted() {
			style = "good"
		}
		t.line("    %-18s %11s  %5.1f%%  %s", s.Reason, Thousands(s.Count), s.Share*100, t.paint.of(style, bar))
	}
}

func (t *text) cost(r Result) {
	t.head("Cost")
	s, c := r.Server, r.Client
	if s.CPU > 0 {
		words := fmt.Sprintf("%.2f s of CPU, %.2f processors", s.CPU, s.Cores)
		if s.CPUPerClaim > 0 && r.Verdict.OK {
			words += fmt.Sprintf(", %.1f µs a claim", s.CPUPerClaim)
		}
		t.line("    server   %s", words)
	}
	if s.Batches > 0 {
		words := fmt.Sprintf("%s batches of %.0f claims", Thousands(int64(s.Batches)), s.ClaimsABatch)
		if s.CommitMS > 0 {
			words += fmt.Sprintf(", %.1f ms a commit", s.CommitMS)
		}
		t.line("    ledger   %s", words)
	}
	if s.Memory {
		t.line("    %s", t.paint.of("bad", "the ledger lies on a file system in memory: an fsync costs nothing there"))
	}
	if c.CPU > 0 {
		t.line("    client   %.2f s of CPU, %.2f processors", c.CPU, c.Cores)
	}
	says := c.Says
	if c.Limit {
		says = t.paint.of("bad", says)
	}
	t.line("    %s", says)
}

func (t *text) audit(r Result) {
	v := r.Verdict
	t.head(fmt.Sprintf("Audit of %s rows", Thousands(v.Rows)))
	var parts []string
	for _, f := range v.faults() {
		s := fmt.Sprintf("%s %s", f.name, Thousands(f.n))
		if f.n > 0 {
			s = t.paint.of("bad", s)
		}
		parts = append(parts, s)
	}
	t.line("    %s", strings.Join(parts, " · "))
	for _, n := range []struct {
		n     int64
		words string
	}{
		{v.NoAnswer, "attempts ended without an answer"},
		{v.Unheard, "of the claims in the ledger have a client that heard no answer: its request id finds them"},
		{v.LeftOver, "units are free although somebody heard SOLD_OUT"},
	} {
		if n.n > 0 {
			t.line("    %s %s", Thousands(n.n), n.words)
		}
	}
	for _, e := range v.Examples {
		t.line("    %s %s", t.paint.of("bad", "✗"), e)
	}
	for _, s := range r.Samples {
		t.line("    answer not understood: %s", strings.Join(strings.Fields(s), " "))
	}
}

// Thousands writes n with a comma between groups of three digits.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func ms(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func trim(v float64) string { return strconv.FormatFloat(round(v, 2), 'f', -1, 64) }
