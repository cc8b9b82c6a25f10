package redis

import (
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/sluice-sale/sluice"
)

// slots is how many slots a Cluster has.
const slots = 16384

// maxTags bounds the layouts whose tags are remembered; they can be computed again.
const maxTags = 4096

// crcTable is that of CRC-16/XMODEM, by which a Cluster hashes keys.
var crcTable = func() (t [256]uint16) {
	for i := range t {
		c := uint16(i) << 8
		for range 8 {
			if c&0x8000 != 0 {
				c = c<<1 ^ 0x1021
			} else {
				c <<= 1
			}
		}
		t[i] = c
	}
	return t
}()

func crc16(c uint16, s string) uint16 {
	for i := range len(s) {
		c = c<<8 ^ crcTable[byte(c>>8)^s[i]]
	}
	return c
}

// scope names whose shards share tags: those of a limit group, else those of a campaign by itself.
func scope(c *sluice.Campaign) string {
	if c.LimitGroup != "" {
		return "g:" + c.LimitGroup
	}
	return "c:" + c.ID
}

// makeTags gives the hash tags of n shards. One shard lies where its name hashes to. Several lie in slots that are
// the same distance from each other, beginning at a slot that the name chooses: as long as every master serves one
// range of the same size, as redis-cli --cluster create and rebalance leave it, every one of m masters has n/m of
// the shards, rounded up or down. The tag that lands in a slot is found by counting.
func makeTags(scope string, n int) []string {
	if n == 1 {
		return []string{scope}
	}
	first := int(crc16(0, scope)) % slots
	tags := make([]string, n)
	for i := range tags {
		want := uint16((first + i*slots/n) % slots)
		head := scope + ":" + strconv.Itoa(i) + "of" + strconv.Itoa(n) + ":"
		crc := crc16(0, head)
		for k := 0; ; k++ {
			if tail := strconv.FormatInt(int64(k), 36); crc16(crc, tail)%slots == want {
				tags[i] = head + tail
				break
			}
		}
	}
	return tags
}

// keys makes the names of keys. It remembers tags, since finding one is thousands of steps.
type keys struct {
	prefix string

	mu   sync.RWMutex
	tags map[tagsOf][]string
}

type tagsOf struct {
	scope string
	n     int
}

func newKeys(prefix string) *keys { return &keys{prefix: prefix, tags: map[tagsOf][]string{}} }

func (k *keys) tag(c *sluice.Campaign, shard int) string {
	of := tagsOf{scope(c), shardsOf(c)}
	k.mu.RLock()
	tags, ok := k.tags[of]
	k.mu.RUnlock()
	if !ok {
		tags = makeTags(of.scope, of.n)
		k.mu.Lock()
		if len(k.tags) >= maxTags {
			clear(k.tags)
		}
		k.tags[of] = tags
		k.mu.Unlock()
	}
	return tags[shard]
}

// shardKeys are the keys of one shard of one campaign.
type shardKeys struct {
	gate    string // hash: the figures
	claims  string // hash: user's half of the id -> the user's claims
	pending string // hash: the messages of each call that is not settled whole
	holders string // string: the users' halves, in order of admission
	outbox  string // stream: one entry a call that admitted somebody
	marks   string // hash: what was done once in this epoch: t<revision>, h<giver>, p<operation>
}

// stem gives what the keys of a shard begin with.
func (k *keys) stem(c *sluice.Campaign, shard int) string {
	return k.prefix + ":{" + k.tag(c, shard) + "}:"
}

func (k *keys) of(c *sluice.Campaign, shard int) shardKeys {
	s := k.stem(c, shard) + c.ID + ":"
	return shardKeys{
		gate: s + "gate", claims: s + "claims", pending: s + "pending", holders: s + "holders", outbox: s + "outbox",
		marks: s + "marks",
	}
}

// OutboxKey names the stream of a shard of a campaign.
func (c *Client) OutboxKey(campaign *sluice.Campaign, shard int) string {
	return c.keys.of(campaign, shard).outbox
}

// OutboxField is the field of an entry of the stream that has the messages. CallField is what an entry has instead
// whose messages stand in pending: the call's name.
const (
	OutboxField = "m"
	CallField   = "c"
)

// shardsOf gives the number of shards of a campaign's gate.
func shardsOf(c *sluice.Campaign) int { return min(max(c.Shards, 1), sluice.MaxShards) }

// HomeShard gives the shard of a campaign that a user's claims belong to. The number of shards is fixed once a gate
// was armed: another number is another layout of keys.
func HomeShard(c *sluice.Campaign, user sluice.UserKey) int {
	return int(binary.BigEndian.Uint32(user[:]) % uint32(shardsOf(c)))
}
