package redis

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/sluice-sale/sluice"
)

// Bounds of what risk rules and holders keep here.
const (
	riskBatches = 1024             // of what nodes told each other, about
	riskHeard   = 256              // batches of one look
	riskTTL     = 30 * time.Minute // of batches, after the last one
	heldTTL     = 24 * time.Hour   // of a holder's places, after the window of the last one
)

// Exchange carries what nodes have counted for risk rules: a stream of batches. It is not for the path of claims.
type Exchange struct {
	c           *Client
	key, stream string // they share a slot
}

// NewExchange makes the Exchange of a client.
func NewExchange(c *Client) *Exchange {
	stem := c.cfg.Prefix + ":{risk}:"
	return &Exchange{c: c, key: stem + "key", stream: stem + "counts"}
}

// Key gives what all nodes hash with: the key that came first.
func (x *Exchange) Key(ctx context.Context, mine []byte) ([]byte, error) {
	b := x.c.rdb.B()
	err := x.c.rdb.Do(ctx, b.Set().Key(x.key).Value(string(mine)).Nx().Build()).Error()
	if err != nil && !rueidis.IsRedisNil(err) {
		return nil, sorted(err, "key of the risk counters")
	}
	key, err := x.c.rdb.Do(ctx, x.c.rdb.B().Get().Key(x.key).Build()).AsBytes()
	if err != nil {
		return nil, sorted(err, "key of the risk counters")
	}
	return key, nil
}

// Tell adds what a node counted. Of many batches the oldest are forgotten.
func (x *Exchange) Tell(ctx context.Context, node string, batch []byte) error {
	add := x.c.rdb.B().Xadd().Key(x.stream).Maxlen().Almost().Threshold(strconv.Itoa(riskBatches)).Id("*").
		FieldValue().FieldValue("node", node).FieldValue("counts", string(batch)).Build()
	live := x.c.rdb.B().Pexpire().Key(x.stream).Milliseconds(riskTTL.Milliseconds()).Build()
	for _, res := range x.c.rdb.DoMulti(ctx, add, live) {
		if err := res.Error(); err != nil {
			return sorted(err, "risk counts of %s", node)
		}
	}
	return nil
}

// Hear calls back for the batches after a mark, oldest first, and gives the mark to ask from next.
func (x *Exchange) Hear(
	ctx context.Context, after string, each func(node string, batch []byte),
) (next string, err error) {
	next = after
	if after == "" {
		after = "0-0"
	}
	for {
		entries, err := x.c.rdb.Do(ctx, x.c.rdb.B().Xrange().Key(x.stream).Start("("+after).End("+").
			Count(riskHeard).Build()).AsXRange()
		if err != nil && !rueidis.IsRedisNil(err) {
			return next, sorted(err, "risk counts")
		}
		for _, e := range entries {
			each(e.FieldValues["node"], []byte(e.FieldValues["counts"]))
			next, after = e.ID, e.ID
		}
		if len(entries) < riskHeard {
			return next, nil
		}
	}
}

//go:embed lua/holding_places.lua
var holdersSource string

// HeldPlaces remembers who holds unpaid orders, for all nodes.
type HeldPlaces struct {
	c    *Client
	hold *rueidis.Lua
}

// NewHeldPlaces makes the HeldPlaces of a client.
func NewHeldPlaces(c *Client) *HeldPlaces { return &HeldPlaces{c, rueidis.NewLuaScript(holdersSource)} }

// key names a holder's places; the holder's name may hold any byte.
func (h *HeldPlaces) key(holder string) string {
	sum := sha256.Sum256([]byte(holder))
	return h.c.cfg.Prefix + ":{held:" + hex.EncodeToString(sum[:16]) + "}"
}

// Hold takes a place for p unless the holder has limit others, which it gives then.
func (h *HeldPlaces) Hold(
	ctx context.Context, holder string, p sluice.Held, limit int,
) (others []sluice.Held, ok bool, err error) {
	live := max(0, time.Until(p.Until.Time())) + heldTTL
	out, err := h.hold.Exec(ctx, h.c.rdb, []string{h.key(holder)}, []string{string(p.ID[:]),
		strconv.FormatInt(int64(p.Until), 10), strconv.Itoa(limit), strconv.FormatInt(live.Milliseconds(), 10)}).AsStrSlice()
	if err != nil {
		return nil, false, sorted(err, "hold a place for %s", p.ID.String())
	}
	if len(out) > 0 && out[0] == "1" {
		return nil, true, nil
	}
	for i := 1; i+1 < len(out); i += 2 {
		var o sluice.Held
		until, err := strconv.ParseFloat(out[i+1], 64)
		if err != nil || copy(o.ID[:], out[i]) != len(o.ID) {
			return nil, false, fmt.Errorf("redis: places of a holder cannot be read: %w", sluice.ErrUnavailable)
		}
		o.Until = sluice.Millis(until)
		others = append(others, o)
	}
	return others, false, nil
}

// Free gives places back.
func (h *HeldPlaces) Free(ctx context.Context, holder string, ids []sluice.ClaimID) error {
	members := make([]string, len(ids))
	for i, id := range ids {
		members[i] = string(id[:])
	}
	err := h.c.rdb.Do(ctx, h.c.rdb.B().Zrem().Key(h.key(holder)).Member(members...).Build()).Error()
	if err != nil {
		return sorted(err, "free %d places of a holder", len(ids))
	}
	return nil
}
