package gate_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// identifier makes a gate that only identifies, on a wall clock that stands at the opening.
func identifier(tb testing.TB, cfg gate.TokenConfig) *gate.Gate {
	tb.Helper()
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return opening }
	}
	tokens, err := gate.NewTokens(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	g := gate.New(gate.Config{Tokens: tokens, Now: cfg.Now, LimiterKeys: 64}, &admitter{})
	tb.Cleanup(func() { g.Close(); tokens.Close() })
	return g
}

// refused says whether the token is refused, with the error that callers are promised.
func refused(tb testing.TB, g *gate.Gate, token []byte) bool {
	tb.Helper()
	id, err := g.Identify(token)
	var fault *sluice.Fault
	if err != nil && (!errors.Is(err, sluice.ErrInvalid) || !errors.As(err, &fault) || fault.Code != "UNAUTHENTICATED") {
		tb.Errorf("error %v", err)
	}
	if err != nil && id.User != "" {
		tb.Errorf("a refused token speaks for %q", id.User)
	}
	return err != nil
}

var hs256 = signer{method: jwt.SigningMethodHS256, key: secret}

func good() jwt.MapClaims {
	return jwt.MapClaims{"sub": "alice", "exp": opening.Add(time.Hour).Unix(), "nbf": opening.Add(-time.Hour).Unix()}
}

func with(edit func(jwt.MapClaims)) jwt.MapClaims {
	c := good()
	edit(c)
	return c
}

func TestTokenClaims(t *testing.T) {
	at := func(name string, d time.Duration) jwt.MapClaims {
		return with(func(c jwt.MapClaims) { c[name] = opening.Add(d).Unix() })
	}
	value := func(name string, v any) jwt.MapClaims { return with(func(c jwt.MapClaims) { c[name] = v }) }
	without := func(name string) jwt.MapClaims { return with(func(c jwt.MapClaims) { delete(c, name) }) }
	tests := []struct {
		name   string
		claims jwt.MapClaims
		ok     bool
	}{
		{"good", good(), true},
		{"expired within the leeway", at("exp", -29*time.Second), true},
		{"expired at the leeway", at("exp", -30*time.Second), false},
		{"expired", at("exp", -time.Hour), false},
		{"valid within the leeway", at("nbf", 29*time.Second), true},
		{"not yet valid", at("nbf", 31*time.Second), false},
		{"no exp", without("exp"), false},
		{"no nbf", without("nbf"), true},
		{"exp is text", value("exp", "4102444800"), false},
		{"exp is null", value("exp", nil), false},
		{"exp beyond all measure", value("exp", 1e300), true},
		{"exp before all measure", value("exp", -1e300), false},
		{"exp with a fraction", value("exp", float64(opening.Unix())+0.5), true},
		{"nbf is a list", value("nbf", []int{1}), false},
		{"no sub", without("sub"), false},
		{"empty sub", value("sub", ""), false},
		{"sub is a number", value("sub", 7), false},
		{"sub of 64 bytes", value("sub", strings.Repeat("x", 64)), true},
		{"sub of 65 bytes", value("sub", strings.Repeat("x", 65)), false},
		{"sub of 64 bytes in Chinese", value("sub", strings.Repeat("张", 21)+"x"), true},
		{"sub of 66 bytes in Chinese", value("sub", strings.Repeat("张", 22)), false},
		{"sub with a zero byte", value("sub", "a\x00b"), false},
		{"sub with a line break", value("sub", "a\nb"), false},
		{"sub with DEL", value("sub", "a\x7f"), false},
		{"sub with what stands for broken text", value("sub", "a\ufffd"), false},
		{"sub with a space", value("sub", "a b"), true},
		{"did with a zero byte", value("did", "a\x00b"), false},
		{"did of 128 bytes", value("did", strings.Repeat("d", 128)), true},
		{"did of 129 bytes", value("did", strings.Repeat("d", 129)), false},
		{"did is a number", value("did", 1), false},
	}
	g := identifier(t, gate.TokenConfig{Secrets: [][]byte{secret}})
	for _, tt := range tests {
		token := hs256.sign(t, tt.claims)
		for _, cached := range []bool{false, true} {
			if got := !refused(t, g, token); got != tt.ok {
				t.Errorf("%s, cached %t: taken %t, want %t", tt.name, cached, got, tt.ok)
			}
		}
	}
}

