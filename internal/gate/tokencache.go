package gate

import "sync/atomic"

// Bounds of the cache, in bytes. A token that is longer, or for which there is no room, is verified each time.
const (
	maxCachedToken = 2 << 10
	maxCached      = 256 << 20 // all of them, as weigh counts
	maxMakeRoom    = 64        // places that are cleared for one token
)

// tokenCache remembers verified tokens. Each hash has two places; a newcomer takes one that is free, else the first. A
// sale opens with as many new tokens as buyers: keeping one is a store, where a cache with an order of its own took
// longer than verifying it. Its places take 16 bytes each; what stands in them is bounded in bytes.
type tokenCache struct {
	places []place
	mask   uint64
	most   int64        // bytes
	bytes  atomic.Int64 // of what stands in the places
}

// weigh tells about how many bytes v takes: its text, the identity cut from it, and both records.
func weigh(v *verified) int64 {
	if v == nil {
		return 0
	}
	return int64(320 + 2*len(v.token))
}

// place holds one token. The hash beside it spares a look at the token of another; the two may be of different tokens
// for a moment, so that only the text decides.
type place struct {
	hash atomic.Uint64
	v    atomic.Pointer[verified]
}

func newTokenCache(tokens int, most int64) *tokenCache {
	n := 2
	for n < tokens {
		n *= 2
	}
	return &tokenCache{places: make([]place, n), mask: uint64(n - 1), most: most}
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

// put keeps v, in the place of another where both are taken. Where there is no room the next places along make it, and
// where those have none to give v is not kept.
func (c *tokenCache) put(hash uint64, v *verified) {
	if len(v.token) > maxCachedToken {
		return
	}
	both := c.pair(hash)
	p, other := both[0], both[1]
	if p.v.Load() != nil && other.v.Load() == nil {
		p = other
	}
	for i := uint64(1); i <= maxMakeRoom && c.bytes.Load()+weigh(v)-weigh(p.v.Load()) > c.most; i++ {
		c.clear(&c.places[(hash+i)&c.mask])
	}
	if c.bytes.Load()+weigh(v)-weigh(p.v.Load()) > c.most {
		return
	}
	c.bytes.Add(weigh(v) - weigh(p.v.Swap(v)))
	p.hash.Store(hash)
}

func (c *tokenCache) clear(p *place) { c.bytes.Add(-weigh(p.v.Swap(nil))) }

// drop forgets v, a token that has expired.
func (c *tokenCache) drop(hash uint64, v *verified) {
	for _, p := range c.pair(hash) {
		if p.v.CompareAndSwap(v, nil) {
			c.bytes.Add(-weigh(v))
		}
	}
}
