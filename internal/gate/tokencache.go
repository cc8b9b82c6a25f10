package gate

import "sync/atomic"

// maxCachedToken bounds the tokens that are kept, in bytes; a longer one is verified each time.
const maxCachedToken = 2 << 10

// tokenCache remembers verified tokens. Each hash has two places; a newcomer takes one that is free, else the first. A
// sale opens with as many new tokens as buyers: keeping one is a store, where a cache with an order of its own took
// longer than verifying it. It holds its places, 16 bytes each, and the tokens in them.
type tokenCache struct {
	places []place
	mask   uint64
}

// place holds one token. The hash beside it spares a look at the token of another; the two may be of different tokens
// for a moment, so that only the text decides.
type place struct {
	hash atomic.Uint64
	v    atomic.Pointer[verified]
}

func newTokenCache(tokens int) *tokenCache {
	n := 2
	for n < tokens {
		n *= 2
	}
	return &tokenCache{places: make([]place, n), mask: uint64(n - 1)}
}

func (c *tokenCache) pair(hash uint64) [2]*place {
	return [2]*place{&c.places[hash&c.mask], &c.places[(hash>>32)&c.mask]}
}

// get gives the token of that very text, or nil.
func (c *tokenCache) get(hash uint64, token []byte) *verified {
	for _, p := range c.pair(hash) {
		if p.hash.Load() != hash {
			continue
		}
		if v := p.v.Load(); v != nil && v.token == string(token) {
			return v
		}
	}
	return nil
}

// put keeps v, in the place of another where both are taken.
func (c *tokenCache) put(hash uint64, v *verified) {
	if len(v.token) > maxCachedToken {
		return
	}
	both := c.pair(hash)
	p := both[0]
	if p.v.Load() != nil && both[1].v.Load() == nil {
		p = both[1]
	}
	p.v.Store(v)
	p.hash.Store(hash)
}

// drop forgets v, a token that has expired.
func (c *tokenCache) drop(hash uint64, v *verified) {
	for _, p := range c.pair(hash) {
		p.v.CompareAndSwap(v, nil)
	}
}
