package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sluice-sale/sluice"
)

// CampaignLedger keeps campaigns. Every write leaves its event and audit row in the same transaction.
type CampaignLedger interface {
	// Campaign and Campaigns read what was committed. ErrNotFound: there is no such campaign.
	Campaign(ctx context.Context, id string) (sluice.Campaign, error)
	Campaigns(ctx context.Context) ([]sluice.Campaign, error)
	// CreateCampaign records c as it stands and gives it with its number. ErrConflict: the id is in use.
	CreateCampaign(ctx context.Context, c sluice.Campaign, a sluice.Actor, now sluice.Millis) (sluice.Campaign, error)
	// UpdateCampaign records c unless check, given the campaign inside the transaction, refuses. Stock, kind and
	// control are left alone.
	UpdateCampaign(ctx context.Context, c sluice.Campaign, check func(sluice.Campaign) error,
		a sluice.Actor, now sluice.Millis) (sluice.Campaign, error)
	// SetControl applies a command; one that changes nothing writes nothing. ErrConflict: the state forbids it.
	SetControl(ctx context.Context, id string, cmd sluice.ControlCommand, note string,
		a sluice.Actor, now sluice.Millis) (sluice.Campaign, error)
}

// Publisher hands a committed campaign to the gate and to admission, and returns once it is in force. It is
// idempotent, and is called again for a campaign that was not taken.
type Publisher interface {
	Publish(ctx context.Context, c sluice.Campaign) error
}

// Permits says what admission knows of a campaign.
type Permits interface {
	// Permit answers from memory. ok is false where the campaign is not armed.
	Permit(campaign string) (p sluice.Permit, soldOutAt sluice.Millis, ok bool)
	// ReadBack builds the permit anew from the ledger and returns once it is known; claims are BUSY meanwhile.
	ReadBack(ctx context.Context, campaign string) error
}

// Verifier recomputes a campaign from rows. permit is called while no transaction is under way; nil where there
// is none.
type Verifier interface {
	Verify(ctx context.Context, campaign string, permit func() sluice.Permit) (sluice.Verification, error)
}

// Releases says when the first unpaid order of each campaign falls due; a campaign that is not in the answer has
// none that is near.
type Releases interface {
	NextReleases(ctx context.Context, now sluice.Millis) (map[string]sluice.Millis, error)
}

// Noter writes an audit row for an act that changes nothing else in the ledger.
type Noter interface {
	Note(ctx context.Context, a sluice.Actor, action, object string, before, after any, now sluice.Millis) error
}

// Gates builds a campaign's gates anew with another number of shards, with an audit row, and gives the epoch. It is not
// called under a lock: every node takes the new epoch over meanwhile.
type Gates interface {
	Rearm(ctx context.Context, campaign string, shards int, a sluice.Actor) (epoch int64, err error)
}

// CampaignsConfig puts the desk of campaigns together. Ledger, Publisher, Permits, Verifier and Noter are
// required.
type CampaignsConfig struct {
	Ledger    CampaignLedger
	Publisher Publisher
	Permits   Permits
	Verifier  Verifier
	Noter     Noter
	Releases  Releases         // nil: views do not tell the next release
	Gates     Gates            // nil: there are none whose shards could change
	MaxShards int64            // of a campaign's gate; default 1: there is one permit, in this process or in the ledger
	Now       func() time.Time // default time.Now
	Log       *slog.Logger     // default: discard
}

// Campaigns is the desk of campaigns.
type Campaigns struct {
	cfg CampaignsConfig
	mu  sync.Mutex // held over ledger and publisher, so that what is in force is what was written last

	published map[string]sluice.Campaign // as they were published last; guarded by mu
}

// NewCampaigns makes the desk.
func NewCampaigns(cfg CampaignsConfig) *Campaigns {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Campaigns{cfg: cfg, published: map[string]sluice.Campaign{}}
}

func (d *Campaigns) now() sluice.Millis { return sluice.MillisOf(d.cfg.Now()) }

