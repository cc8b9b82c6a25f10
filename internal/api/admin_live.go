package api

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// LiveDesk shows a running campaign. It is computed at most once a second, for all who look.
type LiveDesk interface {
	// Live gives the view with its buckets that end after since, at most limit; since 0 means the latest ones.
	Live(ctx context.Context, id string, since sluice.Millis, limit int) (sluice.LiveLook, error)
	// Counted is told of a count of all rows that somebody asked for.
	Counted(id string, v sluice.Verification)
}

// Bounds of one look. A viewer that comes back every second gets what fits into a few KB; the first look may ask for
// all that is kept.
const (
	maxLiveBytes   = 3000
	liveBuckets    = 60
	maxLiveBuckets = 1200 // a quarter of an hour, its first ten seconds in fine ones
)

type (
	liveRate struct {
		Now    int64 `json:"now" doc:"Decisions in the last whole second"`
		AtMS   int64 `json:"at_ms" doc:"Which second that was"`
		Peak   int64 `json:"peak"`
		PeakMS int64 `json:"peak_at_ms,omitempty"`
	}
	liveBacklog struct {
		Claims    int64 `json:"claims" doc:"Admitted and not settled yet, in units"`
		OldestMS  int64 `json:"oldest_ms,omitempty" doc:"Age of the queue's oldest message; absent: nothing waits"`
		PerSecond int64 `json:"per_s" doc:"Units settled a second"`
		DrainMS   int64 `json:"drain_ms,omitempty" doc:"When it is empty, at this pace"`
	}
	liveChecks struct {
		Exact        bool  `json:"exact" doc:"The parts added up by themselves at the last measure"`
		ExactAtMS    int64 `json:"exact_at_ms,omitempty" doc:"When they did last"`
		Off          int64 `json:"off,omitempty" doc:"By how many units they did not: on their way, if it does not last"`
		OK           bool  `json:"ok" doc:"The last count of all rows found nothing"`
		Oversold     int64 `json:"oversold"`
		OverLimit    int64 `json:"over_limit"`
		Drift        int64 `json:"drift"`
		VerifiedAtMS int64 `json:"verified_at_ms,omitempty" doc:"When that was; absent: not yet"`
	}
	liveUnpaid struct {
		Orders  int64      `json:"orders"`
		Units   int64      `json:"units"`
		NextMS  int64      `json:"next_at_ms,omitempty" doc:"When the first falls due"`
		Minute  int64      `json:"in_60s" doc:"Units that fall due within a minute"`
		Waves   [][2]int64 `json:"waves,omitempty" doc:"[UTC ms, units], of ten seconds each, the next twelve"`
		Stopped bool       `json:"stopped,omitempty" doc:"Payments are marked down: nothing falls due"`
		AtMS    int64      `json:"at_ms,omitempty"`
	}
	liveHealth struct {
		Parts       map[string]sluice.PartState `json:"parts" doc:"ledger, redis, broker, payments: up, down, marked_down"`
		Alive       int                         `json:"alive" doc:"Nodes"`
		Dead        int                         `json:"dead"`
		InForce     int                         `json:"in_force" doc:"Nodes with the newest settings"`
		SkewMS      int64                       `json:"skew_ms" doc:"The largest of a node's clock"`
		DeadLetters int64                       `json:"dead_letters" doc:"-1: not known"`
	}
	liveSwitch struct {
		Name     string  `json:"name"`
		Campaign bool    `json:"campaign,omitempty" doc:"For this campaign only"`
		Value    float64 `json:"value"`
		SinceMS  int64   `json:"since_ms"`
		By       string  `json:"by,omitempty"`
		Reason   string  `json:"reason,omitempty"`
	}
	livePasses struct {
		Issued int64 `json:"issued" doc:"By the nodes that live, since each began"`
		PerSec int64 `json:"per_s"`
	}
	liveWaiting struct {
		Pages int64 `json:"pages" doc:"About: each open page of buyers speaks once a minute, to any node"`
	}
	liveAnswer struct {
		AsOfMS    int64                `json:"as_of_ms"`
		State     sluice.CampaignState `json:"state"`
		Phase     sluice.LivePhase     `json:"phase" doc:"trouble, stopped, paused, degraded, before, armed, live …"`
		Note      string               `json:"note,omitempty" doc:"Why it is paused or frozen"`
		Total     int64                `json:"total" doc:"available + queued + held + sold, always"`
		Avail     int64                `json:"available"`
		Queued    int64                `json:"queued"`
		Held      int64                `json:"held"`
		Sold      int64                `json:"sold"`
		Revision  int64                `json:"revision"`
		SoldOutMS int64                `json:"sold_out_at_ms,omitempty"`
		Entered   int64                `json:"entered" doc:"Decisions since the campaign was made, replays left out"`
		Admitted  int64                `json:"admitted"`
		Decisions map[string]int64     `json:"decisions" doc:"By reason"`
		Replayed  int64                `json:"replayed,omitempty"`
		P50US     int64                `json:"p50_us" doc:"Of the last five seconds"`
		P99US     int64                `json:"p99_us"`
		Failing   int64                `json:"failing" doc:"UNAVAILABLE in the last five seconds"`
		Rate      liveRate             `json:"rate"`
		Backlog   liveBacklog          `json:"backlog"`
		Checks    liveChecks           `json:"checks"`
		Passes    *livePasses          `json:"passes,omitempty" doc:"Where the campaign asks for passes"`
		Waiting   *liveWaiting         `json:"waiting,omitempty" doc:"Before the start: pages open in the last minute"`
		Unpaid    *liveUnpaid          `json:"unpaid,omitempty" doc:"Of goods"`
		Health    liveHealth           `json:"health"`
		Switches  []liveSwitch         `json:"switches,omitempty" nullable:"false" doc:"Set for server or campaign"`
		Buckets   []bucketAnswer       `json:"buckets" nullable:"false" doc:"Of all nodes, others up to 3 s late; may repeat"`
		NextMS    int64                `json:"next_since_ms" doc:"What to give as since next time"`
		More      bool                 `json:"more,omitempty" doc:"There are more buckets: ask again at once"`
	}
	liveInput struct {
		CampaignPath
		Since int64 `query:"since" minimum:"0" doc:"next_since_ms of the look before, UTC ms; absent: the last buckets"`
		Limit int   `query:"limit" minimum:"0" maximum:"1200" doc:"Of buckets. Absent: as many as fit into 3 KB"`
	}
)

