package redis

import (
	"encoding/binary"

	"github.com/sluice-sale/sluice"
)

// shardsOf gives the number of shards of a campaign's gate.
func shardsOf(c *sluice.Campaign) int { return min(max(c.Shards, 1), sluice.MaxShards) }

// HomeShard gives the shard of a campaign that a user's claims belong to. The number of shards is fixed once a gate was
// armed: another number is another layout of keys.
func HomeShard(c *sluice.Campaign, user sluice.UserKey) int {
	return int(binary.BigEndian.Uint32(user[:]) % uint32(shardsOf(c)))
}
