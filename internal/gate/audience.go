package gate

import (
	"bytes"
	"maps"
	"slices"

	"github.com/sluice-sale/sluice"
)

// audience is a sorted set of users, 10 bytes each. A user is known by the 80 bits of their key: that a stranger is
// let in by chance has odds of one in 10¹⁸ for an audience of a million.
type audience struct{ keys []sluice.UserKey }

// requirement is one token claim that must have one of the values.
type requirement struct {
	claim  string
	values []string
}

// SetAudience replaces the users who may claim on a campaign that asks for an audience. The gate sorts users and
// keeps the slice. It may come before the campaign does; nil takes the audience away.
func (g *Gate) SetAudience(campaign string, users []sluice.UserKey) {
	slices.SortFunc(users, compareKeys)
	users = slices.Compact(users)
	g.mu.Lock()
	defer g.mu.Unlock()
	if users == nil {
		delete(g.audiences, campaign)
	} else {
		g.audiences[campaign] = &audience{users}
	}
	old := *g.registry.Load()
	if e, ok := old[campaign]; ok {
		next := maps.Clone(old)
		next[e.campaign.ID] = g.newEntry(e.campaign, e)
		g.registry.Store(&next)
	}
}

func compareKeys(a, b sluice.UserKey) int { return bytes.Compare(a[:], b[:]) }

func (a *audience) has(user sluice.UserKey) bool {
	if a == nil {
		return false
	}
	_, ok := slices.BinarySearchFunc(a.keys, user, compareKeys)
	return ok
}

func requirementsOf(claims map[string][]string) []requirement {
	all := make([]requirement, 0, len(claims))
	for name, values := range claims {
		all = append(all, requirement{name, slices.Clone(values)})
	}
	return all
}

func (r *requirement) metBy(claims map[string][]string) bool {
	for _, have := range claims[r.claim] {
		if slices.Contains(r.values, have) {
			return true
		}
	}
	return false
}
