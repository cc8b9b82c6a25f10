package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sluice-sale/sluice/internal/lab"
)

// shield is one kind of refusal under protection, beside the same server's refusals without any.
type shield struct {
	figure, note string
	speed        samples
	cost         meter
}

// protected: refusals by the checks that keep bots out, beside the refusals of a sold-out campaign without them, on the
// same server: claims that lack the pass that everybody needs (the buyers are measured, too), claims on a sold-out
// campaign that measures its buyers, and claims on a sold-out one with six risk rules in force.
func protected(ctx context.Context, b *bench) error {
	all := []*shield{
		{figure: "refusals_no_pass", note: "PASS_REQUIRED; tokens verified before"},
		{figure: "refusals_adaptive", note: "SOLD_OUT on an adaptive campaign; tokens verified before"},
		{figure: "refusals_rules", note: "SOLD_OUT with six risk rules in force; tokens verified before"},
	}
	var base samples
	for range b.runs {
		p, err := b.serve(ctx, "", 0)
		if err != nil {
			return err
		}
		unprotected, err := shielded(ctx, b, p, all)
		p.Stop()
		if err != nil {
			return err
		}
		base = append(base, unprotected)
	}
	g := ratioAtLeast(0.85, "at least 0.85 of the unprotected refusals")
	for _, s := range all {
		err := b.record(s.figure, "claims/s", s.speed, "sold out, no protection", base, g, s.cost.costs(), s.note)
		if err != nil {
			return err
		}
	}
	return nil
}

// shielded measures each kind of refusal once on a server and gives the speed of those without protection.
func shielded(ctx context.Context, b *bench, p *lab.Process, all []*shield) (float64, error) {
	cfg := lab.Config{Buyers: b.of(200_000, 40_000), Stock: 1, Seed: 7}
	open, err := b.run(ctx, p, cfg) // sells its unit; tokens are verified from here on
	if err != nil {
		return 0, err
	}
	look := func(campaign string) (lab.Result, error) {
		cfg.Campaign = campaign
		return b.run(ctx, p, cfg)
	}
	unprotected, err := look(open.Setup.Campaign)
	if err != nil {
		return 0, err
	}
	var got [3]lab.Result
	if err := guarded(ctx, p, "guarded", map[string]any{"pass": "always", "signature": true}); err != nil {
		return 0, err
	}
	if got[0], err = look("guarded"); err != nil {
		return 0, err
	}
	if err := guarded(ctx, p, "watched", map[string]any{"pass": "adaptive"}); err != nil {
		return 0, err
	}
	if _, err := look("watched"); err != nil {
		return 0, err
	}
	if got[1], err = look("watched"); err != nil {
		return 0, err
	}
	for i, rule := range sixRules {
		err := ask(ctx, p, http.MethodPut, fmt.Sprint("/v1/admin/rules/bench", i), map[string]any{"rule": rule, "mode": "on"})
		if err != nil {
			return 0, err
		}
	}
	if got[2], err = look(open.Setup.Campaign); err != nil {
		return 0, err
	}
	for i, s := range all {
		s.cost.add(got[i])
		s.cost.addBase(unprotected)
		s.speed = append(s.speed, got[i].Speed.ClaimsPerS)
	}
	return unprotected.Speed.ClaimsPerS, nil
}

// sixRules look at each buyer and act on none: what is measured is the looking. A rule by address would act on every
// claim of this crowd, which comes from one.
var sixRules = []string{
	"accounts per device > 300 in 10m -> block 15m",
	"devices per account > 4 in 1h -> challenge",
	"claims per account > 1000 in 10m -> slow 4",
	"early claims per account > 30 in 5m -> slow 4",
	"failed challenges per account > 6 in 10m -> block 10m",
	"refused share per account > 0.8 in 5m -> slow 5",
}

// guarded makes a load-test campaign of one unit with a protection.
func guarded(ctx context.Context, p *lab.Process, id string, protection map[string]any) error {
	now := time.Now()
	return ask(ctx, p, http.MethodPost, "/v1/admin/campaigns", map[string]any{
		"id": id, "kind": "goods", "title": id, "total": 1, "per_user_limit": 1, "load_test": true,
		"starts_at": now.Add(-time.Second).Format(time.RFC3339Nano), "ends_at": now.Add(time.Hour).Format(time.RFC3339Nano),
		"goods": map[string]any{"sku": id, "price_minor": 0}, "protection": protection,
	})
}

// ask makes one call of the operators' API.
func ask(ctx context.Context, p *lab.Process, method, path string, what map[string]any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, p.AdminURL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.AdminKey)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if answer, _ := io.ReadAll(res.Body); res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, answer)
	}
	return nil
}
