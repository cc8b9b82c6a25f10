package gate

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-sale/sluice"
)

// entry is a campaign as the funnel needs it. It is never changed: whatever changes makes a new one, which shares the
// bucket and the tally of the old one.
type entry struct {
	campaign *sluice.Campaign
	closed   bool // by the campaign's own switch
	paused   bool // by the campaign's own switch
	pace     pace
	salt     uint64 // sets the campaign's users and devices apart from others' in the limiter
	bucket   *bucket
	required []requirement
	audience *audience // nil until one was uploaded
	tally    *campaignTally
	need     need // what every claim needs
	adaptive bool // who is far above normal needs a pass for which a challenge was solved
	seed     sluice.Seed
	hasSeed  bool // the opening is spread
	levels   *campaignLevels
	pages    *pageSlots
}

// PutCampaign takes over a campaign, new or changed. Claims see it at once. The campaign's slices and maps must not be
// changed afterwards.
func (g *Gate) PutCampaign(c sluice.Campaign) { g.PutCampaigns([]sluice.Campaign{c}) }

// PutCampaigns takes over many campaigns in one step, as at the start.
func (g *Gate) PutCampaigns(campaigns []sluice.Campaign) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := maps.Clone(*g.registry.Load())
	for _, c := range campaigns {
		c.ID = strings.Clone(c.ID)
		next[c.ID] = g.newEntry(&c, next[c.ID])
	}
	g.registry.Store(&next)
}

// DropCampaign forgets a campaign and its audience; claims on it are refused as unknown. What the tally has of it is
// still handed to the next Flush.
func (g *Gate) DropCampaign(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := maps.Clone(*g.registry.Load())
	delete(next, id)
	delete(g.audiences, id)
	g.registry.Store(&next)
	g.tally.drop(id)
}

// Campaign gives a campaign as it was put in, drafts included. It is shared and must not be changed.
func (g *Gate) Campaign(id string) (*sluice.Campaign, bool) {
	e, ok := (*g.registry.Load())[id]
	if !ok {
		return nil, false
	}
	return e.campaign, true
}

// Campaigns lists all campaigns in the order of their ids, drafts and load tests included. They are shared and must not
// be changed.
func (g *Gate) Campaigns() []*sluice.Campaign {
	entries := *g.registry.Load()
	all := make([]*sluice.Campaign, 0, len(entries))
	for _, e := range entries {
		all = append(all, e.campaign)
	}
	slices.SortFunc(all, func(a, b *sluice.Campaign) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// newEntry makes the entry of c from it and everything that was put in beside it. The caller holds mu.
func (g *Gate) newEntry(c *sluice.Campaign, old *entry) *entry {
	s := g.switches.Load()
	e := &entry{
		campaign: c, closed: s.on(sluice.SwitchClosed, c.ID), paused: s.on(sluice.SwitchPaused, c.ID),
		pace:     paceOf(s.perUserRate(c, g.cfg.PerUserRate)),
		required: requirementsOf(c.Eligibility.Claims), audience: g.audiences[c.ID],
		tally: g.tally.of(c.ID, c.StartsAt),
	}
	if old != nil {
		e.salt, e.bucket, e.levels, e.pages = old.salt, old.bucket, old.levels, old.pages
	} else {
		e.salt = maphash.String(g.seed, c.ID)
		e.bucket, e.levels, e.pages = new(bucket), new(campaignLevels), new(pageSlots)
	}
	e.protect(s)
	e.bucket.setRate(s.maxRate(c))
	return e
}

// protect sets what the checks of pass and frequency need. The switch challenge_all beats the campaign's setting.
func (e *entry) protect(s *switches) {
	p := &e.campaign.Protection
	if p.SpreadSec > 0 {
		e.seed, e.hasSeed = sluice.ParseSeed(p.SpreadSeed)
	}
	e.adaptive = p.Pass == sluice.PassAdaptive || p.Pass == sluice.PassAlways
	switch {
	case s.on(sluice.SwitchChallengeAll, "") || s.on(sluice.SwitchChallengeAll, e.campaign.ID):
		e.need = needSolved
	case p.Pass == sluice.PassAlways || p.Signature:
		e.need = needPass
	}
}

// renew makes every entry again after something beside the campaigns changed. The caller holds mu.
func (g *Gate) renew() {
	old := *g.registry.Load()
	next := make(map[string]*entry, len(old))
	for id, e := range old {
		next[id] = g.newEntry(e.campaign, e)
	}
	g.registry.Store(&next)
}
