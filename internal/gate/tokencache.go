package gate

import "sync/atomic"

// maxCachedToken bounds the tokens that are kept, in bytes; a longer one is verified each time.
const maxCachedToken = 2 << 10

// tokenCache remembers verified tokens. Each hash has two places; a newcomer takes one that is free, else the first. A
// sale opens with as many new tokens as buyers: keeping one is a store, where a cache with an order of its own took
// longer than verifying it. It holds its places, 8 bytes each, and the tokens in them.
type tokenCache struct {
	places []atomic.Pointer[verified]
	mask   uint64
}

func newTokenCache(tokens int) *tokenCache {
	n := 2
	for n < tokens {
		n *= 2
	}
	return &tokenCache{places: make([]atomic.Pointer[verified], n), mask: uint64(n - 1)}
}

func (c *tokenCache) pair(hash uint64) (first, second *atomic.Pointer[verified]) {
	return &c.places[hash&c.mask], &c.places[(hash>>32)&c.mask]
}

// get gives the token of that very text, or nil.
func (c *tokenCache) get(hash uint64, token []byte) *verified {
	a, b := c.pair(hash)
	if v := a.Load(); v != nil && v.token == string(token) {
		return v
	}
	if v := b.Load(); v != nil && v.token == string(token) {
		return v
	}
	return nil
}

// put keeps v, in the place of another where both are taken.
func (c *tokenCache) put(hash uint64, v *verified) {
	if len(v.token) > maxCachedToken {
		return
	}
	a, b := c.pair(hash)
	if a.Load() != nil && b.Load() == nil {
		b.Store(v)
		return
	}
	a.Store(v)
}

// drop forgets v, a token that has expired.
func (c *tokenCache) drop(hash uint64, v *verified) {
	a, b := c.pair(hash)
	a.CompareAndSwap(v, nil)
	b.CompareAndSwap(v, nil)
}
