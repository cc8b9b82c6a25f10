package gate_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// eventually waits until ok; what it waits for is a poller of the code under test.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late.C:
			tb.Fatalf("waited in vain for %s", what)
		}
	}
}

// named is a signer whose tokens carry a kid.
type named struct {
	signer
	kid string
}

func (n named) token(tb testing.TB) []byte {
	tb.Helper()
	t := jwt.NewWithClaims(n.method, good())
	t.Header["kid"] = n.kid
	s, err := t.SignedString(n.key)
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(s)
}

func ecKey(tb testing.TB, kid string) named {
	tb.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return named{signer{method: jwt.SigningMethodES256, key: k}, kid}
}

// jwks writes the public halves as a JWK set.
func jwks(tb testing.TB, keys ...named) []byte {
	tb.Helper()
	var set jwkset.JWKSMarshal
	for _, k := range keys {
		private, ok := k.key.(*ecdsa.PrivateKey)
		if !ok {
			tb.Fatalf("no ECDSA key: %T", k.key)
		}
		j, err := jwkset.NewJWKFromKey(&private.PublicKey, jwkset.JWKOptions{
			Metadata: jwkset.JWKMetadataOptions{KID: k.kid, ALG: jwkset.AlgES256, USE: jwkset.UseSig},
		})
		if err != nil {
			tb.Fatal(err)
		}
		set.Keys = append(set.Keys, j.Marshal())
	}
	raw, err := json.Marshal(set)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// issuer serves a JWK set that a test changes, and counts how often it is asked.
type issuer struct {
	*httptest.Server
	body  atomic.Pointer[[]byte]
	fails atomic.Bool
	asked atomic.Int64
}

func newIssuer(tb testing.TB, keys ...named) *issuer {
	tb.Helper()
	i := new(issuer)
	i.serve(jwks(tb, keys...))
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		if i.fails.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write(*i.body.Load())
	}))
	tb.Cleanup(i.Close)
	return i
}

func (i *issuer) serve(body []byte) { i.body.Store(&body) }

// TestRotation: the issuer changes its key; the first token that names the new one is taken at once, and the old key
// ends with the set that no longer has it, also for tokens in the cache.
func TestRotation(t *testing.T) {
	old, next := ecKey(t, "2026-10"), ecKey(t, "2026-11")
	i := newIssuer(t, old)
	g := identifier(t, gate.TokenConfig{JWKSURL: i.URL, JWKSRefresh: time.Hour, JWKSPause: time.Nanosecond})
	token := old.token(t)
	if refused(t, g, token) || !refused(t, g, next.token(t)) {
		t.Fatal("before the rotation")
	}
	i.serve(jwks(t, old, next))
	if refused(t, g, next.token(t)) || refused(t, g, token) {
		t.Error("while both keys are good")
	}
	i.serve(jwks(t, next))
	if !refused(t, g, ecKey(t, "made up").token(t)) {
		t.Error("a key that nobody published")
	}
	if !refused(t, g, token) || refused(t, g, next.token(t)) {
		t.Error("after the rotation")
	}
	// A broken answer takes nothing away.
	i.serve([]byte("<html>"))
	if !refused(t, g, ecKey(t, "made up too").token(t)) || refused(t, g, next.token(t)) {
		t.Error("after a broken answer")
	}
	i.fails.Store(true)
	if !refused(t, g, ecKey(t, "made up as well").token(t)) || refused(t, g, next.token(t)) {
		t.Error("after a failure")
	}
}

// TestRefreshByItself: the set is fetched again without a token that asks for it; an issuer that was down at the
// start is found when it comes up.
func TestRefreshByItself(t *testing.T) {
	k := ecKey(t, "k")
	i := newIssuer(t, k)
	i.fails.Store(true)
	g := identifier(t, gate.TokenConfig{JWKSURL: i.URL, JWKSRefresh: 5 * time.Millisecond, JWKSPause: time.Hour})
	token := k.token(t)
	if !refused(t, g, token) {
		t.Error("taken before there was a key")
	}
	i.fails.Store(false)
	eventually(t, "the keys", func() bool { return !refused(t, g, token) })
	i.serve(jwks(t, ecKey(t, "another")))
	eventually(t, "the keys to be gone", func() bool { return refused(t, g, token) })
}