// maxLiveReason bounds what a look tells of a reason; the list of switches has the whole of it.
const maxLiveReason = 80

// minLiveReason is what is left of a reason, in bytes, where a look would be too large.
const minLiveReason = 10

func liveAnswerOf(v *sluice.LiveLook) liveAnswer {
	c, h := &v.Campaign, &v.Health
	a := liveAnswer{
		AsOfMS: int64(v.At), State: c.State, Phase: v.Phase, Note: cutText(c.ControlNote, maxLiveReason),
		Total: c.Stock.Total, Avail: c.Available, Queued: c.Queued, Held: c.Stock.Held, Sold: c.Stock.Sold,
		Revision: c.Revision, SoldOutMS: int64(c.SoldOutAt), Decisions: byReason(&v.Decisions),
		Replayed: v.Decisions[sluice.ReasonNone], P50US: v.Latency.Quantile(0.5).Microseconds(),
		P99US: v.Latency.Quantile(0.99).Microseconds(), Failing: v.Failing,
		Rate:    liveRate{v.Rate, int64(v.RateAt), v.Peak, int64(v.PeakAt)},
		Backlog: liveBacklog{Claims: c.Queued, PerSecond: v.PerSecond},
		Checks: liveChecks{Exact: v.Exact, ExactAtMS: int64(v.ExactAt), Off: v.Off, OK: v.Verified.OK,
			Oversold: v.Verified.UnitsOverTotal, OverLimit: v.Verified.UsersOverLimit, Drift: v.Verified.Drift,
			VerifiedAtMS: int64(v.Verified.CheckedAt)},
		Health: liveHealth{h.Parts, h.Alive, h.Dead, h.InForce, h.Skew.Milliseconds(), h.Letters},
	}
	for _, r := range sluice.Reasons() {
		a.Entered += v.Decisions[r]
		if r.Admitted() {
			a.Admitted += v.Decisions[r]
		}
	}
	if h.Oldest > 0 {
		a.Backlog.OldestMS = max(0, int64(v.At-h.Oldest))
	}
	if c.Queued > 0 && v.PerSecond > 0 {
		a.Backlog.DrainMS = c.Queued * 1000 / v.PerSecond
	}
	if cmp.Or(c.Protection.Pass, sluice.PassOff) != sluice.PassOff || c.Protection.Signature {
		a.Passes = &livePasses{v.Passes, v.PassRate}
	}
	if v.At < c.StartsAt {
		a.Waiting = &liveWaiting{v.Pages}
	}
	if c.Kind == sluice.KindGoods {
		u := &v.Unpaid
		a.Unpaid = &liveUnpaid{Orders: u.Orders, Units: u.Units, NextMS: int64(u.NextAt), Minute: u.Minute,
			Stopped: u.Stopped, AtMS: int64(u.At)}
		for _, w := range u.Waves {
			a.Unpaid.Waves = append(a.Unpaid.Waves, [2]int64{int64(w.At), w.Units})
		}
	}
	for i := range v.Switches[:min(len(v.Switches), maxLiveSwitches)] {
		s := &v.Switches[i]
		a.Switches = append(a.Switches, liveSwitch{s.Name, s.Campaign != "", s.Value, int64(s.At),
			cutText(s.Author, maxLiveReason), cutText(s.Reason, maxLiveReason)})
	}
	return a
}

