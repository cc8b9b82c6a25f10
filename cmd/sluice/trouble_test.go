package main

import (
	"io"
	"path/filepath"
	"runtime"
	"testing"
	"time"

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
		ID: id, Kind: sluice.KindGoods, Title: "t", Total: 10, PerUserLimit: 1,
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
