package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/fault"
	"github.com/sluice-sale/sluice/internal/memory"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// World is one history in the making. It plays one step at a time; a step may be several calls at once.
type World struct {
	*Store
	seed uint64
	rng  *rand.Rand
	now  sluice.Millis // the world's clock; only steps move it

	adm   *memory.Admission
	flaky *flaky
	mu    sync.Mutex
	doubt []string // what admission reported

	campaigns []*campaign
	trace     []string
	counter   int
}

// Store is a ledger on which histories are played one after the other.
type Store struct {
	db    *sqldb.DB
	audit Auditor
	steps *fault.Store        // breaks the ledger's commits
	clock sluice.PaymentClock // as the steps of all its histories left it
}

// NewStore takes a fresh ledger, an auditor that reads the same file, and what lets the ledger's steps be carried out.
func NewStore(db *sqldb.DB, audit Auditor, steps *fault.Store) *Store {
	return &Store{db: db, audit: audit, steps: steps}
}

// NewWorld begins the history of a seed. A seed can be played once on a store: its campaigns are named after it.
func NewWorld(store *Store, seed uint64) *World {
	return &World{
		Store: store, seed: seed, rng: rand.New(rand.NewPCG(seed, 0x511ce)),
		now: sluice.MillisOf(time.Date(2026, 6, 18, 12, 0, 0, 0, time.UTC)),
	}
}

var operator = sluice.Actor{KeyID: "sim", Name: "sim", Role: sluice.RoleAdmin}

const (
	users = 6
	steps = 60
)

// Run plays the history of the seed and judges it. The error names the seed and ends with the steps that led to it.
func (w *World) Run(ctx context.Context) (err error) {
	defer func() {
		w.stop()
		if err != nil {
			err = fmt.Errorf("seed %d: %w\nsteps:\n%s", w.seed, err, w.story())
		}
	}()
	if err := w.create(ctx); err != nil {
		return err
	}
	if err := w.start(ctx); err != nil {
		return err
	}
	for i := range steps {
		if err := w.step(ctx); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return w.settleAccounts(ctx)
}

func (w *World) story() (s string) {
	for _, line := range w.trace {
		s += "  " + line + "\n"
	}
	return s
}

func (w *World) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

// create makes a goods and a coupon campaign with terms drawn from the seed, sometimes with a common limit.
func (w *World) create(ctx context.Context) error {
	group := ""
	if w.rng.IntN(3) == 0 {
		group = fmt.Sprintf("group-%d", w.seed)
	}
	limit := 1 + w.rng.IntN(3)
	for _, kind := range []sluice.Kind{sluice.KindGoods, sluice.KindCoupon} {
		set := sluice.Campaign{
			ID: fmt.Sprintf("%s-%d", kind, w.seed), Kind: kind, Title: "simulated", PerUserLimit: limit, LimitGroup: group,
			Stock:    sluice.Stock{Total: int64(1 + w.rng.IntN(8))},
			StartsAt: w.now.Add(-1000 * time.Hour), EndsAt: w.now.Add(1000 * time.Hour), Control: sluice.ControlOpen,
		}
		if kind == sluice.KindGoods {
			set.Goods = sluice.Goods{
				SKU: "sku", PriceMinor: int64(w.rng.IntN(4)) * 100, Currency: "CNY", UnpaidWindowSec: 60,
				LimitBackOnClose: w.rng.IntN(2) == 0,
			}
		} else {
			set.Coupon = sluice.CouponTerms{Type: sluice.CouponAmountOff, Value: 500, Currency: "CNY",
				ValidFrom: set.StartsAt, ValidUntil: set.EndsAt}
		}
		made, err := w.db.CreateCampaign(ctx, set, operator, w.now)
		if err != nil {
			return err
		}
		w.campaigns = append(w.campaigns, &campaign{
			set: made, claims: map[sluice.ClaimID]*claim{},
		})
	}
	if group != "" {
		w.campaigns[0].sibling, w.campaigns[1].sibling = w.campaigns[1], w.campaigns[0]
	}
	return nil
}

// start builds admission anew from the ledger, as after a crash.
func (w *World) start(ctx context.Context) error {
	w.flaky = &flaky{Ledger: w.db}
	w.adm = memory.New(memory.Config{
		Now: func() time.Time { return w.now.Time() },
		Doubt: func(campaign, note string) {
			w.mu.Lock()
			w.doubt = append(w.doubt, campaign+": "+note)
			w.mu.Unlock()
		},
	}, w.flaky)
	w.db.SetPermit(w.adm)
	var sets []sluice.Campaign
	for _, c := range w.campaigns {
		set, err := w.db.Campaign(ctx, c.set.ID)
		if err != nil {
			return err
		}
		sets = append(sets, set)
	}
	return w.adm.Arm(ctx, sets, nil)
}

func (w *World) stop() {
	if w.adm != nil {
		w.db.SetPermit(nil)
		w.adm.Close()
	}
}

// step plays one step drawn from the seed, then checks what can be checked at any instant.
func (w *World) step(ctx context.Context) error {
	all := []struct {
		weight int
		play   func(context.Context) error
	}{
		{30, w.claim}, {12, w.copyOfClaim}, {6, w.rush}, {10, w.pay}, {6, w.payAgain}, {6, w.cancel}, {8, w.timePasses},
		{5, w.adjust}, {5, w.grant}, {10, w.coupon}, {3, w.refund}, {3, w.revoke}, {3, w.pause}, {4, w.crash}, {6, w.failing},
		{2, w.paymentsDown},
	}
	sum := 0
	for _, s := range all {
		sum += s.weight
	}
	n := w.rng.IntN(sum)
	for _, s := range all {
		if n -= s.weight; n < 0 {
			if err := s.play(ctx); err != nil {
				return err
			}
			break
		}
	}
	return w.instant()
}

// instant checks the promises that hold at every instant.
func (w *World) instant() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.doubt) > 0 {
		return fmt.Errorf("admission is in doubt: %v", w.doubt)
	}
	for _, c := range w.campaigns {
		p, _, ok := w.adm.Permit(c.set.ID)
		if !ok || p.Available != c.available() || p.Queued != 0 {
			return fmt.Errorf("%s: the permit says %+v (%v), the history %d available", c.set.ID, p, ok, c.available())
		}
		if w.adm.SoldOut(c.set.ID) != (c.available() == 0) {
			return fmt.Errorf("%s: the marker is wrong with %d available", c.set.ID, c.available())
		}
	}
	return nil
}

