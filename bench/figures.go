package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-sale/sluice/internal/lab"
)

// canonical: 100,000 buyers, 10,000 units, everyone at once; beside the same crowd at a constant server.
func canonical(ctx context.Context, b *bench) error {
	var values, base samples
	var m meter
	for range b.runs {
		r, err := b.sale(ctx, lab.Config{Buyers: b.of(100_000, 20_000), Stock: int64(b.of(10_000, 2000))})
		if err != nil {
			return err
		}
		values = append(values, r.Speed.AnsweredIn)
		m.add(r)
		c, err := b.constant(ctx, 200, lab.Config{Buyers: r.Setup.Buyers})
		if err != nil {
			return err
		}
		base = append(base, c.Speed.AnsweredIn)
		m.addBase(c)
	}
	return b.record("canonical_answered_in", "s", values, "constant answer", base, atMost(2, "at most 2 s"), m.costs(), "")
}

// sale runs one crowd on a fresh server.
func (b *bench) sale(ctx context.Context, cfg lab.Config) (lab.Result, error) {
	p, err := b.serve(ctx, "", 0)
	if err != nil {
		return lab.Result{}, err
	}
	defer p.Stop()
	return b.run(ctx, p, cfg)
}

// constant runs one crowd on a server that answers with a constant body of size bytes: this program, as a child.
func (b *bench) constant(ctx context.Context, size int, cfg lab.Config) (r lab.Result, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return r, err
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		return r, err
	}
	child := exec.Command(b.self, "--constant", addr, "--size", strconv.Itoa(size))
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		return r, err
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	for deadline := time.Now().Add(5 * time.Second); ; {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(deadline) {
			return r, fmt.Errorf("the constant server does not answer: %w", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	cfg.URL, cfg.JWTSecret, cfg.Campaign, cfg.PID = "http://"+addr, "no secret", "constant", child.Process.Pid
	return lab.Measure(ctx, cfg)
}

// refusals: a campaign of one unit, so that nearly all are refused; once with tokens the server has not seen, once
// more with the same tokens; beside a constant answer of the same size.
func refusals(ctx context.Context, b *bench) error {
	var warm, cold, base samples
	var m, fresh meter
	for range b.runs {
		err := func() error {
			p, err := b.serve(ctx, "", 0)
			if err != nil {
				return err
			}
			defer p.Stop()
			cfg := lab.Config{Buyers: b.of(200_000, 40_000), Stock: 1, Seed: 7}
			first, err := b.run(ctx, p, cfg)
			if err != nil {
				return err
			}
			cfg.Campaign = first.Setup.Campaign
			again, err := b.run(ctx, p, cfg)
			if err != nil {
				return err
			}
			size, err := refusalSize(ctx, p, cfg.Campaign)
			if err != nil {
				return err
			}
			c, err := b.constant(ctx, size, lab.Config{Buyers: cfg.Buyers})
			if err != nil {
				return err
			}
			m.add(again)
			fresh.add(first)
			m.addBase(c)
			fresh.addBase(c)
			cold, warm, base = append(cold, first.Speed.ClaimsPerS), append(warm, again.Speed.ClaimsPerS),
				append(base, c.Speed.ClaimsPerS)
			return nil
		}()
		if err != nil {
			return err
		}
	}
	g := ratioAtLeast(0.8, "at least 0.8 of the constant answer")
	err := b.record("refusals", "claims/s", warm, "constant answer", base, g, m.costs(),
		"tokens verified before")
	return errors.Join(err,
		b.record("refusals_new_tokens", "claims/s", cold, "constant answer", base, g, fresh.costs(),
			"each token is new"))
}

// refusalSize asks once, as any client would, and gives the bytes of the answer's body.
func refusalSize(ctx context.Context, p *lab.Process, campaign string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/v1/campaigns/"+campaign+"/claims", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+lab.Token(p.JWTSecret, "late", time.Now(), time.Hour))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err == nil && !strings.Contains(string(body), "SOLD_OUT") {
		err = fmt.Errorf("not a refusal: %s", body)
	}
	return len(body), err
}

// confirmed: stock for everyone; beside one transaction per claim on the same store.
func confirmed(ctx context.Context, b *bench) error {
	var values, base samples
	var m meter
	for range b.runs {
		r, err := b.sale(ctx, lab.Config{Buyers: b.of(200_000, 40_000), Stock: 10_000_000})
		if err != nil {
			return err
		}
		values = append(values, r.Speed.ConfirmedPerS)
		m.add(r)
		one, err := b.oneTransactionEach(ctx)
		if err != nil {
			return err
		}
		base = append(base, one)
	}
	g := goal{"at least 30,000/s, and 10 times the baseline", func(v, ratio float64) bool {
		return v >= 30_000 && ratio >= 10
	}}
	return b.record("confirmed", "claims/s", values, "one transaction per claim", base, g, m.costs(), "")
}

// loaded: a server that restarts on 5 million claims; its memory; its speed, beside that of an empty campaign.
func loaded(ctx context.Context, b *bench) error {
	n := b.of(5_000_000, 200_000)
	dir, rows, cursor, err := b.filledFolder(ctx, n)
	if err != nil {
		return err
	}
	var speed, base, restart, bytes samples
	var m meter
	crowd := lab.Config{Buyers: b.of(200_000, 40_000), Stock: 10_000_000}
	for range b.runs {
		err := func() error {
			empty, err := b.serve(ctx, "", 0)
			if err != nil {
				return err
			}
			defer empty.Stop()
			without, err := residentBytes(empty.PID)
			if err != nil {
				return err
			}
			r, err := b.run(ctx, empty, crowd)
			if err != nil {
				return err
			}
			base = append(base, r.Speed.ConfirmedPerS)
			m.addBase(r)
			empty.Stop()

			began := time.Now()
			p, err := b.serve(ctx, dir, 2*time.Minute)
			if err != nil {
				return err
			}
			defer p.Stop()
			restart = append(restart, time.Since(began).Seconds())
			with, err := residentBytes(p.PID)
			if err != nil {
				return err
			}
			bytes = append(bytes, float64(with-without)/float64(rows))
			more := crowd
			more.Campaign, more.Cursor = filled, strconv.FormatInt(cursor+rows, 10)
			if r, err = b.run(ctx, p, more); err != nil {
				return err
			}
			rows += r.Speed.Confirmed
			speed = append(speed, r.Speed.ConfirmedPerS)
			m.add(r)
			return nil
		}()
		if err != nil {
			return err
		}
	}
	note := fmt.Sprintf("%d claims at the start", n)
	quarter := ratioAtLeast(0.75, "at least 0.75 of the empty campaign")
	return errors.Join(
		b.record("confirmed_loaded", "claims/s", speed, "empty campaign", base, quarter, m.costs(), note),
		b.record("memory_per_claim", "bytes", bytes, "none", nil, atMost(250, "at most 250 bytes"), costs{},
			"resident, right after the start"),
		b.record("restart_loaded", "s", restart, "none", nil, atMost(15, "at most 15 s"), costs{}, note),
	)
}

// residentBytes gives the resident memory of a process on Linux.
func residentBytes(pid int) (int64, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	for text := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(text, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb * 1024, err
		}
	}
	return 0, errors.New("no VmRSS in /proc")
}

