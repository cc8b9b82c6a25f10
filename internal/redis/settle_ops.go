package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/sluice-sale/sluice"
)

// home is a shard of a campaign.
type home struct {
	campaign string
	shard    int
}

// Settled ends "pending" for claims that are in the ledger, whatever the epoch. Claims of campaigns that this node
// does not know are left pending, and the error is ErrUnavailable.
func (g *Gates) Settled(ctx context.Context, claims []sluice.Claim) error {
	known := map[string]sluice.Campaign{}
	ids := map[home][]string{}
	var errs []error
	for i := range claims {
		c, err := g.lookUp(known, claims[i].Campaign)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		at := home{c.ID, HomeShard(&c, claims[i].ID.User())}
		ids[at] = append(ids[at], string(claims[i].ID[:]))
	}
	for at, all := range ids {
		c := known[at.campaign]
		k := g.c.keys.of(&c, at.shard)
		for len(all) > 0 {
			n := min(len(all), MaxOps)
			what := func() string { return fmt.Sprintf("%d claims of %s/%d", n, at.campaign, at.shard) }
			_, err := g.c.run(ctx, g.c.scripts.settled, what, []string{k.gate, k.claims, k.pending}, all[:n])
			if errs = append(errs, err); err != nil {
				break
			}
			all = all[n:]
		}
	}
	return errors.Join(errs...)
}

// lookUp gives what the node knows of a campaign, asking once a call.
func (g *Gates) lookUp(known map[string]sluice.Campaign, id string) (sluice.Campaign, error) {
	if c, ok := known[id]; ok {
		return c, nil
	}
	c, ok := g.campaigns(id)
	if !ok {
		return c, fmt.Errorf("redis: campaign %s is not known here yet: %w", id, sluice.ErrUnavailable)
	}
	known[id] = c
	return c, nil
}

// Apply carries out operations and says for each what became of it. Operations on one shard go in their order;
// those on claims of different shards do not depend on each other. An operation that could not be carried out is
// PermitKept, and the error says why. PermitSettled is of one process only, and done by itself here.
func (g *Gates) Apply(ctx context.Context, ops []sluice.PermitOp) ([]sluice.PermitResult, error) {
	results := make([]sluice.PermitResult, len(ops))
	known := map[string]sluice.Campaign{}
	places := map[home][]int{} // by shard: which operations
	var order []home
	var errs []error
	for i := range ops {
		op := &ops[i]
		if op.Kind == sluice.PermitSettled {
			results[i].Verdict = sluice.PermitDone
			continue
		}
		c, err := g.lookUp(known, op.Campaign)
		switch {
		case err != nil:
			errs = append(errs, err)
		case op.Kind == sluice.PermitAdjust:
			if results[i], err = g.adjust(ctx, &c, op); err != nil {
				errs = append(errs, err)
			}
		default:
			at := home{c.ID, HomeShard(&c, op.Claim.User())}
			if places[at] == nil {
				order = append(order, at)
			}
			places[at] = append(places[at], i)
		}
	}
	for _, at := range order {
		c := known[at.campaign]
		if err := g.applyTo(ctx, &c, at.shard, ops, places[at], results); err != nil {
			errs = append(errs, err)
		}
	}
	return results, errors.Join(errs...)
}

// applyTo carries out the releases and takes of one shard.
func (g *Gates) applyTo(
	ctx context.Context, c *sluice.Campaign, shard int, ops []sluice.PermitOp, which []int, results []sluice.PermitResult,
) error {
	k := g.c.keys.of(c, shard)
	keys := []string{k.gate, k.claims, k.pending, k.holders, k.marks}
	// One that cannot be right stays, and is told of; it holds none of the others up.
	var bad []error
	which = slices.DeleteFunc(which, func(i int) bool {
		err := checkOp(&ops[i])
		if err != nil {
			bad = append(bad, fmt.Errorf("redis: apply to %s/%d: %w", c.ID, shard, err))
		}
		return err != nil
	})
	for len(which) > 0 {
		n := min(len(which), MaxOps)
		args := make([]string, 0, 8*n)
		for _, i := range which[:n] {
			args = appendOp(args, &ops[i])
		}
		what := func() string { return fmt.Sprintf("%d operations to %s/%d", n, c.ID, shard) }
		answer, err := g.c.run(ctx, g.c.scripts.ops, what, keys, args)
		if err != nil {
			return errors.Join(append(bad, err)...)
		}
		in := reader{answer: answer}
		word := in.text()
		if in.err != nil || len(word) != n {
			err := fmt.Errorf("redis: ops %s: %w: an answer that cannot be read", what(), sluice.ErrUncertain)
			return errors.Join(append(bad, err)...)
		}
		for j, i := range which[:n] {
			results[i] = sluice.PermitResult{Verdict: verdictOf(word[j]), Epoch: c.Epoch}
		}
		which = which[n:]
	}
	return errors.Join(bad...)
}

