package gate

import (
	"fmt"
	"strings"
	"testing"
)

// TestTheTokenCacheIsBounded: in bytes as well as in places, and what is kept is found.
func TestTheTokenCacheIsBounded(t *testing.T) {
	const places, most = 1 << 12, 1 << 20
	c := newTokenCache(places, most)
	token := func(i int) (uint64, *verified) {
		text := fmt.Sprint(i, strings.Repeat("x", 100+i%1500))
		return uint64(i) * 0x9e3779b97f4a7c15, &verified{token: text}
	}
	found := 0
	for i := range 100_000 {
		hash, v := token(i)
		c.put(hash, v)
		if c.get(hash, []byte(v.token)) == v {
			found++
		}
		if n := c.bytes.Load(); n > most {
			t.Fatalf("%d bytes after %d tokens, more than %d", n, i+1, most)
		}
	}
	var stand int64
	for i := range c.places {
		stand += weigh(c.places[i].v.Load())
	}
	if stand != c.bytes.Load() || stand < most/2 {
		t.Errorf("%d bytes stand in the places, %d are counted", stand, c.bytes.Load())
	}
	if found < 100_000/10 {
		t.Errorf("%d of 100,000 were found right after they came", found)
	}
	for i := range 100_000 {
		hash, v := token(i)
		if kept := c.get(hash, []byte(v.token)); kept != nil {
			c.drop(hash, kept)
		}
	}
	if n := c.bytes.Load(); n != 0 {
		t.Errorf("%d bytes are counted when all have gone", n)
	}
	hash, long := token(1)
	long.token = strings.Repeat("x", maxCachedToken+1)
	if c.put(hash, long); c.get(hash, []byte(long.token)) != nil {
		t.Error("a token above the bound is kept")
	}
}
