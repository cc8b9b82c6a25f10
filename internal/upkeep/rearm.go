package upkeep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// RearmConfig sets the re-armer up. Zero values mean the defaults given.
type RearmConfig struct {
	Config
	// Flush bounds how long it waits for live nodes to settle what they had promised; default 10 s, then it begins
	// again. A node that does not report keeps the campaign closed until it does or is dead: a newcomer must not get
	// a promised unit.
	Flush time.Duration
	Poll  time.Duration // between two looks at the nodes; default 50 ms
	// OnArmed is told of each epoch that was armed and how long the campaign was closed for it; may be nil.
	OnArmed func(campaign string, epoch int64, cause sluice.EpochCause, took time.Duration)
	// Held says that no gate is to be armed for now: an operator has campaigns sold without them; may be nil.
	Held func() bool
}

// RearmDeps are the parts of the re-armer. All are required, but Settler, without which shards cannot change.
type RearmDeps struct {
	Campaigns Campaigns
	Epochs    EpochLedger
	Rows      Rows
	Armory    Armory
	Gates     Gates
	Repairs   Repairs
	Settler   Settler
}

// Rearmer builds the gates of a campaign anew from the ledger and from what they still hold, in a new epoch: PROTOCOL
// "New epoch". Any number may work on one campaign at once: one of them opens the epoch in the ledger, and what the
// others do is refused by ledger or gates. They take turns all the same, where there is a Leader, so that they do not
// seal each other's gates.
type Rearmer struct {
	cfg    RearmConfig
	deps   RearmDeps
	doubts *doubts
	busy   sync.Map // campaigns that this node is arming
}

// NewRearmer makes the re-armer; Start has it look after doubts.
func NewRearmer(cfg RearmConfig, deps RearmDeps) *Rearmer {
	cfg.fill()
	if cfg.Flush <= 0 {
		cfg.Flush = 10 * time.Second
	}
	if cfg.Poll <= 0 {
		cfg.Poll = 50 * time.Millisecond
	}
	r := &Rearmer{cfg: cfg, deps: deps}
	r.doubts = newDoubts(r)
	return r
}

// errHeld says that an operator has campaigns sold without gates.
var errHeld = fmt.Errorf("%w: campaigns are sold in the ledger, as an operator wants", sluice.ErrConflict)

// errOvertaken says that somebody else opened a later epoch or armed this one.
var errOvertaken = fmt.Errorf("%w: another node is arming the campaign", sluice.ErrConflict)

// Rearm opens the epoch after from and arms it; cause is why, and turns to lost where a gate turns out to have
// forgotten something. Where the campaign is past from already and its gates are armed, that is what was asked for.
// It gives the epoch that is armed. ErrConflict: another node is at it. Any other error: ask again, the campaign
// stays closed.
func (r *Rearmer) Rearm(
	ctx context.Context, campaign string, from int64, cause sluice.EpochCause,
) (epoch int64, err error) {
	return r.rearm(ctx, campaign, from, cause, 0)
}

// Reshard gives a campaign another number of shards, in a new epoch. What the gates have pending is settled first,
// since its users get other homes. ErrUnavailable: a shard does not answer, or something cannot be settled; nothing
// has changed then but that the campaign has to be armed again, which happens by itself.
func (r *Rearmer) Reshard(ctx context.Context, campaign string, shards int) (epoch int64, err error) {
	c, err := r.deps.Campaigns.Campaign(ctx, campaign)
	if err != nil {
		return 0, err
	}
	if epoch, err = r.rearm(ctx, campaign, c.Epoch, sluice.EpochPlanned, shards); err != nil {
		r.Ask(campaign, c.Epoch-1) // where the gates of this epoch are open nothing is to be done
	}
	return epoch, err
}

