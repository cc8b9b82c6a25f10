package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-sale/sluice/internal/lab"
	"github.com/sluice-sale/sluice/internal/servers"
)

// fleetNodes is how many nodes a fleet has.
const fleetNodes = 3

// The bounds of a canonical sale on a fleet.
const (
	fleetAnswered  = 8    // s until everyone was answered
	fleetLast      = 3    // s from the last answer to the last winner's outcome
	fleetConfirmed = 1000 // ms from QUEUED to CONFIRMED, p99
)

// fleet is nodes on one Redis and one MariaDB.
type fleet struct {
	nodes []*lab.Process
	pids  []int // of all but the first node
	redis *servers.RedisServer
	maria *servers.MariaDatabase
}

// startFleet starts n nodes that share their secrets and their stores.
func (b *bench) startFleet(ctx context.Context, s *shelf, n int) (*fleet, error) {
	var flags []string
	if b.profile != "" {
		flags = append(flags, "--performance-schema")
	}
	redis, maria := servers.Redis(s), servers.OwnMariaDB(s, "", flags...)
	secrets := []string{
		"SLUICE_ADMIN_KEY=bench-operator-key-0123456789", "SLUICE_JWT_SECRET=bench-jwt-secret-0123456789-0123456789",
		"SLUICE_PAYMENT_SECRET=bench-payment-secret-0123456789",
	}
	f := &fleet{redis: redis, maria: maria}
	for i := range n {
		p, err := lab.StartServer(ctx, lab.ServerConfig{Binary: b.binary, Env: secrets, Args: []string{
			"--node-name", "node" + strconv.Itoa(i), "--payment-provider", "sandbox", "--admission", redis.URL(),
			"--queue", "redis", "--ledger", maria.URL, "--trusted-proxies", "127.0.0.1/32",
		}})
		if err != nil {
			return nil, err
		}
		s.Cleanup(p.Stop)
		_, p.AdminKey, _ = strings.Cut(secrets[0], "=")
		_, p.JWTSecret, _ = strings.Cut(secrets[1], "=")
		f.nodes = append(f.nodes, p)
		if i > 0 {
			f.pids = append(f.pids, p.PID)
		}
	}
	if n, err := strconv.Atoi(redis.Info("process_id")); err == nil {
		f.pids = append(f.pids, n)
	}
	if raw, err := os.ReadFile(filepath.Join(maria.Dir, "pid")); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
			f.pids = append(f.pids, n)
		}
	}
	return f, nil
}

func (f *fleet) addrs() (all []string) {
	for _, n := range f.nodes {
		all = append(all, strings.TrimPrefix(n.URL, "http://"))
	}
	return all
}

