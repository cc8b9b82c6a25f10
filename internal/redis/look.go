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
	scanCount    = 500     // users that a scan is asked to look at in one go
	pendingCount = 8       // calls of pending that are read in one go, each with up to MaxAdmit messages
	maxAsking    = 16      // campaigns that are asked at once for one claim
	holdersRoom  = 1 << 20 // bytes of a piece of the list of holders
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
		answer, err := g.c.run(ctx, g.c.scripts.state, what, []string{k.gate, k.outbox}, nil)
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
	s.Backlog = in.number()
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
func (g *Gates) scan(ctx context.Context, key string, count int64, each func([]string) error) error {
	for cursor := uint64(0); ; {
		call, cancel := g.c.limited(ctx)
		entry, err := g.c.rdb.Do(call, g.c.rdb.B().Hscan().Key(key).Cursor(cursor).Count(count).Build()).AsScanEntry()
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

// claimsOf reads a user's value of the long form. calls names the call that admitted each claim, as it stands in
// pending's fields; empty where it is settled.
func claimsOf(user, value string) (all []sluice.GateClaim, calls []string) {
	for at := headSize; at+recordSize <= len(value) && len(user) == halfSize; at += recordSize {
		r := []byte(value[at : at+recordSize])
		c := sluice.GateClaim{
			Quantity: int32(binary.BigEndian.Uint16(r[10:])), LiveUnits: int32(binary.BigEndian.Uint16(r[12:])),
			LimitUnits: int32(binary.BigEndian.Uint16(r[14:])),
		}
		c.Live = c.LiveUnits > 0
		copy(c.ID[:], user)
		copy(c.ID[halfSize:], r[:halfSize])
		all, calls = append(all, c), append(calls, callOf(r[16:]))
	}
	return all, calls
}

// callOf gives the name of a call, empty where it is all zeroes.
func callOf(r []byte) string {
	if binary.BigEndian.Uint64(r) == 0 {
		return ""
	}
	return string(r)
}

// admitted are the messages of calls that are not settled whole, as far as they were read.
type admitted struct {
	calls  map[string]bool
	byID   map[sluice.ClaimID]sluice.Claim
	unread map[sluice.ClaimID]bool // of a version that this node does not know
}

func newAdmitted() *admitted {
	return &admitted{
		calls: map[string]bool{}, byID: map[sluice.ClaimID]sluice.Claim{}, unread: map[sluice.ClaimID]bool{},
	}
}

// fill gives claims that are not settled their whole claim. Those of a call that was settled since stay as they are.
func (g *Gates) fill(ctx context.Context, pending string, a *admitted, all []sluice.GateClaim, calls []string) error {
	var missing []string
	for _, call := range calls {
		if call != "" && !a.calls[call] {
			a.calls[call] = true
			missing = append(missing, "m"+call)
		}
	}
	for len(missing) > 0 {
		n := min(len(missing), pendingCount)
		there, err := g.many(ctx, pending, missing[:n])
		if err != nil {
			return err
		}
		for i := range there {
			entry, err := there[i].ToString()
			if err != nil {
				continue // settled since
			}
			for _, d := range Deliveries("", []byte(entry)) {
				if d.Fault == "" {
					a.byID[d.Claim.ID] = d.Claim
				} else if otherVersion(d.Raw) {
					a.unread[idOf(d.Raw)] = true
				}
			}
		}
		missing = missing[n:]
	}
	for i := range all {
		if calls[i] != "" {
			if c, ok := a.byID[all[i].ID]; ok {
				all[i].Queued = &c
			}
			all[i].Unread = a.unread[all[i].ID]
		}
	}
	return nil
}

// Claims walks over all claims of a shard, in pieces and in no order; one that is changed meanwhile may come twice.
func (g *Gates) Claims(ctx context.Context, c sluice.Campaign, shard int, each func([]sluice.GateClaim) error) error {
	k := g.c.keys.of(&c, shard)
	known, ids := newAdmitted(), lists{}
	return g.scan(ctx, k.claims, scanCount, func(pairs []string) error {
		users, values := make([]string, len(pairs)/2), make([]string, len(pairs)/2)
		for i := range users {
			users[i], values[i] = pairs[2*i], pairs[2*i+1]
		}
		if err := g.long(ctx, k, ids, users, values); err != nil {
			return err
		}
		var all []sluice.GateClaim
		var calls []string
		for i := range users {
			some, of := claimsOf(users[i], values[i])
			all, calls = append(all, some...), append(calls, of...)
		}
		if err := g.fill(ctx, k.pending, known, all, calls); err != nil {
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
	values, err := g.valuesOf(ctx, k, users)
	if err != nil {
		return err
	}
	var all []sluice.GateClaim
	var calls []string
	for i, v := range values {
		some, of := claimsOf(users[i], v)
		for j := range some {
			if some[j].ID == ids[i] {
				all, calls = append(all, some[j]), append(calls, of[j])
			}
		}
	}
	if err := g.fill(ctx, k.pending, newAdmitted(), all, calls); err != nil {
		return err
	}
	for _, c := range all {
		found[c.ID] = c
	}
	return nil
}

// PendingRaw walks over what is admitted and not settled, as a queue would deliver it: what cannot be read has a
// Fault.
func (g *Gates) PendingRaw(
	ctx context.Context, c sluice.Campaign, shard int, each func([]sluice.Delivery) error,
) error {
	k := g.c.keys.of(&c, shard)
	return g.scan(ctx, k.pending, pendingCount, func(pairs []string) error {
		for i := 0; i+1 < len(pairs); i += 2 {
			call, ok := strings.CutPrefix(pairs[i], "m")
			if !ok {
				continue
			}
			all, err := g.unsettled(ctx, k, call, Deliveries("", []byte(pairs[i+1])))
			if err != nil {
				return err
			}
			if len(all) == 0 {
				continue
			}
			if err := each(all); err != nil {
				return err
			}
		}
		return nil
	})
}

// unsettled leaves those messages of a call that are not settled. The ids stand in the same place in every version.
func (g *Gates) unsettled(
	ctx context.Context, k shardKeys, call string, all []sluice.Delivery,
) ([]sluice.Delivery, error) {
	ids := make([]sluice.ClaimID, len(all))
	users := make([]string, len(all))
	for i := range all {
		if len(all[i].Raw) >= minMessage {
			ids[i] = idOf(all[i].Raw)
		}
		users[i] = string(ids[i][:halfSize])
	}
	values, err := g.valuesOf(ctx, k, users)
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for i := range all {
		some, calls := claimsOf(users[i], values[i])
		for j := range some {
			if some[j].ID == ids[i] && calls[j] == call {
				kept = append(kept, all[i])
			}
		}
	}
	return kept, nil
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

// Find looks one claim up among what is not settled, at the user's home shard of each campaign, all at once.
func (g *Gates) Find(ctx context.Context, campaigns []sluice.Campaign, id sluice.ClaimID) (sluice.Claim, bool, error) {
	type answer struct {
		claim sluice.Claim
		found bool
		err   error
	}
	answers := make(chan answer, len(campaigns))
	places := make(chan struct{}, maxAsking)
	for i := range campaigns {
		places <- struct{}{}
		go func() {
			var a answer
			a.claim, a.found, a.err = g.findIn(ctx, &campaigns[i], id)
			<-places
			answers <- a
		}()
	}
	var errs []error
	for range campaigns {
		a := <-answers
		if a.found {
			return a.claim, true, nil
		}
		errs = append(errs, a.err)
	}
	return sluice.Claim{}, false, errors.Join(errs...)
}

func (g *Gates) findIn(ctx context.Context, c *sluice.Campaign, id sluice.ClaimID) (sluice.Claim, bool, error) {
	k := g.c.keys.of(c, HomeShard(c, id.User()))
	what := func() string { return fmt.Sprintf("claim %s in %s", id, c.ID) }
	answer, err := g.c.run(ctx, g.c.scripts.find, what, []string{k.claims, k.pending}, []string{string(id[:])})
	if rueidis.IsRedisNil(err) {
		return sluice.Claim{}, false, nil
	}
	if err != nil {
		return sluice.Claim{}, false, err
	}
	in := reader{answer: answer}
	for _, d := range Deliveries("", []byte(in.text())) {
		if d.Fault == "" && d.Claim.ID == id {
			return d.Claim, true, nil
		}
		if d.Fault != "" && otherVersion(d.Raw) && idOf(d.Raw) == id {
			// It is there; saying that there is none would be wrong.
			return sluice.Claim{}, false, fmt.Errorf("redis: %s: %s: %w", what(), d.Fault, sluice.ErrUnavailable)
		}
	}
	return sluice.Claim{}, false, in.err
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