// latency: the canonical sale gives the peak; half of it, spread evenly, gives the p99.
func latency(ctx context.Context, b *bench) error {
	err := b.atHalf(ctx, "p99_at_half_peak", lab.Config{Buyers: b.of(200_000, 40_000), Stock: 10_000_000},
		func(r *lab.Result) float64 { return r.Speed.ConfirmedPerS }, "every claim confirmed")
	return errors.Join(err, b.atHalf(ctx, "p99_at_half_peak_canonical",
		lab.Config{Buyers: b.of(100_000, 20_000), Stock: int64(b.of(10_000, 2000))},
		func(r *lab.Result) float64 { return r.Speed.ClaimsPerS }, "a tenth confirmed, in the first half second"))
}

// atHalf finds the peak rate of a sale, then runs a flat one of five seconds at half of it.
func (b *bench) atHalf(
	ctx context.Context, name string, sale lab.Config, rateOf func(*lab.Result) float64, note string,
) error {
	var p99, base samples
	var m meter
	var rate float64
	for range b.runs {
		peak, err := b.sale(ctx, sale)
		if err != nil {
			return err
		}
		rate = rateOf(&peak) / 2
		seconds := float64(b.of(5, 2))
		half := lab.Config{Buyers: int(rate * seconds), Stock: sale.Stock, Seconds: seconds, Shape: lab.ShapeFlat}
		r, err := b.sale(ctx, half)
		if err != nil {
			return err
		}
		p99 = append(p99, r.Latency.All.P99)
		m.add(r)
		c, err := b.constant(ctx, 200, half)
		if err != nil {
			return err
		}
		base = append(base, c.Latency.All.P99)
		m.addBase(c)
	}
	return b.record(name, "ms", p99, "constant answer", base, atMost(20, "at most 20 ms"), m.costs(),
		fmt.Sprintf("at %.0f claims/s, %s", rate, note))
}
