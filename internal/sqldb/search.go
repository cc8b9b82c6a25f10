package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-sale/sluice"
)

// Bounds of a search that no index helps: it walks so many rows from its cursor backwards, in steps, and then
// gives back what it found with a cursor to go on from.
const (
	searchStep  = 20_000
	searchSteps = 5
	searchJumps = 50 // over campaigns that are left out, in one search
)

// search is one page of a list, newest first, built from constant fragments.
type search struct {
	table   string // o in the fragments
	alone   bool   // not joined with campaigns as c
	columns string
	where   []string
	args    []any
	indexed bool // an index bounds what is read
	limit   int
	cursor  string
	above   int64 // only rows with above < seq < below; 0 and 0: all
	below   int64
	without []int64 // campaign nos that a walk by seq jumps over, the newest first
}

// refundDue has an index of its own, in the order of seq.
const refundDue = `o.refund_due = 1`

// campaign narrows to one campaign, whose rows are a range of seq; false where there is no such campaign. Whatever else
// sets indexed comes first.
func (s *search) campaign(ctx context.Context, db *DB, id string) (bool, error) {
	if id == "" {
		return true, nil
	}
	var no int64
	err := db.rdb.QueryRowContext(ctx, `SELECT no FROM campaigns WHERE id = ?`, id).Scan(&no)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, translate(err, "campaign "+id)
	}
	s.above, s.below = no<<32, (no+1)<<32
	if s.indexed { // it is paged by time, not by seq
		s.when(true, `o.seq > ? AND o.seq < ?`, s.above, s.below)
	}
	return true, nil
}

// noLoadTests leaves out the campaigns that are load tests. A walk by seq jumps over their rows, which lie side by side
// and may be many; what an index finds is few enough to be looked at. Whatever else sets indexed comes first.
func (s *search) noLoadTests(ctx context.Context, db *DB) error {
	if s.indexed {
		s.when(true, `c.load_test = 0`)
		return nil
	}
	rows, err := db.rdb.QueryContext(ctx, `SELECT no FROM campaigns WHERE load_test = 1 ORDER BY no DESC`)
	if err != nil {
		return translate(err, "the load tests")
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var no int64
		if err := rows.Scan(&no); err != nil {
			return translate(err, "the load tests")
		}
		s.without = append(s.without, no)
	}
	if err := rows.Err(); err != nil {
		return translate(err, "the load tests")
	}
	return nil
}

// jump gives where a walk from before backwards goes on, and the seq under the last row that it may read before it has
// to jump again, 0 where it need not.
func (s *search) jump(before int64) (from, floor int64) {
	for _, no := range s.without {
		switch {
		case (before-1)>>32 == no:
			before = no << 32
		case (before-1)>>32 > no:
			return before, (no+1)<<32 - 1
		}
	}
	return before, 0
}

func (s *search) when(ok bool, fragment string, args ...any) {
	if ok {
		s.where, s.args = append(s.where, fragment), append(s.args, args...)
	}
}

// claim narrows to one claim or to one user's: all claims of a user lie side by side in the index on claim_id.
func (s *search) claim(id sluice.ClaimID, user string) {
	if id != (sluice.ClaimID{}) {
		s.when(true, `o.claim_id = ?`, id[:])
		s.indexed = true
	}
	if user != "" {
		lo, hi := userRange(user)
		s.when(true, `o.claim_id >= ? AND o.claim_id <= ? AND o.user_id = ?`, lo, hi, user)
		s.indexed = true
	}
}

// userRange gives the first and the last claim id that a user can have.
func userRange(user string) (lo, hi []byte) {
	k := sluice.UserKeyOf(user)
	var a, b sluice.ClaimID
	copy(a[:], k[:])
	copy(b[:], k[:])
	for i := len(k); i < len(b); i++ {
		b[i] = 0xff
	}
	return a[:], b[:]
}

