package gate_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"strconv"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

func BenchmarkRefuseSoldOut(b *testing.B) {
	r := newRig(b, nil)
	r.admitter.soldOut.Store(true)
	req := r.request(b, "alice")
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if d := r.Claim(ctx, req); d.Reason != sluice.ReasonSoldOut {
			b.Fatal(d.Reason)
		}
	}
}

// BenchmarkRefuseSoldOutParallel is the same on all cores, on one campaign: what its counters cost when they are
// shared.
func BenchmarkRefuseSoldOutParallel(b *testing.B) {
	r := newRig(b, nil)
	r.admitter.soldOut.Store(true)
	ctx := context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		req := r.request(b, "alice")
		for pb.Next() {
			if d := r.Claim(ctx, req); d.Reason != sluice.ReasonSoldOut {
				b.Error(d.Reason)
				return
			}
		}
	})
}

func BenchmarkFunnelAdmit(b *testing.B) {
	r := newRig(b, func(c *gate.Config) { c.MaxRate = 1000 })
	req := r.request(b, "alice")
	req.RequestID, req.Device = "a request", "a telephone"
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		r.clock.mono.Add(int64(time.Second))
		if d := r.Claim(ctx, req); d.Reason != sluice.ReasonConfirmed {
			b.Fatal(d.Reason)
		}
	}
}

// signer is a method with a key of its own, and the public half as TokenConfig takes it.
type signer struct {
	method jwt.SigningMethod
	key    any
	config gate.TokenConfig
}

func pemOf(tb testing.TB, public any) []byte {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func signers(tb testing.TB) map[string]signer {
	tb.Helper()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	public := func(k any) gate.TokenConfig { return gate.TokenConfig{PublicKeys: [][]byte{pemOf(tb, k)}} }
	return map[string]signer{
		"HS256": {jwt.SigningMethodHS256, secret, gate.TokenConfig{Secrets: [][]byte{secret}}},
		"RS256": {jwt.SigningMethodRS256, rsaKey, public(&rsaKey.PublicKey)},
		"ES256": {jwt.SigningMethodES256, ecKey, public(&ecKey.PublicKey)},
		"EdDSA": {jwt.SigningMethodEdDSA, edKey, public(edPublic)},
	}
}

func (s signer) sign(tb testing.TB, claims jwt.MapClaims) []byte {
	tb.Helper()
	text, err := jwt.NewWithClaims(s.method, claims).SignedString(s.key)
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(text)
}

func benchmarkToken(b *testing.B, name string, distinct, size int) {
	s := signers(b)[name]
	s.config.CacheTokens = size
	tokens, err := gate.NewTokens(b.Context(), s.config)
	if err != nil {
		b.Fatal(err)
	}
	defer tokens.Close()
	g := gate.New(gate.Config{Tokens: tokens}, &admitter{})
	all := make([][]byte, distinct)
	for i := range all {
		all[i] = s.sign(b, jwt.MapClaims{
			"sub": "user-" + strconv.Itoa(i), "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
		})
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Identify(all[i%distinct]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// A miss is a token that the cache has forgotten: many tokens, a cache for a few.
func BenchmarkTokenHS256Hit(b *testing.B)  { benchmarkToken(b, "HS256", 1, 0) }
func BenchmarkTokenHS256Miss(b *testing.B) { benchmarkToken(b, "HS256", 4096, 2) }
func BenchmarkTokenRS256Hit(b *testing.B)  { benchmarkToken(b, "RS256", 1, 0) }
func BenchmarkTokenRS256Miss(b *testing.B) { benchmarkToken(b, "RS256", 256, 2) }
func BenchmarkTokenES256Hit(b *testing.B)  { benchmarkToken(b, "ES256", 1, 0) }
func BenchmarkTokenES256Miss(b *testing.B) { benchmarkToken(b, "ES256", 256, 2) }
func BenchmarkTokenEdDSAHit(b *testing.B)  { benchmarkToken(b, "EdDSA", 1, 0) }
func BenchmarkTokenEdDSAMiss(b *testing.B) { benchmarkToken(b, "EdDSA", 256, 2) }

// BenchmarkTokenCrowd is the opening: every token comes for the first time and is kept.
func BenchmarkTokenCrowd(b *testing.B) { benchmarkToken(b, "HS256", 100_000, 0) }

// BenchmarkTokenLibrary is the same token by golang-jwt alone, to compare a miss with.
func BenchmarkTokenLibrary(b *testing.B) {
	text := string(sign(b, "alice", nil))
	parser := jwt.NewParser(jwt.WithExpirationRequired(), jwt.WithValidMethods([]string{"HS256"}),
		jwt.WithTimeFunc(func() time.Time { return opening }))
	b.ReportAllocs()
	for b.Loop() {
		var c jwt.RegisteredClaims
		if _, err := parser.ParseWithClaims(text, &c, func(*jwt.Token) (any, error) { return secret, nil }); err != nil {
			b.Fatal(err)
		}
	}
}
