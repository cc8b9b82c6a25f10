package redis_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// modelClaim is a claim as the model has it.
type modelClaim struct {
	claim           sluice.Claim
	quantity        int64
	live, limit     int64
	pending         bool
	known, inLedger bool
}

// model is the gates of a campaign in a page of Go. Its units: total = Σ available + Σ live + out, debts included.
type model struct {
	epoch    int64
	revision int64
	shards   []modelShard
	claims   []*modelClaim
	seq      int64
	limit    int64
}

type modelShard struct{ available, live, out, queued int64 }

// TestGatesByModel does random things to gates, each maybe twice, and compares every claim and every sum with the
// model. rapid prints the seed of a failure, and shrinks it.
func TestGatesByModel(t *testing.T) {
	server := servers.Redis(t)
	client, err := redis.Open(t.Context(), redis.Config{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		c := aSale(fmt.Sprintf("m%d", run), 3)
		c.Shards = rapid.IntRange(1, 3).Draw(rt, "shards")
		h := &house{t: t, client: client, c: c, all: map[string]sluice.Campaign{c.ID: c}}
		h.Gates = redis.NewGates(client, func(id string) (sluice.Campaign, bool) { return h.c, true })
		total := rapid.Int64Range(0, 8).Draw(rt, "total")
		m := &model{limit: 3}
		w := &walk{t: rt, h: h, m: m, total: total}
		w.arm()
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			w.step()
			w.compare()
		}
	})
}

// walk is one random walk.
type walk struct {
	t     *rapid.T
	h     *house
	m     *model
	total int64
	sent  []redis.Transfer
}

func (w *walk) step() {
	twice := rapid.Bool().Draw(w.t, "twice")
	switch rapid.IntRange(0, 9).Draw(w.t, "step") {
	case 0, 1, 2:
		w.admit(twice)
	case 3, 4:
		w.release(twice)
	case 5:
		w.take(twice)
	case 6:
		w.settled(twice)
	case 7:
		w.transfer(twice)
	case 8:
		w.adjust(twice)
	case 9:
		if rapid.IntRange(0, 3).Draw(w.t, "arm") == 0 {
			w.arm()
		}
	}
}

// pick gives one of few claims, so that they meet.
func (w *walk) pick() *modelClaim {
	u, r := rapid.IntRange(0, 4).Draw(w.t, "user"), rapid.IntRange(0, 2).Draw(w.t, "request")
	id := w.h.claim(user(u), fmt.Sprint(r), 1).ID
	for _, c := range w.m.claims {
		if c.claim.ID == id {
			return c
		}
	}
	q := rapid.IntRange(1, 3).Draw(w.t, "quantity")
	c := &modelClaim{claim: w.h.claim(user(u), fmt.Sprint(r), q), quantity: int64(q)}
	w.m.claims = append(w.m.claims, c)
	return c
}

func (w *walk) home(c *modelClaim) *modelShard {
	return &w.m.shards[w.h.Home(w.h.c, c.claim.ID.User())]
}

func (w *walk) used(of *modelClaim) (sum int64) {
	for _, c := range w.m.claims {
		if c.claim.User == of.claim.User {
			sum += c.limit
		}
	}
	return sum
}

func (w *walk) admit(twice bool) {
	shard := -1
	var batch []*modelClaim
	for range rapid.IntRange(1, 5).Draw(w.t, "batch") {
		c := w.pick()
		at := w.h.Home(w.h.c, c.claim.ID.User())
		if shard < 0 {
			shard = at
		}
		if at == shard {
			batch = append(batch, c)
		}
	}
	claims := make([]sluice.Claim, len(batch))
	for turn := 0; turn == 0 || twice && turn == 1; turn++ {
		want := make([]redis.Verdict, len(batch))
		s := &w.m.shards[shard]
		fresh := map[*modelClaim]bool{}
		for i, c := range batch {
			claims[i] = c.claim
			switch {
			case c.known && c.live == 0:
				want[i] = ended
			case c.known && c.pending:
				want[i] = queued
			case c.known:
				want[i] = live
			case w.used(c)+c.quantity > w.m.limit:
				want[i] = limit
			case c.quantity > s.available:
				want[i] = dry
			default:
				want[i] = welcome
				s.available, s.live, s.queued = s.available-c.quantity, s.live+c.quantity, s.queued+c.quantity
				c.known, c.pending, c.live, c.limit = true, true, c.quantity, c.quantity
				fresh[c] = true
			}
		}
		r, err := w.h.Admit(w.h.t.Context(), redis.AdmitCall{Campaign: &w.h.c, Shard: shard, Claims: claims})
		if err != nil || len(r.Claims) != len(batch) {
			w.t.Fatalf("admit: %+v %v", r, err)
		}
		for i := range want {
			if r.Claims[i].Verdict != want[i] {
				w.t.Fatalf("claim %d of %d: verdict %d, want %d", i, len(batch), r.Claims[i].Verdict, want[i])
			}
		}
	}
}