// TestTwoBuyersDoNotBecomeOne: JSON decoders repair broken text, so that two subjects would be one buyer.
func TestTwoBuyersDoNotBecomeOne(t *testing.T) {
	for _, raw := range []string{
		`{"sub":"a\ud800"}`, `{"sub":"a\udfff"}`, "{\"sub\":\"a\xff\"}", "{\"sub\":\"a\xfe\"}", `{"sub":"a","did":"\ud800"}`,
	} {
		if user, device, _, ok := gate.ParseClaims([]byte(raw)); ok {
			t.Errorf("%q is taken for user %q, device %q", raw, user, device)
		}
	}
}

func TestTokenWithoutExpiry(t *testing.T) {
	g := identifier(t, gate.TokenConfig{Secrets: [][]byte{secret}, AllowNoExpiry: true})
	token := hs256.sign(t, jwt.MapClaims{"sub": "alice"})
	for range 2 { // verified, then from the cache
		if refused(t, g, token) {
			t.Error("a token without exp is refused though it is allowed")
		}
	}
}

func TestIssuerAndAudience(t *testing.T) {
	g := identifier(t, gate.TokenConfig{Secrets: [][]byte{secret}, Issuer: "https://shop.example", Audience: "sluice"})
	for _, tt := range []struct {
		iss string
		aud any
		ok  bool
	}{
		{"https://shop.example", "sluice", true},
		{"https://shop.example", []string{"other", "sluice"}, true},
		{"https://shop.example", "other", false},
		{"https://shop.example", nil, false},
		{"https://shop.example.evil", "sluice", false},
		{"", "sluice", false},
	} {
		token := hs256.sign(t, with(func(c jwt.MapClaims) { c["iss"], c["aud"] = tt.iss, tt.aud }))
		if refused(t, g, token) == tt.ok {
			t.Errorf("iss %q, aud %v: refused %t", tt.iss, tt.aud, tt.ok)
		}
	}
}

func TestIdentity(t *testing.T) {
	g := identifier(t, gate.TokenConfig{Secrets: [][]byte{secret}})
	id, err := g.Identify(hs256.sign(t, with(func(c jwt.MapClaims) {
		c["did"], c["tier"], c["level"], c["vip"] = "telephone", "gold", 7, true
		c["tags"] = []any{"a", 1, false, nil, map[string]int{"x": 1}}
		c["nested"], c["nothing"], c["名字"] = map[string]string{"tier": "silver"}, nil, "quote \" and \\ slash"
	})))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"tier": {"gold"}, "level": {"7"}, "vip": {"true"}, "tags": {"a", "1", "false"}, "名字": {"quote \" and \\ slash"},
	}
	if id.User != "alice" || id.Device != "telephone" || !maps.EqualFunc(id.Claims, want, slices.Equal) {
		t.Errorf("identity %+v", id)
	}
}

// TestMethods: each method with its own key, and none with another's.
func TestMethods(t *testing.T) {
	mine, others := signers(t), signers(t)
	names := slices.Sorted(maps.Keys(mine))
	for _, name := range names {
		g := identifier(t, mine[name].config)
		for _, by := range names {
			if got := !refused(t, g, mine[by].sign(t, good())); got != (by == name) {
				t.Errorf("a gate for %s takes %s: %t", name, by, got)
			}
		}
		if name != "HS256" && !refused(t, g, others[name].sign(t, good())) {
			t.Errorf("%s by another key is taken", name)
		}
	}
	g := identifier(t, gate.TokenConfig{Secrets: [][]byte{[]byte("another secret of some length")}})
	if !refused(t, g, mine["HS256"].sign(t, good())) {
		t.Error("HS256 by another secret is taken")
	}
}

