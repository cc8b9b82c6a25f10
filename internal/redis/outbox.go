package redis

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/sluice-sale/sluice"
)

// Bounds of reading outboxes.
const (
	DefaultAbandoned = 5 * time.Second        // an entry that its reader held for so long goes to another one
	outboxBlock      = 500 * time.Millisecond // one read waits for so long; it cannot be cut short
	outboxEntries    = 256                    // of a stream, in one read
	minOutboxPoll    = time.Millisecond       // between two looks where one read cannot wait for all streams
	maxOutboxPoll    = 40 * time.Millisecond
	idleReaders      = time.Hour // a reader that holds nothing and was not seen for so long is forgotten
)

// OutboxConfig sets an Outbox up. Zero values mean the defaults, but Name.
type OutboxConfig struct {
	Group     string        // those who share the work; default "settle"
	Name      string        // of this reader: one that no other process has or had
	Abandoned time.Duration // see DefaultAbandoned
	Log       *slog.Logger
}

// Outbox reads the streams in which admission leaves the messages of admitted claims, of all shards of the campaigns
// that it follows, as one of a group of readers. An entry stands for the messages of one call of admission; it is taken
// out of its stream once all of them were acknowledged. What is in a stream is not done.
type Outbox struct {
	c   *Client
	cfg OutboxConfig

	reading chan struct{} // one place: whoever holds it reads

	mu      sync.Mutex
	streams []*stream
	byKey   map[string]*stream
	hand    map[entryID]*entry
	ready   []sluice.Delivery // read and not handed over
	perRead float64           // messages of an entry, on average
	claims  time.Time         // of the next look for abandoned entries
	forget  time.Time         // of the next look for readers that are gone
}

// stream is the outbox of one shard. made and cursor belong to whoever reads.
type stream struct {
	campaign string
	key      string
	pending  string // key of what its entries name
	slot     uint16
	made     bool   // the group is there
	cursor   string // of the search for abandoned entries
}

type entryID struct{ key, id string }

// entry is one entry in hand.
type entry struct {
	done []bool
	left int
}

// NewOutbox makes a reader; it reads nothing until it follows campaigns.
func NewOutbox(c *Client, cfg OutboxConfig) (*Outbox, error) {
	if cfg.Name == "" {
		return nil, fmt.Errorf("redis: outbox: %w: a reader needs a name", sluice.ErrInvalid)
	}
	cfg.Group = cmp.Or(cfg.Group, "settle")
	cfg.Abandoned = cmp.Or(cfg.Abandoned, DefaultAbandoned)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Outbox{
		c: c, cfg: cfg, reading: make(chan struct{}, 1), byKey: map[string]*stream{}, hand: map[entryID]*entry{}, perRead: 1,
	}, nil
}

// Follow says which campaigns have outboxes: from before they are armed until all their claims are settled. A campaign
// that gets other shards gets other outboxes: those that it had are read on as long as it is followed.
func (o *Outbox) Follow(campaigns []sluice.Campaign) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.byKey
	o.byKey, o.streams = make(map[string]*stream, len(was)), nil
	known := make(map[string]bool, len(campaigns))
	for i := range campaigns {
		known[campaigns[i].ID] = true
		for shard := range shardsOf(&campaigns[i]) {
			k := o.c.keys.of(&campaigns[i], shard)
			key := k.outbox
			s := was[key]
			if s == nil {
				s = &stream{campaign: campaigns[i].ID, key: key, pending: k.pending, cursor: "0-0"}
				if o.c.cluster {
					s.slot = keySlot(key)
				}
			}
			o.byKey[key] = s
			o.streams = append(o.streams, s)
		}
	}
	for key, s := range was {
		if o.byKey[key] == nil && known[s.campaign] {
			o.byKey[key] = s
			o.streams = append(o.streams, s)
		}
	}
}

// keySlot gives the slot of a key that has a hash tag.
func keySlot(key string) uint16 {
	if i := strings.IndexByte(key, '{'); i >= 0 {
		if n := strings.IndexByte(key[i+1:], '}'); n > 0 {
			key = key[i+1 : i+1+n]
		}
	}
	return crc16(0, key) % slots
}

func (o *Outbox) followed() []*stream {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.streams
}

