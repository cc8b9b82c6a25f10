package redis

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/sluice-sale/sluice"
)

// Sample is a call of a script that is right. Free says which arguments may be anything.
type Sample struct {
	Keys, Args []string
	Free       []bool
}

// Sources gives the whole text of each script of the gates.
func (c *Client) Sources() map[string]string {
	all := map[string]string{}
	shared, _ := sources.ReadFile("lua/prelude.lua")
	for _, s := range c.scripts.all() {
		text, _ := sources.ReadFile("lua/" + s.name + ".lua")
		all[s.name] = string(shared) + string(text)
	}
	return all
}

// Eval runs a script and gives the code of its error, empty where there is none.
func (c *Client) Eval(ctx context.Context, source string, keys, args []string) string {
	call := c.rdb.B().Eval().Script(source).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
	err := c.rdb.Do(ctx, call).Error()
	if answer, ok := rueidis.IsRedisErr(err); ok {
		return code(answer)
	}
	return ""
}

// SampleArgs gives a right call of each script on a campaign.
func SampleArgs(c *sluice.Campaign) map[string]Sample {
	k := newKeys(DefaultPrefix).of(c, 0)
	claim := sluice.Claim{
		ID: sluice.NewClaimID(c.ID, "z", sluice.SourceClaim, "1"), Campaign: c.ID, User: "z", Quantity: 1, Epoch: c.Epoch,
	}
	user, half := string(claim.ID[:halfSize]), string(claim.ID[halfSize:])
	e := strconv.FormatInt(c.Epoch, 10)
	later := strconv.FormatInt(c.Epoch+1, 10)
	sample := func(keys []string, args ...string) Sample { return Sample{keys, args, make([]bool, len(args))} }
	all := map[string]Sample{
		"admit": sample([]string{k.gate, k.claims, k.pending, k.holders, k.outbox}, e, "0", "9000000000000", "3", "12345678",
			user, "1", string(AppendMessage(nil, &claim)), user+half, ""),
		"settled": sample([]string{k.gate, k.claims, k.pending}, string(claim.ID[:])),
		"ops":     sample([]string{k.gate, k.claims, k.pending, k.holders, k.marks}, "r", e, user, half, "7", "2", "1", "1"),
		"adjust":  sample([]string{k.gate, k.marks}, e, "1", "5"),
		"out":     sample([]string{k.gate}, e, "1", "2"),
		"in":      sample([]string{k.gate, k.marks}, e, "1", "1", "2"),
		"forget":  sample([]string{k.gate}, e, "1"),
		"dry":     sample([]string{k.gate}, e, "grant"),
		"seal":    sample([]string{k.gate}, later),
		"join": sample([]string{k.gate, k.claims, k.pending, k.holders}, later, "who", "0",
			string(claim.ID[:])+"\x00\x01\x00\x01\x00\x01"),
		"arm":     sample([]string{k.gate, k.marks}, later, "who", "0", "5", "1"),
		"state":   sample([]string{k.gate, k.outbox}),
		"holders": sample([]string{k.gate, k.holders}, "0", "10"),
		"find":    sample([]string{k.claims, k.pending}, string(claim.ID[:])),
		"drop":    sample([]string{k.gate, k.pending, k.outbox}),
		"run":     sample([]string{k.marks}),
	}
	all["join"].Free[1], all["arm"].Free[1] = true, true
	return all
}

// Growing says how many places of a hash of n entries may still have to move.
func Growing(n int64) int64 { return growing(n) }

// Tags gives the hash tags of a campaign's shards.
func Tags(c *sluice.Campaign) []string { return makeTags(scope(c), shardsOf(c)) }

// GateKey names the gate of a shard.
func (c *Client) GateKey(of *sluice.Campaign, shard int) string { return c.keys.of(of, shard).gate }

// Sort sorts an error of the driver.
func (c *Client) Sort(err error) error { return sorted(err, "test") }

// Do runs one command on a key.
func (c *Client) Do(ctx context.Context, command, key string, args ...string) error {
	return c.rdb.Do(ctx, c.rdb.B().Arbitrary(command).Keys(key).Args(args...).Build()).Error()
}

// Slow holds a script of a gate's own slot for a while.
func (c *Client) Slow(ctx context.Context, key string, ms int) error {
	const script = `local t = redis.call('TIME'); local till = t[1] * 1000 + t[2] / 1000 + ARGV[1]
repeat t = redis.call('TIME') until t[1] * 1000 + t[2] / 1000 >= till return 1`
	return sorted(c.rdb.Do(ctx, c.rdb.B().Eval().Script(script).Numkeys(1).Key(key).Arg(strconv.Itoa(ms)).Build()).Error(),
		"slow")
}

// Count gives the length of a stream.
func (c *Client) Count(ctx context.Context, stream string) (int64, error) {
	return c.rdb.Do(ctx, c.rdb.B().Xlen().Key(stream).Build()).AsInt64()
}

// Code gives the code of an answer that is an error; empty where there was no answer.
func Code(err error) string {
	var answer *rueidis.RedisError
	if errors.As(err, &answer) {
		return code(answer)
	}
	return ""
}

// Slot gives the slot of a hash tag.
func Slot(tag string) int { return int(crc16(0, tag)) % slots }
