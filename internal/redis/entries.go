package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/sluice-sale/sluice"
)

// keep puts entries in hand. One that is in hand already was held for too long, or given up by those who had it: what
// is open of it is handed over again. With an error some are left to be found abandoned.
func (o *Outbox) keep(ctx context.Context, key string, entries []rueidis.XRangeEntry) error {
	texts, failed := o.textsOf(ctx, key, entries)
	var over []string
	o.mu.Lock()
	for i := range entries {
		id := entryID{key, entries[i].ID}
		text, ok := texts[id.id]
		if !ok {
			continue
		}
		if text == settledWhole {
			delete(o.hand, id)
			over = append(over, id.id)
			continue
		}
		o.handOver(id, text, &entries[i])
	}
	o.mu.Unlock()
	if len(over) > 0 {
		failed = errors.Join(failed, o.takeOut(ctx, map[string][]string{key: over}))
	}
	return failed
}

// handOver makes deliveries of an entry. Callers hold the lock.
func (o *Outbox) handOver(id entryID, text string, raw *rueidis.XRangeEntry) {
	tag := id.key + " " + id.id
	all := Deliveries(tag, []byte(text))
	if len(all) == 0 {
		bytes := []byte(fmt.Sprint(raw.FieldValues))
		all = []sluice.Delivery{{Tag: tag, Raw: bytes, Fault: "an entry without a message"}}
	}
	e := o.hand[id]
	if e == nil || len(e.done) != len(all) {
		e = &entry{done: make([]bool, len(all)), left: len(all)}
		o.hand[id] = e
	}
	for n := range all {
		if !e.done[n] {
			all[n].Tag = tag + " " + strconv.Itoa(n)
			o.ready = append(o.ready, all[n])
		}
	}
	o.perRead += (float64(len(all)) - o.perRead) / 16
}

// settledWhole is the text of an entry whose call is not pending any more: all of its claims have their rows.
const settledWhole = "settled"

// textsOf gives the messages of entries by their ids: those that stand in the entry, and those of the call that it
// names. An entry whose messages could not be read is left out, and the error says why.
func (o *Outbox) textsOf(
	ctx context.Context, key string, entries []rueidis.XRangeEntry,
) (texts map[string]string, err error) {
	texts = make(map[string]string, len(entries))
	var ids, fields []string
	for i := range entries {
		if call, named := entries[i].FieldValues[CallField]; named {
			ids, fields = append(ids, entries[i].ID), append(fields, "m"+call)
		} else {
			texts[entries[i].ID] = entries[i].FieldValues[OutboxField]
		}
	}
	o.mu.Lock()
	s := o.byKey[key]
	o.mu.Unlock()
	if s == nil && len(fields) > 0 {
		return texts, fmt.Errorf("redis: outbox %s: %w: it is not followed any more", key, sluice.ErrUnavailable)
	}
	for len(fields) > 0 {
		n := min(len(fields), pendingCount)
		there, err := o.many(ctx, s.pending, fields[:n])
		if err != nil {
			return texts, err
		}
		for i := range there {
			text, err := there[i].ToString()
			switch {
			case rueidis.IsRedisNil(err):
				text = settledWhole
			case err != nil:
				return texts, sorted(err, "read a call of %s", s.pending)
			}
			texts[ids[i]] = text
		}
		ids, fields = ids[n:], fields[n:]
	}
	return texts, nil
}

func (o *Outbox) many(ctx context.Context, key string, fields []string) ([]rueidis.RedisMessage, error) {
	ctx, cancel := o.c.limited(ctx)
	defer cancel()
	all, err := o.c.rdb.Do(ctx, o.c.rdb.B().Hmget().Key(key).Field(fields...).Build()).ToArray()
	return all, sorted(err, "read %d of %s", len(fields), key)
}
