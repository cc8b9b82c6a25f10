package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// What adaptive protection promises, where bots send four fifths of the requests.
const (
	promisedGain       = 3.0  // times the people's share of the units with protection off
	promisedChallenged = 0.01 // at most so many of the people who do not share a device
)

// BotsResult is the same sale with protection off, adaptive and always.
type BotsResult struct {
	Started time.Time `json:"started"`
	Model   Bots      `json:"model"`
	Says    []string  `json:"model_in_words"`
	Raids   []Raid    `json:"raids"`
	// Gain is the people's share with adaptive protection over that with none; a share of nothing counts as one unit.
	Gain float64 `json:"gain"`
	// Kept says whether the promises of adaptive protection held, and every audit.
	Kept bool `json:"kept"`
}

// Raid is one sale.
type Raid struct {
	Mode       sluice.PassMode `json:"protection"`
	Campaign   string          `json:"campaign_id"`
	Units      int64           `json:"units"` // given out
	HonestGot  int64           `json:"honest_units"`
	Share      float64         `json:"honest_share"` // of the units given out, 0 to 1
	BotGot     int64           `json:"bot_units"`
	PerBot     float64         `json:"units_per_bot"`
	Requests   int64           `json:"requests"` // claims and asks for passes
	BotShare   float64         `json:"bot_request_share"`
	Alone      int64           `json:"honest_alone"` // people who share no device
	Challenged int64           `json:"honest_alone_challenged"`
	ShareChal  float64         `json:"honest_alone_challenged_share"`
	Carrier    int64           `json:"carrier"` // of them, behind the carrier's address
	CarrierCh  int64           `json:"carrier_challenged"`
	Shared     int64           `json:"honest_sharing"` // people who share a device
	SharedCh   int64           `json:"honest_sharing_challenged"`
	BotSolves  int64           `json:"bot_solves"`
	BotCost    float64         `json:"bot_cost_usd_per_unit"`
	HonestMS   int64           `json:"honest_median_ms"` // from the opening to a person's unit
	BotMS      int64           `json:"bot_median_ms"`
	Foreign    int64           `json:"foreign_passes"` // claims with another account's pass
	Resold     int64           `json:"resold_challenges"`
	NoAnswer   int64           `json:"no_answer"`
	Funnel     []Share         `json:"funnel"`
	Verdict    RaidVerdict     `json:"verdict"`
}

// RaidVerdict is whether the server kept its word, whoever came.
type RaidVerdict struct {
	OK         bool  `json:"ok"`
	Oversold   int64 `json:"oversold"`
	Lost       int64 `json:"lost"`        // units told to a client that have no live row
	OverLimit  int64 `json:"over_limit"`  // users with more than one unit
	Early      int64 `json:"early"`       // units given before the opening
	ForeignWon int64 `json:"foreign_won"` // claims admitted by another account's pass, where a pass was needed
	ResoldWon  int64 `json:"resold_won"`  // passes given for another account's challenge
	Drift      int64 `json:"drift"`       // as the server's own verify says
	VerifyOK   bool  `json:"verify_ok"`   // the server's own verify
}

// reckon counts what came of it and holds it against the rows.
func (f *farm) reckon(ctx context.Context, ops *Operators) (Raid, error) {
	r := Raid{Mode: f.mode, Campaign: f.campaign, Foreign: f.foreign.Load(), Resold: f.resold.Load(),
		NoAnswer: f.trouble.Load()}
	v := &r.Verdict
	check, err := ops.verify(ctx, f.campaign)
	if err != nil {
		return r, fmt.Errorf("lab: the audit: %w", err)
	}
	live, units := map[string]string{}, map[string]int64{}
	err = ops.claims(ctx, f.campaign, "", func(row claimRow) {
		if row.State == sluice.ClaimConfirmed.String() {
			live[row.ID] = row.User
			units[row.User] += row.Quantity
			r.Units += row.Quantity
		}
	})
	if err != nil {
		return r, fmt.Errorf("lab: the audit: %w", err)
	}
	v.Oversold, v.Drift, v.VerifyOK = max(check.UnitsOverTotal, r.Units-f.b.Stock), check.Drift, check.OK
	for _, n := range units {
		if n > 1 {
			v.OverLimit++
		}
	}
	v.ResoldWon = f.resoldWon.Load()
	if f.mode == sluice.PassAlways { // with adaptive protection a bot below the bound needs none
		v.ForeignWon = f.foreignWon.Load()
	}
	took := map[bool][]time.Duration{}
	var botRequests int64
	for _, a := range f.agents {
		r.Requests += int64(a.requests)
		if a.won && live[a.claim.String()] != a.user {
			v.Lost++
		}
		if a.early {
			v.Early++
		}
		if a.won {
			took[a.bot] = append(took[a.bot], a.at)
		}
		if a.bot {
			botRequests += int64(a.requests)
			r.BotSolves += int64(a.solves)
			r.BotGot += units[a.user]
			continue
		}
		r.HonestGot += units[a.user]
		r.people(a)
	}
	r.Share = ratio(r.HonestGot, r.Units)
	r.PerBot = ratio(r.BotGot, int64(f.b.Accounts))
	r.BotShare = ratio(botRequests, r.Requests)
	r.ShareChal = ratio(r.Challenged, r.Alone)
	r.BotCost = round(float64(r.BotSolves)*f.b.PricePerSolve/float64(max(1, r.BotGot)), 5)
	r.HonestMS, r.BotMS = median(took[false]), median(took[true])
	r.Funnel = f.funnel()
	v.OK = v.VerifyOK && v.Oversold == 0 && v.Lost == 0 && v.OverLimit == 0 && v.Early == 0 && v.ForeignWon == 0 &&
		v.ResoldWon == 0 && v.Drift == 0
	return r, nil
}

