package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
)

// A model out of bounds names the field; nothing is started.
func TestBotsOutOfBounds(t *testing.T) {
	t.Parallel()
	for field, b := range map[string]Bots{
		"buyers":       {Honest: 20_001},
		"stock":        {Stock: -1},
		"bot-accounts": {Accounts: 20_001},
		"bot-share":    {RequestShare: 1},
		"solvers":      {Solvers: 1001},
		"lead":         {LeadMS: 1},
		"early":        {EarlyClaims: 201},
		"challenge":    {Challenge: "slider"},
		"carrier":      {Carrier: 1.5},
	} {
		_, err := RunBots(t.Context(), BotsConfig{Bots: b, Start: func(context.Context) (*Process, error) {
			t.Error("a server was started")
			return nil, sluice.ErrUnavailable
		}})
		var fault *sluice.Fault
		if !errors.As(err, &fault) || fault.Fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// The same seed makes the same crowd, with the shares that the model says.
func TestFarmIsTheModel(t *testing.T) {
	t.Parallel()
	b := Bots{Seed: 5, Carrier: 0.1, Family: 0.1}.withDefaults()
	p := &Process{URL: "http://127.0.0.1:1", JWTSecret: "secret"}
	farm := func() *farm {
		f, err := newFarm(b, sluice.PassOff, p)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	one, two := farm(), farm()
	devices, addresses := map[string]int{}, map[string]int{}
	carrier, shares := 0, 0
	for i, a := range one.agents {
		if o := two.agents[i]; a.user != o.user || a.device != o.device || a.addr != o.addr {
			t.Fatalf("agent %d is %+v, then %+v", i, a, o)
		}
		if a.bot {
			addresses[a.addr]++
			if devices[a.device]++; a.forger != (a.device == "") {
				t.Fatalf("a forger with a device: %+v", a)
			}
			continue
		}
		if a.carrier {
			carrier++
		}
		if a.shares {
			shares++
		}
	}
	if len(one.agents) != b.Honest+b.Accounts || carrier < 140 || carrier > 260 || shares < 100 || shares > 300 ||
		shares%2 != 0 {
		t.Errorf("%d agents, %d behind the carrier, %d share a device", len(one.agents), carrier, shares)
	}
	for address, n := range addresses {
		if n > b.PerAddress {
			t.Errorf("%d accounts on %s", n, address)
		}
	}
	for device, n := range devices {
		if device != "" && n > b.PerDevice {
			t.Errorf("%d accounts on %s", n, device)
		}
	}
	if share := float64(b.Tries*b.Accounts) / (float64(b.Tries*b.Accounts) + 1.15*float64(b.Honest)); share < 0.75 ||
		share > 0.85 {
		t.Errorf("bots send %.2f of the claims", share)
	}
}

func TestSolvePoW(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("salt?" + "417"))
	data := fmt.Sprintf(`{"algorithm":"SHA-256","challenge":%q,"salt":"salt?","maxnumber":1000,"signature":"s"}`,
		hex.EncodeToString(sum[:]))
	number := func(wrong bool) int64 {
		var text string
		var s struct{ Number int64 }
		raw := solvePoW([]byte(data), wrong)
		if json.Unmarshal(raw, &text) != nil {
			t.Fatalf("%s is no text", raw)
		}
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil || json.Unmarshal(b, &s) != nil {
			t.Fatalf("%s: %v", b, err)
		}
		return s.Number
	}
	if n := number(false); n != 417 {
		t.Errorf("found %d, want 417", n)
	}
	if n := number(true); n == 417 {
		t.Error("a wrong answer is right")
	}
	for _, bad := range []string{`{`, `{"algorithm":"MD5"}`, strings.Replace(data, "417", "x", 1)[:40], `null`,
		strings.Replace(data, "1000", "416", 1)} {
		if got := solvePoW([]byte(bad), false); got != nil {
			t.Errorf("%s has the solution %s", bad, got)
		}
	}
}

// The promises are kept only where all of them are.
func TestBotsPromises(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		off, adaptive, challenged float64
		ok, kept                  bool
	}{
		"kept":                 {0.2, 0.9, 0.001, true, true},
		"too little":           {0.2, 0.59, 0, true, false},
		"too many challenged":  {0.2, 0.9, 0.01, true, false},
		"the word was broken":  {0.2, 0.9, 0, false, false},
		"nothing without, one": {0, 0.05, 0, true, true},
	} {
		r := BotsResult{Raids: []Raid{
			{Mode: sluice.PassOff, Share: tt.off, Units: 100, Verdict: RaidVerdict{OK: true}},
			{Mode: sluice.PassAdaptive, Share: tt.adaptive, Units: 100, ShareChal: tt.challenged,
				Verdict: RaidVerdict{OK: tt.ok}},
			{Mode: sluice.PassAlways, Units: 100, Verdict: RaidVerdict{OK: true}},
		}}
		r.judge()
		if r.Kept != tt.kept || r.OK() != tt.ok {
			t.Errorf("%s: kept %v, ok %v, gain %v", name, r.Kept, r.OK(), r.Gain)
		}
		var text bytes.Buffer
		if err := r.WriteText(&text, nil); err != nil || strings.Contains(text.String(), "FAIL") == tt.ok {
			t.Errorf("%s: %v\n%s", name, err, text.String())
		}
	}
}