// Receive gives at least one and at most limit deliveries; none where nothing came for half a second. What is given and
// not acknowledged comes again, here or elsewhere, after the time of an abandoned entry.
func (o *Outbox) Receive(ctx context.Context, limit int) ([]sluice.Delivery, error) {
	select {
	case o.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("redis: receive: %w", ctx.Err())
	}
	defer func() { <-o.reading }()
	if got := o.take(limit); len(got) > 0 {
		return got, nil
	}
	streams := o.followed()
	if len(streams) == 0 {
		rest(ctx, outboxBlock)
		return nil, nil
	}
	if err := o.makeGroups(ctx, streams); err != nil {
		return nil, err
	}
	if err := o.claimAbandoned(ctx, streams, limit); err != nil {
		return nil, err
	}
	if got := o.take(limit); len(got) > 0 {
		return got, nil
	}
	if err := o.read(ctx, streams, limit); err != nil {
		return nil, err
	}
	return o.take(limit), nil
}

// rest waits, or less where ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (o *Outbox) take(limit int) []sluice.Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(limit, len(o.ready))
	got := o.ready[:n:n]
	if o.ready = o.ready[n:]; len(o.ready) == 0 {
		o.ready = nil
	}
	return got
}

// makeGroups makes the groups that are missing. They begin at the first entry: what is in a stream is not done.
func (o *Outbox) makeGroups(ctx context.Context, streams []*stream) error {
	var calls []rueidis.Completed
	var of []*stream
	for _, s := range streams {
		if !s.made {
			calls = append(calls, o.c.rdb.B().XgroupCreate().Key(s.key).Group(o.cfg.Group).Id("0").Mkstream().Build())
			of = append(of, s)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	ctx, cancel := o.c.limited(ctx)
	defer cancel()
	for i, r := range o.c.rdb.DoMulti(ctx, calls...) {
		if err := r.Error(); err != nil && !hasCode(err, "BUSYGROUP") {
			return sorted(err, "make the readers' group of %s", of[i].key)
		}
		of[i].made = true
	}
	return nil
}

// hasCode says whether err is an answer of Redis with this code.
func hasCode(err error, want string) bool {
	answer, ok := rueidis.IsRedisErr(err)
	return ok && code(answer) == want
}

// read reads new entries: in one call that waits, where all streams lie in one place; else it looks again and again.
func (o *Outbox) read(ctx context.Context, streams []*stream, limit int) error {
	groups := o.together(streams)
	if len(groups) == 1 {
		_, err := o.readGroups(ctx, groups, limit, outboxBlock)
		return err
	}
	end := time.Now().Add(outboxBlock)
	for pause := minOutboxPoll; ; pause = min(2*pause, maxOutboxPoll) {
		n, err := o.readGroups(ctx, groups, limit, 0)
		if err != nil || n > 0 || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		rest(ctx, pause)
	}
}

// together groups streams that one call can read: those of one slot on a Cluster, all of them elsewhere.
func (o *Outbox) together(streams []*stream) [][]*stream {
	if !o.c.cluster {
		return [][]*stream{streams}
	}
	var groups [][]*stream
	at := map[uint16]int{}
	for _, s := range streams {
		i, ok := at[s.slot]
		if !ok {
			i = len(groups)
			at[s.slot] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	return groups
}

// readGroups reads each group of streams in one call, all calls in one pipeline, and says how many entries came.
func (o *Outbox) readGroups(ctx context.Context, groups [][]*stream, limit int, block time.Duration) (int, error) {
	if err := notSent(ctx); err != nil {
		return 0, sorted(err, "read the outboxes")
	}
	o.mu.Lock()
	count := min(max(int64(float64(limit)/o.perRead), 1), outboxEntries)
	o.mu.Unlock()
	calls := make([]rueidis.Completed, len(groups))
	for i, g := range groups {
		keys, ids := make([]string, len(g)), make([]string, len(g))
		for k, s := range g {
			keys[k], ids[k] = s.key, ">"
		}
		b := o.c.rdb.B().Xreadgroup().Group(o.cfg.Group, o.cfg.Name).Count(count)
		if block > 0 {
			calls[i] = b.Block(block.Milliseconds()).Streams().Key(keys...).Id(ids...).Build()
		} else {
			calls[i] = b.Streams().Key(keys...).Id(ids...).Build()
		}
	}
	// Whoever stops must not cut a read: what it was given is nobody's then until it counts as abandoned.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), block+o.c.cfg.Timeout)
	defer cancel()
	n := 0
	var failed error
	for i, r := range o.c.rdb.DoMulti(ctx, calls...) {
		got, err := r.AsXRead()
		switch {
		case rueidis.IsRedisNil(err):
		case hasCode(err, "NOGROUP"): // a Redis that was emptied, or a campaign whose keys were deleted
			for _, s := range groups[i] {
				s.made = false
			}
		case err != nil:
			failed = sorted(err, "read the outbox %s", groups[i][0].key)
		}
		for key, entries := range got {
			n += len(entries)
			if err := o.keep(ctx, key, entries); err != nil {
				failed = err
			}
		}
	}
	if n > 0 && failed == nil {
		return n, nil // what failed is read again
	}
	return 0, failed
}

// splitTag is the inverse of the tags that keep gives.
func splitTag(tag string) (id entryID, n int, ok bool) {
	i := strings.LastIndexByte(tag, ' ')
	if i < 0 {
		return id, 0, false
	}
	n, err := strconv.Atoi(tag[i+1:])
	k := strings.LastIndexByte(tag[:i], ' ')
	if err != nil || k < 0 {
		return id, 0, false
	}
	return entryID{tag[:k], tag[k+1 : i]}, n, true
}

// Ack ends deliveries. An entry all of whose deliveries are ended is taken out of its stream; one of which that could
// not be said for sure comes again.
func (o *Outbox) Ack(ctx context.Context, done []sluice.Delivery) error {
	ended := o.ended(done)
	if len(ended) == 0 {
		return nil
	}
	return o.takeOut(ctx, ended)
}

// takeOut takes entries out of their streams.
func (o *Outbox) takeOut(ctx context.Context, ended map[string][]string) error {
	// First out of the stream, then out of the group's list: what is left between the two is an empty name in that list,
	// which the search for abandoned entries clears away. The other way round an entry would stay for ever.
	var calls []rueidis.Completed
	for key, ids := range ended {
		calls = append(calls, o.c.rdb.B().Xdel().Key(key).Id(ids...).Build(),
			o.c.rdb.B().Xack().Key(key).Group(o.cfg.Group).Id(ids...).Build())
	}
	if err := notSent(ctx); err != nil {
		return sorted(err, "take entries out of %d streams", len(ended))
	}
	ctx, cancel := o.c.limited(ctx)
	defer cancel()
	var failed error
	for _, r := range o.c.rdb.DoMulti(ctx, calls...) {
		if err := r.Error(); err != nil && failed == nil {
			failed = sorted(err, "take entries out of %d streams", len(ended))
		}
	}
	return failed
}

// ended marks deliveries and gives the entries that have none left, by their streams. They are in hand no more: if they
// cannot be taken out now, they are read again.
func (o *Outbox) ended(done []sluice.Delivery) map[string][]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var ended map[string][]string
	for i := range done {
		id, n, ok := splitTag(done[i].Tag)
		e := o.hand[id]
		if !ok || e == nil || n >= len(e.done) || e.done[n] {
			continue
		}
		e.done[n] = true
		if e.left--; e.left > 0 {
			continue
		}
		delete(o.hand, id)
		if ended == nil {
			ended = map[string][]string{}
		}
		ended[id.key] = append(ended[id.key], id.id)
	}
	return ended
}

// State tells the backlog of all outboxes.
func (o *Outbox) State(ctx context.Context) (all sluice.QueueState, err error) {
	streams := o.followed()
	calls := make([]rueidis.Completed, 0, 2*len(streams))
	for _, s := range streams {
		calls = append(calls, o.c.rdb.B().Xlen().Key(s.key).Build(),
			o.c.rdb.B().Xrange().Key(s.key).Start("-").End("+").Count(1).Build())
	}
	ctx, cancel := o.c.limited(ctx)
	defer cancel()
	answers := o.c.rdb.DoMulti(ctx, calls...)
	for i, s := range streams {
		n, err := answers[2*i].AsInt64()
		if err != nil {
			return all, sorted(err, "backlog of %s", s.key)
		}
		first, err := answers[2*i+1].AsXRange()
		if err != nil && !rueidis.IsRedisNil(err) {
			return all, sorted(err, "oldest of %s", s.key)
		}
		all.Entries, all.Claims = all.Entries+n, all.Claims+n
		if len(first) == 0 {
			continue
		}
		if at := entryTime(first[0].ID); all.Oldest == 0 || at < all.Oldest {
			all.Oldest = at
		}
	}
	return all, nil
}

// entryTime gives when an entry was made, by the clock of its Redis.
func entryTime(id string) sluice.Millis {
	text, _, _ := strings.Cut(id, "-")
	ms, _ := strconv.ParseInt(text, 10, 64) // an id of Redis is well-formed
	return sluice.Millis(ms)
}