func (r *Rearmer) rearm(
	ctx context.Context, campaign string, from int64, cause sluice.EpochCause, shards int,
) (epoch int64, err error) {
	if r.cfg.Held != nil && r.cfg.Held() {
		return 0, errHeld
	}
	if _, busy := r.busy.LoadOrStore(campaign, true); busy {
		return 0, errOvertaken
	}
	defer r.busy.Delete(campaign)
	turn := newTenure("rearm/"+campaign, r.cfg.Config)
	ctx, leads, err := turn.hold(ctx)
	if err != nil {
		return 0, err
	}
	if !leads {
		return 0, errOvertaken
	}
	defer turn.resign()
	c, err := r.deps.Campaigns.Campaign(ctx, campaign)
	if err != nil {
		return 0, fmt.Errorf("upkeep: rearm %s: %w", campaign, err)
	}
	if c.Epoch > from && shards == 0 {
		armed, err := r.Armed(ctx, c)
		if err != nil || armed {
			return c.Epoch, err
		}
	}
	began := time.Now()
	w := &rearming{Rearmer: r, turn: turn, c: c, next: c.Epoch + 1, cause: cause, to: shards}
	if err := w.run(ctx); err != nil {
		return 0, fmt.Errorf("upkeep: rearm %s for epoch %d: %w", campaign, w.next, err)
	}
	r.cfg.Log.Info("a campaign was armed", "campaign", campaign, "epoch", w.next, "cause", w.cause,
		"took", time.Since(began), "shards", len(w.live), "rows", w.rows)
	if r.cfg.OnArmed != nil {
		r.cfg.OnArmed(campaign, w.next, w.cause, time.Since(began))
	}
	return w.next, nil
}

// ReadBack has a campaign armed anew where nothing was lost: an operator asked for it, or its shards have changed.
func (r *Rearmer) ReadBack(ctx context.Context, campaign string) error {
	c, err := r.deps.Campaigns.Campaign(ctx, campaign)
	if err != nil {
		return err
	}
	_, err = r.Rearm(ctx, campaign, c.Epoch, sluice.EpochPlanned)
	return err
}

// Armed says whether every shard of c is armed for the campaign's epoch and not sealed.
func (r *Rearmer) Armed(ctx context.Context, c sluice.Campaign) (bool, error) {
	states, err := r.deps.Gates.State(ctx, c)
	return err == nil && allArmed(c, states), err
}

func allArmed(c sluice.Campaign, states []sluice.ShardState) bool {
	n := 0
	for _, s := range states {
		if s.Shard < shardsOf(c) && s.Armed && s.Epoch == c.Epoch && s.SealedFor <= s.Epoch {
			n++
		}
	}
	return n == shardsOf(c)
}

func shardsOf(c sluice.Campaign) int { return max(1, c.Shards) }

// rearming is one re-arming of one campaign.
type rearming struct {
	*Rearmer
	turn  *tenure
	c     sluice.Campaign
	next  int64
	cause sluice.EpochCause
	to    int           // the number of shards from this epoch on; 0: as before
	first bool          // there never was a gate: nobody has promised anything
	live  map[int]int64 // by shard that answers: units of live claims after the join
	away  int64         // units of live claims whose shard does not answer
	rows  int
}

func (w *rearming) run(ctx context.Context) error {
	if err := w.seal(ctx); err != nil {
		return err
	}
	opened, err := w.open(ctx)
	if err != nil {
		return err
	}
	if !opened {
		return errOvertaken
	}
	if !w.first {
		if err := w.flushed(ctx); err != nil {
			return err
		}
	}
	if w.to > 0 {
		if err := w.clear(ctx); err != nil {
			return err
		}
	}
	if err := w.join(ctx); err != nil {
		return err
	}
	if err := w.arm(ctx); err != nil {
		return err
	}
	return w.deps.Epochs.EpochArmed(ctx, w.c.ID, w.next)
}

