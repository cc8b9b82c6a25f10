package main

import (
	"encoding/json"
	"fmt"
	"time"
)

// verification is a campaign recomputed from its rows.
type verification struct {
	OK             bool      `json:"ok"`
	Total          int64     `json:"total"`
	Available      int64     `json:"available"`
	Queued         int64     `json:"queued"`
	Held           int64     `json:"held"`
	Sold           int64     `json:"sold"`
	UsersOverLimit int64     `json:"users_over_limit"`
	UnitsOverTotal int64     `json:"units_over_total"`
	Drift          int64     `json:"drift"`
	CheckedAt      time.Time `json:"checked_at"`
}

func (v verification) err(id string) error {
	if v.OK {
		return nil
	}
	return &failure{code: exitVerify, err: fmt.Errorf("the figures of %s do not hold", id),
		next: "sluice campaign pause " + id + ", and keep the data folder as it is"}
}

func (a *app) showVerification(id string, v verification) {
	verdict := a.paint.good("ok")
	if !v.OK {
		verdict = a.paint.bad("DOES NOT HOLD")
	}
	a.say("%s  %s: %s available + %s queued + %s held + %s sold = %s; users over limit %d, units over total %d, drift %d",
		a.paint.bold(id), verdict, thousands(v.Available), thousands(v.Queued), thousands(v.Held), thousands(v.Sold),
		thousands(v.Available+v.Queued+v.Held+v.Sold), v.UsersOverLimit, v.UnitsOverTotal, v.Drift)
}

// verifyCmd recomputes campaigns from their rows.
type verifyCmd struct {
	ID []string `arg:"" optional:"" help:"The campaigns; all where none is named."`
	adminFlags
}

// Run verifies them one after the other; exit code 4 where one does not hold.
func (c *verifyCmd) Run(a *app) error {
	o, err := c.operator(a)
	if err != nil {
		return err
	}
	ids := c.ID
	if len(ids) == 0 {
		all, err := pages[campaign](a.ctx, o, "/v1/admin/campaigns", nil)
		if err != nil {
			return err
		}
		for _, x := range all {
			ids = append(ids, x.ID)
		}
	}
	type result struct {
		Campaign string          `json:"campaign_id"`
		Result   json.RawMessage `json:"verification"`
	}
	results := []result{}
	p := newProgress(a.err, a.json)
	var bad error
	for i, id := range ids {
		p.at("verifying", int64(i), int64(len(ids)))
		var raw json.RawMessage
		if err := o.call(a.ctx, "GET", campaignPath(id, "/verify"), nil, &raw); err != nil {
			return err
		}
		var v verification
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		p.end()
		if results = append(results, result{id, raw}); !a.json {
			a.showVerification(id, v)
		}
		if bad == nil {
			bad = v.err(id)
		}
	}
	if a.json {
		if err := a.printJSON(map[string]any{"items": results, "ok": bad == nil}); err != nil {
			return err
		}
	}
	return bad
}
