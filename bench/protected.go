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

// protected: refusals by the checks that keep bots out, beside the refusals of a sold-out campaign without them, on the
// same server: claims that lack the pass that everybody needs, and claims on a sold-out campaign that measures its
// buyers.
func protected(ctx context.Context, b *bench) error {
	var passes, watched, base samples
	var m, w meter
	for range b.runs {
		p, err := b.serve(ctx, "", 0)
		if err != nil {
			return err
		}
		err = func() error {
			defer p.Stop()
			cfg := lab.Config{Buyers: b.of(200_000, 40_000), Stock: 1, Seed: 7}
			open, err := b.run(ctx, p, cfg) // sells its unit; tokens are verified from here on
			if err != nil {
				return err
			}
			look := func(campaign string) (r lab.Result, err error) {
				cfg.Campaign = campaign
				return b.run(ctx, p, cfg)
			}
			unprotected, err := look(open.Setup.Campaign)
			if err != nil {
				return err
			}
			if err := guarded(ctx, p, "guarded", map[string]any{"pass": "always", "signature": true}); err != nil {
				return err
			}
			refused, err := look("guarded")
			if err != nil {
				return err
			}
			if err := guarded(ctx, p, "watched", map[string]any{"pass": "adaptive"}); err != nil {
				return err
			}
			if _, err := look("watched"); err != nil {
				return err
			}
			soldOut, err := look("watched")
			if err != nil {
				return err
			}
			m.add(refused)
			m.addBase(unprotected)
			w.add(soldOut)
			w.addBase(unprotected)
			passes = append(passes, refused.Speed.ClaimsPerS)
			watched = append(watched, soldOut.Speed.ClaimsPerS)
			base = append(base, unprotected.Speed.ClaimsPerS)
			return nil
		}()
		if err != nil {
			return err
		}
	}
	g := ratioAtLeast(0.85, "at least 0.85 of the unprotected refusals")
	if err := b.record("refusals_no_pass", "claims/s", passes, "sold out, no protection", base, g, m.costs(),
		"PASS_REQUIRED; tokens verified before"); err != nil {
		return err
	}
	return b.record("refusals_adaptive", "claims/s", watched, "sold out, no protection", base, g, w.costs(),
		"SOLD_OUT on an adaptive campaign; tokens verified before")
}

// guarded makes a load-test campaign of one unit with a protection.
func guarded(ctx context.Context, p *lab.Process, id string, protection map[string]any) error {
	now := time.Now()
	body, err := json.Marshal(map[string]any{
		"id": id, "kind": "goods", "title": id, "total": 1, "per_user_limit": 1, "load_test": true,
		"starts_at": now.Add(-time.Second).Format(time.RFC3339Nano), "ends_at": now.Add(time.Hour).Format(time.RFC3339Nano),
		"goods": map[string]any{"sku": id, "price_minor": 0}, "protection": protection,
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.AdminURL+"/v1/admin/campaigns", bytes.NewReader(body))
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
	if answer, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusCreated {
		return fmt.Errorf("create %s: %d %s", id, res.StatusCode, answer)
	}
	return nil
}
