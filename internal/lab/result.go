package lab

import (
	"encoding/json"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/sluice-sale/sluice"
)

// Result is one run. Its JSON is stable: fields are added, never renamed. Speed and Latency are nil where the verdict
// is not OK: a run that breaks its word has no speed.
type Result struct {
	Started time.Time `json:"started"`
	Setup   Setup     `json:"setup"`
	Verdict Verdict   `json:"verdict"`
	Funnel  []Share   `json:"funnel"` // in order of precedence, what did not occur left out
	Speed   *Speed    `json:"speed,omitempty"`
	Latency *Latency  `json:"latency,omitempty"`
	// Outcomes is of the claims that were answered QUEUED; absent where none was.
	Outcomes *Outcomes `json:"outcomes,omitempty"`
	Series   *Series   `json:"series,omitempty"`
	Server   Server    `json:"server"`
	Client   Client    `json:"client"`
	Samples  []string  `json:"samples"` // answers that the lab did not understand
}

// Setup is what was run.
type Setup struct {
	URL         string      `json:"url"`
	Campaign    string      `json:"campaign_id"`
	Kind        sluice.Kind `json:"kind"`
	Buyers      int         `json:"buyers"`
	Claims      int         `json:"claims"` // attempts: buyers and their second clicks
	Stock       int64       `json:"stock"`
	Limit       int         `json:"limit"`
	Quantity    int         `json:"quantity"`
	Seconds     float64     `json:"seconds"`
	Shape       Shape       `json:"shape"`
	Retry       float64     `json:"retry"`
	Page        bool        `json:"page"`
	Connections int         `json:"connections"`
	Seed        uint64      `json:"seed"`
	CPUs        int         `json:"cpus"`
	Go          string      `json:"go"`
}

// replayed is the funnel's word for a confirmed claim that was given again: the reason of its answer is CONFIRMED too.
const replayed = "REPLAYED"

// Share is how many attempts came to one reason, or to REPLAYED, or to a word of the lab's own: NO_ANSWER, TIMEOUT,
// OTHER.
type Share struct {
	Reason string  `json:"reason"`
	Count  int64   `json:"count"`
	Share  float64 `json:"share"` // of all attempts, 0 to 1
}

// Speed is how fast the crowd was served. Rates are a second, times in seconds after the opening.
type Speed struct {
	AnsweredIn    float64 `json:"answered_in_s"`       // until the last answer
	ClaimsPerS    float64 `json:"claims_per_s"`        // all answers over AnsweredIn
	PeakPerS      float64 `json:"peak_per_s"`          // the best tenth of a second
	Confirmed     int64   `json:"confirmed"`           // claims confirmed for the first time
	ConfirmedIn   float64 `json:"confirmed_in_s"`      // until the last of them
	ConfirmedPerS float64 `json:"confirmed_per_s"`     // over ConfirmedIn
	OfferedPerS   float64 `json:"offered_per_s"`       // what the schedule asked for, on average
	OpenedAfter   float64 `json:"first_answer_in_s"`   // until the first answer
	SoldOutAfter  float64 `json:"first_sold_out_in_s"` // until the first SOLD_OUT; 0 without one
}

// Quantiles of a latency, in ms.
type Quantiles struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p999_ms"`
	Max   float64 `json:"max_ms"`
	Mean  float64 `json:"mean_ms"`
}

// Latency counts from the moment a buyer meant to click until the answer was read (with --page: the page included).
type Latency struct {
	All       Quantiles    `json:"all"` // whoever waited in vain is in it, with the wait
	Confirmed Quantiles    `json:"confirmed"`
	Refused   Quantiles    `json:"refused"`
	Trip      Quantiles    `json:"trip"`           // from the first byte sent to the answer, for comparison
	Page      *Quantiles   `json:"page,omitempty"` // from the moment meant until the page was there
	Curve     [][2]float64 `json:"curve"`          // [percentile, ms] of All
}

// Series counts answers over time, in buckets of StepMS after the opening. Each list is as long as the run.
type Series struct {
	StepMS    int     `json:"step_ms"`
	Confirmed []int64 `json:"confirmed"`
	SoldOut   []int64 `json:"sold_out"`
	Other     []int64 `json:"other"` // other refusals
	Trouble   []int64 `json:"trouble"`
	Due       []int64 `json:"due"` // what the schedule asked for
}

