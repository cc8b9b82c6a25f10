package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/config"
)

var hand = sluice.Actor{KeyID: "k", Name: "test", Role: sluice.RoleAdmin}

// inProcess starts a server in a folder of its own.
func inProcess(t *testing.T) *server {
	t.Helper()
	cfg, err := config.Load(config.Sources{Flags: map[string]string{
		"data": filepath.Join(t.TempDir(), "data"), "listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0",
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := startServer(t.Context(), cfg, serverOptions{log: io.Discard, progress: io.Discard, started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func onSale(t *testing.T, s *server, id string) {
	t.Helper()
	now := sluice.MillisOf(time.Now())
	_, err := s.parts.campaigns.Create(t.Context(), sluice.CampaignSpec{
		ID: id, Kind: sluice.KindGoods, Title: "t", Total: 1000, PerUserLimit: 1,
		StartsAt: now.Add(-time.Hour), EndsAt: now.Add(time.Hour),
		Goods: &sluice.Goods{SKU: "s", PriceMinor: 100, Currency: "CNY", UnpaidWindowSec: 900},
	}, hand)
	if err != nil {
		t.Fatal(err)
	}
}

// A store that cannot record a freeze is often why there is one: the freeze is not forgotten over it.
func TestAFreezeOutlivesAStoreThatRefuses(t *testing.T) {
	s := inProcess(t)
	onSale(t, s, "a")
	onSale(t, s, "b")
	if err := s.parts.ledger.SetReadOnly(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	s.parts.freeze(s, "a", "a test")
	if err := s.parts.ledger.SetReadOnly(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; runtime.Gosched() {
		c, ok := s.parts.gate.Campaign("a")
		if ok && c.Control == sluice.ControlFrozen {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("the freeze was forgotten")
		}
	}
	if err := s.parts.ledger.SetReadOnly(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	s.parts.freeze(s, "b", "a test")
	if err := s.stop(t.Context()); err != nil { // and it does not hold up the end
		t.Error(err)
	}
}

// An operator may act while the server starts: what was read before that is not put in force over it.
func TestArmingKeepsWhatAnOperatorDidMeanwhile(t *testing.T) {
	s := inProcess(t)
	onSale(t, s, "a")
	read, err := s.parts.ledger.Campaigns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.parts.campaigns.Command(t.Context(), "a", sluice.CommandPause, hand); err != nil {
		t.Fatal(err)
	}
	s.parts.admit(read)
	if c, _ := s.parts.gate.Campaign("a"); c.Control != sluice.ControlPaused {
		t.Errorf("the campaign is %s", c.Control)
	}
	if err := s.stop(t.Context()); err != nil {
		t.Error(err)
	}
}

type buyersAnswer struct {
	Status     int
	Code       string `json:"code"`
	OrderID    string `json:"order_id"`
	Replayed   bool   `json:"replayed"`
	RetryAfter int64  `json:"retry_after_ms"`
}

// askAs sends one request of a buyer.
func askAs(t *testing.T, s *server, user, method, path, body string) (a buyersAnswer) {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": user, "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString([]byte(s.cfg.JWT.Secret[0].Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.publicURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	a.Status = resp.StatusCode
	return a
}

// A store that refuses is BUSY to claims and 503 to the rest; what it has is still read; and it is used again as soon
// as it can be, without a restart.
func TestAStoreThatRefusesAsBuyersSeeIt(t *testing.T) {
	const claims, wallet = "/v1/campaigns/a/claims", "/v1/me/orders"
	s := inProcess(t)
	onSale(t, s, "a")
	ledger := s.parts.ledger
	first := askAs(t, s, "first", "POST", claims, `{"request_id":"r"}`)
	for name, set := range map[string]func(broken bool) error{
		"read-only": func(broken bool) error { return ledger.SetReadOnly(t.Context(), broken) },
		"full": func(broken bool) error {
			if broken {
				return ledger.SetMaxPages(t.Context(), 1)
			}
			return ledger.SetMaxPages(t.Context(), 1<<30)
		},
	} {
		if err := set(true); err != nil {
			t.Fatal(err)
		}
		big := strings.Repeat("r", 100)
		busy := 0
		for i := 0; i < 500 && busy < 3; i++ { // there may be room on a page yet
			a := askAs(t, s, fmt.Sprint(name, i), "POST", claims, fmt.Sprintf(`{"request_id":"%s%d"}`, big, i))
			if a.Code == "BUSY" && a.Status == 200 && a.RetryAfter > 0 {
				busy++
			} else if a.Code != "CONFIRMED" || name == "read-only" {
				t.Errorf("%s: a claim: %+v", name, a)
			}
		}
		if busy < 3 {
			t.Errorf("%s: no claim was refused", name)
		}
		if a := askAs(t, s, "first", "POST", claims, `{"request_id":"r"}`); a.Code != "CONFIRMED" || !a.Replayed {
			t.Errorf("%s: a replay: %+v", name, a)
		}
		if a := askAs(t, s, "first", "GET", wallet, ""); a.Status != 200 {
			t.Errorf("%s: the wallet: %+v", name, a)
		}
		a := askAs(t, s, "first", "POST", "/v1/orders/"+first.OrderID+"/cancel", "")
		if name == "read-only" && a.Status != 503 {
			t.Errorf("%s: a cancel: %+v", name, a)
		}
		if err := set(false); err != nil {
			t.Fatal(err)
		}
		if a := askAs(t, s, "after "+name, "POST", claims, `{"request_id":"r"}`); a.Code != "CONFIRMED" {
			t.Errorf("%s: a claim afterwards: %+v", name, a)
		}
		if v, err := s.parts.campaigns.Verify(t.Context(), "a"); err != nil || !v.OK {
			t.Errorf("%s: %+v %v", name, v, err)
		}
	}
	if err := s.stop(t.Context()); err != nil {
		t.Error(err)
	}
}
