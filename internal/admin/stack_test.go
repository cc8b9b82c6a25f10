package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/api"
	"github.com/sluice-sale/sluice/internal/gate"
	"github.com/sluice-sale/sluice/internal/memory"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

const bootstrapKey = "the-first-key-of-all"

// stack is the desks of operators on the real ledger, the real admission and the real gate, spoken to by HTTP.
type stack struct {
	t         *testing.T
	path      string
	clock     *clock
	db        *sqldb.DB
	admission *memory.Admission
	gate      *gate.Gate
	campaigns *admin.Campaigns
	switches  *admin.Switches
	sessions  *admin.Sessions
	keys      *admin.Keys
	server    *httptest.Server
	live      []*admin.Live
	switched  []sluice.SwitchSetting // as the live view sees them
}

// clock is a wall clock that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

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

// Publish does what the wiring of the server does.
func (s *stack) Publish(ctx context.Context, c sluice.Campaign) error {
	if err := s.admission.Put(ctx, c); err != nil {
		return err
	}
	s.gate.PutCampaign(c)
	return nil
}

func newStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{t: t, path: filepath.Join(t.TempDir(), "ledger.db"), clock: &clock{at: now.Time()}}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *stack) start() {
	s.t.Helper()
	ctx := context.Background()
	must := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	var err error
	s.db, err = sqldb.Open(ctx, sqldb.Config{Path: s.path, CacheMB: 16})
	must(err)
	s.admission = memory.New(memory.Config{Now: s.clock.now}, s.db)
	s.db.SetPermit(s.admission)
	tokens, err := gate.NewTokens(ctx, gate.TokenConfig{Secrets: [][]byte{bytes.Repeat([]byte("s"), 32)}})
	must(err)
	s.gate = gate.New(gate.Config{Tokens: tokens, Now: s.clock.now, LimiterKeys: 1 << 10}, s.admission)
	s.t.Cleanup(tokens.Close)
	all, err := s.db.Campaigns(ctx)
	must(err)
	must(s.admission.Arm(ctx, all, nil))
	s.gate.PutCampaigns(all)

	keys := admin.NewKeys(admin.KeysConfig{Ledger: s.db, Bootstrap: []string{bootstrapKey}, Now: s.clock.now})
	must(keys.Load(ctx))
	s.keys = keys
	s.sessions = admin.NewSessions(admin.SessionsConfig{Ledger: s.db, Keys: keys, Now: s.clock.now})
	s.switches = admin.NewSwitches(admin.SwitchesConfig{Ledger: s.db, Board: s.gate, Now: s.clock.now})
	must(s.switches.Load(ctx))
	blocklist := admin.NewBlocklist(admin.BlocklistConfig{Ledger: s.db, Gate: s.gate, Now: s.clock.now})
	must(blocklist.Load(ctx))
	s.campaigns = admin.NewCampaigns(admin.CampaignsConfig{Ledger: s.db, Publisher: s, Permits: s.admission,
		Verifier: s.db, Noter: s.db, Releases: s.db, Now: s.clock.now})
	reports := admin.NewReports(admin.ReportsConfig{Ledger: s.db, Tally: s.gate.Tally(), Permits: s.admission,
		Verifier: s.db, Now: s.clock.now})
	face, err := api.NewAdmin(api.AdminConfig{Now: s.clock.now}, api.AdminDeps{
		Keys: keys, KeyDesk: keys, Sessions: s.sessions, Shelf: s.campaigns, Campaigns: s.campaigns,
		Stock:    admin.NewStock(admin.StockConfig{Ledger: s.db, Adjuster: s.admission, Now: s.clock.now}),
		Grants:   admin.NewGrants(admin.GrantsConfig{Ledger: s.db, Admitter: s.admission, Noter: s.db, Now: s.clock.now}),
		Switches: s.switches, Blocklist: blocklist, Audit: s.db, Events: s.db, Claims: s.db,
		Lookup: admin.NewLookup(admin.LookupConfig{Ledger: s.db, Now: s.clock.now, Fired: s.db.FiredPage}),
		Audience: admin.NewAudience(admin.AudienceConfig{Ledger: s.db, Campaigns: s.db, Gate: s.gate, Noter: s.db,
			Now: s.clock.now}),
		Links:   admin.NewLinks(admin.LinksConfig{Ledger: s.db, Campaigns: s.db, Reports: reports, Now: s.clock.now}),
		Reports: reports, Live: s.watch(reports, s.db),
		Reconcile: s.reconcile(),
	})
	must(err)
	s.server = httptest.NewServer(face)
}

// watch makes a live view of a server that is well.
func (s *stack) watch(r *admin.Reports, ledger admin.LiveLedger) *admin.Live {
	l := admin.NewLive(admin.LiveConfig{Ledger: ledger, Reports: r,
		Health: func(context.Context) sluice.Health {
			return sluice.Health{Parts: map[string]sluice.PartState{"ledger": sluice.PartUp}, Alive: 1, InForce: 1}
		},
		Switches: func() []sluice.SwitchSetting { return s.switched },
	})
	s.live = append(s.live, l)
	return l
}

func (s *stack) stop() {
	for _, l := range s.live {
		l.Stop()
	}
	s.live = nil
	s.server.Close()
	s.admission.Close()
	s.gate.Close()
	_ = s.db.Close()
}

func (s *stack) restart() {
	s.stop()
	s.start()
}

// answer is what a call gave. Its body was JSON, or JSON lines.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
}

// get reads one value of the answer by its path, such as "goods.currency"; arrays by number.
func (a answer) get(t *testing.T, path string) any {
	t.Helper()
	var v any
	a.into(t, &v)
	for step := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(x) {
				t.Fatalf("no %s in %s", path, a.body)
			}
			v = x[i]
		default:
			t.Fatalf("no %s in %s", path, a.body)
		}
	}
	return v
}

// call makes one call. body is sent as it is where it is a reader, else as JSON; nil sends none.
func (s *stack) call(key, method, path string, body any, headers ...string) answer {
	s.t.Helper()
	var in io.Reader
	kind := ""
	switch b := body.(type) {
	case nil:
	case io.Reader:
		in = b
	default:
		text, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		in, kind = bytes.NewReader(text), "application/json"
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.server.URL+path, in)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.server.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, text}
}

// want makes a call with the first key and fails unless it has the status.
func (s *stack) want(status int, method, path string, body any, headers ...string) answer {
	s.t.Helper()
	a := s.call(bootstrapKey, method, path, body, headers...)
	if a.status != status {
		s.t.Fatalf("%s %s: %d %s, want %d", method, path, a.status, a.body, status)
	}
	return a
}

type object = map[string]any

// goodsBody is a campaign that is live from the stack's start on.
func goodsBody(id string, total int64) object {
	return object{
		"id": id, "kind": "goods", "title": "Spring sale", "total": total, "per_user_limit": 3,
		"starts_at": now.Time().Add(-time.Second), "ends_at": now.Time().Add(time.Hour),
		"goods": object{"sku": "s1", "price_minor": 9900, "currency": "CNY"},
	}
}

func couponBody(id string, total int64) object {
	b := goodsBody(id, total)
	delete(b, "goods")
	b["kind"] = "coupon"
	b["coupon"] = object{"type": "amount_off", "value": 1000, "currency": "CNY", "valid_days": 7}
	return b
}

func (s *stack) verified(id string) {
	s.t.Helper()
	if a := s.want(200, "GET", "/v1/admin/campaigns/"+id+"/verify", nil); a.get(s.t, "ok") != true {
		s.t.Errorf("verify: %s", a.body)
	}
}