// seal stops admission wherever there is somebody to stop it, and judges what was lost: a shard that does not answer,
// has no gate, or comes from an earlier epoch has forgotten something, unless the campaign was never armed.
func (w *rearming) seal(ctx context.Context) error {
	states, err := w.deps.Armory.Seal(ctx, w.c, w.next)
	if len(states) == 0 {
		return fmt.Errorf("no shard answers: %w", errors.Join(sluice.ErrUnavailable, err))
	}
	epochs, e := w.deps.Epochs.Epochs(ctx, w.c.ID)
	if e != nil {
		return e
	}
	was := lastArmed(epochs)
	w.first = was == 0
	w.live = map[int]int64{}
	sound := 0
	for _, s := range states {
		w.live[s.Shard] = 0
		if s.Armed && s.Epoch >= was {
			sound++
		}
	}
	if was > 0 && (err != nil || sound < shardsOf(w.c)) {
		w.cause = sluice.EpochLost
	}
	return nil
}

// open moves the campaign to the epoch.
func (w *rearming) open(ctx context.Context) (bool, error) {
	if w.to == 0 {
		return w.deps.Epochs.OpenEpoch(ctx, w.c.ID, w.c.Epoch, w.cause)
	}
	if w.cause != sluice.EpochPlanned {
		return false, fmt.Errorf("%w: a shard is missing or has forgotten: arm the campaign first", sluice.ErrUnavailable)
	}
	if err := w.drain(ctx); err != nil {
		return false, err
	}
	return w.deps.Epochs.Reshard(ctx, w.c.ID, w.c.Epoch, w.to)
}

// lastArmed gives the last epoch in which there were gates, 0 where there was none. What was opened since and not
// armed, because nodes sold without gates or somebody died, has changed no gate.
func lastArmed(epochs []sluice.Epoch) (was int64) {
	for _, e := range epochs {
		if e.Cause != sluice.EpochCreated && e.ArmedAt != 0 {
			was = max(was, e.Epoch)
		}
	}
	return was
}

// drain settles what sealed gates have pending, since claims get other homes and the old gates are given up.
func (w *rearming) drain(ctx context.Context) error {
	if w.deps.Settler == nil {
		return fmt.Errorf("%w: nobody settles what the old shards have pending", sluice.ErrUnavailable)
	}
	for shard := range shardsOf(w.c) {
		err := w.deps.Gates.Pending(ctx, w.c, shard, func(claims []sluice.Claim) error {
			_, err := door{w.deps.Settler, w.deps.Repairs, nil}.settle(ctx, w.c, claims)
			return err
		})
		if err != nil {
			return fmt.Errorf("settle what shard %d has pending: %w", shard, err)
		}
	}
	return w.drained(ctx)
}

// drained refuses to go on where a sealed gate still has something pending, such as a dead letter, or a queue that
// nobody reads, or does not say. A claim without a row would be left behind at a home that it has no more, and count
// there for good; and gates are not given up while their queue has entries.
func (w *rearming) drained(ctx context.Context) error {
	deadline := time.Now().Add(w.cfg.Flush)
	for {
		states, err := w.deps.Gates.State(ctx, w.c)
		if err != nil {
			return err
		}
		var left int64
		empty := true
		for _, s := range states {
			left += s.Queued
			empty = empty && s.Queued == 0 && s.Oldest == 0
		}
		switch {
		case empty:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%w: %d units are pending, or messages in the queue, that nobody settles",
				sluice.ErrUnavailable, left)
		}
		if err := errors.Join(wait(ctx, w.cfg.Poll), w.keepTurn(ctx)); err != nil {
			return err
		}
	}
}

// clear gives up gates whose claims have other homes now. All of those are rows of the ledger; what is left in the
// queue is settled already, and goes as it is read.
func (w *rearming) clear(ctx context.Context) error {
	deadline := time.Now().Add(w.cfg.Flush)
	for {
		more, err := w.deps.Repairs.Drop(ctx, w.c, true)
		switch {
		case errors.Is(err, sluice.ErrConflict) && time.Now().Before(deadline):
			err = wait(ctx, w.cfg.Poll)
		case err == nil && !more:
			return w.sealNew(ctx)
		}
		if err == nil {
			err = w.keepTurn(ctx)
		}
		if err != nil {
			return fmt.Errorf("give up the old shards: %w", err)
		}
	}
}

