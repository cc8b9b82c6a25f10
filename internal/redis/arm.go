package redis

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-sale/sluice"
)

// loading is what these Gates have joined to a shard for an epoch: who loads, and how many pieces. One at a time
// loads a shard; another load for the same epoch takes over, and the first one has to begin again.
type loading struct {
	who    string
	pieces int64
}

type loadKey struct {
	campaign string
	shard    int
	epoch    int64
}

// Home gives the shard that a user's claims belong to.
func (g *Gates) Home(c sluice.Campaign, user sluice.UserKey) int { return HomeShard(&c, user) }

// Seal stops admissions at every shard that answers, for good until epoch or a later one is armed, and tells of
// them as State does. A shard without a gate is sealed too. It begins a load: what was joined for the epoch before
// by these Gates is joined anew.
func (g *Gates) Seal(ctx context.Context, c sluice.Campaign, epoch int64) ([]sluice.ShardState, error) {
	var errs []error
	sealed := make([]bool, shardsOf(&c))
	for shard := range sealed {
		g.mu.Lock()
		delete(g.loads, loadKey{c.ID, shard, epoch})
		g.mu.Unlock()
		what := func() string { return fmt.Sprintf("%s/%d for epoch %d", c.ID, shard, epoch) }
		_, err := g.c.run(ctx, g.c.scripts.seal, what, []string{g.c.keys.of(&c, shard).gate}, []string{number(epoch)})
		sealed[shard] = err == nil
		errs = append(errs, err)
	}
	states, err := g.State(ctx, c)
	kept := states[:0]
	for _, s := range states {
		if sealed[s.Shard] {
			kept = append(kept, s)
		}
	}
	return kept, errors.Join(append(errs, err)...)
}

// load gives the load of a shard, begun if it is not.
func (g *Gates) load(c *sluice.Campaign, shard int) *loading {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := loadKey{c.ID, shard, c.Epoch}
	l := g.loads[key]
	if l == nil {
		l = &loading{who: rand.Text()}
		g.loads[key] = l
	}
	return l
}

// forgetLoad makes the next Join begin a load of its own.
func (g *Gates) forgetLoad(c *sluice.Campaign, shard int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.loads, loadKey{c.ID, shard, c.Epoch})
}

// Join puts rows of the ledger among the claims of a shard that is sealed for epoch c.Epoch. ErrConflict: it was
// armed for this epoch, or sealed or armed for a later one, or it has lost pieces of this load since: seal and load
// again from the start. Not to be called for the same shard from several goroutines at once.
func (g *Gates) Join(ctx context.Context, c sluice.Campaign, shard int, rows []sluice.ClaimRow) error {
	k := g.c.keys.of(&c, shard)
	keys := []string{k.gate, k.claims, k.pending, k.holders}
	load := g.load(&c, shard)
	for len(rows) > 0 {
		n := min(len(rows), MaxOps)
		args, err := joinArgs(&c, shard, load, rows[:n])
		if err != nil {
			return err
		}
		what := func() string { return fmt.Sprintf("%d rows to %s/%d for epoch %d", n, c.ID, shard, c.Epoch) }
		answer, err := g.c.run(ctx, g.c.scripts.join, what, keys, args)
		if err != nil {
			return err
		}
		in := reader{answer: answer}
		if in.int() != 1 {
			g.forgetLoad(&c, shard)
			return fmt.Errorf("redis: join %s: %w: the shard is not sealed for it, or has lost pieces", what(),
				sluice.ErrConflict)
		}
		load.pieces++
		rows = rows[n:]
	}
	return nil
}

func joinArgs(c *sluice.Campaign, shard int, load *loading, rows []sluice.ClaimRow) ([]string, error) {
	buf := make([]byte, 0, 26*len(rows))
	for i := range rows {
		r := &rows[i]
		if r.Quantity < 1 || r.Quantity > sluice.MaxPerUserLimit || r.LiveUnits < 0 || r.LiveUnits > r.Quantity ||
			r.LimitUnits < 0 || r.LimitUnits > r.Quantity || HomeShard(c, r.ID.User()) != shard {
			return nil, fmt.Errorf("redis: join to %s/%d: %w: row of claim %s: %d units, %d live, %d of the limit", c.ID, shard,
				sluice.ErrInvalid, r.ID, r.Quantity, r.LiveUnits, r.LimitUnits)
		}
		buf = append(buf, r.ID[:]...)
		for _, n := range [...]int32{r.Quantity, r.LiveUnits, r.LimitUnits} {
			buf = binary.BigEndian.AppendUint16(buf, uint16(n))
		}
	}
	all := string(buf)
	args := []string{number(c.Epoch), load.who, number(load.pieces)}
	for range rows {
		args, all = append(args, all[:26]), all[26:]
	}
	return args, nil
}

// Arm opens a shard for epoch c.Epoch with the revision of c and available = share - Σ live units, which may be below
// zero. ErrConflict: not sealed for this epoch, armed for a later one, or pieces that were joined are not there any
// more: seal and load again. Arming again after it was done does nothing.
func (g *Gates) Arm(ctx context.Context, c sluice.Campaign, shard int, share int64) error {
	k := g.c.keys.of(&c, shard)
	load := g.load(&c, shard)
	what := func() string { return fmt.Sprintf("%s/%d for epoch %d", c.ID, shard, c.Epoch) }
	if err := g.atRest(ctx, k.claims); err != nil {
		return err
	}
	answer, err := g.c.run(ctx, g.c.scripts.arm, what, []string{k.gate, k.marks},
		[]string{number(c.Epoch), load.who, number(load.pieces), number(share), strconv.FormatInt(c.Revision, 10)})
	if err != nil {
		return err
	}
	in := reader{answer: answer}
	armed := in.int()
	if in.err == nil {
		g.forgetLoad(&c, shard)
	}
	if armed != 1 && in.err == nil {
		return fmt.Errorf("redis: arm %s: %w: the shard is not sealed for it, or has lost pieces", what(), sluice.ErrConflict)
	}
	return in.err
}

// restFields are how many fields one call of atRest looks for: a millisecond of Redis.
const restFields = 1000

// atRest lets Redis finish the growth of the claims hash before the shard opens. A hash that has doubled moves its
// entries a few at every look-up and every write, which makes both twice as dear until it is done; a load of millions
// may end in the middle of that. Each look-up moves one place of the old table, and there are as many as there were
// claims when it doubled, at a power of two. Admitting a claim, or loading it, makes three.
func (g *Gates) atRest(ctx context.Context, claims string) error {
	ctx, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	n, err := g.c.rdb.Do(ctx, g.c.rdb.B().Hlen().Key(claims).Build()).AsInt64()
	if err != nil {
		return sorted(err, "count %s", claims)
	}
	absent := slices.Repeat([]string{"-"}, restFields)
	for left := growing(n); left > 0; left -= restFields {
		call := g.c.rdb.B().Hmget().Key(claims).Field(absent...).Build()
		if err := g.c.rdb.Do(ctx, call).Error(); err != nil {
			if ctx.Err() != nil {
				return nil // it opens as it is
			}
			return sorted(err, "look into %s", claims)
		}
	}
	return nil
}

// restTime bounds atRest: a campaign that is late opens all the same.
const restTime = 3 * time.Second

// growing gives how many places of a hash of n entries may still have to move.
func growing(n int64) int64 {
	if n < restFields {
		return 0
	}
	doubled := int64(1) << (bits.Len64(uint64(n)) - 1)
	return max(0, doubled-3*(n-doubled))
}
