package main

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/sluice-sale/sluice"
)

// switchCmd is the verbs on switches.
type switchCmd struct {
	List  switchList  `cmd:"" help:"List every switch and where it is set."`
	Set   switchSet   `cmd:"" help:"Set a switch: on, off, or a number."`
	Clear switchClear `cmd:"" help:"Clear a switch: back to the default."`
}

type switchEntry struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Means    string `json:"means"`
	Settings []struct {
		CampaignID string    `json:"campaign_id"`
		Value      float64   `json:"value"`
		Reason     string    `json:"reason"`
		Author     string    `json:"author"`
		At         time.Time `json:"at"`
	} `json:"settings"`
}

type switchList struct{ adminFlags }

// Run lists the switches.
func (c *switchList) Run(a *app) error {
	type answer struct {
		Items []switchEntry `json:"items"`
	}
	return ask(a, c.adminFlags, "GET", "/v1/admin/switches", nil, func(r answer) {
		t := table{heads: []string{"SWITCH", "WHERE", "VALUE", "SINCE", "BY", "WHY / MEANING"}}
		set := []bool{}
		for _, s := range r.Items {
			for _, x := range s.Settings {
				where := x.CampaignID
				if where == "" {
					where = "server"
				}
				t.add(s.Name, where, switchValue(s.Kind, x.Value), when(&x.At), x.Author, x.Reason)
				set = append(set, true)
			}
			if len(s.Settings) == 0 {
				t.add(s.Name, "", "not set", "", "", s.Means)
				set = append(set, false)
			}
		}
		t.paint = func(row, column int, padded string) string {
			if set[row] && column == 2 {
				return a.paint.alert(padded)
			}
			if !set[row] && column > 0 {
				return a.paint.dim(padded)
			}
			return padded
		}
		t.print(a)
	})
}

func switchValue(kind string, v float64) string {
	switch {
	case kind == "on_off" && v != 0:
		return "on"
	case kind == "on_off":
		return "off"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// switchAnswer is what setting or clearing one came to.
type switchAnswer struct {
	Name       string   `json:"name"`
	CampaignID string   `json:"campaign_id"`
	Set        bool     `json:"set"`
	Value      float64  `json:"value"`
	Before     *float64 `json:"before"`
	Nodes      int      `json:"nodes"`
	InForce    int      `json:"in_force"`
	TookMS     int64    `json:"took_ms"`
}

func (a *app) showSwitch(r switchAnswer) {
	what := r.Name
	if r.CampaignID != "" {
		what += " of " + r.CampaignID
	}
	now, before, kind := "cleared", "not set", ""
	for _, spec := range sluice.Switches() {
		if spec.Name == r.Name {
			kind = string(spec.Kind)
		}
	}
	if r.Set {
		now = switchValue(kind, r.Value)
	}
	if r.Before != nil {
		before = switchValue(kind, *r.Before)
	}
	a.say("%s: %s (was %s), in force on %d of %d nodes after %d ms", what, now, before, r.InForce, r.Nodes, r.TookMS)
}

type switchSet struct {
	Name     string `arg:"" help:"The switch."`
	Value    string `arg:"" help:"on, off, or a number."`
	Campaign string `placeholder:"ID" help:"For this campaign only."`
	Reason   string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run sets the switch.
func (c *switchSet) Run(a *app) error {
	var v float64
	switch c.Value {
	case "on":
		v = 1
	case "off":
	default:
		var err error
		if v, err = strconv.ParseFloat(c.Value, 64); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return &failure{code: exitUsage, next: "sluice switch list",
				err: fmt.Errorf("%q is no value of a switch: write on, off or a number", c.Value)}
		}
	}
	body := map[string]any{"value": v, "reason": c.Reason}
	if c.Campaign != "" {
		body["campaign_id"] = c.Campaign
	}
	return ask(a, c.adminFlags, "PUT", "/v1/admin/switches/"+esc(c.Name), body, a.showSwitch)
}

type switchClear struct {
	Name     string `arg:"" help:"The switch."`
	Campaign string `placeholder:"ID" help:"For this campaign only."`
	Reason   string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// Run clears the switch.
func (c *switchClear) Run(a *app) error {
	path := "/v1/admin/switches/" + esc(c.Name) + query("campaign_id", c.Campaign, "reason", c.Reason)
	return ask(a, c.adminFlags, "DELETE", path, nil, a.showSwitch)
}

// query writes the parameters that are not empty, names and values in turn.
func query(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}
