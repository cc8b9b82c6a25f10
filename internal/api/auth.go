package api

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// bearer gives the token of an Authorization header; nil where it is another scheme or absent.
func bearer(header []byte) []byte {
	const scheme = "bearer "
	if len(header) <= len(scheme) || !bytes.EqualFold(header[:len(scheme)], []byte(scheme)) {
		return nil
	}
	return bytes.TrimSpace(header[len(scheme):])
}

// authenticate does what the route's authKind asks. The error is a *Problem.
func (p *Public) authenticate(c *call) error {
	switch c.route.auth {
	case authBuyer:
		token := bearer(c.ctx.Request.Header.Peek("Authorization"))
		if len(token) == 0 || p.deps.Gate == nil {
			return unauthenticated()
		}
		id, err := p.deps.Gate.Identify(token)
		if err != nil {
			return unauthenticated()
		}
		c.identity = id
	case authMerchant:
		key, err := authenticateKey(c.context(), p.deps.Keys, p.fails, c.addr(),
			bearer(c.ctx.Request.Header.Peek("Authorization")))
		if err != nil {
			return err
		}
		if key.Role != sluice.RoleMerchant {
			return newProblem(http.StatusForbidden, codeForbidden, "this call needs an API key of role merchant")
		}
		if key.Scope.Narrow() {
			if err := inScope(key.Scope, c.route.method, []string{c.route.doc.tag}); err != nil {
				return err
			}
		}
		c.key = key
	case authPayment:
		return p.verifySignature(c.ctx.Request.Header.Peek("Sluice-Signature"), c.ctx.Request.Body())
	}
	return nil
}

func unauthenticated() *Problem {
	return newProblem(http.StatusUnauthorized, codeUnauthenticated, "a valid bearer token is needed")
}

// authenticateKey finds the API key that was presented. Unknown, revoked and absent keys get the same answer. An
// address that failed too often is refused before its key is looked at, unless that key has been good lately:
// whoever guesses behind a shared address cannot lock its operators out.
func authenticateKey(ctx context.Context, keys Keys, fails *failures, addr netip.Addr, presented []byte,
) (sluice.APIKey, error) {
	if keys == nil {
		return sluice.APIKey{}, newProblem(http.StatusServiceUnavailable, codeUnavailable, "no API keys are set up")
	}
	refused := newProblem(http.StatusUnauthorized, codeUnauthenticated, "a valid API key is needed")
	if len(presented) == 0 {
		return sluice.APIKey{}, refused // nobody has guessed anything
	}
	hash := sha256.Sum256(presented)
	if !fails.known(hash) && !fails.may(addr) {
		p := newProblem(http.StatusTooManyRequests, codeTooManyFailures, "too many failed authentications")
		p.RetryAfter = failureRefill.Milliseconds()
		return sluice.APIKey{}, p
	}
	if len(presented) <= 512 {
		key, err := keys.KeyByHash(ctx, hash)
		switch {
		case err == nil:
			if key.RevokedAt == 0 && subtle.ConstantTimeCompare(key.Hash[:], hash[:]) == 1 {
				fails.good(hash)
				return key, nil
			}
		case !errors.Is(err, sluice.ErrNotFound):
			return sluice.APIKey{}, err
		}
	}
	fails.bad(addr, hash)
	return sluice.APIKey{}, refused
}

// maxSignatures bounds the v1 parts of one header that are looked at.
const maxSignatures = 8

// verifySignature checks "t=<unix s>,v1=<hex>[,v1=…]": HMAC-SHA256 of "t.body" under any of the payment secrets,
// at most signatureWindow old or ahead. While the payment side changes its secret it may sign with the old and the
// new one.
func (p *Public) verifySignature(header, body []byte) error {
	bad := newProblem(http.StatusUnauthorized, codeSignature, "the signature is missing, wrong or older than 5 minutes")
	var stamp []byte
	var sent [][]byte
	for part := range bytes.SplitSeq(header, []byte(",")) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(part), []byte("="))
		switch string(name) {
		case "t":
			if stamp != nil {
				return bad
			}
			stamp = value
		case "v1":
			mac := make([]byte, hex.DecodedLen(len(value)))
			if n, err := hex.Decode(mac, value); err == nil && n == sha256.Size && len(sent) < maxSignatures {
				sent = append(sent, mac)
			}
		}
	}
	at, err := strconv.ParseInt(string(stamp), 10, 64)
	if age := p.cfg.Now().Sub(time.Unix(at, 0)); err != nil || len(stamp) > 12 || age > signatureWindow ||
		age < -signatureWindow {
		return bad
	}
	ok := false
	for _, secret := range p.cfg.PaymentSecrets {
		h := hmac.New(sha256.New, secret)
		h.Write(stamp)
		h.Write([]byte{'.'})
		h.Write(body)
		want := h.Sum(nil)
		for _, mac := range sent {
			ok = hmac.Equal(want, mac) || ok
		}
	}
	if !ok {
		return bad
	}
	return nil
}

// Bounds of the memory of failed authentications.
const (
	failureBurst  = 10 // failures of one address before it has to wait
	failureRefill = 6 * time.Second
	maxFailures   = 4096 // addresses remembered
	maxGood       = 1024 // keys remembered
	goodFor       = time.Hour
)

// failures remembers which addresses failed to authenticate, and which keys were good. mu guards the maps.
type failures struct {
	now    func() time.Time
	mu     sync.Mutex
	byAddr map[netip.Addr]failure
	goods  map[[32]byte]time.Time
}

type failure struct {
	count float64
	at    time.Time
}

func newFailures(now func() time.Time) *failures {
	return &failures{now: now, byAddr: map[netip.Addr]failure{}, goods: map[[32]byte]time.Time{}}
}

// scope is what failures are counted by: an address, or the /64 of an IPv6 one.
func scope(addr netip.Addr) netip.Addr {
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return addr
}

func (f failure) decayed(now time.Time) failure {
	f.count = max(0, f.count-now.Sub(f.at).Seconds()/failureRefill.Seconds())
	f.at = now
	return f
}

// may says whether addr may try: whether a failure more still has room. What decays while somebody guesses is no room.
func (f *failures) may(addr netip.Addr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byAddr[scope(addr)].decayed(f.now()).count <= failureBurst-1
}

// known says whether the key was good lately.
func (f *failures) known(hash [32]byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.goods[hash]
	return ok && f.now().Sub(at) < goodFor
}

func (f *failures) good(hash [32]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.goods) >= maxGood {
		clear(f.goods)
	}
	f.goods[hash] = f.now()
}

// bad counts a failure. When the memory is full, addresses that have recovered are forgotten, then all are.
func (f *failures) bad(addr netip.Addr, hash [32]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.goods, hash)
	now, key := f.now(), scope(addr)
	if _, ok := f.byAddr[key]; !ok && len(f.byAddr) >= maxFailures {
		for a, x := range f.byAddr {
			if x.decayed(now).count == 0 {
				delete(f.byAddr, a)
			}
		}
		if len(f.byAddr) >= maxFailures {
			clear(f.byAddr)
		}
	}
	x := f.byAddr[key].decayed(now)
	x.count = min(x.count+1, failureBurst)
	f.byAddr[key] = x
}
