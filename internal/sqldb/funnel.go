package sqldb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-sale/sluice"
)

// KeepBuckets writes finished buckets of a campaign. A bucket that is there is replaced: whoever writes has the
// whole of it. Where several nodes share the ledger, each replaces what is its own, and a reader has the sum.
func (db *DB) KeepBuckets(ctx context.Context, campaign string, buckets []sluice.Bucket) error {
	if len(buckets) == 0 {
		return nil
	}
	return db.write(ctx, laneBackground, func(t *tx) error {
		no, err := t.noOf(campaign)
		if err != nil {
			return err
		}
		for i := range buckets {
			if err := t.keepBucket(no, &buckets[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) keepBucket(no int64, b *sluice.Bucket) error {
	counts, latency, err := encodeBucket(b)
	if err != nil {
		return err
	}
	keep := replaceBucket
	if node := t.db.cfg.Node; node != "" {
		keep = t.pick(mergeBucket)
		c, err1 := partOf(node, counts)
		l, err2 := partOf(node, latency)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		counts, latency = c, l
	}
	_, err = t.exec(keep, no, b.Start, b.Width, counts, latency)
	return err
}

const insertBucket = `INSERT INTO funnel_buckets (campaign_no, start_ms, width_ms, counts, latency)
	VALUES (?, ?, ?, ?, ?) `

const replaceBucket = insertBucket + `ON CONFLICT DO UPDATE SET counts = excluded.counts, latency = excluded.latency`

// mergeBucket has the database put a node's part beside those of others, in one statement: read first and written then,
// it would need a lock that nodes share, and the campaign's is the one that settling waits for.
var mergeBucket = perDialect{
	sqlite: insertBucket + `ON CONFLICT DO UPDATE SET counts = json_patch(counts, excluded.counts),
		latency = json_patch(latency, excluded.latency)`,
	mysql: insertBucket + `ON DUPLICATE KEY UPDATE counts = JSON_MERGE_PATCH(counts, VALUES(counts)),
		latency = JSON_MERGE_PATCH(latency, VALUES(latency))`,
}

// nodeMark begins the name of a node's own part of a bucket.
const nodeMark = "@"

// partOf makes a node's part of a bucket.
func partOf(node, part string) (string, error) {
	out, err := json.Marshal(map[string]json.RawMessage{nodeMark + node: json.RawMessage(part)})
	return string(out), err
}

// partsOf gives the parts of what several nodes wrote, this node's own apart from those of others. What has no parts
// was written by the only node there is, or before there were several.
func (db *DB) partsOf(text string) (own, others []string, err error) {
	parts := map[string]json.RawMessage{}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			return nil, nil, err
		}
	}
	for name, part := range parts {
		switch {
		case strings.HasPrefix(name, nodeMark):
		case db.cfg.Node == "":
			return []string{text}, nil, nil
		default:
			return nil, []string{text}, nil
		}
		if db.cfg.Node != "" && name == nodeMark+db.cfg.Node {
			own = append(own, string(part))
		} else {
			others = append(others, string(part))
		}
	}
	return own, others, nil
}

// DropBuckets deletes up to limit buckets that began before `before`, and says how many.
func (db *DB) DropBuckets(ctx context.Context, before sluice.Millis, limit int) (n int64, err error) {
	err = db.write(ctx, laneBackground, func(t *tx) error {
		n = 0
		if t.db.dialect == dialectSQLite {
			n, err = t.exec(`DELETE FROM funnel_buckets WHERE (campaign_no, start_ms, width_ms) IN
				(SELECT b.campaign_no, b.start_ms, b.width_ms FROM campaigns c
				CROSS JOIN funnel_buckets b ON b.campaign_no = c.no AND b.start_ms < ? LIMIT ?)`, before, limit)
			return err
		}
		campaigns, err := t.numbers(`SELECT no FROM campaigns ORDER BY no`)
		for _, no := range campaigns {
			if err != nil || n >= int64(limit) {
				break
			}
			var some int64
			some, err = t.exec(`DELETE FROM funnel_buckets WHERE campaign_no = ? AND start_ms < ? LIMIT ?`,
				no, before, int64(limit)-n)
			n += some
		}
		return err
	})
	return n, err
}

// EachBucket hands each a campaign's buckets that begin in [from, until), oldest first; until 0 means no bound. What
// other nodes have counted comes as one bucket, what this node has written as another, with own. It stops at the first
// error of each and returns it.
func (db *DB) EachBucket(
	ctx context.Context, campaign string, from, until sluice.Millis, each func(b *sluice.Bucket, own bool) error,
) error {
	rows, err := db.rdb.QueryContext(ctx, `SELECT start_ms, width_ms, counts, latency FROM funnel_buckets
		WHERE campaign_no = (SELECT no FROM campaigns WHERE id = ?) AND start_ms >= ? AND (? = 0 OR start_ms < ?)
		ORDER BY start_ms`, campaign, from, until, until)
	if err != nil {
		return translate(err, "read the buckets of "+campaign)
	}
	defer rows.Close()
	for rows.Next() {
		var b sluice.Bucket
		var counts, latency string
		if err := rows.Scan(&b.Start, &b.Width, &counts, &latency); err != nil {
			return translate(err, "read the buckets of "+campaign)
		}
		own, others, err := db.decodeBucket(&b, counts, latency)
		if err != nil {
			return fmt.Errorf("sqldb: bucket %d of %s: %w", b.Start, campaign, err)
		}
		if others != nil {
			err = each(others, false)
		}
		if err == nil && own != nil {
			err = each(own, true)
		}
		if err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return translate(err, "read the buckets of "+campaign)
	}
	return nil
}

// replayed is how ReasonNone is kept: it counts recorded answers that were given again.
const replayed = "replayed"

// encodeBucket writes counts by the reasons' names and the histogram by its steps, so that a later version may
// insert a reason and still read what was kept.
func encodeBucket(b *sluice.Bucket) (counts, latency string, err error) {
	byReason, byStep := map[string]int64{}, map[string]uint32{}
	for r, n := range b.Counts {
		if n != 0 {
			byReason[cmp.Or(sluice.Reason(r).String(), replayed)] = n
		}
	}
	for i, n := range b.Latency {
		if n != 0 {
			byStep[strconv.Itoa(i)] = n
		}
	}
	c, err := json.Marshal(byReason)
	if err != nil {
		return "", "", err
	}
	l, err := json.Marshal(byStep)
	return string(c), string(l), err
}

// decodeBucket reads a row's two columns: what this node has counted, and what others have; nil where nobody has.
func (db *DB) decodeBucket(at *sluice.Bucket, counts, latency string) (own, others *sluice.Bucket, err error) {
	var all, slow [2][]string
	if all[0], all[1], err = db.partsOf(counts); err == nil {
		slow[0], slow[1], err = db.partsOf(latency)
	}
	var sums [2]*sluice.Bucket
	for i := range sums {
		if err != nil || len(all[i]) == 0 {
			continue
		}
		sums[i] = &sluice.Bucket{Start: at.Start, Width: at.Width}
		for _, part := range all[i] {
			err = errors.Join(err, decodePart(sums[i], part, ""))
		}
		for _, part := range slow[i] {
			err = errors.Join(err, decodePart(sums[i], "{}", part))
		}
	}
	return sums[0], sums[1], err
}

func decodePart(b *sluice.Bucket, counts, latency string) error {
	byReason, byStep := map[string]int64{}, map[int]uint32{}
	if err := json.Unmarshal([]byte(counts), &byReason); err != nil {
		return err
	}
	if latency != "" {
		if err := json.Unmarshal([]byte(latency), &byStep); err != nil {
			return err
		}
	}
	for name, n := range byReason {
		if r, ok := sluice.ParseReason(name); ok || name == replayed {
			b.Counts[r] += n
		}
	}
	for i, n := range byStep {
		if i >= 0 && i < sluice.NumSteps {
			b.Latency[i] += n
		}
	}
	return nil
}
