package client_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/client"
)

// heard is one request of a scripted server.
type heard struct {
	path, body string
	header     http.Header
}

// scripted answers with one answer after the other, the last one again and again, and keeps what it heard.
func scripted(t *testing.T, answers ...string) (*client.Client, *[]heard) {
	t.Helper()
	all := &[]heard{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*all = append(*all, heard{r.URL.Path, string(body), r.Header})
		answer := answers[min(len(*all), len(answers))-1]
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(answer, `"status":`) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	c := client.New(s.URL, client.StaticToken("alice"))
	c.Rand = func() float64 { return 0 }
	return c, all
}

// work is a proof of work whose number is 77.
func work() string {
	sum := sha256.Sum256([]byte("salt?x=177"))
	return fmt.Sprintf(`{"algorithm":"SHA-256","challenge":"%x","maxnumber":1000,"salt":"salt?x=1","signature":"s"}`, sum)
}

const (
	passRequired = `{"code":"PASS_REQUIRED"}`
	confirmed    = `{"code":"CONFIRMED","state":"confirmed"}`
)

// TestClaimEarnsAPass: the first pass comes without a challenge and is not enough; the next is asked for with one.
func TestClaimEarnsAPass(t *testing.T) {
	c, all := scripted(t, passRequired, `{"pass":"p1.free"}`, passRequired,
		`{"challenge":{"id":"chl_1","type":"pow","data":`+work()+`}}`, `{"pass":"p1.solved"}`, confirmed)
	claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{RequestID: "r1"})
	if err != nil || !claim.Won() {
		t.Fatalf("%+v %v", claim, err)
	}
	for i, want := range []string{
		`{"request_id":"r1"}`, `{}`, `{"request_id":"r1","pass":"p1.free"}`, `{"challenge":"pow"}`,
		`"challenge_id":"chl_1"`, `{"request_id":"r1","pass":"p1.solved"}`,
	} {
		if !strings.Contains((*all)[i].body, want) {
			t.Errorf("request %d: %s, want %s", i, (*all)[i].body, want)
		}
		if d := (*all)[i].header.Get("X-Device-Id"); d == "" || d != c.Device {
			t.Errorf("request %d: device %q", i, d)
		}
	}
	var sent struct{ Solution string }
	if err := json.Unmarshal([]byte((*all)[4].body), &sent); err != nil {
		t.Fatal(err)
	}
	text, err := base64.StdEncoding.DecodeString(sent.Solution)
	if err != nil || !strings.Contains(string(text), `"number":77`) {
		t.Errorf("the solution: %s %v", text, err)
	}
}

// TestPassesAreBounded: a server that is never content gets its refusal back after three passes.
func TestPassesAreBounded(t *testing.T) {
	c, all := scripted(t, passRequired, `{"pass":"a"}`, passRequired, `{"pass":"b"}`, passRequired, `{"pass":"c"}`,
		passRequired)
	claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{})
	if err != nil || claim.Reason() != sluice.ReasonPassRequired || len(*all) != 7 {
		t.Errorf("%+v %v after %d requests", claim, err, len(*all))
	}
	c, all = scripted(t, passRequired, `{"challenge":{"id":"c","type":"pow","data":`+work()+`}}`)
	if _, err := c.Claim(t.Context(), "spring", client.ClaimOptions{}); err == nil || len(*all) > 8 {
		t.Errorf("%v after %d requests of challenges without end", err, len(*all))
	}
}

// TestOtherChallenges go to the solver; without one proof of work is asked for in their place.
func TestOtherChallenges(t *testing.T) {
	slider := `{"challenge":{"id":"chl_1","type":"slider","data":{"y":3}}}`
	c, all := scripted(t, slider, `{"pass":"p"}`)
	if p, err := c.Pass(t.Context(), "spring"); err != nil || p.Text != "p" || (*all)[1].body != `{"challenge":"pow"}` {
		t.Errorf("%+v %v %+v", p, err, *all)
	}
	c, all = scripted(t, slider, `{"code":"CHALLENGE_FAILED","status":422}`, slider, `{"pass":"p"}`)
	c.Solver = func(_ context.Context, ch client.Challenge) (any, error) {
		return map[string]any{"x": 7, "saw": string(ch.Data)}, nil
	}
	p, err := c.Pass(t.Context(), "spring")
	if err != nil || p.Text != "p" || len(*all) != 4 || !strings.Contains((*all)[1].body, `"x":7`) {
		t.Errorf("%+v %v %+v", p, err, *all)
	}
}

// TestSignedByTheServersClock: a signature that is refused is made once more by the server's clock, with another nonce;
// a second refusal stands.
func TestSignedByTheServersClock(t *testing.T) {
	ahead := time.Now().Add(5 * time.Minute).UnixMilli()
	refusal := fmt.Sprintf(`{"code":"SIGNATURE_INVALID","server_time_ms":%d}`, ahead)
	c, all := scripted(t, refusal)
	claim, err := c.Claim(t.Context(), "spring", client.ClaimOptions{Pass: "p1.x", SigningKey: "the key"})
	if err != nil || claim.Reason() != sluice.ReasonSignatureInvalid || len(*all) != 2 {
		t.Fatalf("%+v %v after %d requests", claim, err, len(*all))
	}
	first, second := (*all)[0], (*all)[1]
	if first.header.Get("Sluice-Nonce") == second.header.Get("Sluice-Nonce") {
		t.Error("the nonce is used twice")
	}
	var at int64
	if _, err := fmt.Sscan(second.header.Get("Sluice-Timestamp"), &at); err != nil || at < ahead || at > ahead+30_000 {
		t.Errorf("signed at %d, and the server says %d", at, ahead)
	}
	for _, r := range *all {
		sum := sha256.Sum256([]byte(r.body))
		mac := hmac.New(sha256.New, []byte("the key"))
		_, _ = fmt.Fprintf(mac, "POST\n/v1/campaigns/spring/claims\n%x\n%s\n%s", sum, r.header.Get("Sluice-Timestamp"),
			r.header.Get("Sluice-Nonce"))
		if got := r.header.Get("Sluice-Request-Signature"); got != hex.EncodeToString(mac.Sum(nil)) {
			t.Errorf("signature %s", got)
		}
	}
}

// TestWorkIsBounded: what cannot be solved, or is too much, is an error and not a loop.
func TestWorkIsBounded(t *testing.T) {
	none := strings.Replace(work(), `"salt":"salt?x=1"`, `"salt":"pepper"`, 1)
	for _, data := range []string{none, `{}`, `7`, `{"algorithm":"MD5","challenge":"00"}`,
		strings.Replace(work(), "SHA-256", "SHA-1", 1)} {
		if text, err := client.Work(t.Context(), json.RawMessage(data)); !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%s: %s %v", data, text, err)
		}
	}
}

// TestLastingDevice: the id is drawn once, and a file that holds no id is not believed.
func TestLastingDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluice", "device")
	first, err := client.LastingDevice(path)
	if err != nil || len(first) != 26 {
		t.Fatal(first, err)
	}
	if again, err := client.LastingDevice(path); err != nil || again != first {
		t.Errorf("%s, then %s: %v", first, again, err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := client.LastingDevice(path); err != nil || again == first || len(again) != 26 {
		t.Errorf("%s: %v", again, err)
	}
	if _, err := client.LastingDevice(filepath.Join(path, "no")); err == nil {
		t.Error("a device in a file that is no folder")
	}
}
