package gate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
)

// Bounds and defaults of tokens.
const (
	MaxToken           = 8 << 10 // bytes
	DefaultLeeway      = 30 * time.Second
	DefaultCacheTokens = 1 << 18
	maxHeaders         = 64 // different token headers that are remembered
)

// TokenConfig says which tokens are good. At least one source of keys is needed.
type TokenConfig struct {
	// Secrets for HS256, all of them good at once, so that they can be rotated. The caller sees to their strength.
	Secrets [][]byte
	// PublicKeys are PEM texts: PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE, for RS256, ES256 and EdDSA by their types.
	PublicKeys [][]byte
	// KeyFile holds PEM or a JWK set; it is read again when it changes. Unreadable at the start: an error; later: the keys
	// before stay.
	KeyFile string
	// JWKSURL is fetched at the start, every JWKSRefresh, and, at most every JWKSPause, when a token names an unknown kid.
	// Out of reach: the keys before stay, at the start none.
	JWKSURL string
	// KeyFilePoll defaults to 2 s, JWKSRefresh to 5 min, JWKSPause to 5 s, JWKSTimeout to 3 s.
	KeyFilePoll, JWKSRefresh, JWKSPause, JWKSTimeout time.Duration
	// HTTPClient fetches the JWKS. Default: a client of its own.
	HTTPClient *http.Client
	// Issuer and Audience, where set, must be the token's iss and one of its aud.
	Issuer, Audience string
	// AllowNoExpiry takes tokens without exp.
	AllowNoExpiry bool
	// Leeway for exp and nbf. Default DefaultLeeway; negative: none.
	Leeway time.Duration
	// CacheTokens bounds the verified tokens that are remembered; rounded up to a power of two.
	CacheTokens int
	// Now is the wall clock. Default time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

// Tokens verifies buyers' tokens. It is safe for concurrent use; a token that was verified before costs no allocation.
type Tokens struct {
	cfg       TokenConfig
	validator *jwt.Validator
	seed      maphash.Seed
	cache     *tokenCache
	keys      atomic.Pointer[keySet]
	headers   atomic.Pointer[map[string]header] // by their encoded text
	source    *keySource
	mu        sync.Mutex // guards the making of headers
}

// verified is a token that was found good. It is never changed.
type verified struct {
	token    string
	identity sluice.Identity
	key      sluice.UserKey
	hash     uint64 // of the user, for the limiter
	until    int64  // UTC ms: exp and leeway
	keys     *keySet
}

// header is what a token's first part says.
type header struct{ alg, kid string }

// NewTokens reads the keys and starts to watch their sources. Close it when done. Errors: ErrInvalid for keys that
// cannot be read, or none at all.
func NewTokens(ctx context.Context, cfg TokenConfig) (*Tokens, error) {
	cfg.setDefaults()
	t := &Tokens{cfg: cfg, seed: maphash.MakeSeed()}
	t.headers.Store(&map[string]header{})
	opts := []jwt.ParserOption{jwt.WithLeeway(max(0, cfg.Leeway)), jwt.WithTimeFunc(cfg.Now)}
	if !cfg.AllowNoExpiry {
		opts = append(opts, jwt.WithExpirationRequired())
	}
	if cfg.Issuer != "" {
		opts = append(opts, jwt.WithIssuer(cfg.Issuer))
	}
	if cfg.Audience != "" {
		opts = append(opts, jwt.WithAudience(cfg.Audience))
	}
	t.validator = jwt.NewValidator(opts...)
	t.cache = newTokenCache(cfg.CacheTokens, maxCached)
	var err error
	if t.source, err = newKeySource(ctx, &t.cfg, &t.keys); err != nil {
		return nil, err
	}
	return t, nil
}

func (cfg *TokenConfig) setDefaults() {
	orElse := func(d *time.Duration, byDefault time.Duration) {
		if *d == 0 {
			*d = byDefault
		}
	}
	orElse(&cfg.Leeway, DefaultLeeway)
	orElse(&cfg.KeyFilePoll, 2*time.Second)
	orElse(&cfg.JWKSRefresh, 5*time.Minute)
	orElse(&cfg.JWKSPause, 5*time.Second)
	orElse(&cfg.JWKSTimeout, 3*time.Second)
	if cfg.CacheTokens <= 0 {
		cfg.CacheTokens = DefaultCacheTokens
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = &http.Client{}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
}

// Close ends the watching of key sources and waits for it. Tokens can still be verified. Idempotent.
func (t *Tokens) Close() { t.source.close() }

// verify gives the verified token, from the cache or by checking it at now. It waits only where the token names a key
// that nobody has heard of and a JWKS URL may know it.
func (t *Tokens) verify(token []byte, now time.Time) (*verified, bool) {
	if len(token) == 0 || len(token) > MaxToken {
		return nil, false
	}
	keys := t.keys.Load()
	hash := maphash.Bytes(t.seed, token)
	if v := t.cache.get(hash, token); v != nil && v.keys == keys {
		if now.UnixMilli() < v.until {
			return v, true
		}
		t.cache.drop(hash, v)
		return nil, false
	}
	text := string(token)
	v, unknownKey := t.check(text, keys)
	if v == nil && unknownKey {
		t.source.refresh()
		if next := t.keys.Load(); next != keys {
			v, _ = t.check(text, next)
		}
	}
	if v == nil {
		return nil, false
	}
	t.cache.put(hash, v)
	return v, true
}

// check verifies text with keys; nil where it is not good, and then unknownKey says that its kid is that of no key.
func (t *Tokens) check(text string, keys *keySet) (v *verified, unknownKey bool) {
	first, last := strings.IndexByte(text, '.'), strings.LastIndexByte(text, '.')
	// The decoder skips line breaks, so that a token could be written in many ways.
	if first < 0 || last == first || strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	h, ok := t.header(text[:first])
	if !ok {
		return nil, false
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(text[last+1:])
	if err != nil {
		return nil, false
	}
	signed, unknownKey := keys.verify(h, text[:last], signature)
	if !signed {
		return nil, unknownKey
	}
	payload, err := base64.RawURLEncoding.Strict().DecodeString(text[first+1 : last])
	if err != nil {
		return nil, false
	}
	var c claims
	if c.parse(payload) != nil || !c.sound() || t.validator.Validate(&c) != nil {
		return nil, false
	}
	until := int64(math.MaxInt64)
	if c.expires != nil {
		until = c.expires.Add(max(0, t.cfg.Leeway)).UnixMilli()
	}
	return &verified{
		token: text, identity: sluice.Identity{User: c.subject, Device: c.device, Claims: c.other},
		key: sluice.UserKeyOf(c.subject), hash: maphash.String(t.seed, c.subject), until: until, keys: keys,
	}, false
}

// verify tries the keys of the token's method: those with its kid, and those without one.
func (s *keySet) verify(h header, text string, signature []byte) (signed, unknownKey bool) {
	known := h.kid == ""
	for i := range s.keys {
		k := &s.keys[i]
		if h.kid != "" && k.id == h.kid {
			known = true
		}
		if k.method.Alg() != h.alg || h.kid != "" && k.id != "" && k.id != h.kid {
			continue
		}
		if k.method.Verify(text, signature, k.public) == nil {
			return true, false
		}
	}
	return false, !known
}

// header reads a token's first part. The few different ones that occur are remembered.
func (t *Tokens) header(text string) (header, bool) {
	if h, ok := (*t.headers.Load())[text]; ok {
		return h, true
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return header{}, false
	}
	var parsed struct {
		Alg  string          `json:"alg"`
		Kid  string          `json:"kid"`
		Crit json.RawMessage `json:"crit"`
	}
	// What crit names must be understood, and nothing is.
	if json.Unmarshal(raw, &parsed) != nil || parsed.Crit != nil || jwt.GetSigningMethod(parsed.Alg) == nil {
		return header{}, false
	}
	h := header{parsed.Alg, parsed.Kid}
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := *t.headers.Load(); len(old) < maxHeaders {
		next := make(map[string]header, len(old)+1)
		for k, v := range old {
			next[k] = v
		}
		next[strings.Clone(text)] = h
		t.headers.Store(&next)
	}
	return h, true
}
