package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// fakeGate answers what the test tells it to, and keeps copies of what it was asked.
type fakeGate struct {
	mu       sync.Mutex
	decide   func(ctx context.Context, req *sluice.ClaimRequest) sluice.Decision
	asked    []sluice.ClaimRequest
	campaign *sluice.Campaign
}

func (g *fakeGate) Claim(ctx context.Context, req *sluice.ClaimRequest) sluice.Decision {
	c := *req
	c.Campaign, c.RequestID, c.Pass = strings.Clone(c.Campaign), strings.Clone(c.RequestID), strings.Clone(c.Pass)
	c.Device, c.Token = strings.Clone(c.Device), append([]byte(nil), c.Token...)
	g.mu.Lock()
	g.asked = append(g.asked, c)
	g.mu.Unlock()
	if g.decide == nil {
		return sluice.Refuse(sluice.ReasonSoldOut)
	}
	return g.decide(ctx, req)
}

func (g *fakeGate) last() (sluice.ClaimRequest, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.asked) == 0 {
		return sluice.ClaimRequest{}, false
	}
	return g.asked[len(g.asked)-1], true
}

func (g *fakeGate) Identify(token []byte) (sluice.Identity, error) {
	user, ok := strings.CutPrefix(string(token), "buyer-")
	if !ok {
		return sluice.Identity{}, errors.New("no such token")
	}
	return sluice.Identity{User: user}, nil
}

func (g *fakeGate) Campaign(id string) (*sluice.Campaign, bool) {
	return g.campaign, g.campaign != nil && g.campaign.ID == id
}

type fakeClaims struct {
	mu   sync.Mutex
	all  map[sluice.ClaimID]sluice.ClaimRecord
	fail error
	news chan struct{} // closed and replaced by put
}

func (f *fakeClaims) ClaimRecord(_ context.Context, id sluice.ClaimID) (sluice.ClaimRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.all[id]
	if !ok && f.fail == nil {
		return r, fmt.Errorf("claim: %w", sluice.ErrNotFound)
	}
	return r, f.fail
}

func (f *fakeClaims) Await(ctx context.Context, id sluice.ClaimID, wait time.Duration) (sluice.ClaimRecord, error) {
	over := time.After(wait)
	for {
		f.mu.Lock()
		if f.news == nil {
			f.news = make(chan struct{})
		}
		news := f.news
		f.mu.Unlock()
		r, err := f.ClaimRecord(ctx, id)
		if err == nil && r.State != sluice.ClaimQueued {
			return r, nil
		}
		select {
		case <-news:
		case <-over:
			return r, err
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
}

func (f *fakeClaims) UserClaims(_ context.Context, user, campaign string) (all []sluice.ClaimRecord, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.all {
		if r.User == user && r.Campaign == campaign {
			all = append(all, r)
		}
	}
	return all, f.fail
}

func (f *fakeClaims) put(r sluice.ClaimRecord) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[sluice.ClaimID]sluice.ClaimRecord{}
	}
	f.all[r.ID] = r
	if f.news != nil {
		close(f.news)
		f.news = nil
	}
}

// fakeKeys knows keys by their text; the id is the text too.
type fakeKeys map[string]sluice.APIKey

func (k fakeKeys) KeyByHash(_ context.Context, hash [32]byte) (sluice.APIKey, error) {
	for text, key := range k {
		if sha256.Sum256([]byte(text)) == hash {
			key.ID, key.Hash = text, hash
			return key, nil
		}
	}
	return sluice.APIKey{}, sluice.ErrNotFound
}

type fakeCampaigns struct {
	mu    sync.Mutex
	views []sluice.CampaignView
	fail  error
	calls int
}

func (f *fakeCampaigns) Views(context.Context) ([]sluice.CampaignView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	return append([]sluice.CampaignView(nil), f.views...), f.fail
}

// clock is a clock that the test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 6, 18, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func spring() *sluice.Campaign {
	return &sluice.Campaign{ID: "spring", Kind: sluice.KindGoods, PerUserLimit: 5, Control: sluice.ControlOpen}
}

// public makes a listener that is driven by its handler, without a network.
func public(t testing.TB, cfg api.PublicConfig, deps api.PublicDeps) *api.Public {
	t.Helper()
	p, err := api.NewPublic(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// answer is a response of either listener.
type answer struct {
	status int
	header func(string) string
	body   string
}

func (a answer) json(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("not JSON: %v: %s", err, a.body)
	}
	return v
}

// field gives a field of a JSON answer, "" where it is absent.
func (a answer) field(t testing.TB, name string) string {
	t.Helper()
	v, ok := a.json(t)[name]
	if !ok {
		return ""
	}
	return fmt.Sprint(v)
}

// do sends one request to the handler. Headers are "Name: value".
func do(p *api.Public, peer, method, uri, body string, headers ...string) answer {
	var ctx fasthttp.RequestCtx
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(uri)
	req.Header.SetHost("sluice.test")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	if body != "" {
		req.SetBodyString(body)
	}
	addr, err := net.ResolveTCPAddr("tcp", peer)
	if err != nil {
		panic(err)
	}
	ctx.Init(&req, addr, nil)
	p.Handle(&ctx)
	return answer{
		status: ctx.Response.StatusCode(), body: string(ctx.Response.Body()),
		header: func(name string) string { return string(ctx.Response.Header.Peek(name)) },
	}
}

const peer = "198.51.100.7:4711"

const isJSON = "Content-Type: application/json"

const alice = "Authorization: Bearer buyer-alice"

func decided(d sluice.Decision) func(context.Context, *sluice.ClaimRequest) sluice.Decision {
	return func(context.Context, *sluice.ClaimRequest) sluice.Decision { return d }
}
