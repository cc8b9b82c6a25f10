package e2e_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/test/e2e"
)

// signed gives an EdDSA token.
func signed(t *testing.T, key ed25519.PrivateKey, claims map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + enc.EncodeToString(payload)
	return text + "." + enc.EncodeToString(ed25519.Sign(key, []byte(text)))
}

// settings writes a file of settings that trusts the public key, and gives its path.
func settings(t *testing.T, der []byte) string {
	t.Helper()
	dir := t.TempDir()
	keyFile, config := filepath.Join(dir, "buyers.pem"), filepath.Join(dir, "sluice.yaml")
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	if err := os.WriteFile(keyFile, block, 0o600); err != nil {
		t.Fatal(err)
	}
	yaml := `
api: {decision_status: http}
cors: {origins: [https://shop.example]}
trusted_proxies: [127.0.0.0/8]
jwt:
  public_keys: [` + keyFile + `]
  issuer: https://login.example
  audience: sluice
payment: {provider: signed}
limits: {body: 1KB}
log: {format: text}
`
	if err := os.WriteFile(config, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

// TestSettingsReachTheirParts starts a server on a file with settings far from the defaults, and sees each at work.
func TestSettingsReachTheirParts(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	config := settings(t, der)
	s := e2e.Start(t, e2e.Options{Args: []string{"--config", config}, Env: []string{"SLUICE_JWT_SECRET="}})
	s.Create(t, e2e.Goods("spring", 1, 1, nil))
	soon := time.Now().Add(time.Hour).Unix()
	token := func(user, issuer string) string {
		return signed(t, private, map[string]any{"sub": user, "exp": soon, "iss": issuer, "aud": "sluice"})
	}
	good, other := token("alice", "https://login.example"), token("bob", "https://login.example")
	wrong := token("alice", "https://elsewhere.example")
	claims := s.URL + "/v1/campaigns/spring/claims"
	var won e2e.Claim
	s.Admin(t, "POST", "/v1/admin/blocklist", map[string]any{"scope": "address", "value": "203.0.113.9"}, 201)
	tests := []struct {
		name, token string
		headers     []string
		body        any
		status      int
		part        string
	}{
		{"an issuer that is not ours", wrong, nil, nil, 401, "UNAUTHENTICATED"},
		{"the harness's secret, which is not set", e2e.Token("alice"), nil, nil, 401, "UNAUTHENTICATED"},
		{"a blocked address behind our proxy", good, []string{"X-Forwarded-For", "203.0.113.9"}, nil, 403, "BLOCKED"},
		{"a body above the bound", good, nil, `{"request_id":"` + strings.Repeat("x", 2000) + `"}`, 413, "BODY_TOO_LARGE"},
		{"the claim", good, nil, nil, 200, "CONFIRMED"},
		{"too late, as a status", other, nil, nil, 409, "SOLD_OUT"},
	}
	for _, tt := range tests {
		a := s.Ask(t, "POST", claims, tt.token, tt.body, tt.headers...)
		if a.Status != tt.status || !strings.Contains(string(a.Body), tt.part) {
			t.Errorf("%s: %d %s", tt.name, a.Status, a.Body)
		}
		if a.Status == 200 {
			a.Into(t, &won)
		}
	}
	if a := s.Ask(t, "POST", s.URL+"/v1/orders/"+won.OrderID+"/pay", good, nil); a.Status != 404 {
		t.Errorf("the sandbox pays: %d %s", a.Status, a.Body)
	}
	if a := s.Pay(t, "psp-1", won.OrderID, 9900); a.Status != 200 {
		t.Errorf("a signed notification: %d %s", a.Status, a.Body)
	}
	a := s.Ask(t, "GET", s.URL+"/v1/time", "", nil, "Origin", "https://shop.example")
	if got := a.Header.Get("Access-Control-Allow-Origin"); got != "https://shop.example" {
		t.Errorf("CORS: %q", got)
	}
	if !strings.Contains(s.Log(), "level=INFO msg=ready") {
		t.Errorf("the log is not text:\n%s", s.Log())
	}
	if raw, err := os.ReadFile(filepath.Join(s.Data, "secrets.json")); err == nil {
		t.Errorf("secrets were made, and none was needed: %d bytes", len(raw))
	}
}