// people counts one of them by what was asked of it.
func (r *Raid) people(a *agent) {
	one := func(all, challenged *int64) {
		*all++
		if a.challenged {
			*challenged++
		}
	}
	if a.shares {
		one(&r.Shared, &r.SharedCh)
		return
	}
	one(&r.Alone, &r.Challenged)
	if a.carrier {
		one(&r.Carrier, &r.CarrierCh)
	}
}

func (f *farm) funnel() []Share {
	var out []Share
	var all int64
	for i := range f.codes {
		all += f.codes[i].Load()
	}
	for _, reason := range sluice.Reasons() {
		if n := f.codes[reason].Load(); n > 0 {
			out = append(out, Share{reason.String(), n, ratio(n, all)})
		}
	}
	return out
}

func ratio(n, of int64) float64 {
	if of == 0 {
		return 0
	}
	return round(float64(n)/float64(of), 4)
}

func median(all []time.Duration) int64 {
	if len(all) == 0 {
		return 0
	}
	h := newHistogram()
	for _, d := range all {
		_ = h.RecordValue(max(1, d.Microseconds()))
	}
	return h.ValueAtQuantile(50) / 1000
}

// raid gives the one with a mode.
func (r *BotsResult) raid(mode sluice.PassMode) *Raid {
	for i := range r.Raids {
		if r.Raids[i].Mode == mode {
			return &r.Raids[i]
		}
	}
	return &Raid{}
}

// judge says whether the promises held.
func (r *BotsResult) judge() {
	off, adaptive := r.raid(sluice.PassOff), r.raid(sluice.PassAdaptive)
	least := max(off.Share, 1/float64(max(1, off.Units)))
	r.Gain = round(adaptive.Share/least, 2)
	r.Kept = r.Gain >= promisedGain && adaptive.ShareChal < promisedChallenged
	for i := range r.Raids {
		r.Kept = r.Kept && r.Raids[i].Verdict.OK
	}
}

// OK says whether every audit passed.
func (r *BotsResult) OK() bool {
	for i := range r.Raids {
		if !r.Raids[i].Verdict.OK {
			return false
		}
	}
	return len(r.Raids) == len(botModes)
}

// WriteJSON writes r as indented JSON.
func (r *BotsResult) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes r for people.
func (r *BotsResult) WriteText(w io.Writer, paint Paint) error {
	t := &text{paint: paint}
	if r.OK() {
		t.line("%s  nothing oversold, lost, over the limit or early, and no pass or challenge served another account",
			t.paint.of("good", "PASS"))
	} else {
		t.line("%s  the server broke its word", t.paint.of("bad", "FAIL"))
	}
	t.line("      adaptive protection gives people %.1f times the share of units that they get without", r.Gain)
	t.head(fmt.Sprintf("The model, seed %d", r.Model.Seed))
	for _, s := range r.Says {
		t.wrapped("    - ", s)
	}
	t.head("Who got the units")
	t.line("    %-10s %9s %9s %9s %9s %10s %10s", "protection", "people", "bots", "share", "unit/bot", "bot $/unit",
		"requests")
	for i := range r.Raids {
		x := &r.Raids[i]
		t.line("    %-10s %9s %9s %8.1f%% %9.2f %10.4f %10s", x.Mode, Thousands(x.HonestGot), Thousands(x.BotGot),
			100*x.Share, x.PerBot, x.BotCost, Thousands(x.Requests))
	}
	t.head("What it costs people")
	for i := range r.Raids {
		x := &r.Raids[i]
		t.wrapped("    ", fmt.Sprintf("%-10s %s of %s who share no device were challenged (%.2f%%), %s of %s of them behind "+
			"the carrier; %s of %s who share one", x.Mode, Thousands(x.Challenged), Thousands(x.Alone), 100*x.ShareChal,
			Thousands(x.CarrierCh),
			Thousands(x.Carrier), Thousands(x.SharedCh), Thousands(x.Shared)))
	}
	t.head("Funnels")
	for i := range r.Raids {
		x := &r.Raids[i]
		var parts []string
		for _, s := range x.Funnel {
			parts = append(parts, s.Reason+" "+Thousands(s.Count))
		}
		t.line("    %s", x.Mode)
		t.wrapped("      ", strings.Join(parts, ", "))
		t.line("      bots %.0f%% of the requests; %s foreign passes and %s resold challenges tried; %s unanswered",
			100*x.BotShare, Thousands(x.Foreign), Thousands(x.Resold), Thousands(x.NoAnswer))
		if !x.Verdict.OK {
			t.line("    %s %+v", t.paint.of("bad", "✗"), x.Verdict)
		}
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// wrapped writes a sentence in lines of at most 100 columns, the first after head, the others indented as far.
func (t *text) wrapped(head, sentence string) {
	line, width := head, utf8.RuneCountInString(head)
	for i, word := range strings.Fields(sentence) {
		switch {
		case i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 100:
			t.line("%s", line)
			line = strings.Repeat(" ", width)
		case i > 0:
			line += " "
		}
		line += word
	}
	t.line("%s", line)
}