// maxLiveSwitches bounds the switches that a look tells of.
const maxLiveSwitches = 4

// cutText gives at most n bytes of s, in whole characters.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// fill puts in the buckets, the oldest first, as far as size lets it; with size 0, all. Where some have to wait, the
// viewer is told where to go on.
func (a *liveAnswer) fill(v *sluice.LiveLook, size int) error {
	a.Buckets, a.NextMS, a.More = []bucketAnswer{}, int64(v.Next), v.More
	all := bucketAnswers(v.Buckets)
	if size == 0 {
		a.Buckets = all
		return nil
	}
	head, err := a.head(size, all)
	if err != nil {
		return err
	}
	size -= head + len(`,"more":true`)
	for i := range all {
		one, err := json.Marshal(&all[i])
		if err != nil {
			return err
		}
		if size -= len(one) + 1; size < 0 && i > 0 { // one at least, or nobody gets any further
			a.More, a.NextMS = true, all[i].StartMS
			return nil
		}
		a.Buckets = append(a.Buckets, all[i])
	}
	return nil
}

// head gives the bytes of the answer without its buckets. Where one bucket would not fit beside it, what people wrote
// is cut shorter: the numbers all stay.
func (a *liveAnswer) head(size int, all []bucketAnswer) (int, error) {
	for n := maxLiveReason / 2; ; n /= 2 {
		head, err := json.Marshal(a)
		if err != nil {
			return 0, err
		}
		one, err := json.Marshal(all[:min(1, len(all))])
		if err != nil || len(head)+len(one) <= size || n < minLiveReason {
			return len(head), err
		}
		a.Note = cutText(a.Note, n)
		for i := range a.Switches {
			a.Switches[i].By, a.Switches[i].Reason = cutText(a.Switches[i].By, n), cutText(a.Switches[i].Reason, n)
		}
	}
}

// registerLive adds the look at a running campaign.
func (a *Admin) registerLive(api huma.API) {
	desk := a.deps.Live
	if desk == nil {
		return
	}
	o := op("GET", "/v1/admin/campaigns/{id}/live", "A look at a running campaign", sluice.RoleViewer)
	o.Description += " It is made at most once a second for all viewers. With since it has at most about 3 KB: the " +
		"figures, and the buckets that are new. Buckets that come again replace those before."
	huma.Register(api, o, func(ctx context.Context, in *liveInput) (*struct{ Body liveAnswer }, error) {
		since, limit, size := sluice.Millis(in.Since), in.Limit, 0
		if limit == 0 {
			limit, size = liveBuckets, maxLiveBytes
		}
		v, err := desk.Live(ctx, in.ID, since, limit)
		if err != nil {
			return nil, problemOf(err)
		}
		out := &struct{ Body liveAnswer }{liveAnswerOf(&v)}
		if err := out.Body.fill(&v, size); err != nil {
			return nil, problemOf(err)
		}
		return out, nil
	})
}
