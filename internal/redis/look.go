package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
	"github.com/sluice-sale/sluice"
)

// Bounds of one look.
const (
	scanCount   = 500     // what a scan is asked to look at in one go
	holdersRoom = 1 << 20 // bytes of a piece of the list of holders
)

// rawState is a shard with its transfer, which may have arrived already.
type rawState struct {
	sluice.ShardState
	transfer *Transfer
}

// raw reads every shard that answers.
func (g *Gates) raw(ctx context.Context, c *sluice.Campaign) ([]rawState, error) {
	var all []rawState
	var errs []error
	for shard := range shardsOf(c) {
		k := g.c.keys.of(c, shard)
		what := func() string { return fmt.Sprintf("%s/%d", c.ID, shard) }
		answer, err := g.c.run(ctx, g.c.scripts.state, what, []string{k.gate, k.pending, k.outbox}, nil)
		if err == nil {
			var s rawState
			if s, err = readState(answer, shard); err == nil {
				all = append(all, s)
			}
		}
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

func readState(answer []rueidis.RedisMessage, shard int) (s rawState, err error) {
	in := reader{answer: answer}
	s.Shard = shard
	in.int() // the time
	s.Backlog = in.int()
	if id, _, ok := strings.Cut(in.text(), "-"); ok {
		at, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return s, fmt.Errorf("redis: state: %w: an entry's id is %q", sluice.ErrUncertain, id)
		}
		s.Oldest = sluice.Millis(at)
	}
	s.Epoch = in.number()
	s.Armed = s.Epoch > 0
	s.Open = in.number() == 1
	s.SealedFor, s.Revision = in.number(), in.number()
	s.Available, s.Returning, s.Queued = in.number(), in.number(), in.number()
	s.Out, s.Live, s.Share, s.Taken = in.number(), in.number(), in.number(), in.number()
	to, seq := in.number(), in.number()
	s.LastAt = sluice.Millis(in.number())
	if s.Open {
		s.SealedFor = 0
	}
	if s.Out > 0 {
		s.transfer = &Transfer{From: shard, To: int(to), Epoch: s.Epoch, Seq: seq, Units: s.Out}
	}
	return s, in.err
}

// State reads every shard, each as of one moment. A shard that does not answer is left out and is the error; Armed is
// false where there is no gate. Out are the units that have left this shard and are not at their receiver: those of a
// transfer that arrived and is not forgotten count there, and are taken off Share here.
func (g *Gates) State(ctx context.Context, c sluice.Campaign) ([]sluice.ShardState, error) {
	raw, err := g.raw(ctx, &c)
	errs := []error{err}
	all := make([]sluice.ShardState, len(raw))
	for i := range raw {
		all[i] = raw[i].ShardState
		t := raw[i].transfer
		if t == nil {
			continue
		}
		arrived, err := g.arrived(ctx, &c, t)
		errs = append(errs, err)
		if arrived {
			all[i].Share -= all[i].Out
			all[i].Out = 0
		}
	}
	return all, errors.Join(errs...)
}

// arrived says whether the receiver of a transfer has its units.
func (g *Gates) arrived(ctx context.Context, c *sluice.Campaign, t *Transfer) (bool, error) {
	ctx, cancel := g.c.limited(ctx)
	defer cancel()
	k := g.c.keys.of(c, t.To)
	got := g.c.rdb.DoMulti(ctx,
		g.c.rdb.B().Hget().Key(k.gate).Field("epoch").Build(),
		g.c.rdb.B().Hget().Key(k.marks).Field("h"+strconv.Itoa(t.From)).Build())
	epoch, err := got[0].AsInt64()
	if err == nil {
		var hwm int64
		if hwm, err = got[1].AsInt64(); err == nil {
			return epoch == t.Epoch && hwm >= t.Seq, nil
		}
	}
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	return false, sorted(err, "look for transfer %d of %s/%d", t.Seq, c.ID, t.From)
}

// scan walks over a hash in pieces of field, value, field, value.
func (g *Gates) scan(ctx context.Context, key string, each func([]string) error) error {
	for cursor := uint64(0); ; {
		call, cancel := g.c.limited(ctx)
		entry, err := g.c.rdb.Do(call, g.c.rdb.B().Hscan().Key(key).Cursor(cursor).Count(scanCount).Build()).AsScanEntry()
		cancel()
		if err != nil {
			return sorted(err, "scan %s", key)
		}
		if len(entry.Elements) > 0 {
			if err := each(entry.Elements); err != nil {
				return err
			}
		}
		if cursor = entry.Cursor; cursor == 0 {
			return nil
		}
	}
}

// many reads fields of a hash.
func (g *Gates) many(ctx context.Context, key string, fields []string) ([]rueidis.RedisMessage, error) {
	ctx, cancel := g.c.limited(ctx)
	defer cancel()
	all, err := g.c.rdb.Do(ctx, g.c.rdb.B().Hmget().Key(key).Field(fields...).Build()).ToArray()
	return all, sorted(err, "read %d of %s", len(fields), key)
}

// claimsOf reads a user's value.
func claimsOf(user, value string) (all []sluice.GateClaim) {
	for at := headSize; at+recordSize <= len(value) && len(user) == halfSize; at += recordSize {
		r := []byte(value[at : at+recordSize])
		c := sluice.GateClaim{Quantity: int32(binary.BigEndian.Uint16(r[10:])), LimitUnits: int32(binary.BigEndian.Uint16(r[14:]))}
		c.LiveUnits = int32(binary.BigEndian.Uint16(r[12:]))
		c.Live = c.LiveUnits > 0
		copy(c.ID[:], user)
		copy(c.ID[halfSize:], r[:halfSize])
		all = append(all, c)
	}
	return all
}

// queued fills in the claims that are not settled.
func (g *Gates) queued(ctx context.Context, pending string, all []sluice.GateClaim) error {
	for len(all) > 0 {
		n := min(len(all), MaxOps)
		ids := make([]string, n)
		for i := range ids {
			ids[i] = string(all[i].ID[:])
		}
		there, err := g.many(ctx, pending, ids)
		if err != nil {
			return err
		}
		for i := range there {
			if m, err := there[i].ToString(); err == nil {
				if c, _, _, err := DecodeMessage([]byte(m)); err == nil {
					all[i].Queued = &c
				}
			}
		}
		all = all[n:]
	}
	return nil
}

// Claims walks over all claims of a shard, in pieces and in no order; one that is changed meanwhile may come twice.
func (g *Gates) Claims(ctx context.Context, c sluice.Campaign, shard int, each func([]sluice.GateClaim) error) error {
	k := g.c.keys.of(&c, shard)
	return g.scan(ctx, k.claims, func(pairs []string) error {
		var all []sluice.GateClaim
		for i := 0; i+1 < len(pairs); i += 2 {
			all = append(all, claimsOf(pairs[i], pairs[i+1])...)
		}
		if err := g.queued(ctx, k.pending, all); err != nil {
			return err
		}
		return each(all)
	})
}

// Lookup gives what the gates hold of these claims; one that no gate holds is absent.
func (g *Gates) Lookup(
	ctx context.Context, c sluice.Campaign, ids []sluice.ClaimID,
) (map[sluice.ClaimID]sluice.GateClaim, error) {
	byShard := map[int][]sluice.ClaimID{}
	for _, id := range ids {
		shard := HomeShard(&c, id.User())
		byShard[shard] = append(byShard[shard], id)
	}
	found := make(map[sluice.ClaimID]sluice.GateClaim, len(ids))
	for shard, all := range byShard {
		for len(all) > 0 {
			n := min(len(all), MaxOps)
			if err := g.lookupPiece(ctx, g.c.keys.of(&c, shard), all[:n], found); err != nil {
				return nil, err
			}
			all = all[n:]
		}
	}
	return found, nil
}

func (g *Gates) lookupPiece(
	ctx context.Context, k shardKeys, ids []sluice.ClaimID, found map[sluice.ClaimID]sluice.GateClaim,
) error {
	users := make([]string, len(ids))
	for i, id := range ids {
		users[i] = string(id[:halfSize])
	}
	values, err := g.many(ctx, k.claims, users)
	if err != nil {
		return err
	}
	var all []sluice.GateClaim
	for i := range values {
		v, err := values[i].ToString()
		if err != nil {
			continue // nothing of this user
		}
		for _, c := range claimsOf(users[i], v) {
			if c.ID == ids[i] {
				all = append(all, c)
			}
		}
	}
	if err := g.queued(ctx, k.pending, all); err != nil {
		return err
	}
	for _, c := range all {
		found[c.ID] = c
	}
	return nil
}

// PendingRaw walks over what is admitted and not settled, as a queue would deliver it: what cannot be read has a Fault.
func (g *Gates) PendingRaw(ctx context.Context, c sluice.Campaign, shard int, each func([]sluice.Delivery) error) error {
	return g.scan(ctx, g.c.keys.of(&c, shard).pending, func(pairs []string) error {
		var all []sluice.Delivery
		for i := 1; i < len(pairs); i += 2 {
			all = append(all, Deliveries("", []byte(pairs[i]))...)
		}
		return each(all)
	})
}

// Pending walks over what is admitted and not settled. Messages that cannot be read are left out: see PendingRaw.
func (g *Gates) Pending(ctx context.Context, c sluice.Campaign, shard int, each func([]sluice.Claim) error) error {
	return g.PendingRaw(ctx, c, shard, func(all []sluice.Delivery) error {
		claims := make([]sluice.Claim, 0, len(all))
		for i := range all {
			if all[i].Fault == "" {
				claims = append(claims, all[i].Claim)
			}
		}
		return each(claims)
	})
}

// Find looks one claim up among what is not settled, at the user's home shard of each campaign, in one pipeline.
func (g *Gates) Find(ctx context.Context, campaigns []sluice.Campaign, id sluice.ClaimID) (sluice.Claim, bool, error) {
	if len(campaigns) == 0 {
		return sluice.Claim{}, false, nil
	}
	ctx, cancel := g.c.limited(ctx)
	defer cancel()
	calls := make([]rueidis.Completed, len(campaigns))
	for i := range campaigns {
		key := g.c.keys.of(&campaigns[i], HomeShard(&campaigns[i], id.User())).pending
		calls[i] = g.c.rdb.B().Hget().Key(key).Field(string(id[:])).Build()
	}
	var errs []error
	for i, answer := range g.c.rdb.DoMulti(ctx, calls...) {
		m, err := answer.ToString()
		switch {
		case rueidis.IsRedisNil(err):
			continue
		case err != nil:
			errs = append(errs, sorted(err, "look for claim %s in %s", id, campaigns[i].ID))
			continue
		}
		c, _, _, err := DecodeMessage([]byte(m))
		return c, err == nil, err
	}
	return sluice.Claim{}, false, errors.Join(errs...)
}

// Holders reads a piece of a shard's list of holders, from a byte offset.
func (g *Gates) Holders(ctx context.Context, c *sluice.Campaign, shard int, from int64) (Holders, error) {
	k := g.c.keys.of(c, shard)
	what := func() string { return fmt.Sprintf("%s/%d from %d", c.ID, shard, from) }
	answer, err := g.c.run(ctx, g.c.scripts.holders, what, []string{k.gate, k.holders},
		[]string{number(from), strconv.Itoa(holdersRoom / halfSize * halfSize)})
	if err != nil {
		return Holders{}, err
	}
	in := reader{answer: answer}
	h := Holders{Epoch: in.int(), Total: in.int()}
	piece := in.text()
	if in.err != nil {
		return Holders{}, in.err
	}
	switch {
	case h.Epoch == 0:
		h.Status = GateNone
	case h.Epoch != c.Epoch:
		h.Status = GateEpoch
	}
	h.Next = from + int64(len(piece))
	h.Keys = make([]sluice.UserKey, len(piece)/halfSize)
	for i := range h.Keys {
		copy(h.Keys[i][:], piece[i*halfSize:])
	}
	return h, nil
}
