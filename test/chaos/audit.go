package chaos

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
)

// quietWithin is how long a fleet whose parts are all back may take until nothing is in flight and every sum is exact.
const quietWithin = 30 * time.Second

func number(tb testing.TB, s string) int64 {
	tb.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// verified asks a node to recompute the campaign; "" where everything is exact and nothing is queued.
func (f *Fleet) verified(node int, campaign string) string {
	n := f.Nodes[node]
	a, err := n.TryAsk("GET", n.AdminURL+"/v1/admin/campaigns/"+campaign+"/verify", adminKey, nil)
	if err != nil {
		return err.Error()
	}
	var v struct {
		OK                                          bool
		Total, Available, Queued, Held, Sold, Drift int64
		UsersOverLimit                              int64 `json:"users_over_limit"`
		UnitsOverTotal                              int64 `json:"units_over_total"`
	}
	if err := json.Unmarshal(a.Body, &v); err != nil {
		return err.Error()
	}
	if a.Status != 200 || !v.OK || v.Queued != 0 || v.Drift != 0 || v.Available+v.Held+v.Sold != v.Total {
		return fmt.Sprintf("node %d: status %d: %s", node, a.Status, a.Body)
	}
	return ""
}

// Audit holds what buyers were told against the ledger's rows.
func (f *Fleet) Audit(tb testing.TB, campaign string, stock int64, crowds ...*Crowd) {
	tb.Helper()
	for i := range f.Nodes {
		if wrong := eventually(quietWithin, func() string { return f.verified(i, campaign) }); wrong != "" {
			tb.Errorf("%s does not come to rest: %s", campaign, wrong)
		}
	}
	rows := map[string]Row{}
	units, users := int64(0), map[string]int64{}
	for _, r := range f.Rows(tb, campaign) {
		if _, twice := rows[r.ClaimID]; twice {
			tb.Errorf("claim %s is in the ledger twice", r.ClaimID)
		}
		rows[r.ClaimID] = r
		units += r.Live
		users[r.User] += r.Limit
	}
	if units > stock {
		tb.Errorf("oversold: %d live units of %d", units, stock)
	}
	for user, n := range users {
		if n > 1 {
			tb.Errorf("%s has %d units, the limit is 1", user, n)
		}
	}
	faults := 0
	report := func(b *Buyer, format string, args ...any) {
		if faults++; faults <= 10 {
			tb.Errorf("%s: %s; told %+v", b.User, fmt.Sprintf(format, args...), *b)
		}
	}
	for _, c := range crowds {
		for i := range c.Buyers {
			f.auditBuyer(&c.Buyers[i], rows, report)
		}
	}
	if faults > 10 {
		tb.Errorf("and %d more", faults-10)
	}
}

func (f *Fleet) auditBuyer(b *Buyer, rows map[string]Row, report func(*Buyer, string, ...any)) {
	switch {
	case b.Wrong != "":
		report(b, "contradicted: %s", b.Wrong)
	case b.Final == "":
		report(b, "no outcome within %s", patience)
	}
	if !b.Promised {
		return
	}
	id, ok := sluice.ParseClaimID(b.ClaimID)
	if !ok {
		report(b, "promised without a claim id")
		return
	}
	r, there := rows[hex.EncodeToString(id[:])]
	switch {
	case !there:
		report(b, "promised, and there is no row")
	case r.User != b.User:
		report(b, "the row is %s's", r.User)
	case b.State == "confirmed" && r.Live != 1:
		report(b, "told confirmed; the row is %+v", r)
	case b.State == "rejected" && r.State != "rejected":
		report(b, "told rejected; the row is %+v", r)
	}
}

// Replays lets some winners of a crowd ask again, at any node: each has to get his own answer.
func (f *Fleet) Replays(tb testing.TB, c *Crowd, rng *rand.Rand, most int) {
	tb.Helper()
	asked := 0
	for _, i := range rng.Perm(len(c.Buyers)) {
		b := &c.Buyers[i]
		if b.State != "confirmed" {
			continue
		}
		if asked++; asked > most {
			return
		}
		n := f.Nodes[rng.IntN(len(f.Nodes))]
		var last string
		wrong := eventually(15*time.Second, func() string {
			a, err := n.TryClaim(c.campaign, b.User, b.Request, 1)
			last = fmt.Sprintf("%+v %v", a, err)
			if err == nil && a.ClaimID == b.ClaimID && a.Replayed && (a.Code == "CONFIRMED" || a.Code == "QUEUED") {
				return ""
			}
			if err == nil && a.Code != "BUSY" && a.Code != "TOO_FREQUENT" && a.Status != 503 {
				tb.Errorf("%s, who has %s, asked again and got %s", b.User, b.ClaimID, last)
				return ""
			}
			return last
		})
		if wrong != "" {
			tb.Errorf("%s, who has %s, gets no answer any more: %s", b.User, b.ClaimID, wrong)
		}
	}
}

// Counts gives how the crowd ended.
func (c *Crowd) Counts() (confirmed, rejected, refused, open int) {
	for i := range c.Buyers {
		switch b := &c.Buyers[i]; {
		case b.State == "confirmed":
			confirmed++
		case b.State == "rejected" || b.State == "released":
			rejected++
		case b.Final != "":
			refused++
		default:
			open++
		}
	}
	return confirmed, rejected, refused, open
}
