package lab

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/sluice-sale/sluice"
)

//go:embed report.html
var reportHTML string

// WriteHTML writes r as one page that needs nothing else: the charts are inline SVG, colours follow the reader's
// theme.
func (r Result) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"n":     Thousands,
		"whole": func(v float64) string { return Thousands(int64(v)) },
		"ms":    ms,
		"dec":   func(v float64) string { return fmt.Sprintf("%.2f", v) },
		"pct":   func(v float64) string { return fmt.Sprintf("%.1f", v*100) },
		"class": shareClass,
		"until": func(noAnswer int64) string {
			if noAnswer > 0 {
				return "until the last answer"
			}
			return "until everyone was answered"
		},
		"join": func(s []string) string { return strings.Join(s, " · ") },
	}).Parse(reportHTML)
	if err != nil {
		return fmt.Errorf("lab: the report's template: %w", err)
	}
	page := struct {
		Result
		Words          []string
		Faults         []auditFaultView
		OverTime       template.HTML
		Curve          template.HTML
		LatencyEntries []latencyEntry
	}{Result: r, Words: r.Setup.words()}
	for _, f := range r.Verdict.faults() {
		page.Faults = append(page.Faults, auditFaultView{f.name, f.n})
	}
	if r.Speed != nil {
		page.OverTime, page.Curve = r.Series.svg(), r.Latency.svg()
		page.LatencyEntries = r.Latency.entries()
	}
	return t.Execute(w, page)
}

type auditFaultView struct {
	Name string
	N    int64
}

type latencyEntry struct {
	Name string
	Quantiles
}

func (l Latency) entries() []latencyEntry {
	list := []latencyEntry{{"all", l.All}, {"confirmed", l.Confirmed}, {"refused", l.Refused}}
	if l.Page != nil {
		list = append(list, latencyEntry{"page", *l.Page})
	}
	return append(list, latencyEntry{"on the wire", l.Trip})
}

func shareClass(reason string) string {
	switch r, ok := sluice.ParseReason(reason); {
	case reason == replayed:
		return "other"
	case !ok || r == sluice.ReasonUnavailable:
		return "trouble"
	case r.Admitted():
		return "confirmed"
	case r == sluice.ReasonSoldOut:
		return "soldout"
	}
	return "other"
}

// The charts' measures, in SVG units.
const (
	chartW, chartH = 760.0, 250.0
	chartL, chartR = 64.0, 12.0
	chartT, chartB = 12.0, 34.0
	plotW, plotH   = chartW - chartL - chartR, chartH - chartT - chartB
	chartOpen      = `<svg viewBox="0 0 760 250" role="img" aria-label="%s"><title>%s</title>`
	gridLine       = `<line class="grid" x1="64" x2="748" y1="%.1f" y2="%.1f"/>` +
		`<text class="tick" x="58" y="%.1f" text-anchor="end">%s</text>`
	stackedBar = `<rect class="%s" x="%.2f" y="%.2f" width="%.2f" height="%.2f">` +
		`<title>%s %s/s at %.2f s</title></rect>`
	curveDot = `<circle class="dot" cx="%.2f" cy="%.2f" r="3"><title>p%s: %s ms</title></circle>`
	xTick    = `<text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`
)

// niceStep gives a step of 1, 2 or 5 times a power of ten that cuts top into at most five.
func niceStep(top float64) float64 {
	if top <= 0 {
		return 1
	}
	p := math.Pow10(int(math.Floor(math.Log10(top / 4))))
	for _, f := range []float64{1, 2, 5, 10} {
		if top/(p*f) <= 5 {
			return p * f
		}
	}
	return p * 10
}

// yAxis draws the grid up to top and gives the function that places a value.
func yAxis(b *strings.Builder, top float64, label func(float64) string) func(float64) float64 {
	step := niceStep(top)
	high := math.Ceil(top/step) * step
	if high == 0 {
		high = step
	}
	y := func(v float64) float64 { return chartT + plotH*(1-v/high) }
	for v := 0.0; v <= high+step/2; v += step {
		fmt.Fprintf(b, gridLine, y(v), y(v), y(v)+4, label(v))
	}
	return y
}

// svg draws answers a second over time, stacked by outcome, and what the schedule asked for as a line. The answers
// set the scale: where the schedule asks for more it runs along the top.
func (s *Series) svg() template.HTML {
	n := len(s.Confirmed)
	perSecond := 1000 / float64(s.StepMS)
	var top float64
	for i := range n {
		sum := s.Confirmed[i] + s.SoldOut[i] + s.Other[i] + s.Trouble[i]
		top = max(top, float64(sum)*perSecond)
	}
	var b strings.Builder
	const title = "Answers a second over time, by outcome"
	fmt.Fprintf(&b, chartOpen, title, title)
	y := yAxis(&b, top, func(v float64) string { return Thousands(int64(v)) })
	w := plotW / float64(n)
	for i := range n {
		below := 0.0
		for _, part := range []struct {
			class string
			n     int64
		}{{"confirmed", s.Confirmed[i]}, {"soldout", s.SoldOut[i]}, {"other", s.Other[i]}, {"trouble", s.Trouble[i]}} {
			if part.n == 0 {
				continue
			}
			v := float64(part.n) * perSecond
			fmt.Fprintf(&b, stackedBar,
				part.class, chartL+w*float64(i), y(below+v), max(w-0.5, 0.5), y(below)-y(below+v), Thousands(int64(v)), part.class,
				float64(i*s.StepMS)/1000)
			below += v
		}
	}
	b.WriteString(`<polyline class="due" points="`)
	for i := range n {
		fmt.Fprintf(&b, "%.2f,%.2f ", chartL+w*(float64(i)+0.5), max(y(float64(s.Due[i])*perSecond), chartT))
	}
	b.WriteString(`"/>`)
	length := float64(n*s.StepMS) / 1000
	for step, t := niceStep(length), 0.0; t <= length; t += step {
		fmt.Fprintf(&b, xTick, chartL+plotW*t/length, chartH-12, trim(t)+" s")
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // built from numbers alone
}

// svg draws the latency by percentile; each further nine takes the same width.
func (l *Latency) svg() template.HTML {
	var b strings.Builder
	const title = "Latency by percentile"
	fmt.Fprintf(&b, chartOpen, title, title)
	y := yAxis(&b, l.All.Max, func(v float64) string { return trim(v) + " ms" })
	nines := func(p float64) float64 { return math.Min(4, -math.Log10(math.Max(1e-4, 1-p/100))) }
	x := func(p float64) float64 { return chartL + plotW*nines(p)/4 }
	b.WriteString(`<polyline class="curve" points="`)
	for _, c := range l.Curve {
		fmt.Fprintf(&b, "%.2f,%.2f ", x(c[0]), y(c[1]))
	}
	b.WriteString(`"/>`)
	for _, c := range l.Curve {
		fmt.Fprintf(&b, curveDot, x(c[0]), y(c[1]), trim(c[0]), ms(c[1]))
	}
	for _, p := range []float64{0, 50, 90, 99, 99.9, 99.99} {
		fmt.Fprintf(&b, xTick, x(p), chartH-12, "p"+fmt.Sprint(p))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // built from numbers alone
}