// unpend: what has an operation has a row.
func (w *walk) unpend(c *modelClaim) {
	if c.pending {
		c.pending = false
		w.home(c).queued -= c.quantity
	}
}

func (w *walk) op(op sluice.PermitOp, twice bool) {
	for turn := 0; turn == 0 || twice && turn == 1; turn++ {
		r, err := w.h.Apply(w.h.t.Context(), []sluice.PermitOp{op})
		if err != nil || r[0].Verdict != sluice.PermitDone {
			w.t.Fatalf("%+v: %+v %v", op, r, err)
		}
	}
}

func (w *walk) release(twice bool) {
	c := w.pick()
	w.m.seq++
	units := rapid.Int64Range(0, c.quantity).Draw(w.t, "units")
	lim := rapid.Int64Range(0, c.quantity).Draw(w.t, "limit units")
	w.op(sluice.PermitOp{
		Kind: sluice.PermitRelease, Campaign: w.h.c.ID, Claim: c.claim.ID, Units: units, LimitUnits: lim,
		Quantity: c.quantity, Seq: w.m.seq, Epoch: w.m.epoch,
	}, twice)
	s := w.home(c)
	if !c.known {
		c.known, c.live, c.limit = true, c.quantity, c.quantity
		s.available, s.live = s.available-c.quantity, s.live+c.quantity
	}
	back := min(units, c.live)
	c.live, c.limit = c.live-back, c.limit-min(lim, c.limit)
	s.available, s.live = s.available+back, s.live-back
	w.unpend(c)
	c.inLedger = true
}

func (w *walk) take(twice bool) {
	c := w.pick()
	w.m.seq++
	w.op(sluice.PermitOp{
		Kind: sluice.PermitTake, Campaign: w.h.c.ID, Claim: c.claim.ID, Units: c.quantity, LimitUnits: c.quantity,
		Quantity: c.quantity, Seq: w.m.seq, Epoch: w.m.epoch,
	}, twice)
	if s := w.home(c); !c.known {
		c.known, c.live, c.limit = true, c.quantity, c.quantity
		s.available, s.live = s.available-c.quantity, s.live+c.quantity
	}
	w.unpend(c)
	c.inLedger = true
}

