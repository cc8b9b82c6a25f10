package main

import (
	"fmt"
	"time"
)

// nodesCmd lists the servers of a fleet.
type nodesCmd struct{ adminFlags }

// Run lists them.
func (c *nodesCmd) Run(a *app) error {
	type answer struct {
		Items []struct {
			ID        string    `json:"id"`
			Name      string    `json:"name"`
			Self      bool      `json:"self"`
			Alive     bool      `json:"alive"`
			AgeMS     int64     `json:"age_ms"`
			Version   string    `json:"version"`
			Addr      string    `json:"addr"`
			StartedAt time.Time `json:"started_at"`
			Settings  int64     `json:"settings"`
			InForce   bool      `json:"in_force"`
			SkewMS    int64     `json:"skew_ms"`
		} `json:"items"`
		Alive int `json:"alive"`
	}
	return ask(a, c.adminFlags, "GET", "/v1/admin/nodes", nil, func(r answer) {
		t := table{heads: []string{"NODE", "STATE", "OPERATORS' ADDRESS", "VERSION", "SINCE", "SETTINGS>", "CLOCK>"}}
		for _, n := range r.Items {
			state := "alive"
			switch {
			case !n.Alive:
				state = "silent for " + (time.Duration(n.AgeMS) * time.Millisecond).Round(time.Second).String()
			case !n.InForce:
				state = "alive, settings old"
			}
			t.add(n.ID, state, n.Addr, n.Version, when(&n.StartedAt), fmt.Sprint(n.Settings), fmt.Sprintf("%+d ms", n.SkewMS))
		}
		t.paint = func(row, column int, padded string) string {
			if n := r.Items[row]; column == 1 && (!n.Alive || !n.InForce) {
				return a.paint.alert(padded)
			}
			return padded
		}
		t.print(a)
	})
}
