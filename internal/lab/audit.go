package lab

import (
	"context"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// Verdict is whether the server kept its word. It is recomputed from the claim rows and from what every client saw.
type Verdict struct {
	OK             bool     `json:"ok"`
	Sold           int64    `json:"units_sold"`       // live units in the rows
	Stock          int64    `json:"units_total"`      // units that were on sale
	Rows           int64    `json:"rows"`             // claim rows looked at
	Oversold       int64    `json:"oversold"`         // live units, or units promised to clients, beyond the total
	Lost           int64    `json:"lost"`             // claims that a client saw confirmed and that have no live row
	Forgotten      int64    `json:"forgotten"`        // claims that were promised and never got an outcome
	Rejected       int64    `json:"rejected"`         // claims that were promised and then rejected, on record: no fault
	Double         int64    `json:"double"`           // live rows, or claim ids told, beyond the first of one request id
	Changed        int64    `json:"changed"`          // refusals of a request id whose claim the client had seen confirmed
	Denied         int64    `json:"denied"`           // live rows of clients whose every click was answered with a refusal
	Unasked        int64    `json:"unasked"`          // live rows that no click asked for, or of another quantity
	OverLimit      int64    `json:"over_limit"`       // users who hold more than their limit
	Drift          int64    `json:"drift"`            // as the server's own verify says
	VerifyOK       bool     `json:"verify_ok"`        // the server's own verify
	Unheard        int64    `json:"unheard"`          // live rows whose client got no answer
	NoAnswer       int64    `json:"no_answer"`        // attempts without an answer that the lab understands
	LeftOver       int64    `json:"left_over"`        // units that are free although somebody heard SOLD_OUT
	Examples       []string `json:"examples"`         // of what is wrong
	UsersOverLimit int64    `json:"users_over_limit"` // as the server's own verify says
}

// ledgerView is what the audit keeps of the rows.
type ledgerView struct {
	rows  map[sluice.ClaimID]bool  // claim id → live
	units map[int]int64            // buyer → live units
	tries map[int]int64            // buyer → live rows under its one request id
	asked map[sluice.ClaimID]int64 // claim id → live units, of these rows
}

// audit compares the rows of campaign with what the clients of s saw.
func audit(ctx context.Context, a *Operators, s *shift, campaign string) (Verdict, error) {
	check, err := a.verify(ctx, campaign)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{
		Stock: check.Total, Drift: check.Drift, VerifyOK: check.OK, UsersOverLimit: check.UsersOverLimit,
		Oversold: check.UnitsOverTotal, Examples: []string{},
	}
	view := ledgerView{
		rows: map[sluice.ClaimID]bool{}, units: map[int]int64{}, tries: map[int]int64{}, asked: map[sluice.ClaimID]int64{},
	}
	err = a.claims(ctx, campaign, s.cfg.Cursor, func(r claimRow) { view.add(&v, s, r) })
	if err != nil {
		return v, err
	}
	v.Oversold = max(v.Oversold, v.Sold-v.Stock)
	for b, units := range view.units {
		if units > int64(s.cfg.Limit) {
			v.OverLimit++
			v.example("user %s holds %d units, the limit is %d", s.crowd.user(b), units, s.cfg.Limit)
		}
		if n := view.tries[b]; n > 1 {
			v.Double += n - 1
			v.example("request id %s has %d live rows", s.crowd.requestID(b), n)
		}
	}
	for id, units := range view.asked {
		if units != int64(s.cfg.Quantity) {
			v.Unasked++
			v.example("%s holds %d units, %d were asked for", id, units, s.cfg.Quantity)
		}
	}
	v.OverLimit = max(v.OverLimit, v.UsersOverLimit)
	promised := v.compare(s, view)
	if s.cfg.Campaign == "" {
		v.Oversold = max(v.Oversold, promised-v.Stock)
	}
	if check.Available >= int64(s.cfg.Quantity) && s.heard(sluice.ReasonSoldOut) {
		v.LeftOver = check.Available
	}
	v.OK = v.VerifyOK
	for _, f := range v.faults() {
		v.OK = v.OK && f.n == 0
	}
	return v, nil
}

// add takes one row into the view. A coupon claim may come as one row a unit: they have one claim id.
func (w *ledgerView) add(v *Verdict, s *shift, r claimRow) {
	v.Rows++
	id, ok := sluice.ParseClaimID(r.ID)
	if !ok {
		v.example("a row has the claim id %q", r.ID)
		return
	}
	live := r.State == sluice.ClaimConfirmed.String() || r.State == sluice.ClaimQueued.String()
	known, again := w.rows[id]
	w.rows[id] = known || live
	if !live {
		return
	}
	v.Sold += r.Quantity
	b, ok := s.crowd.buyer(r.User)
	if !ok {
		return
	}
	w.units[b] += r.Quantity
	if r.RequestID != s.crowd.requestID(b) {
		v.Unasked++
		v.example("%s has %s under the request id %q, which it never sent", r.User, r.ID, r.RequestID)
		return
	}
	w.asked[id] += r.Quantity
	if !again {
		w.tries[b]++
	}
}

// compare holds what the clients saw against the rows, and gives the units that they were promised.
func (v *Verdict) compare(s *shift, view ledgerView) (promised int64) {
	type promise struct {
		claim sluice.ClaimID
		done  uint32
	}
	told := make(map[uint32]promise, len(view.rows))
	seen := make(map[sluice.ClaimID]struct{}, len(view.rows))
	for i := range s.records {
		r, buyer := &s.records[i], s.crowd.arrivals[i].buyer
		if r.code >= codeOther || (r.code == 0 && r.flags&flagSent != 0) {
			v.NoAnswer++
		}
		if !sluice.Reason(r.code).Admitted() {
			continue
		}
		user := func() string { return s.crowd.user(int(buyer)) }
		if r.flags&flagClaim == 0 {
			v.Lost++
			v.example("%s was told %s without a claim id", user(), codeName(r.code))
			continue
		}
		if first, ok := told[buyer]; !ok {
			told[buyer] = promise{r.claim, r.done}
		} else {
			if first.claim != r.claim {
				v.Double++
				v.example("%s was told %s and %s for one request id", user(), first.claim, r.claim)
			}
			told[buyer] = promise{first.claim, min(first.done, r.done)}
		}
		if _, ok := seen[r.claim]; ok {
			continue
		}
		seen[r.claim] = struct{}{}
		live, found := view.rows[r.claim]
		if s.queued(i) && s.watch.what[i] == outcomeOpen {
			v.Forgotten++
			v.example("%s was told QUEUED with %s and heard no more", user(), r.claim)
		}
		if s.queued(i) && s.watch.what[i] == outcomeRejected && found && !live {
			v.Rejected++
			continue
		}
		promised += int64(s.cfg.Quantity)
		if !live {
			v.Lost++
			v.example("%s was told %s with %s; %s", user(), codeName(r.code), r.claim,
				map[bool]string{true: "its row is not live", false: "there is no such row"}[found])
		}
	}
	for i := range s.records {
		r, buyer := &s.records[i], s.crowd.arrivals[i].buyer
		no := sluice.Reason(r.code) == sluice.ReasonSoldOut || sluice.Reason(r.code) == sluice.ReasonLimitReached
		if first, ok := told[buyer]; no && ok && r.sent > first.done {
			v.Changed++
			v.example("%s was told CONFIRMED, then %s for the same request id", s.crowd.user(int(buyer)), codeName(r.code))
		}
	}
	v.untold(s, view, func(buyer uint32) bool { _, ok := told[buyer]; return ok })
	return promised
}

// untold counts the live rows that nobody was told of: where a click had no answer, or one that leaves it open, the
// client can still ask; where all were refusals the unit is lost to everyone.
func (v *Verdict) untold(s *shift, view ledgerView, told func(buyer uint32) bool) {
	open := map[uint32]bool{}
	for i := range s.records {
		r := &s.records[i]
		if r.code == 0 || r.code >= codeOther || sluice.Reason(r.code) == sluice.ReasonUnavailable {
			open[s.crowd.arrivals[i].buyer] = true
		}
	}
	for b := range view.tries {
		switch buyer := uint32(b); {
		case told(buyer):
		case open[buyer]:
			v.Unheard++
		default:
			v.Denied++
			v.example("%s was only ever refused, and has a live row", s.crowd.user(b))
		}
	}
}

// heard says whether any client was told reason.
func (s *shift) heard(reason sluice.Reason) bool {
	for i := range s.records {
		if s.records[i].code == uint8(reason) {
			return true
		}
	}
	return false
}

func (v *Verdict) example(format string, args ...any) {
	if len(v.Examples) < maxTrouble {
		v.Examples = append(v.Examples, fmt.Sprintf(format, args...))
	}
}
