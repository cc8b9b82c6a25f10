package redis_test

import (
	"fmt"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
)

// TestTagsAreEven: of equal ranges of slots, as a Cluster of m masters has them, each gets as many shards as any
// other.
func TestTagsAreEven(t *testing.T) {
	if got := redis.Slot("123456789"); got != 0x31C3 { // the check value of the Cluster specification
		t.Fatalf("%x", got)
	}
	for _, name := range []string{"spring", "a", "c-2026-11-11"} {
		for _, masters := range []int{1, 2, 3, 4, 6} {
			for _, shards := range []int{2, 3, 4, 6, 12, 64} {
				c := sluice.Campaign{ID: name, Shards: shards}
				count := make([]int, masters)
				for _, tag := range redis.Tags(&c) {
					count[redis.Slot(tag)*masters/16384]++
				}
				for _, n := range count {
					if n < shards/masters || n > (shards+masters-1)/masters {
						t.Errorf("%s: %d shards on %d masters: %v", name, shards, masters, count)
						break
					}
				}
			}
		}
	}
}

// TestTagsOfGroups: a group's campaigns lie together, and a campaign is never taken for a group of its name.
func TestTagsOfGroups(t *testing.T) {
	a, b := sluice.Campaign{ID: "a", LimitGroup: "g", Shards: 2}, sluice.Campaign{ID: "b", LimitGroup: "g", Shards: 2}
	g := sluice.Campaign{ID: "g", Shards: 2}
	for i := range 2 {
		if redis.Tags(&a)[i] != redis.Tags(&b)[i] || redis.Tags(&a)[i] == redis.Tags(&g)[i] {
			t.Errorf("%v %v %v", redis.Tags(&a), redis.Tags(&b), redis.Tags(&g))
		}
	}
}

// TestHomesAreEven: users are spread over the shards.
func TestHomesAreEven(t *testing.T) {
	c := sluice.Campaign{ID: "a", Shards: 8}
	count := make([]int, 8)
	for i := range 80_000 {
		count[redis.HomeShard(&c, sluice.UserKeyOf(fmt.Sprint("u", i)))]++
	}
	for _, n := range count {
		if n < 9_500 || n > 10_500 {
			t.Errorf("%v", count)
		}
	}
}

// TestGrowing: a hash that has just doubled has all its places to move, and none once a third as many came again.
func TestGrowing(t *testing.T) {
	for n, want := range map[int64]int64{
		0: 0, 999: 0, 1023: 0, 1024: 1024, 1124: 724, 1400: 0, 1 << 22: 1 << 22, 5_000_000: 1<<22 - 3*(5_000_000-1<<22),
		6_000_000: 0,
	} {
		if got := redis.Growing(n); got != want {
			t.Errorf("%d entries: %d places, want %d", n, got, want)
		}
	}
}