func (w *walk) settled(twice bool) {
	c := w.pick()
	for turn := 0; turn == 0 || twice && turn == 1; turn++ {
		if err := w.h.Gates.Settled(w.h.t.Context(), []sluice.Claim{c.claim}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.unpend(c)
	c.inLedger = c.inLedger || c.known
}

func (w *walk) transfer(twice bool) {
	n := len(w.m.shards)
	if n < 2 {
		return
	}
	from := rapid.IntRange(0, n-1).Draw(w.t, "from")
	to := (from + rapid.IntRange(1, n-1).Draw(w.t, "to")) % n
	ctx := w.h.t.Context()
	t, err := w.h.Out(ctx, &w.h.c, from, to, rapid.Int64Range(1, 3).Draw(w.t, "want"))
	if err != nil {
		w.t.Fatal(err)
	}
	if t == nil {
		return
	}
	g, r := &w.m.shards[from], &w.m.shards[t.To]
	if g.out == 0 {
		g.available, g.out = g.available-t.Units, t.Units
	}
	if rapid.Bool().Draw(w.t, "break off") {
		return
	}
	for turn := 0; turn == 0 || twice && turn == 1; turn++ {
		if _, err := w.h.In(ctx, &w.h.c, *t); err != nil {
			w.t.Fatal(err)
		}
	}
	r.available, g.out = r.available+t.Units, 0
	for turn := 0; turn == 0 || twice && turn == 1; turn++ {
		if err := w.h.Forget(ctx, &w.h.c, *t); err != nil {
			w.t.Fatal(err)
		}
	}
	w.sent = append(w.sent, *t)
	late := w.sent[rapid.IntRange(0, len(w.sent)-1).Draw(w.t, "late")] // a message that comes again does nothing
	if _, err := w.h.In(ctx, &w.h.c, late); err != nil {
		w.t.Fatal(err)
	}
}

func (w *walk) adjust(twice bool) {
	w.m.revision++
	d := rapid.Int64Range(-4, 4).Draw(w.t, "delta")
	op := sluice.PermitOp{
		Kind: sluice.PermitAdjust, Campaign: w.h.c.ID, Units: d, Revision: w.m.revision, Epoch: w.m.epoch,
	}
	taken := int64(0)
	for i := range w.m.shards {
		if s := &w.m.shards[i]; d < 0 {
			n := min(-d-taken, max(0, s.available))
			s.available, taken = s.available-n, taken+n
		}
	}
	for turn := 0; turn == 0 || twice && turn == 1; turn++ {
		r, err := w.h.Apply(w.h.t.Context(), []sluice.PermitOp{op})
		if err != nil || r[0].Verdict != sluice.PermitDone || r[0].Taken != taken {
			w.t.Fatalf("adjust by %d: %+v %v, want %d taken", d, r, err, taken)
		}
	}
	w.total += max(d, 0) - taken
	if d > 0 { // where each unit goes is the gate's own choice; that none is lost is checked
		for i, s := range w.h.state() {
			w.m.shards[i].available = s.Available
		}
	}
}

// arm opens an epoch with the rows of what is settled.
func (w *walk) arm() {
	var rows []sluice.ClaimRow
	for _, c := range w.m.claims {
		if c.inLedger {
			rows = append(rows, row(c.claim, int32(c.live), int32(c.limit)))
		}
	}
	w.m.epoch++
	w.h.c.Revision = w.m.revision
	if err := w.h.tryArm(w.m.epoch, w.total, rows...); err != nil {
		w.t.Fatal(err)
	}
	w.sent = nil
	was := w.m.shards
	w.m.shards = make([]modelShard, max(1, w.h.c.Shards))
	for i, s := range w.h.state() {
		w.m.shards[i].available = s.Available
		if was != nil {
			w.m.shards[i].live, w.m.shards[i].queued = was[i].live, was[i].queued
		}
	}
}

// compare looks at every sum and every claim.
func (w *walk) compare() {
	sum := int64(0)
	for i, s := range w.h.state() {
		m := w.m.shards[i]
		if s.Available != m.available || s.Live != m.live || s.Out != m.out || s.Queued != m.queued ||
			s.Available+s.Returning != s.Share-s.Live-s.Out-s.Taken {
			w.t.Fatalf("shard %d: %+v, want %+v", i, s, m)
		}
		sum += s.Available + s.Live + s.Out
	}
	if sum != w.total {
		w.t.Fatalf("the sum is %d, the total %d", sum, w.total)
	}
	ids := make([]sluice.ClaimID, len(w.m.claims))
	for i, c := range w.m.claims {
		ids[i] = c.claim.ID
	}
	if len(ids) == 0 {
		return
	}
	all, err := w.h.Lookup(w.h.t.Context(), w.h.c, ids)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range w.m.claims {
		g, ok := all[c.claim.ID]
		if ok != c.known || int64(g.LiveUnits) != c.live || int64(g.LimitUnits) != c.limit || (g.Queued != nil) != c.pending {
			w.t.Fatalf("claim %s/%s: %v %+v, want %+v", c.claim.User, c.claim.RequestID, ok, g, c)
		}
		if ok && (int64(g.Quantity) != c.quantity || g.Queued != nil && g.Queued.User != c.claim.User) {
			w.t.Fatalf("claim %s: %+v", c.claim.User, g)
		}
	}
}
