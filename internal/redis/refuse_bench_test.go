package redis_test

import (
	"context"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
	"github.com/sluice-sale/sluice/internal/memory"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

var secret = []byte("a secret of thirty-two bytes, no less")

// soldOut gives the campaign c of one unit, sold, on each kind of admission.
func soldOut(b *testing.B, kind string) gate.Admitter {
	b.Helper()
	claim := func(a gate.Admitter, user string) sluice.Reason {
		return a.Admit(b.Context(), claimOf("c", user, "r", 1)).Reason
	}
	if kind == "memory" {
		db, err := sqldb.Open(b.Context(), sqldb.Config{Path: filepath.Join(b.TempDir(), "l.db"), CacheMB: 8})
		if err != nil {
			b.Fatal(err)
		}
		a := memory.New(memory.Config{}, db)
		db.SetPermit(a)
		b.Cleanup(func() { a.Close(); _ = db.Close() })
		made, err := db.CreateCampaign(b.Context(), goods("c", 1, 1), operator, now())
		if err == nil {
			err = a.Put(b.Context(), made)
		}
		if err != nil || claim(a, "winner") != sluice.ReasonConfirmed {
			b.Fatal(err)
		}
		return a
	}
	f := &fakeGates{epoch: 1, available: 1, leased: true, live: map[sluice.ClaimID]bool{}}
	a := redis.NewAdmissionOver(redis.AdmissionConfig{}, redis.AdmissionDeps{Ledger: paper{}}, f)
	b.Cleanup(a.Close)
	c := goods("c", 1, 1)
	c.Epoch = 1
	if err := a.Put(b.Context(), c); err != nil || claim(a, "winner") != sluice.ReasonQueued ||
		claim(a, "loser") != sluice.ReasonSoldOut || !eventually(time.Second, func() bool { return a.SoldOut("c") }) {
		b.Fatal("no marker", err)
	}
	return a
}

// BenchmarkRefuseSoldOut walks losers, each with a request id, through the whole gate. A node on Redis refuses them by
// its marker; the memory admission knows.
func BenchmarkRefuseSoldOut(b *testing.B) {
	for _, kind := range []string{"memory", "redis"} {
		b.Run(kind, func(b *testing.B) {
			a := soldOut(b, kind)
			tokens, err := gate.NewTokens(b.Context(), gate.TokenConfig{Secrets: [][]byte{secret}})
			if err != nil {
				b.Fatal(err)
			}
			defer tokens.Close()
			g := gate.New(gate.Config{Tokens: tokens, LimiterKeys: 1 << 12}, a)
			defer g.Close()
			g.PutCampaign(goods("c", 1, 1))
			token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
				"sub": "loser", "exp": time.Now().Add(time.Hour).Unix(),
			}).SignedString(secret)
			if err != nil {
				b.Fatal(err)
			}
			req := &sluice.ClaimRequest{
				Campaign: "c", Token: []byte(token), Addr: netip.MustParseAddr("192.0.2.1"), RequestID: "r", At: now(),
			}
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if d := g.Claim(ctx, req); d.Reason != sluice.ReasonSoldOut {
					b.Fatal(d.Reason)
				}
			}
		})
	}
}