func verdictOf(letter byte) sluice.PermitVerdict {
	switch letter {
	case 'D':
		return sluice.PermitDone
	case 'X':
		return sluice.PermitDropped
	}
	return sluice.PermitKept
}

// quantityOf gives what the claim of an operation held before anything was given back. An operation that does not
// say it gives back, or takes, all of it at once.
func quantityOf(op *sluice.PermitOp) int64 { return max(op.Quantity, op.Units, op.LimitUnits) }

func checkOp(op *sluice.PermitOp) error {
	q := quantityOf(op)
	if op.Units < 0 || op.LimitUnits < 0 || q < 1 || q > sluice.MaxPerUserLimit || op.Epoch < 0 || op.Seq < 0 {
		return fmt.Errorf("%w: an operation on claim %s of %d units, %d of the limit", sluice.ErrInvalid, op.Claim, op.Units,
			op.LimitUnits)
	}
	return nil
}

func appendOp(args []string, op *sluice.PermitOp) []string {
	kind := "r"
	if op.Kind == sluice.PermitTake {
		kind = "t"
	}
	return append(args, kind, strconv.FormatInt(op.Epoch, 10), string(op.Claim[:halfSize]), string(op.Claim[halfSize:]),
		strconv.FormatInt(op.Seq, 10), strconv.FormatInt(quantityOf(op), 10), strconv.FormatInt(op.Units, 10),
		strconv.FormatInt(op.LimitUnits, 10))
}

// adjust applies a change of the total over all shards. An increase is spread evenly, the rest from shard to shard by
// the revision; a decrease takes what the first shard has, then the next. Each shard keeps what it did under the
// revision, so that the same call again comes to the same: the parts are computed from the answers.
func (g *Gates) adjust(ctx context.Context, c *sluice.Campaign, op *sluice.PermitOp) (sluice.PermitResult, error) {
	n := int64(shardsOf(c))
	result := sluice.PermitResult{Verdict: sluice.PermitDone, Epoch: op.Epoch}
	left := op.Units
	for i := range n {
		part := left
		if op.Units > 0 {
			part = op.Units / n
			if (i+op.Revision)%n < op.Units%n {
				part++
			}
		}
		verdict, did, err := g.adjustShard(ctx, c, int(i), op.Epoch, op.Revision, part)
		if err != nil || verdict != sluice.PermitDone {
			return sluice.PermitResult{Verdict: verdict}, err
		}
		left -= did
		if did < 0 {
			result.Taken -= did
		}
	}
	return result, nil
}

func (g *Gates) adjustShard(
	ctx context.Context, c *sluice.Campaign, shard int, epoch, revision, units int64,
) (sluice.PermitVerdict, int64, error) {
	k := g.c.keys.of(c, shard)
	what := func() string { return fmt.Sprintf("%s/%d by %d, revision %d", c.ID, shard, units, revision) }
	args := []string{strconv.FormatInt(epoch, 10), strconv.FormatInt(revision, 10), strconv.FormatInt(units, 10)}
	answer, err := g.c.run(ctx, g.c.scripts.adjust, what, []string{k.gate, k.marks}, args)
	if err != nil {
		return sluice.PermitKept, 0, err
	}
	in := reader{answer: answer}
	letter, did := in.text(), in.int()
	if in.err != nil || letter == "" {
		return sluice.PermitKept, 0, fmt.Errorf("redis: adjust %s: %w", what(), in.err)
	}
	return verdictOf(letter[0]), did, nil
}
