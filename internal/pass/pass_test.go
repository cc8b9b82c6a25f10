package pass_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/pass"
)

const opening sluice.Millis = 1_800_000_000_000

// ledger keeps keys for several nodes.
type ledger struct {
	mu   sync.Mutex
	keys []sluice.PassKey
}

func (l *ledger) PassKeys(context.Context) ([]sluice.PassKey, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]sluice.PassKey(nil), l.keys...), nil
}

func (l *ledger) AddPassKey(_ context.Context, k sluice.PassKey, keepFrom int64, _ sluice.Actor) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.keys) > 0 && l.keys[0].Seq >= k.Seq {
		return sluice.NewFault(sluice.ErrConflict, "PASS_KEY_EXISTS", "")
	}
	kept := []sluice.PassKey{k}
	for _, x := range l.keys {
		if x.Seq >= keepFrom {
			kept = append(kept, x)
		}
	}
	l.keys = kept
	return nil
}

// clock is set by hand.
type clock struct{ at sluice.Millis }

func (c *clock) now() time.Time { return c.at.Time() }

// node makes the keys of one node of those on l.
func node(tb testing.TB, l *ledger, c *clock) *pass.Keys {
	tb.Helper()
	k := pass.NewKeys(pass.KeysConfig{Ledger: l, Now: c.now})
	if err := k.Tend(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return k
}

func issue(tb testing.TB, k *pass.Keys, now sluice.Millis, p sluice.Pass) string {
	tb.Helper()
	text, err := k.Issue(now, "spring", "alice", "phone", p)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func valid() sluice.Pass {
	return sluice.Pass{From: opening, Until: opening + 60_000, Draw: 0xfedcba98, Solved: true}
}

// TestPassServesItsBuyerAndNobodyElse takes a pass to everything that it is not for.
func TestPassServesItsBuyerAndNobodyElse(t *testing.T) {
	l, c := &ledger{}, &clock{opening}
	one, other := node(t, l, c), node(t, l, c)
	text := issue(t, one, opening, valid())
	if len(text) > sluice.MaxPass {
		t.Fatalf("%d bytes: %s", len(text), text)
	}
	for _, k := range []*pass.Keys{one, other, node(t, l, c)} {
		for range 3 { // retries
			if p, ok := k.Check(opening, "spring", "alice", "phone", text); !ok || p != valid() {
				t.Fatalf("%+v %v, want %+v", p, ok, valid())
			}
		}
	}
	for _, tt := range []struct {
		what                   string
		now                    sluice.Millis
		campaign, user, device string
	}{
		{"another user", opening, "spring", "bob", "phone"},
		{"another user's name in capitals", opening, "spring", "Alice", "phone"},
		{"another campaign", opening, "summer", "alice", "phone"},
		{"another device", opening, "spring", "alice", "laptop"},
		{"no device", opening, "spring", "alice", ""},
		{"the names' border moved", opening, "springa", "lice", "phone"},
		{"user and device swapped", opening, "spring", "phone", "alice"},
		{"not yet valid", opening - 5001, "spring", "alice", "phone"},
		{"expired", opening + 60_000, "spring", "alice", "phone"},
	} {
		if _, ok := other.Check(tt.now, tt.campaign, tt.user, tt.device, text); ok {
			t.Errorf("%s: it is believed", tt.what)
		}
	}
	stranger := node(t, &ledger{}, c)
	if _, ok := stranger.Check(opening, "spring", "alice", "phone", text); ok {
		t.Error("a key of another server is believed")
	}
	if _, ok := stranger.Check(opening, "spring", "alice", "phone", issue(t, stranger, opening, valid())); !ok {
		t.Error("the stranger does not believe itself")
	}
}

// TestPassWithoutDevice: a buyer without a device gets a pass that serves that buyer without a device.
func TestPassWithoutDevice(t *testing.T) {
	k := node(t, &ledger{}, &clock{opening})
	text, err := k.Issue(opening, "spring", "alice", "", valid())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := k.Check(opening, "spring", "alice", "", text); !ok {
		t.Error("it is not believed")
	}
	if _, ok := k.Check(opening, "spring", "alice", "phone", text); ok {
		t.Error("it serves a device")
	}
}

// TestEveryByteOfAPassCounts changes each byte of a pass to each other value, cuts it everywhere, and adds to it.
func TestEveryByteOfAPassCounts(t *testing.T) {
	k := node(t, &ledger{}, &clock{opening})
	text := issue(t, k, opening, valid())
	for i := range len(text) {
		for b := range 256 {
			if byte(b) == text[i] {
				continue
			}
			changed := text[:i] + string([]byte{byte(b)}) + text[i+1:]
			if _, ok := k.Check(opening, "spring", "alice", "phone", changed); ok {
				t.Fatalf("byte %d as %q is believed: %s", i, byte(b), changed)
			}
		}
		if _, ok := k.Check(opening, "spring", "alice", "phone", text[:i]); ok {
			t.Fatalf("the first %d bytes are believed", i)
		}
	}
	for _, more := range []string{text + "A", "A" + text, text + "=", text + ".", text + "\n", text + text} {
		if _, ok := k.Check(opening, "spring", "alice", "phone", more); ok {
			t.Errorf("%q is believed", more)
		}
	}
}

func FuzzPass(f *testing.F) {
	k := node(f, &ledger{}, &clock{opening})
	good := issue(f, k, opening, valid())
	for _, s := range []string{good, "", "p1.", "p1.1.", "p1..", strings.Repeat(".", 60), "p2" + good[2:], good + "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, ok := k.Check(opening, "spring", "alice", "phone", text)
		if ok != (text == good) {
			t.Errorf("%q is believed", text)
		}
		k.SigningKey(text)
	})
}

// TestKeysRotate: a new key signs once every node has it; passes of the old one hold for as long as they live; the old
// one is forgotten afterwards; nothing is started again.
func TestKeysRotate(t *testing.T) {
	l, c := &ledger{}, &clock{opening}
	one, other := node(t, l, c), node(t, l, c)
	long := sluice.Pass{From: opening, Until: opening + 3600_000}
	old := issue(t, one, c.at, long)
	made, err := one.Rotate(t.Context(), false, sluice.Actor{})
	if err != nil || made.Seq != 2 || made.Secret != [32]byte{} {
		t.Fatalf("%+v %v", made, err)
	}
	if text := issue(t, one, c.at, long); !strings.HasPrefix(text, "p1.1.") {
		t.Errorf("%s: the new key signs before the other node has it", text)
	}
	if err := other.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.at += 10_000
	fresh := issue(t, one, c.at, long)
	if !strings.HasPrefix(fresh, "p1.2.") {
		t.Errorf("%s: the old key signs still", fresh)
	}
	for what, text := range map[string]string{"old": old, "new": fresh} {
		if _, ok := other.Check(c.at, "spring", "alice", "phone", text); !ok {
			t.Errorf("the %s pass is not believed on the other node", what)
		}
	}
	c.at += 2*3600_000 + 1
	for range 2 {
		if _, err := one.Rotate(t.Context(), false, sluice.Actor{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(one.List()); n != 3 {
		t.Errorf("%d keys are kept, want 3: the one that signs, and two that wait", n)
	}
	if _, ok := one.Check(opening, "spring", "alice", "phone", old); ok {
		t.Error("a key that nobody needs is believed still")
	}
}

// TestRevokedKeys: after a revoke no pass of before is believed.
func TestRevokedKeys(t *testing.T) {
	l, c := &ledger{}, &clock{opening}
	one, other := node(t, l, c), node(t, l, c)
	old := issue(t, one, c.at, valid())
	if _, err := one.Rotate(t.Context(), true, sluice.Actor{}); err != nil {
		t.Fatal(err)
	}
	if err := other.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, k := range []*pass.Keys{one, other} {
		if _, ok := k.Check(c.at, "spring", "alice", "phone", old); ok {
			t.Error("a revoked pass is believed")
		}
		if _, ok := k.Check(c.at, "spring", "alice", "phone", issue(t, one, c.at, valid())); !ok {
			t.Error("a new pass is not believed")
		}
	}
}

// TestKeysAreBounded: keys that may still be needed do not grow without bound.
func TestKeysAreBounded(t *testing.T) {
	k := node(t, &ledger{}, &clock{opening})
	for range pass.MaxKeys - 1 {
		if _, err := k.Rotate(t.Context(), false, sluice.Actor{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.Rotate(t.Context(), false, sluice.Actor{}); !errors.Is(err, sluice.ErrConflict) {
		t.Errorf("%v, want a conflict", err)
	}
	if n := len(k.List()); n != pass.MaxKeys {
		t.Errorf("%d keys, want %d", n, pass.MaxKeys)
	}
}

// TestNodesMakeOneKey: nodes that start at once, or find the key due at once, end with the same ones.
func TestNodesMakeOneKey(t *testing.T) {
	l, c := &ledger{}, &clock{opening}
	nodes := make([]*pass.Keys, 8)
	for i := range nodes {
		nodes[i] = pass.NewKeys(pass.KeysConfig{Ledger: l, Now: c.now})
	}
	for day := range 3 {
		var all sync.WaitGroup
		for _, k := range nodes {
			all.Go(func() {
				if err := k.Tend(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := len(l.keys); got > 2 || l.keys[0].Seq != int64(day+1) {
			t.Fatalf("day %d: keys %v", day, nodes[0].List())
		}
		text := issue(t, nodes[0], c.at, sluice.Pass{From: c.at, Until: c.at + 1000})
		for _, k := range nodes {
			if err := k.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, ok := k.Check(c.at, "spring", "alice", "phone", text); !ok {
				t.Fatal("a node does not believe another one")
			}
		}
		c.at += 24 * 3600_000
	}
}

func signed(k *pass.Keys, text string) *sluice.RequestSignature {
	key, _ := k.SigningKey(text)
	s := &sluice.RequestSignature{
		Timestamp: []byte("1800000000000"), Nonce: []byte("abcdefghijklmnop"), Method: []byte("POST"),
		Path: []byte("/v1/campaigns/spring/claims"), Body: []byte(`{"pass":"` + text + `"}`),
	}
	mac := pass.Sign(key, s)
	s.MAC = mac[:]
	return s
}

// TestEveryByteOfASignedRequestCounts changes each byte of a request and of its signature.
func TestEveryByteOfASignedRequestCounts(t *testing.T) {
	l, c := &ledger{}, &clock{opening}
	k, other := node(t, l, c), node(t, l, c)
	text := issue(t, k, opening, valid())
	s := signed(k, text)
	if !k.Signed(text, s) || !other.Signed(text, s) {
		t.Fatal("it is not believed")
	}
	for what, part := range map[string]*[]byte{"timestamp": &s.Timestamp, "nonce": &s.Nonce, "MAC": &s.MAC,
		"method": &s.Method, "path": &s.Path, "body": &s.Body} {
		was := *part
		for i := range was {
			changed := append([]byte(nil), was...)
			changed[i] ^= byte(1 + rand.IntN(255))
			if *part = changed; k.Signed(text, s) {
				t.Errorf("%s with byte %d changed is believed: %q", what, i, changed)
			}
		}
		if *part = was[:len(was)-1]; k.Signed(text, s) {
			t.Errorf("%s without its last byte is believed", what)
		}
		*part = was
	}
	bobs, err := k.Issue(opening, "spring", "bob", "phone", valid())
	if err != nil {
		t.Fatal(err)
	}
	if k.Signed(bobs, s) {
		t.Error("the key of one pass signs under another one")
	}
	if !k.Signed(text, s) {
		t.Error("the request is not as it was")
	}
}

func FuzzSigned(f *testing.F) {
	k := node(f, &ledger{}, &clock{opening})
	text := issue(f, k, opening, valid())
	good := signed(k, text)
	f.Add(good.Timestamp, good.Nonce, good.MAC, good.Method, good.Path, good.Body)
	f.Add([]byte(""), []byte(""), []byte(""), []byte(""), []byte(""), []byte(""))
	f.Add(good.Timestamp, good.Nonce, []byte(strings.ToUpper(string(good.MAC))), good.Method, good.Path, good.Body)
	// The border between two parts moved: a line feed is no part of method, path or timestamp that the gate lets by.
	f.Add(good.Nonce, good.Timestamp, good.MAC, good.Path, good.Method, good.Body)
	f.Fuzz(func(t *testing.T, at, nonce, mac, method, path, body []byte) {
		s := &sluice.RequestSignature{Timestamp: at, Nonce: nonce, MAC: mac, Method: method, Path: path, Body: body}
		same := string(at)+"\n"+string(nonce) == string(good.Timestamp)+"\n"+string(good.Nonce) &&
			string(mac) == string(good.MAC) && string(body) == string(good.Body) &&
			string(method)+"\n"+string(path) == string(good.Method)+"\n"+string(good.Path)
		if k.Signed(text, s) && !same {
			t.Errorf("believed: %+v", s)
		}
	})
}

// TestSigningKeyIsNoPart: who sees a pass on the way does not have its signing key.
func TestSigningKeyIsNoPart(t *testing.T) {
	k := node(t, &ledger{}, &clock{opening})
	text := issue(t, k, opening, valid())
	key, ok := k.SigningKey(text)
	if !ok || strings.Contains(text, string(key[:8])) {
		t.Errorf("%s in %s", key, text)
	}
}

func BenchmarkCheck(b *testing.B) {
	k := node(b, &ledger{}, &clock{opening})
	text := issue(b, k, opening, valid())
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := k.Check(opening, "spring", "alice", "phone", text); !ok {
			b.Fatal("not believed")
		}
	}
}

func BenchmarkCheckRefused(b *testing.B) {
	k := node(b, &ledger{}, &clock{opening})
	text := issue(b, k, opening, valid())
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := k.Check(opening, "spring", "bob", "phone", text); ok {
			b.Fatal("believed")
		}
	}
}

func BenchmarkSigned(b *testing.B) {
	k := node(b, &ledger{}, &clock{opening})
	text := issue(b, k, opening, valid())
	s := signed(k, text)
	b.ReportAllocs()
	for b.Loop() {
		if !k.Signed(text, s) {
			b.Fatal("not believed")
		}
	}
}

func BenchmarkIssue(b *testing.B) {
	k := node(b, &ledger{}, &clock{opening})
	b.ReportAllocs()
	for b.Loop() {
		issue(b, k, opening, valid())
	}
}

// users names n users.
func users(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("user-%d", i)
	}
	return all
}

// TestSlotsAreFair draws a seed and gives 100,000 users their slots: every twentieth of the spread gets as many as
// chance allows, and neither a user's name nor another campaign's slot tells anything about it.
func TestSlotsAreFair(t *testing.T) {
	const spread, n, bins = 5, 100_000, 20
	r := rand.Uint64()
	t.Logf("seed of the random numbers: %d", r)
	src := rand.New(rand.NewPCG(r, 1))
	draw := func() (s sluice.Seed) {
		for i := range s {
			s[i] = byte(src.Uint32())
		}
		return s
	}
	one, two := draw(), draw()
	var counts [bins]int
	var together [2][2]int
	for _, u := range users(n) {
		a, b := sluice.SpreadMS(one.Draw(u), spread), sluice.SpreadMS(two.Draw(u), spread)
		if a < 0 || a >= spread*1000 {
			t.Fatalf("%s: slot %d", u, a)
		}
		counts[a*bins/(spread*1000)]++
		together[a*2/(spread*1000)][b*2/(spread*1000)]++
		if again := sluice.SpreadMS(one.Draw(u), spread); again != a {
			t.Fatalf("%s: %d, then %d", u, a, again)
		}
	}
	chi := func(counts []int, want float64) (sum float64) {
		for _, c := range counts {
			sum += (float64(c) - want) * (float64(c) - want) / want
		}
		return sum
	}
	// Of fair draws one in a million is above 62.5 with 19 degrees of freedom, and above 30.7 with 3.
	if x := chi(counts[:], n/bins); x > 62.5 {
		t.Errorf("chi² %.1f over %v", x, counts)
	}
	flat := append(together[0][:], together[1][:]...)
	if x := chi(flat, n/4); x > 30.7 {
		t.Errorf("slots of two campaigns hang together: chi² %.1f over %v", x, flat)
	}
}

// TestDrawIsHMAC holds the draw to its definition, so that anybody can recompute it once the seed is out.
func TestDrawIsHMAC(t *testing.T) {
	seed, ok := sluice.ParseSeed("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	if !ok {
		t.Fatal("the seed is not read")
	}
	// printf %s alice | openssl dgst -sha256 -mac HMAC -macopt hexkey:0001…1f
	if got := fmt.Sprintf("%08x", seed.Draw("alice")); got != "6eefad2b" {
		t.Errorf("draw %s, want 6eefad2b", got)
	}
	// printf 000102…1f | xxd -r -p | sha256sum
	if got := seed.Hash(); got != "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd" {
		t.Errorf("hash %s", got)
	}
	for _, s := range []string{"", "00", strings.Repeat("0", 63), strings.Repeat("0", 65), strings.Repeat("g", 64)} {
		if _, ok := sluice.ParseSeed(s); ok {
			t.Errorf("%q is read as a seed", s)
		}
	}
}