// onSale returns when every node knows the campaign and its gate is armed.
func (f *fleet) onSale(ctx context.Context, campaign string) error {
	deadline := time.Now().Add(30 * time.Second)
	for _, n := range f.nodes {
		for {
			err := call(ctx, http.MethodPost, n.AdminURL+"/v1/admin/campaigns/"+campaign+"/preheat", n.AdminKey,
				`"armed":true`)
			if err == nil {
				err = call(ctx, http.MethodGet, n.URL+"/v1/campaigns/"+campaign, "", campaign)
			}
			if err == nil {
				break
			}
			if ctx.Err() != nil || time.Now().After(deadline) {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// call is nil where the answer is 200 and says the words.
func call(ctx context.Context, method, url, key, words string) error {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err == nil && (res.StatusCode != http.StatusOK || !strings.Contains(string(body), words)) {
		err = fmt.Errorf("%s %s answered %d: %s", method, url, res.StatusCode, body)
	}
	return err
}

// fleetSale: 100,000 buyers, 10,000 units, everyone at once, at three nodes behind nginx; beside the same crowd at the
// same nginx when it answers by itself.
func fleetSale(ctx context.Context, b *bench) error {
	var answered, last, confirmed, base, trips samples
	var m meter
	for range b.runs {
		err := b.onShelf(ctx, func(s *shelf) error {
			f, err := b.startFleet(ctx, s, fleetNodes)
			if err != nil {
				return err
			}
			door, err := frontOf(s, f.addrs())
			if err != nil {
				return err
			}
			cfg := f.nodes[0].Use(lab.Config{Buyers: b.of(100_000, 20_000), Stock: int64(b.of(10_000, 2000))})
			cfg.URL, cfg.Ready, cfg.PIDs = door.url, f.onSale, append(f.pids, door.pids...)
			profiled := b.profileFleet(ctx, f, &cfg)
			r, err := b.check(lab.Run(ctx, cfg))
			if err = errors.Join(err, profiled()); err != nil {
				return err
			}
			if r.Outcomes == nil || r.Outcomes.Rejected+r.Outcomes.Open > 0 {
				return fmt.Errorf("not a sale on a fleet: %+v", r.Outcomes)
			}
			answered, last = append(answered, r.Speed.AnsweredIn), append(last, r.Outcomes.LastAfter)
			confirmed = append(confirmed, r.Outcomes.Wait.P99)
			m.add(r)
			c, err := lab.Measure(ctx, lab.Config{URL: door.constant, JWTSecret: "no secret", Campaign: "constant",
				Buyers: cfg.Buyers, PID: door.pids[0], PIDs: door.pids[1:]})
			if err != nil {
				return err
			}
			base, trips = append(base, c.Speed.AnsweredIn), append(trips, c.Latency.All.P99)
			m.addBase(c)
			return nil
		})
		if err != nil {
			return err
		}
	}
	const nginx, note = "constant answer of nginx", "three nodes, nginx, Redis, MariaDB and the client on one machine"
	return errors.Join(
		b.record("fleet_answered_in", "s", answered, nginx, base, atMost(fleetAnswered, "at most 8 s"), m.costs(), note),
		b.record("fleet_last_winner", "s", last, "none", nil, atMost(fleetLast, "at most 3 s after the last answer"),
			costs{}, note),
		b.record("fleet_confirmed_p99", "ms", confirmed, nginx, trips,
			atMost(fleetConfirmed, "below 1 s from QUEUED to CONFIRMED"), costs{}, note),
	)
}

// fleetRefusals: what a node on Redis refuses in a second after sold-out; beside a node that holds everything itself.
func fleetRefusals(ctx context.Context, b *bench) error {
	var values, base samples
	var m meter
	for range b.runs {
		err := b.onShelf(ctx, func(s *shelf) error {
			f, err := b.startFleet(ctx, s, 1)
			if err != nil {
				return err
			}
			node, err := b.soldOut(ctx, f.nodes[0], f.onSale)
			if err != nil {
				return err
			}
			f.nodes[0].Stop()
			values = append(values, node.Speed.ClaimsPerS)
			m.add(node)
			p, err := b.serve(ctx, "", 0)
			if err != nil {
				return err
			}
			defer p.Stop()
			own, err := b.soldOut(ctx, p, nil)
			if err != nil {
				return err
			}
			base = append(base, own.Speed.ClaimsPerS)
			m.addBase(own)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return b.record("fleet_refusals", "claims/s", values, "the embedded default", base,
		ratioAtLeast(0.9, "at least 0.9 of the embedded default"), m.costs(), "one node; tokens verified before")
}

// soldOut sells a campaign of one unit to a crowd, and measures how fast the same crowd is refused once more.
func (b *bench) soldOut(
	ctx context.Context, p *lab.Process, ready func(context.Context, string) error,
) (r lab.Result, err error) {
	cfg := p.Use(lab.Config{Buyers: b.of(200_000, 40_000), Stock: 1, Seed: 7, Ready: ready})
	if r, err = b.check(lab.Run(ctx, cfg)); err != nil {
		return r, err
	}
	cfg.Campaign = r.Setup.Campaign
	return b.check(lab.Run(ctx, cfg))
}