// sealNew seals the shards of the new number.
func (w *rearming) sealNew(ctx context.Context) error {
	w.c.Shards = w.to
	states, err := w.deps.Armory.Seal(ctx, w.c, w.next)
	w.live = map[int]int64{}
	for _, s := range states {
		w.live[s.Shard] = 0
	}
	return err
}

// flushed waits until every node has settled what it had promised in earlier epochs, or is dead.
func (w *rearming) flushed(ctx context.Context) error {
	deadline := time.Now().Add(w.cfg.Flush)
	tick := time.NewTicker(w.cfg.Poll)
	defer tick.Stop()
	for {
		nodes, err := w.deps.Epochs.Nodes(ctx)
		if err != nil {
			return err
		}
		var waiting []string
		for _, n := range nodes {
			if n.Flushed[w.c.ID] < w.next && n.Alive() {
				waiting = append(waiting, n.ID)
			}
		}
		if len(waiting) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: %s did not settle what they had promised", sluice.ErrUnavailable,
				strings.Join(waiting, ", "))
		}
		if err := w.keepTurn(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (w *rearming) keepTurn(ctx context.Context) error {
	_, leads, err := w.turn.hold(ctx)
	if err == nil && !leads {
		return errOvertaken
	}
	return err
}

// join loads the rows as they are after the epoch's commit and puts them among the claims of the sealed gates. What
// changes later writes its operations for the new epoch, and they wait for it.
func (w *rearming) join(ctx context.Context) error {
	var now sluice.Campaign
	homes := map[int][]sluice.ClaimRow{}
	err := w.deps.Rows.Load(ctx, w.c.ID, func(c sluice.Campaign) { now = c }, func(rows []sluice.ClaimRow) error {
		if now.Epoch != w.next {
			return errOvertaken
		}
		w.rows += len(rows)
		for shard := range homes {
			homes[shard] = homes[shard][:0]
		}
		for _, row := range rows {
			shard := w.deps.Armory.Home(now, row.ID.User())
			if _, there := w.live[shard]; !there {
				w.away += int64(row.LiveUnits)
				continue
			}
			homes[shard] = append(homes[shard], row)
		}
		for shard, part := range homes {
			if len(part) == 0 {
				continue
			}
			if err := w.deps.Armory.Join(ctx, now, shard, part); err != nil {
				return fmt.Errorf("join %d rows to shard %d: %w", len(part), shard, err)
			}
		}
		return w.keepTurn(ctx)
	})
	if err != nil {
		return err
	}
	if now.Epoch != w.next {
		return errOvertaken
	}
	w.c = now
	return nil
}

// arm shares out what is free and opens every shard that answers.
func (w *rearming) arm(ctx context.Context) error {
	states, err := w.deps.Gates.State(ctx, w.c)
	var shards []int
	free := w.c.Stock.Total - w.away
	for _, s := range states {
		if _, mine := w.live[s.Shard]; mine {
			shards = append(shards, s.Shard)
			w.live[s.Shard] = s.Live
			free -= s.Live
		}
	}
	if len(shards) < len(w.live) {
		return fmt.Errorf("a shard was lost while it was loaded: %w", errors.Join(sluice.ErrUnavailable, err))
	}
	// A decrease that is under way is in neither total nor revision: the gates of this epoch are asked for it.
	for i, available := range Shares(free, len(shards)) {
		if err := w.deps.Armory.Arm(ctx, w.c, shards[i], w.live[shards[i]]+available); err != nil {
			return fmt.Errorf("arm shard %d: %w", shards[i], err)
		}
	}
	return nil
}

// Shares divides free units among n shards as evenly as can be. Where the ledger has given away what the gates had
// promised there are fewer than none, and the first shard has the debt: its claims are rejected and pay it back.
func Shares(free int64, n int) []int64 {
	shares := make([]int64, n)
	if free < 0 {
		shares[0] = free
		return shares
	}
	for i := range shares {
		shares[i] = free / int64(n)
		if int64(i) < free%int64(n) {
			shares[i]++
		}
	}
	return shares
}