// runSearch reads the page. read scans one row and gives its seq.
func runSearch[T any](
	ctx context.Context, db *DB, s search, read func(func(...any) error) (T, int64, error),
) (page sluice.Page[T], err error) {
	limit := s.limit
	if limit <= 0 {
		limit = sluice.DefaultPage
	}
	limit = min(limit, sluice.MaxPage)
	before := int64(1) << 62
	if s.cursor != "" {
		if before, err = strconv.ParseInt(s.cursor, 10, 64); err != nil || before <= 0 {
			return page, sluice.Invalid(sluice.FieldFault{Field: "cursor", Detail: "is not one that a page gave"})
		}
	}
	above := int64(0)
	if !s.indexed && s.below > 0 {
		before, above = min(before, s.below), s.above
	}
	for steps, jumps := 0, 0; ; {
		after, floor := above, int64(0)
		if before, floor = s.jump(before); !s.indexed {
			if after, err = db.stepBack(ctx, s.table, before); err != nil {
				return page, err
			}
			if after = max(after, above); floor > after {
				after, jumps = floor, jumps+1
			} else {
				steps++
			}
		}
		more, err := searchStepOf(ctx, db, s, before, after, limit, &page, read)
		switch {
		case err != nil:
			return sluice.Page[T]{}, err
		case more || after == above:
			return page, nil
		case steps == searchSteps || jumps == searchJumps || len(page.Items) == limit:
			page.Next = strconv.FormatInt(after+1, 10)
			return page, nil
		}
		before = after + 1
	}
}

// searchStepOf reads rows with after < seq < before and says whether there are more than fit the page.
func searchStepOf[T any](
	ctx context.Context, db *DB, s search, before, after int64, limit int, page *sluice.Page[T],
	read func(func(...any) error) (T, int64, error),
) (more bool, err error) {
	seq, columns := `o.seq`, s.columns
	if s.indexed && !slices.Contains(s.where, refundDue) {
		if seq = `+o.seq`; !s.alone {
			seq, columns = byTime, strings.Replace(s.columns, `o.seq`, byTime, 1)
		}
	}
	where := append(slices.Clone(s.where), seq+` < ?`, seq+` > ?`)
	join := ` o JOIN campaigns c ON c.no = o.campaign_no WHERE `
	if s.alone {
		join = ` o WHERE `
	}
	query := `SELECT ` + columns + ` FROM ` + s.table + join +
		strings.Join(where, ` AND `) + ` ORDER BY ` + seq + ` DESC LIMIT ?`
	rows, err := db.rdb.QueryContext(ctx, query, append(slices.Clone(s.args), before, after, limit-len(page.Items)+1)...)
	if err != nil {
		return false, translate(err, "search "+s.table)
	}
	defer func() { _ = rows.Close() }()
	last := int64(0)
	for rows.Next() {
		item, seq, err := read(rows.Scan)
		if err != nil {
			return false, translate(err, "search "+s.table)
		}
		if len(page.Items) == limit {
			page.Next = strconv.FormatInt(last, 10)
			return true, nil
		}
		page.Items, last = append(page.Items, item), seq
	}
	if err := rows.Err(); err != nil {
		return false, translate(err, "search "+s.table)
	}
	return false, nil
}

// byTime orders and pages the claims of one user across campaigns. seq cannot: it counts within a campaign. Being an
// expression it also keeps the planner from walking the table by seq, where the index on claims is the shorter way.
const byTime = `(o.created_ms << 20 | o.seq % 1048573)`

// stepBack gives the seq that lies searchStep rows before the row before, 0 where there are not so many. seq has gaps.
func (db *DB) stepBack(ctx context.Context, table string, before int64) (after int64, err error) {
	query := `SELECT COALESCE((SELECT seq FROM ` + table + ` WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?), 0)`
	err = db.rdb.QueryRowContext(ctx, query, before, searchStep).Scan(&after)
	if err != nil {
		return 0, translate(err, "search "+table)
	}
	return after, nil
}