// TestAlgorithmConfusion: the text of a public key is no secret, other methods of a key's family are not taken, and
// none is never taken.
func TestAlgorithmConfusion(t *testing.T) {
	s := signers(t)
	rs := s["RS256"]
	g := identifier(t, gate.TokenConfig{Secrets: [][]byte{secret}, PublicKeys: rs.config.PublicKeys})
	forge := func(m jwt.SigningMethod, key any) []byte { return signer{method: m, key: key}.sign(t, good()) }
	for name, token := range map[string][]byte{
		"HS256 with the public key": forge(jwt.SigningMethodHS256, rs.config.PublicKeys[0]),
		"HS384 with the secret":     forge(jwt.SigningMethodHS384, secret),
		"HS512 with the secret":     forge(jwt.SigningMethodHS512, secret),
		"RS384 with the key":        forge(jwt.SigningMethodRS384, rs.key),
		"PS256 with the key":        forge(jwt.SigningMethodPS256, rs.key),
		"none":                      forge(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType),
		"none in capitals":          header(t, s["HS256"].sign(t, good()), `{"alg":"NONE"}`),
		"no alg":                    header(t, s["HS256"].sign(t, good()), `{"typ":"JWT"}`),
		"another alg under the MAC": resigned(t, `{"alg":"RS256"}`, good()),
		"none under the MAC":        resigned(t, `{"alg":"none"}`, good()),
		"HS512 under the MAC":       resigned(t, `{"alg":"HS512"}`, good()),
		"crit":                      resigned(t, `{"alg":"HS256","crit":["b64"],"b64":false}`, good()),
	} {
		if !refused(t, g, token) {
			t.Errorf("%s is taken", name)
		}
	}
	if refused(t, g, forge(jwt.SigningMethodHS256, secret)) || refused(t, g, rs.sign(t, good())) {
		t.Error("a good token is refused")
	}
	if refused(t, g, resigned(t, `{ "typ":"JWT", "alg":"HS256" }`, good())) {
		t.Error("a header of another look is refused")
	}
}

// header puts another header before a token and leaves its signature.
func header(tb testing.TB, token []byte, text string) []byte {
	tb.Helper()
	_, rest, _ := strings.Cut(string(token), ".")
	return []byte(base64.RawURLEncoding.EncodeToString([]byte(text)) + "." + rest)
}

// resigned signs with the secret whatever the header says.
func resigned(tb testing.TB, head string, claims jwt.MapClaims) []byte {
	tb.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		tb.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + base64.RawURLEncoding.EncodeToString(payload)
	mac, err := jwt.SigningMethodHS256.Sign(text, secret)
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(text + "." + base64.RawURLEncoding.EncodeToString(mac))
}

func TestBrokenTokens(t *testing.T) {
	g := identifier(t, gate.TokenConfig{Secrets: [][]byte{secret}})
	ok := string(hs256.sign(t, good()))
	long := hs256.sign(t, with(func(c jwt.MapClaims) { c["x"] = strings.Repeat("x", 5900) }))
	longer := hs256.sign(t, with(func(c jwt.MapClaims) { c["x"] = strings.Repeat("x", 6100) }))
	if len(long) > gate.MaxToken || len(longer) <= gate.MaxToken || refused(t, g, long) {
		t.Errorf("a token of %d bytes is refused, or the test is wrong (%d)", len(long), len(longer))
	}
	for _, token := range []string{
		"", ".", "..", "...", "a.b.c", ok + ".", "." + ok, ok + "=", ok + "\n", " " + ok, ok[:len(ok)-1], "Bearer " + ok,
		string(longer), strings.Replace(ok, ".", "..", 1), ok + ok, strings.Repeat(".", gate.MaxToken),
	} {
		if !refused(t, g, []byte(token)) {
			t.Errorf("%q is taken", token)
		}
	}
	for _, payload := range []string{"", "null", "[]", "7", `"alice"`, `{"sub":"alice"`, "{}", `{"sub":"alice","exp":}`} {
		text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." +
			base64.RawURLEncoding.EncodeToString([]byte(payload))
		mac, err := jwt.SigningMethodHS256.Sign(text, secret)
		if err != nil {
			t.Fatal(err)
		}
		if !refused(t, g, []byte(text+"."+base64.RawURLEncoding.EncodeToString(mac))) {
			t.Errorf("the claims %q are taken", payload)
		}
	}
}