// TestMadeUpKeysAreCheap: a crowd that names unknown keys causes one fetch, and tokens with a known one do not wait.
func TestMadeUpKeysAreCheap(t *testing.T) {
	k := ecKey(t, "k")
	i := newIssuer(t, k)
	g := identifier(t, gate.TokenConfig{JWKSURL: i.URL, JWKSPause: time.Hour})
	before := i.asked.Load()
	var crowd sync.WaitGroup
	for n := range 200 {
		crowd.Go(func() {
			forged := header(t, k.token(t), fmt.Sprintf(`{"alg":"ES256","kid":"made-up-%d"}`, n))
			if _, err := g.Identify(forged); err == nil {
				t.Error("taken")
			}
		})
	}
	crowd.Wait()
	if n := i.asked.Load() - before; n != 1 {
		t.Errorf("%d fetches, want 1", n)
	}
	if refused(t, g, k.token(t)) {
		t.Error("the good key is refused")
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	write := func(raw []byte) {
		t.Helper()
		// As an orchestrator does it: the new file takes the old one's place.
		if err := errors.Join(os.WriteFile(path+".new", raw, 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	all := signers(t)
	es, rs := ecKey(t, "es"), all["RS256"]
	write(append(pemOf(t, &es.key.(*ecdsa.PrivateKey).PublicKey), rs.config.PublicKeys[0]...))
	g := identifier(t, gate.TokenConfig{KeyFile: path, KeyFilePoll: time.Millisecond})
	if refused(t, g, es.token(t)) || refused(t, g, rs.sign(t, good())) || !refused(t, g, hs256.sign(t, good())) {
		t.Error("PEM file")
	}
	secretSet := fmt.Sprintf(`{"keys":[{"kty":"oct","kid":"s","k":%q},{"kty":"unheard-of"}]}`,
		base64.RawURLEncoding.EncodeToString(secret))
	write([]byte(secretSet))
	eventually(t, "the JWK set", func() bool { return !refused(t, g, hs256.sign(t, good())) })
	if !refused(t, g, es.token(t)) {
		t.Error("a key that is no longer in the file")
	}
	for _, broken := range []string{
		"", "{", `{"keys":[]}`, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
	} {
		write([]byte(broken))
	}
	write(jwks(t, es))
	eventually(t, "the last set", func() bool { return !refused(t, g, es.token(t)) })
}

func TestKeysThatAreRefused(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // that it is too small is the point
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]gate.TokenConfig{
		"none at all":       {},
		"an empty secret":   {Secrets: [][]byte{{}}},
		"no PEM":            {PublicKeys: [][]byte{[]byte("ssh-rsa AAAA")}},
		"RSA of 1024 bits":  {PublicKeys: [][]byte{pemOf(t, &small.PublicKey)}},
		"P-384":             {PublicKeys: [][]byte{pemOf(t, &p384.PublicKey)}},
		"a private key":     {PublicKeys: [][]byte{[]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")}},
		"a file not there":  {KeyFile: filepath.Join(t.TempDir(), "nothing")},
		"a secret in a set": {PublicKeys: [][]byte{[]byte(`{"kty":"oct","kid":"s","k":"c2VjcmV0"}`)}},
	} {
		tokens, err := gate.NewTokens(t.Context(), cfg)
		if !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			tokens.Close()
		}
	}
	// A public set must not hand out secrets.
	i := newIssuer(t)
	i.serve([]byte(fmt.Sprintf(`{"keys":[{"kty":"oct","kid":"s","k":%q}]}`, base64.RawURLEncoding.EncodeToString(secret))))
	g := identifier(t, gate.TokenConfig{JWKSURL: i.URL})
	if !refused(t, g, named{hs256, "s"}.token(t)) {
		t.Error("a secret out of a public set is taken")
	}
}

// TestCloseEndsEverything: no goroutine is left, and closing twice is allowed.
func TestCloseEndsEverything(t *testing.T) {
	i := newIssuer(t, ecKey(t, "k"))
	defer i.Close()
	leaks := goleak.IgnoreCurrent()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tokens, err := gate.NewTokens(context.Background(), gate.TokenConfig{JWKSURL: i.URL, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	g := gate.New(gate.Config{Tokens: tokens, DecisionLog: new(lines), LimiterKeys: 64}, &admitter{})
	g.Close()
	g.Close()
	tokens.Close()
	tokens.Close()
	i.CloseClientConnections()
	goleak.VerifyNone(t, leaks, goleak.IgnoreTopFunction("net/http.(*conn).serve"),
		goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
}
