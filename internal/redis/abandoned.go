package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// claimAbandoned takes over entries whose reader did not end them in time, until limit deliveries are there, and now
// and then forgets readers that are gone for good.
func (o *Outbox) claimAbandoned(ctx context.Context, streams []*stream, limit int) error {
	now := time.Now()
	o.mu.Lock()
	due, old := !now.Before(o.claims), !now.Before(o.forget)
	if due {
		o.claims = now.Add(o.cfg.Abandoned / 2)
	}
	if old {
		o.forget = now.Add(idleReaders / 6)
	}
	count := min(max(int64(float64(limit)/o.perRead), 1), outboxEntries)
	o.mu.Unlock()
	if old {
		o.forgetReaders(ctx, streams, idleReaders)
	}
	if !due {
		return nil
	}
	idle := strconv.FormatInt(o.cfg.Abandoned.Milliseconds(), 10)
	calls := make([]rueidis.Completed, len(streams))
	for i, s := range streams {
		calls[i] = o.c.rdb.B().Xautoclaim().Key(s.key).Group(o.cfg.Group).Consumer(o.cfg.Name).MinIdleTime(idle).
			Start(s.cursor).Count(count).Build()
	}
	if err := notSent(ctx); err != nil {
		return sorted(err, "claim abandoned entries")
	}
	ctx, cancel := o.c.limited(ctx)
	defer cancel()
	var failed error
	for i, r := range o.c.rdb.DoMulti(ctx, calls...) {
		s := streams[i]
		err := o.claimed(ctx, s, r)
		switch {
		case hasCode(err, "NOGROUP"):
			s.made = false
		case err != nil:
			failed = sorted(err, "claim abandoned entries of %s", s.key)
		}
	}
	return failed
}

// claimed reads what one XAUTOCLAIM gave.
func (o *Outbox) claimed(ctx context.Context, s *stream, r rueidis.RedisResult) error {
	parts, err := r.ToArray()
	if err != nil {
		return err
	}
	if len(parts) < 2 {
		return nil
	}
	if s.cursor, err = parts[0].ToString(); err != nil {
		s.cursor = "0-0"
		return err
	}
	rows, err := parts[1].ToArray()
	if err != nil {
		return err
	}
	var entries []rueidis.XRangeEntry
	for i := range rows {
		// Redis 6.2 gives an empty row for one that was deleted.
		if e, err := rows[i].AsXRangeEntry(); err == nil && e.ID != "" {
			entries = append(entries, e)
		}
	}
	if len(entries) > 0 {
		o.cfg.Log.Info("entries that were abandoned are taken over", "outbox", s.key, "entries", len(entries))
		if err := o.keep(ctx, s.key, entries); err != nil {
			return err
		}
	}
	if s.cursor != "0-0" {
		o.mu.Lock()
		o.claims = time.Time{} // there is more
		o.mu.Unlock()
	}
	return nil
}

// forgetReaders deletes readers of the group that hold nothing and were not seen for so long. A reader that holds
// something is never deleted: its entries would be nobody's. That is why it is a script.
func (o *Outbox) forgetReaders(ctx context.Context, streams []*stream, idle time.Duration) {
	source, err := sources.ReadFile("lua/readers.lua")
	if err != nil {
		o.cfg.Log.Error("a script is missing", "err", err)
		return
	}
	lua := rueidis.NewLuaScript(string(source))
	for _, s := range streams {
		call, cancel := o.c.limited(ctx)
		err := lua.Exec(call, o.c.rdb, []string{s.key},
			[]string{o.cfg.Group, o.cfg.Name, strconv.FormatInt(idle.Milliseconds(), 10)}).Error()
		cancel()
		if err != nil {
			o.cfg.Log.Debug("readers that are gone were not forgotten", "outbox", s.key, "err", err)
			return
		}
	}
}