// Server is what the run cost the server, where that can be told.
type Server struct {
	Own          bool    `json:"own"`   // the lab started it
	CPU          float64 `json:"cpu_s"` // 0: not known
	CPUPerClaim  float64 `json:"cpu_us_per_claim"`
	Cores        float64 `json:"cores"` // CPU over the run's time
	Batches      float64 `json:"batches"`
	ClaimsABatch float64 `json:"claims_a_batch"`
	CommitMS     float64 `json:"commit_ms"`
	Memory       bool    `json:"store_in_memory"` // the ledger lies on a tmpfs: an fsync costs nothing there
}

// Client is what the measuring itself cost, and whether it was the limit.
type Client struct {
	CPU         float64 `json:"cpu_s"`
	Cores       float64 `json:"cores"` // CPU over the run's time
	Share       float64 `json:"share"` // of the CPU that client and server used; 0: not known
	Loops       int     `json:"loops"`
	Busiest     float64 `json:"busiest_loop"` // CPU of the busiest event loop over the run's time, 0 to 1
	LagP99      float64 `json:"lag_p99_ms"`   // how late requests were sent although a connection was free
	LagMax      float64 `json:"lag_max_ms"`
	WaitP99     float64 `json:"wait_p99_ms"`  // how long buyers waited for a free connection
	Limit       bool    `json:"limit"`        // the client was the limit: the server may be faster than this says
	Others      float64 `json:"others_cores"` // CPU of all other programs over the run's time; 0: not known
	MachineFull bool    `json:"machine_full"` // client and server together used all processors
	Says        string  `json:"says"`
}

// WriteJSON writes r as indented JSON.
func (r Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, 3_600_000_000, 3) // 1 µs to 1 h
}

func quantiles(h *hdrhistogram.Histogram) Quantiles {
	ms := func(us int64) float64 { return round(float64(us)/1000, 3) }
	return Quantiles{
		Count: h.TotalCount(), P50: ms(h.ValueAtQuantile(50)), P90: ms(h.ValueAtQuantile(90)), P99: ms(h.ValueAtQuantile(99)),
		P999: ms(h.ValueAtQuantile(99.9)), Max: ms(h.Max()), Mean: round(h.Mean()/1000, 3),
	}
}

// round keeps the figures readable, and the JSON of one run the same on every machine.
func round(v float64, digits int) float64 {
	f := math.Pow10(digits)
	return math.Round(v*f) / f
}

func newSetup(cfg Config, campaign string, claims int) Setup {
	return Setup{
		URL: cfg.URL, Campaign: campaign, Kind: cfg.Kind, Buyers: cfg.Buyers, Claims: claims, Stock: cfg.Stock,
		Limit:    cfg.Limit,
		Quantity: cfg.Quantity, Seconds: cfg.Seconds, Shape: cfg.Shape, Retry: cfg.Retry, Page: cfg.Page,
		Connections: cfg.Connections, Seed: cfg.Seed, CPUs: runtime.NumCPU(), Go: runtime.Version(),
	}
}

// funnel counts the attempts by reason, in order of precedence, the lab's own codes last.
func (s *shift) funnel() []Share {
	var by [256]int64
	again := int64(0)
	for i := range s.records {
		if r := &s.records[i]; r.replay() {
			again++
		} else {
			by[r.code]++
		}
	}
	list := []Share{}
	add := func(reason string, n int64) {
		if n > 0 {
			list = append(list, Share{reason, n, round(float64(n)/float64(len(s.records)), 4)})
		}
	}
	for code := 1; code <= 256; code++ {
		add(codeName(uint8(code%256)), by[code%256])
		if code == int(sluice.ReasonConfirmed) {
			add(replayed, again)
		}
	}
	return list
}