// TestCacheEndsWithTheToken: a cached token is taken to the last millisecond and no longer, and a buffer that is used
// for the next token is another token.
func TestCacheEndsWithTheToken(t *testing.T) {
	clock := new(clocks)
	clock.setWall(opening)
	g := identifier(t, gate.TokenConfig{Secrets: [][]byte{secret}, Now: clock.now})
	buffer := hs256.sign(t, good())
	if refused(t, g, buffer) {
		t.Fatal("refused")
	}
	clock.setWall(opening.Add(time.Hour + 30*time.Second - time.Millisecond))
	if refused(t, g, buffer) {
		t.Error("refused before its end")
	}
	clock.advance(time.Millisecond)
	if !refused(t, g, buffer) {
		t.Error("taken after its end")
	}
	// After a jump back the token is good again, by the clock that there is.
	clock.setWall(opening)
	if refused(t, g, buffer) {
		t.Error("refused after a jump back")
	}
	buffer[len(buffer)-2] ^= 1
	if !refused(t, g, buffer) {
		t.Error("the changed buffer is taken for what was in it")
	}
}

func TestSeveralSecrets(t *testing.T) {
	next := []byte("the secret that comes after the first one")
	g := identifier(t, gate.TokenConfig{Secrets: [][]byte{next, secret}})
	for _, k := range [][]byte{secret, next} {
		if refused(t, g, signer{method: jwt.SigningMethodHS256, key: k}.sign(t, good())) {
			t.Errorf("signed by %q: refused", k)
		}
	}
}

// FuzzToken changes one byte of a good token of each method: it is refused wherever the byte stands, also while the
// good one is in the cache.
func FuzzToken(f *testing.F) {
	all := signers(f)
	names := slices.Sorted(maps.Keys(all))
	cfg := gate.TokenConfig{Secrets: [][]byte{secret}}
	for _, name := range names {
		cfg.PublicKeys = append(cfg.PublicKeys, all[name].config.PublicKeys...)
	}
	g := identifier(f, cfg)
	tokens := map[string][]byte{}
	for i, name := range names {
		tokens[name] = all[name].sign(f, good())
		f.Add(i, 0, byte('\n'))
		f.Add(i, len(tokens[name])-1, byte(1))
	}
	f.Fuzz(func(t *testing.T, method, at int, flip byte) {
		token := slices.Clone(tokens[names[uint(method)%uint(len(names))]])
		if refused(t, g, token) {
			t.Fatal("the good token is refused")
		}
		if flip == 0 {
			return
		}
		token[uint(at)%uint(len(token))] ^= flip
		if !refused(t, g, token) {
			t.Fatalf("taken: %q", token)
		}
	})
}

// TestEveryByteCounts puts every byte into every place of one token.
func TestEveryByteCounts(t *testing.T) {
	g := identifier(t, gate.TokenConfig{Secrets: [][]byte{secret}})
	token := hs256.sign(t, good())
	for at := range token {
		for flip := 1; flip < 256; flip++ {
			token[at] ^= byte(flip)
			if _, err := g.Identify(token); err == nil {
				t.Fatalf("taken: %q", token)
			}
			token[at] ^= byte(flip)
		}
	}
	if refused(t, g, token) {
		t.Error("the token itself is refused")
	}
}

// FuzzClaims compares the walk over the claims with encoding/json.
func FuzzClaims(f *testing.F) {
	for _, s := range []string{
		`{"sub":"alice"}`,
		` { "sub" : "a\u0062\"c" , "x":[1,{"sub":"b"}], "did":"d" } `, `{"\u0073ub":"alice","tier":"gold"}`,
		`{"sub":"a","sub":"b"}`, `{"a":{"b":"}"},"sub":"\\"}`, `{"sub":"\ud800"}`, `{}`, `[]`,
		`{"exp":1e3,"sub":"x","n":-0.5}`,
		`{"sub":"x","l":["a",null,true,"b"]}`, "{\"sub\":\"\xff\"}", `{"sub":"x","aud":7}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		user, device, other, ok := gate.ParseClaims(raw)
		var all map[string]any
		err := json.Unmarshal(raw, &all)
		if !ok {
			return
		}
		if err != nil {
			t.Fatalf("taken though it is no object: %q", raw)
		}
		if all["sub"] != user || device != "" && all["did"] != device {
			t.Fatalf("%q: user %q, want %v; device %q, want %v", raw, user, all["sub"], device, all["did"])
		}
		for name, texts := range other {
			if s, isText := all[name].(string); isText && !slices.Equal(texts, []string{s}) {
				t.Fatalf("%q: %s is %q, want %q", raw, name, texts, s)
			}
		}
	})
}