// Create records a new campaign and puts it in force. A Fault of ErrInvalid names every field that is wrong;
// ErrConflict: the id is in use.
func (d *Campaigns) Create(ctx context.Context, s sluice.CampaignSpec, a sluice.Actor) (sluice.CampaignView, error) {
	now := d.now()
	if err := Validate(&s); err != nil {
		return sluice.CampaignView{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkShards(ctx, &s); err != nil {
		return sluice.CampaignView{}, err
	}
	c, err := d.cfg.Ledger.CreateCampaign(ctx, campaignOf(&s), a, now)
	if err != nil {
		return sluice.CampaignView{}, err
	}
	return d.publish(ctx, c)
}

// campaignOf turns a checked spec into a campaign.
func campaignOf(s *sluice.CampaignSpec) sluice.Campaign {
	c := sluice.Campaign{
		ID: s.ID, Kind: s.Kind, Title: s.Title, ImageURL: s.ImageURL, Stock: sluice.Stock{Total: s.Total}, Created: s.Total,
		PerUserLimit: int(s.PerUserLimit), StartsAt: s.StartsAt, EndsAt: s.EndsAt, Protection: s.Protection,
		LimitGroup: s.LimitGroup, Eligibility: s.Eligibility, LoadTest: s.LoadTest, Control: sluice.ControlOpen,
		Shards: int(s.Shards),
	}
	if c.ID == "" {
		c.ID = newID("cmp")
	}
	if c.Protection.Pass == "" {
		c.Protection.Pass = sluice.PassOff
	}
	c.Protection.SpreadSeed = "" // a copy draws its own
	drawSeed(&c.Protection)
	if s.Goods != nil {
		c.Goods = *s.Goods
	}
	if s.Coupon != nil {
		c.Coupon = *s.Coupon
	}
	if s.Draft {
		c.Control = sluice.ControlDraft
	}
	return c
}

// newID makes an id whose order is about that of time, so that lists by id read well.
func newID(prefix string) string { return prefix + "_" + uuid.Must(uuid.NewV7()).String() }

// publish puts a committed campaign in force. Where that fails the change stands all the same, and the caller is
// told how to have it taken over.
func (d *Campaigns) publish(ctx context.Context, c sluice.Campaign) (sluice.CampaignView, error) {
	if err := d.cfg.Publisher.Publish(context.WithoutCancel(ctx), c); err != nil {
		d.cfg.Log.Error("a campaign is recorded and not in force", "campaign", c.ID, "err", err)
		return d.view(c), &sluice.Fault{Kind: sluice.ErrUnavailable, Code: "NOT_IN_FORCE",
			Detail: "the change is recorded, but not in force yet: preheat the campaign to put it in force"}
	}
	d.published[c.ID] = c
	return d.view(c), nil
}

// Get gives one campaign.
func (d *Campaigns) Get(ctx context.Context, id string) (sluice.CampaignView, error) {
	c, err := d.cfg.Ledger.Campaign(ctx, id)
	if err != nil {
		return sluice.CampaignView{}, unknown(err, id)
	}
	return d.view(c), nil
}

// unknown gives ErrNotFound the code that callers know.
func unknown(err error, id string) error {
	var fault *sluice.Fault
	if errors.Is(err, sluice.ErrNotFound) && !errors.As(err, &fault) {
		return sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_CAMPAIGN", "there is no campaign "+id)
	}
	return err
}

// view joins a campaign with what admission says of it. Without a permit, as in a draft, what is left is what the
// ledger has.
func (d *Campaigns) view(c sluice.Campaign) sluice.CampaignView {
	return viewOf(c, d.cfg.Permits, d.now())
}

func viewOf(c sluice.Campaign, permits Permits, now sluice.Millis) sluice.CampaignView {
	v := sluice.CampaignView{Campaign: c, Available: c.Stock.Free()}
	if p, soldOutAt, ok := permits.Permit(c.ID); ok {
		v.Available, v.Queued, v.SoldOutAt = p.Available, p.Queued, soldOutAt
	}
	if c.Kind == sluice.KindGoods {
		v.MayReturn = c.Stock.Held
	}
	v.State = c.StateAt(now, v.Available)
	return v
}

// List gives a page of campaigns in the order of their creation, and the cursor of the next; 0 where this is the
// last.
func (d *Campaigns) List(
	ctx context.Context, q sluice.CampaignQuery,
) (page []sluice.CampaignView, next int64, err error) {
	all, err := d.cfg.Ledger.Campaigns(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range all {
		v := d.view(c)
		if c.No <= q.After || !matches(&v, &q) {
			continue
		}
		if len(page) == q.Limit {
			return page, page[len(page)-1].No, nil
		}
		page = append(page, v)
	}
	return page, 0, nil
}

func matches(v *sluice.CampaignView, q *sluice.CampaignQuery) bool {
	return (q.State == "" || q.State == v.State) && (q.Kind == "" || q.Kind == v.Kind) &&
		(q.LimitGroup == "" || q.LimitGroup == v.LimitGroup) && (q.LoadTest == nil || *q.LoadTest == v.LoadTest) &&
		!(q.NoEndedTests && v.LoadTest && v.State == sluice.StateEnded)
}

// Edit changes what may still change. ErrConflict: somebody else changed the campaign in between and the patch
// asked not to overwrite that.
func (d *Campaigns) Edit(
	ctx context.Context, id string, p sluice.CampaignPatch, a sluice.Actor,
) (sluice.CampaignView, error) {
	v, err := d.edit(ctx, id, p, a)
	if err != nil || p.Shards == nil || int(*p.Shards) == max(1, v.Shards) {
		return v, err
	}
	return d.reshard(ctx, id, int(*p.Shards), a)
}

func (d *Campaigns) edit(
	ctx context.Context, id string, p sluice.CampaignPatch, a sluice.Actor,
) (sluice.CampaignView, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for range maxEditTries {
		c, err := d.cfg.Ledger.Campaign(ctx, id)
		if err != nil {
			return sluice.CampaignView{}, unknown(err, id)
		}
		now := d.now()
		next, err := Edit(c, &p, now)
		if err = oneFault(err, d.checkReshard(ctx, c, p.Shards)); err != nil {
			return sluice.CampaignView{}, err
		}
		if p.Shards != nil && sameRules(c, next) {
			return d.view(c), nil // what is left to do is not a matter of the ledger
		}
		next, err = d.cfg.Ledger.UpdateCampaign(ctx, next, func(is sluice.Campaign) error {
			// A unit that was granted meanwhile counts too: from then on less may change.
			if taken(is) != taken(c) || !sameRules(is, c) {
				return errMoved
			}
			return nil
		}, a, max(now, c.UpdatedAt+1))
		if errors.Is(err, errMoved) {
			continue
		}
		if err != nil {
			return sluice.CampaignView{}, unknown(err, id)
		}
		return d.publish(ctx, next)
	}
	return sluice.CampaignView{}, sluice.NewFault(sluice.ErrConflict, "CAMPAIGN_CHANGED",
		"others are changing the campaign: read it again")
}

// maxEditTries bounds how often an edit is made again over somebody else's.
const maxEditTries = 5

// errMoved says that a campaign changed between reading and writing it.
var errMoved = errors.New("the campaign has changed")

// sameRules compares everything of two campaigns but their counts, which claims move all the time.
func sameRules(a, b sluice.Campaign) bool {
	a.Stock.Held, a.Stock.Sold = b.Stock.Held, b.Stock.Sold
	return reflect.DeepEqual(a, b)
}

// Command pauses, resumes, ends or publishes a campaign. Repeating a command is allowed, and puts in force what
// an earlier one only recorded. ErrConflict: the campaign's state forbids it.
func (d *Campaigns) Command(
	ctx context.Context, id string, cmd sluice.ControlCommand, a sluice.Actor,
) (sluice.CampaignView, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if cmd == sluice.CommandPublish {
		c, err := d.cfg.Ledger.Campaign(ctx, id)
		if err != nil {
			return sluice.CampaignView{}, unknown(err, id)
		}
		if c.Control == sluice.ControlDraft && c.EndsAt <= now {
			return sluice.CampaignView{}, sluice.NewFault(sluice.ErrConflict, "CAMPAIGN_STATE",
				"cannot publish a campaign whose window is over: move its window first")
		}
	}
	c, err := d.cfg.Ledger.SetControl(ctx, id, cmd, a.Reason, a, now)
	if err != nil {
		return sluice.CampaignView{}, unknown(err, id)
	}
	return d.publish(ctx, c)
}

// Clone makes a draft like an existing campaign, with nothing sold.
func (d *Campaigns) Clone(
	ctx context.Context, id string, s sluice.CloneSpec, a sluice.Actor,
) (sluice.CampaignView, error) {
	c, err := d.cfg.Ledger.Campaign(ctx, id)
	if err != nil {
		return sluice.CampaignView{}, unknown(err, id)
	}
	length := c.EndsAt - c.StartsAt
	spec := specOf(&c)
	spec.ID, spec.Draft, spec.StartsAt = s.ID, true, d.now().Add(time.Hour)
	if s.StartsAt != nil {
		spec.StartsAt = *s.StartsAt
	}
	spec.EndsAt = spec.StartsAt + length
	if s.EndsAt != nil {
		spec.EndsAt = *s.EndsAt
	}
	if s.Title != nil {
		spec.Title = *s.Title
	}
	if s.Total != nil {
		spec.Total = *s.Total
	}
	return d.Create(ctx, spec, a)
}

// specOf is the spec that gives a campaign like c.
func specOf(c *sluice.Campaign) sluice.CampaignSpec {
	s := sluice.CampaignSpec{
		Kind: c.Kind, Title: c.Title, ImageURL: c.ImageURL, Total: c.Stock.Total, PerUserLimit: int64(c.PerUserLimit),
		Protection: c.Protection, LimitGroup: c.LimitGroup, Eligibility: c.Eligibility, LoadTest: c.LoadTest,
		Shards: int64(c.Shards),
	}
	if c.Kind == sluice.KindGoods {
		goods := c.Goods
		s.Goods = &goods
	} else {
		terms := c.Coupon
		s.Coupon = &terms
	}
	return s
}

// Preheat puts a campaign in force ahead of its start and verifies its permit against the rows of the ledger; a permit
// that is wrong is read back and verified again. It is idempotent.
func (d *Campaigns) Preheat(ctx context.Context, id string, a sluice.Actor) (sluice.Preheat, error) {
	began := d.now()
	if err := d.publishAgain(ctx, id); err != nil {
		return sluice.Preheat{}, err
	}
	v, err := d.Verify(ctx, id)
	if err == nil && !v.OK {
		if err = d.cfg.Permits.ReadBack(ctx, id); err == nil {
			v, err = d.Verify(ctx, id)
		}
	}
	if err != nil {
		return sluice.Preheat{}, err
	}
	_, _, armed := d.cfg.Permits.Permit(id)
	now := d.now()
	err = d.cfg.Noter.Note(context.WithoutCancel(ctx), a, "campaign.preheat", "campaign/"+id, nil,
		map[string]any{"armed": armed, "ok": v.OK, "available": v.Available, "drift": v.Drift}, now)
	return sluice.Preheat{Armed: armed, Verification: v, Took: now - began}, err
}

// publishAgain puts in force what the ledger has of a campaign.
func (d *Campaigns) publishAgain(ctx context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.cfg.Ledger.Campaign(ctx, id)
	if err != nil {
		return unknown(err, id)
	}
	if err := d.cfg.Publisher.Publish(ctx, c); err != nil {
		return fmt.Errorf("admin: preheat %s: %w", id, err)
	}
	d.published[id] = c
	return nil
}

// Views gives every campaign, in the order of creation, with what admission says of it.
func (d *Campaigns) Views(ctx context.Context) ([]sluice.CampaignView, error) {
	all, err := d.cfg.Ledger.Campaigns(ctx)
	if err != nil {
		return nil, err
	}
	var next map[string]sluice.Millis
	if d.cfg.Releases != nil {
		if next, err = d.cfg.Releases.NextReleases(ctx, d.now()); err != nil {
			return nil, err
		}
	}
	views := make([]sluice.CampaignView, len(all))
	for i, c := range all {
		views[i] = d.view(c)
		views[i].NextReleaseAt = next[c.ID]
	}
	return views, nil
}

// Verify recomputes a campaign from its rows and compares with what admission says.
func (d *Campaigns) Verify(ctx context.Context, id string) (sluice.Verification, error) {
	return verify(ctx, d.cfg.Verifier, d.cfg.Permits, id)
}

func verify(ctx context.Context, v Verifier, permits Permits, id string) (sluice.Verification, error) {
	var permit func() sluice.Permit // nil: there is none to compare with
	_, _, known := permits.Permit(id)
	if known {
		permit = func() (p sluice.Permit) {
			p, _, known = permits.Permit(id)
			return p
		}
	}
	got, err := v.Verify(ctx, id, permit)
	if err == nil && permit != nil && !known {
		return got, sluice.NewFault(sluice.ErrUnavailable, "BUSY", "the campaign is being read back from the ledger")
	}
	return got, unknown(err, id)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
