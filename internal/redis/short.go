package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sluice-sale/sluice"
)

// A value of the claims hash has a long form, and a short one for a user whose only claim is pending: its quantity and
// the call that admitted it. The rest of the claim's id is in the list of that call. See lua/prelude.lua.
const (
	shortSize  = 10
	longRounds = 8  // times that values are read again, since what was pending has been settled meanwhile
	listsCount = 64 // lists that are read in one go
)

// lists are the ids of calls that are not settled whole, by call: the users' halves, then the other halves.
type lists map[string]string

// long gives the long form of a value; false where its call is not there, or has no such user.
func (l lists) long(user, value string) (string, bool) {
	ids := l[value[2:]]
	n := len(ids) / 2
	for at := 0; at < n; {
		i := strings.Index(ids[at:n], user)
		if i < 0 {
			return "", false
		}
		if at += i; at%halfSize != 0 {
			at++
			continue
		}
		q := value[:2]
		head := binary.BigEndian.AppendUint32(nil, uint32(binary.BigEndian.Uint16([]byte(q))))
		return string(head) + ids[n+at:n+at+halfSize] + q + q + q + value[2:], true
	}
	return "", false
}

// valuesOf reads users' values, in the long form; empty where there is none.
func (g *Gates) valuesOf(ctx context.Context, k shardKeys, users []string) ([]string, error) {
	values := make([]string, len(users))
	there, err := g.many(ctx, k.claims, users)
	if err != nil {
		return nil, err
	}
	for i := range there {
		values[i], _ = there[i].ToString()
	}
	return values, g.long(ctx, k, lists{}, users, values)
}

// long puts the long form in the place of short ones. One whose call was settled since it was read is read again.
func (g *Gates) long(ctx context.Context, k shardKeys, known lists, users, values []string) error {
	for range longRounds {
		if err := g.fetchLists(ctx, k, known, values); err != nil {
			return err
		}
		var places []int
		var stale []string
		for i, v := range values {
			if len(v) != shortSize {
				continue
			}
			var ok bool
			if values[i], ok = known.long(users[i], v); !ok {
				places, stale = append(places, i), append(stale, users[i])
			}
		}
		if len(stale) == 0 {
			return nil
		}
		there, err := g.many(ctx, k.claims, stale)
		if err != nil {
			return err
		}
		for n, i := range places {
			values[i], _ = there[n].ToString()
		}
	}
	return fmt.Errorf("redis: claims of %s change faster than they are read: %w", k.claims, sluice.ErrUnavailable)
}

// fetchLists reads the lists that short values name and that are not known.
func (g *Gates) fetchLists(ctx context.Context, k shardKeys, known lists, values []string) error {
	var fields []string
	for _, v := range values {
		if len(v) != shortSize {
			continue
		}
		if _, ok := known[v[2:]]; !ok {
			known[v[2:]] = ""
			fields = append(fields, "i"+v[2:])
		}
	}
	for len(fields) > 0 {
		n := min(len(fields), listsCount)
		there, err := g.many(ctx, k.pending, fields[:n])
		if err != nil {
			return err
		}
		for i := range there {
			ids, err := there[i].ToString()
			if err != nil {
				delete(known, fields[i][1:]) // settled since
				continue
			}
			known[fields[i][1:]] = ids
		}
		fields = fields[n:]
	}
	return nil
}
