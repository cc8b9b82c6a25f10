package sqldb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-sale/sluice"
)

// Bounds of dead letters.
const (
	defaultMaxTries = 3
	maxLetters      = 500     // that one write replays or discards
	maxRaw          = 1 << 16 // bytes kept of a message
)

// stateTrying is a letter's state while the tries of its claim are counted; nobody is shown it.
const stateTrying sluice.DeadLetterState = "trying"

// FailTries counts one failed try for each claim and gives those that have had all of theirs: they are dead letters
// now, and whoever asks acknowledges their messages. The count is in the ledger, so that it survives redelivery by
// any queue. Only failures of the claim itself are to be counted, not those of a store. ErrUncertain: counting one
// try twice is harmless.
func (db *DB) FailTries(ctx context.Context, claims []sluice.Claim, reason string) (dead []sluice.ClaimID, err error) {
	if len(claims) > MaxSettle {
		return nil, sluice.Invalid(sluice.FieldFault{Field: "claims", Detail: "at most 1,024 a call"})
	}
	err = db.writeAgain(ctx, laneUrgent, func(t *tx) error {
		dead = dead[:0]
		for i := range claims {
			state, err := t.failTry(&claims[i], cutText(reason, maxFaultBytes))
			if err != nil {
				return err
			}
			if state != stateTrying {
				dead = append(dead, claims[i].ID)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sqldb: count a failed try: %w", err)
	}
	return dead, nil
}

func (t *tx) failTry(c *sluice.Claim, reason string) (state sluice.DeadLetterState, err error) {
	now := sluice.MillisOf(t.db.cfg.Now())
	var id, tries int64
	err = t.row(t.locking(`SELECT id, state, tries FROM dead_letters WHERE ident = ?`), []any{c.ID[:]},
		&id, &state, &tries)
	switch {
	case errors.Is(err, sluice.ErrNotFound):
		state = stateTrying
		if t.db.cfg.MaxTries <= 1 {
			state = sluice.DeadLetterKept
		}
		codes, err := json.Marshal(c.CouponCodes)
		if err != nil {
			return state, err
		}
		_, err = t.exec(`INSERT INTO dead_letters (ident, state, tries, fault, first_ms, last_ms, claim_id, campaign, user_id,
			request_id, source, quantity, epoch, claimed_ms, codes) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.ID[:], string(state), reason, now, now, c.ID[:], c.Campaign, c.User,
			c.RequestID, int64(c.Source), c.Quantity, c.Epoch, c.At, string(codes))
		if isUnique(err) {
			err = errMoved
		}
		return state, err
	case err != nil:
		return state, err
	case state == sluice.DeadLetterKept || state == sluice.DeadLetterDiscarded:
		return state, nil
	}
	// A letter that was replayed has its tries anew.
	tries++
	state = stateTrying
	if tries >= int64(t.db.cfg.MaxTries) {
		state = sluice.DeadLetterKept
	}
	_, err = t.exec(`UPDATE dead_letters SET state = ?, tries = ?, fault = ?, last_ms = ? WHERE id = ?`,
		string(state), tries, reason, now, id)
	return state, err
}

// KeepDeadLetter keeps a message that cannot be read, once however often it comes; fault says why. One that was
// replayed and comes again is kept again.
func (db *DB) KeepDeadLetter(ctx context.Context, raw []byte, fault string) error {
	ident := sha256.Sum256(raw)
	err := db.writeAgain(ctx, laneUrgent, func(t *tx) error {
		now := sluice.MillisOf(db.cfg.Now())
		n, err := t.exec(`UPDATE dead_letters SET state = 'kept', tries = tries + 1, fault = ?, last_ms = ?
			WHERE ident = ? AND state = 'replayed'`, cutText(fault, maxFaultBytes), now, ident[:])
		if err != nil || n > 0 {
			return err
		}
		err = t.row(`SELECT id FROM dead_letters WHERE ident = ?`, []any{ident[:]}, &n)
		if !errors.Is(err, sluice.ErrNotFound) {
			return err
		}
		_, err = t.exec(`INSERT INTO dead_letters (ident, state, tries, fault, first_ms, last_ms, raw)
			VALUES (?, 'kept', 1, ?, ?, ?, ?)`, ident[:], cutText(fault, maxFaultBytes), now, now, raw[:min(len(raw), maxRaw)])
		if isUnique(err) {
			return errMoved
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("sqldb: keep a dead letter: %w", err)
	}
	return nil
}

const letterColumns = `id, state, tries, fault, first_ms, last_ms, claim_id, campaign, user_id, request_id, source,
	quantity, epoch, claimed_ms, COALESCE(codes, ''), raw`

func scanLetter(scan func(...any) error) (d sluice.DeadLetter, err error) {
	var claim []byte
	var codes string
	err = scan(&d.ID, &d.State, &d.Tries, &d.Error, &d.FirstAt, &d.LastAt, &claim, &d.Campaign, &d.Claim.User,
		&d.Claim.RequestID, &d.Claim.Source, &d.Claim.Quantity, &d.Claim.Epoch, &d.Claim.At, &codes, &d.Raw)
	if err != nil || claim == nil {
		return d, err
	}
	copy(d.Claim.ID[:], claim)
	d.Claim.Campaign = d.Campaign
	return d, json.Unmarshal([]byte(codes), &d.Claim.CouponCodes)
}

// letterWhere builds the condition of q, without its cursor, from constant pieces.
func letterWhere(q sluice.DeadLetterQuery) (where string, args []any) {
	conds := []string{`state <> 'trying'`}
	add := func(cond string, a ...any) { conds, args = append(conds, cond), append(args, a...) }
	if len(q.IDs) > 0 {
		ids := make([]any, len(q.IDs))
		for i, id := range q.IDs {
			ids[i] = id
		}
		add(`id IN (`+questionMarks(len(ids))+`)`, ids...)
	}
	if q.State != "" {
		add(`state = ?`, string(q.State))
	}
	if q.Campaign != "" {
		add(`campaign = ?`, q.Campaign)
	}
	if q.User != "" {
		add(`user_id = ?`, q.User)
	}
	if q.AsOf != 0 {
		add(`last_ms <= ?`, q.AsOf)
	}
	return strings.Join(conds, ` AND `), args
}

// DeadLetters lists dead letters, newest first.
func (db *DB) DeadLetters(
	ctx context.Context, q sluice.DeadLetterQuery,
) (page sluice.Page[sluice.DeadLetter], err error) {
	before, err := cursorOf(q.Cursor)
	if err != nil {
		return page, err
	}
	if len(q.IDs) > maxLetters {
		return page, tooManyLetters()
	}
	if q.Limit <= 0 {
		q.Limit = sluice.DefaultPage
	}
	limit := min(q.Limit, sluice.MaxPage)
	where, args := letterWhere(q)
	rows, err := db.rdb.QueryContext(ctx, `SELECT `+letterColumns+` FROM dead_letters WHERE `+where+
		` AND id < ? ORDER BY id DESC LIMIT ?`, append(args, before, limit+1)...)
	if err != nil {
		return page, translate(err, "read the dead letters")
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		d, err := scanLetter(rows.Scan)
		if err != nil {
			return page, translate(err, "read the dead letters")
		}
		if len(page.Items) == limit {
			page.Next = strconv.FormatInt(page.Items[limit-1].ID, 10)
			break
		}
		page.Items = append(page.Items, d)
	}
	if err := rows.Err(); err != nil {
		return page, translate(err, "read the dead letters")
	}
	return page, nil
}

func tooManyLetters() error {
	return sluice.Invalid(sluice.FieldFault{Field: "ids", Detail: fmt.Sprintf("at most %d a call", maxLetters)})
}

// DeadLetter reads one; ErrNotFound where there is none.
func (db *DB) DeadLetter(ctx context.Context, id int64) (sluice.DeadLetter, error) {
	row := db.rdb.QueryRowContext(ctx, `SELECT `+letterColumns+` FROM dead_letters WHERE id = ? AND state <> 'trying'`, id)
	d, err := scanLetter(row.Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return d, sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_DEAD_LETTER",
			"there is no dead letter "+strconv.FormatInt(id, 10))
	case err != nil:
		return d, translate(err, "read a dead letter")
	}
	return d, nil
}

// DeadLetterCount says how many are kept and when the oldest of them failed for the last time.
func (db *DB) DeadLetterCount(ctx context.Context) (kept int64, oldest sluice.Millis, err error) {
	row := db.rdb.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(MIN(last_ms), 0) FROM dead_letters WHERE state = 'kept'`)
	if err = row.Scan(&kept, &oldest); err != nil {
		return 0, 0, translate(err, "count the dead letters")
	}
	return kept, oldest, nil
}

// ReplayDeadLetters marks kept letters as replayed, with new tries, and gives them, so that the caller hands them to
// the settler; a claim that does not get there is driven again by the sweep of the gates. It takes at most 500 and at
// most q.Limit of those that q selects, the oldest first; more says that others are left: call again with the same q.
// Nothing that was kept after q.AsOf is touched.
func (db *DB) ReplayDeadLetters(
	ctx context.Context, q sluice.DeadLetterQuery, by sluice.Actor, now sluice.Millis,
) (done []sluice.DeadLetter, more bool, err error) {
	err = db.write(ctx, laneBackground, func(t *tx) (err error) {
		done, more, err = t.pickLetters(q)
		if err != nil {
			return err
		}
		for i := range done {
			if err := t.endLetter(&done[i], sluice.DeadLetterReplayed, 0, by, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("sqldb: replay dead letters: %w", err)
	}
	return done, more, nil
}

// DiscardDeadLetters gives kept letters up. A claim that the ledger knows stays as it is; one that it does not know
// is recorded as rejected, DISCARDED, and its permit gets its units back: never the one without the other, since a
// settler may be writing it down at this moment. Bounds, order and more are those of ReplayDeadLetters.
func (db *DB) DiscardDeadLetters(
	ctx context.Context, q sluice.DeadLetterQuery, by sluice.Actor, now sluice.Millis,
) (done []sluice.DeadLetter, more bool, err error) {
	err = db.writeAgain(ctx, laneBackground, func(t *tx) (err error) {
		done, more, err = t.pickLetters(q)
		if err != nil {
			return err
		}
		for i := range done {
			d := &done[i]
			if d.Claim.ID != (sluice.ClaimID{}) {
				if _, err := t.reject(d.Claim, sluice.ReasonDiscarded); err != nil && !errors.Is(err, sluice.ErrNotFound) {
					return err
				}
			}
			if err := t.endLetter(d, sluice.DeadLetterDiscarded, d.Tries, by, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("sqldb: discard dead letters: %w", err)
	}
	return done, more, nil
}

// pickLetters reads and locks the kept letters that q selects, the oldest first.
func (t *tx) pickLetters(q sluice.DeadLetterQuery) (list []sluice.DeadLetter, more bool, err error) {
	if len(q.IDs) > maxLetters {
		return nil, false, tooManyLetters()
	}
	if q.State != "" && q.State != sluice.DeadLetterKept {
		return nil, false, nil
	}
	q.State = sluice.DeadLetterKept
	limit := maxLetters
	if q.Limit > 0 {
		limit = min(q.Limit, maxLetters)
	}
	where, args := letterWhere(q)
	rows, err := t.query(t.locking(`SELECT `+letterColumns+` FROM dead_letters WHERE `+where+` ORDER BY id LIMIT ?`),
		append(args, limit+1)...)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		d, err := scanLetter(rows.Scan)
		if err != nil {
			return nil, false, err
		}
		list = append(list, d)
	}
	if len(list) > limit {
		return list[:limit], true, rows.Err()
	}
	return list, false, rows.Err()
}

// letterNote is what the audit log says of a dead letter.
type letterNote struct {
	State    sluice.DeadLetterState `json:"state"`
	ClaimID  string                 `json:"claim_id,omitempty"`
	Campaign string                 `json:"campaign_id,omitempty"`
	User     string                 `json:"user_id,omitempty"`
	Quantity int                    `json:"quantity,omitempty"`
	Error    string                 `json:"error"`
}

func shownLetter(d *sluice.DeadLetter) letterNote {
	n := letterNote{State: d.State, Campaign: d.Campaign, User: d.Claim.User, Quantity: d.Claim.Quantity, Error: d.Error}
	if d.Claim.ID != (sluice.ClaimID{}) {
		n.ClaimID = d.Claim.ID.String()
	}
	return n
}

// endLetter moves a kept letter on, with its audit row.
func (t *tx) endLetter(
	d *sluice.DeadLetter, to sluice.DeadLetterState, tries int, by sluice.Actor, now sluice.Millis,
) error {
	was := shownLetter(d)
	n, err := t.exec(`UPDATE dead_letters SET state = ?, tries = ? WHERE id = ? AND state = 'kept'`,
		string(to), tries, d.ID)
	if err != nil {
		return err
	}
	if n == 0 {
		return errMoved
	}
	d.State, d.Tries = to, tries
	action := "dead_letter.replay"
	if to == sluice.DeadLetterDiscarded {
		action = "dead_letter.discard"
	}
	return t.audit(now, by, action, "dead-letter/"+strconv.FormatInt(d.ID, 10), was, shownLetter(d))
}

// DropDeadLetters deletes up to limit letters that are over, and counts of tries whose claims got through, all of them
// last touched before `before`; it says how many. What is kept for a person stays.
func (db *DB) DropDeadLetters(ctx context.Context, before sluice.Millis, limit int) (n int64, err error) {
	err = db.write(ctx, laneBackground, func(t *tx) error {
		n = 0
		for _, state := range []string{"trying", "replayed", "discarded"} {
			ids, err := t.numbers(`SELECT id FROM dead_letters WHERE state = ? AND last_ms < ? ORDER BY id LIMIT ?`,
				state, before, limit-int(n))
			if err != nil {
				return err
			}
			for _, id := range ids {
				gone, err := t.exec(`DELETE FROM dead_letters WHERE id = ? AND state = ?`, id, state)
				if err != nil {
					return err
				}
				n += gone
			}
		}
		return nil
	})
	return n, err
}