// speed reckons the figures of time from the records.
func (s *shift) speed() *Speed {
	v := &Speed{}
	var last, lastConfirmed, first, soldOut uint32
	first = math.MaxUint32
	peaks := map[uint32]int64{}
	for i := range s.records {
		r := &s.records[i]
		if r.code == 0 || r.code >= codeOther {
			continue
		}
		last, first = max(last, r.done), min(first, r.done)
		peaks[r.done/100_000]++
		switch {
		case r.replay():
		case sluice.Reason(r.code).Admitted():
			v.Confirmed++
			lastConfirmed = max(lastConfirmed, r.done)
		case sluice.Reason(r.code) == sluice.ReasonSoldOut && (soldOut == 0 || r.done < soldOut):
			soldOut = r.done
		}
		v.ClaimsPerS++
	}
	sec := func(us uint32) float64 { return round(float64(us)/1e6, 4) }
	v.AnsweredIn, v.ConfirmedIn, v.SoldOutAfter = sec(last), sec(lastConfirmed), sec(soldOut)
	if first != math.MaxUint32 {
		v.OpenedAfter = sec(first)
	}
	v.ClaimsPerS = rate(v.ClaimsPerS, v.AnsweredIn)
	v.ConfirmedPerS = rate(float64(v.Confirmed), v.ConfirmedIn)
	v.OfferedPerS = rate(float64(len(s.records)), s.schedule())
	for _, n := range peaks {
		v.PeakPerS = max(v.PeakPerS, float64(n)*10)
	}
	return v
}

// schedule is how long the schedule is, in seconds: second clicks may come after cfg.Seconds.
func (s *shift) schedule() float64 {
	return max(s.cfg.Seconds, float64(s.crowd.arrivals[len(s.crowd.arrivals)-1].at)/1e6)
}

func rate(n, in float64) float64 {
	if in <= 0 {
		return 0
	}
	return round(n/in, 0)
}

// latency reckons the distributions from the records.
func (s *shift) latency() *Latency {
	all, confirmed, refused, trip, page := newHistogram(), newHistogram(), newHistogram(), newHistogram(), newHistogram()
	for i := range s.records {
		r, at := &s.records[i], s.crowd.arrivals[i].at
		took := int64(max(r.done, at+1) - at)
		if r.code == codeTimeout {
			_ = all.RecordValue(took) // at least: to leave them out would call a server fast that answers few
		}
		if r.code == 0 || r.code >= codeOther {
			continue
		}
		_ = all.RecordValue(took)
		_ = trip.RecordValue(int64(max(r.done, r.sent+1) - r.sent))
		if sluice.Reason(r.code).Admitted() {
			_ = confirmed.RecordValue(took)
		} else {
			_ = refused.RecordValue(took)
		}
		if r.paged > 0 {
			_ = page.RecordValue(int64(max(r.paged, at+1) - at))
		}
	}
	l := &Latency{All: quantiles(all), Confirmed: quantiles(confirmed), Refused: quantiles(refused), Trip: quantiles(trip)}
	if page.TotalCount() > 0 {
		q := quantiles(page)
		l.Page = &q
	}
	for _, p := range []float64{0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 100} {
		l.Curve = append(l.Curve, [2]float64{p, round(float64(all.ValueAtQuantile(p))/1000, 3)})
	}
	return l
}

// series counts the answers over time, in some 60 to 200 buckets.
func (s *shift) series() *Series {
	var last uint32
	for i := range s.records {
		last = max(last, s.records[i].done, s.crowd.arrivals[i].at)
	}
	v := &Series{StepMS: 10}
	for _, step := range []int{10, 20, 50, 100, 200, 500, 1000, 5000, 10_000, 60_000} {
		if v.StepMS = step; int(last/1000)/step < 120 {
			break
		}
	}
	n := int(last/1000)/v.StepMS + 1
	v.Confirmed, v.SoldOut, v.Other = make([]int64, n), make([]int64, n), make([]int64, n)
	v.Trouble, v.Due = make([]int64, n), make([]int64, n)
	for i := range s.records {
		r := &s.records[i]
		v.Due[int(s.crowd.arrivals[i].at/1000)/v.StepMS]++
		k := int(r.done/1000) / v.StepMS
		switch code := sluice.Reason(r.code); {
		case r.code == 0:
		case r.code >= codeOther || code == sluice.ReasonUnavailable:
			v.Trouble[k]++
		case code.Admitted():
			v.Confirmed[k]++
		case code == sluice.ReasonSoldOut:
			v.SoldOut[k]++
		default:
			v.Other[k]++
		}
	}
	return v
}
