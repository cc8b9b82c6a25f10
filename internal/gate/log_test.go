package gate_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// lines is a writer that may be read at any time; gate, where set, is what each Write waits for.
type lines struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	wait chan struct{}
	err  error
}

func (l *lines) Write(p []byte) (int, error) {
	if l.wait != nil {
		<-l.wait
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	return l.buf.Write(p)
}

func (l *lines) all(tb testing.TB) []map[string]any {
	tb.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []map[string]any
	for s := bufio.NewScanner(bytes.NewReader(l.buf.Bytes())); s.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			tb.Fatalf("%s: %v", s.Bytes(), err)
		}
		all = append(all, line)
	}
	return all
}

func TestDecisionLog(t *testing.T) {
	out := new(lines)
	r := newRig(t, func(c *gate.Config) { c.DecisionLog = out })
	req := r.request(t, "alice\"\\\u2028张")
	req.RequestID, req.Pass, req.Device = "a very secret request", "a pass", "tele\nphone \xff"
	r.claim(t, req, sluice.ReasonConfirmed)
	r.SetSwitches([]sluice.SwitchSetting{set(sluice.SwitchDecisionLog, "", 1)})
	confirmed := r.claim(t, req, sluice.ReasonConfirmed)
	r.admitter.soldOut.Store(true)
	r.claim(t, req, sluice.ReasonSoldOut)
	bad := *req
	bad.Token, bad.Campaign = []byte("nonsense"), "no \"such\""
	r.claim(t, &bad, sluice.ReasonUnknownCampaign)
	r.SetSwitches(nil)
	r.claim(t, req, sluice.ReasonSoldOut)
	r.Close()
	got := out.all(t)
	if len(got) != 3 {
		t.Fatalf("%d lines, want those of the time when the switch was on: %v", len(got), got)
	}
	for i, want := range []map[string]any{
		{"check": "admission", "reason": "CONFIRMED", "claim_id": confirmed.ID.String(), "campaign": "spring",
			"user": "alice\"\\\u2028张", "device": "tele\nphone \ufffd", "addr": "192.0.2.7",
			"time": "2026-11-11T12:01:00.000Z", "after_ms": 60000.0, "quantity": 1.0},
		{"check": "marker", "reason": "SOLD_OUT"},
		{"check": "campaign", "reason": "UNKNOWN_CAMPAIGN", "campaign": "no \"such\"", "user": nil},
	} {
		for k, v := range want {
			if got[i][k] != v {
				t.Errorf("line %d: %s is %v, want %v", i, k, got[i][k], v)
			}
		}
	}
	if got[0]["request"] != got[1]["request"] || len(got[0]["request"].(string)) != 16 {
		t.Errorf("request hashes %v and %v", got[0]["request"], got[1]["request"])
	}
	text := out.buf.String()
	for _, secret := range []string{"very secret", "a pass", string(req.Token)} {
		if strings.Contains(text, secret) {
			t.Errorf("the log tells %q", secret)
		}
	}
}

// TestDecisionLogNeverHoldsUp: a writer that stands still costs lines, not claims; what was dropped is counted.
func TestDecisionLogNeverHoldsUp(t *testing.T) {
	out := &lines{wait: make(chan struct{})}
	r := newRig(t, func(c *gate.Config) { c.DecisionLog, c.DecisionLogQueue = out, 8 })
	r.SetSwitches([]sluice.SwitchSetting{set(sluice.SwitchDecisionLog, "", 1)})
	r.admitter.soldOut.Store(true)
	req := r.request(t, "alice")
	const claims = 1000
	for range claims {
		r.claim(t, req, sluice.ReasonSoldOut)
	}
	close(out.wait)
	r.Close()
	written := int64(len(out.all(t)))
	if written < 8 || written+r.DroppedLogLines() != claims {
		t.Errorf("%d written and %d dropped of %d", written, r.DroppedLogLines(), claims)
	}
	r.claim(t, req, sluice.ReasonSoldOut)
	if written+r.DroppedLogLines() != claims+1 {
		t.Errorf("after Close: %d dropped", r.DroppedLogLines())
	}
}

func TestDecisionLogThatFails(t *testing.T) {
	out := &lines{err: errors.New("disk full")}
	r := newRig(t, func(c *gate.Config) { c.DecisionLog = out })
	r.SetSwitches([]sluice.SwitchSetting{set(sluice.SwitchDecisionLog, "", 1)})
	r.claim(t, r.request(t, "alice"), sluice.ReasonConfirmed)
	r.Close()
	if n := r.DroppedLogLines(); n != 1 {
		t.Errorf("%d dropped, want 1", n)
	}
}