// settleAccounts is the end: the auditor and the ledger recount everything, every claim is asked for once more, and no
// order is left to fall due in a later history.
func (w *World) settleAccounts(ctx context.Context) error {
	if w.clock.Since != 0 {
		if err := w.paymentsDown(ctx); err != nil {
			return err
		}
	}
	goods := w.campaigns[0]
	for _, id := range goods.order {
		if x := goods.claims[id]; goods.close(x) {
			if _, err := w.db.CloseOrder(ctx, id, sluice.CloseCancelled, sluice.Actor{}, w.now); err != nil {
				return err
			}
		}
	}
	for _, c := range w.campaigns {
		if err := w.audit.check(ctx, c); err != nil {
			return err
		}
		v, err := w.db.Verify(ctx, c.set.ID, func() sluice.Permit { p, _, _ := w.adm.Permit(c.set.ID); return p })
		if err != nil {
			return err
		}
		if !v.OK || v.Available != c.available() {
			return fmt.Errorf("verify %s: %+v", c.set.ID, v)
		}
		for _, id := range c.order {
			x := c.claims[id]
			if err := w.ask(ctx, c, x, x.quantity); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *World) pick() *campaign { return w.campaigns[w.rng.IntN(len(w.campaigns))] }

// pickClaim draws one of the campaign's claims, or nil.
func (w *World) pickClaim(c *campaign) *claim {
	if len(c.order) == 0 {
		return nil
	}
	return c.claims[c.order[w.rng.IntN(len(c.order))]]
}

func (w *World) name(prefix string) string {
	w.counter++
	return fmt.Sprintf("%s-%d-%d", prefix, w.seed, w.counter)
}

// errOf tells the sentinel of an error in a trace.
func errOf(err error) string {
	var f *sluice.Fault
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &f):
		return f.Code
	}
	return err.Error()
}
