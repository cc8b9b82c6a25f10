package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-sale/sluice"
)

// Bounds of operations on their way to permits in other processes.
const (
	maxPermitOps   = 1000 // of one page, and of one call that ends them
	permitOpsChunk = 64   // rows of one statement
)

// permitOpWords are the kinds as the ledger keeps them.
var permitOpWords = map[sluice.PermitOpKind]string{
	sluice.PermitRelease: "release", sluice.PermitAdjust: "adjust", sluice.PermitTake: "take",
}

// lockCampaign takes the lock under which everything that concerns a campaign's units is written, and reads its
// number and epoch. A write that does so before its first change of a row cannot meet another one half way.
// ErrNotFound: there is none.
//
// The row is locked by its number: a look-up by its id would lock that index first and the row after it, the other way
// round than whoever holds the row and looks it up again.
func (t *tx) lockCampaign(id string) (no, epoch int64, err error) {
	err = t.row(`SELECT no FROM campaigns WHERE id = ?`, []any{id}, &no)
	if err == nil {
		err = t.row(t.locking(`SELECT epoch FROM campaigns WHERE no = ?`), []any{no}, &epoch)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("sqldb: campaign %s: %w", id, err)
	}
	return no, epoch, nil
}

// take notes that a claim has units which the permit does not know of.
func (t *tx) take(campaign string, id sluice.ClaimID, units, limitUnits int64) {
	t.touch(campaign)
	t.permits = append(t.permits, sluice.PermitOp{
		Kind: sluice.PermitTake, Campaign: campaign, Claim: id, Units: units, LimitUnits: limitUnits,
	})
}

// finish writes what a write means for others, as its last statements: the operations for permits elsewhere, with the
// epoch read under the campaign's lock, and the revision of the settings. Whatever epoch is read here, the transaction
// is committed before it can change: rows that a later epoch is armed with contain this write's.
func (t *tx) finish() error {
	if t.db.cfg.Remote {
		if err := t.keepPermitOps(); err != nil {
			return err
		}
	}
	if !t.settings {
		return nil
	}
	_, err := t.exec(`UPDATE settings_rev SET rev = rev + 1 WHERE one = 1`)
	return err
}

func (t *tx) keepPermitOps() error {
	type place struct{ no, epoch int64 }
	places := map[string]place{}
	var ops []*sluice.PermitOp
	var args []any
	for i := range t.permits {
		op := &t.permits[i]
		word, kept := permitOpWords[op.Kind]
		if !kept { // "settled" concerns a permit that settles by itself
			continue
		}
		p, ok := places[op.Campaign]
		if !ok {
			var err error
			if p.no, p.epoch, err = t.lockCampaign(op.Campaign); err != nil {
				return err
			}
			places[op.Campaign] = p
		}
		op.Epoch = p.epoch
		var claim []byte
		if op.Kind != sluice.PermitAdjust {
			claim = op.Claim[:]
		}
		ops = append(ops, op)
		args = append(args, p.no, word, claim, op.Units, op.LimitUnits, op.Revision, op.Epoch)
	}
	for len(ops) > 0 {
		n := 1
		if t.db.dialect == dialectMySQL { // each statement is a way to the server and back
			n = min(len(ops), permitOpsChunk)
		}
		if err := t.insertPermitOps(ops[:n], args[:n*permitOpColumns]); err != nil {
			return fmt.Errorf("sqldb: operations for permits: %w", err)
		}
		ops, args = ops[n:], args[n*permitOpColumns:]
	}
	return nil
}

// permitOpColumns are those that an operation brings with it.
const permitOpColumns = 7

// insertPermitOps writes rows in one statement. The numbers that the database deals out for one statement follow each
// other in steps of the session.
func (t *tx) insertPermitOps(ops []*sluice.PermitOp, args []any) error {
	first, err := t.insert(`INSERT INTO permit_ops (campaign_no, kind, claim_id, units, limit_units, revision, epoch)
		VALUES `+strings.Repeat(`(?, ?, ?, ?, ?, ?, ?), `, len(ops)-1)+`(?, ?, ?, ?, ?, ?, ?)`, args...)
	if err != nil {
		return err
	}
	step := int64(1)
	if len(ops) > 1 {
		if err := t.row(`SELECT @@auto_increment_increment`, nil, &step); err != nil {
			return err
		}
	}
	for i, op := range ops {
		op.Seq = first + int64(i)*step
	}
	return nil
}

// PermitOps gives up to limit operations that the permit of a campaign, of all campaigns where it is empty, has not
// taken yet, after the row after. One that commits later may have a smaller Seq: after a page that is not full, begin
// again at 0.
func (db *DB) PermitOps(ctx context.Context, campaign string, after int64, limit int) ([]sluice.PermitOp, error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT p.seq, c.id, p.kind, p.claim_id, p.units, p.limit_units,
		p.revision, p.epoch FROM permit_ops p JOIN campaigns c ON c.no = p.campaign_no
		WHERE (? = '' OR c.id = ?) AND p.seq > ? ORDER BY p.seq LIMIT ?`,
		campaign, campaign, after, min(max(limit, 1), maxPermitOps))
	if err != nil {
		return nil, translate(err, "operations for the permit of "+campaign)
	}
	defer func() { _ = rows.Close() }()
	var list []sluice.PermitOp
	for rows.Next() {
		var op sluice.PermitOp
		var word string
		var claim []byte
		err := rows.Scan(&op.Seq, &op.Campaign, &word, &claim, &op.Units, &op.LimitUnits, &op.Revision, &op.Epoch)
		if err != nil {
			return nil, translate(err, "operations for the permit of "+campaign)
		}
		for kind, w := range permitOpWords {
			if w == word {
				op.Kind = kind
			}
		}
		copy(op.Claim[:], claim)
		list = append(list, op)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "operations for the permit of "+campaign)
	}
	return list, nil
}

// PermitOpCampaigns lists the campaigns that have operations which their permits have not taken yet.
func (db *DB) PermitOpCampaigns(ctx context.Context) ([]string, error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT c.id FROM campaigns c
		WHERE EXISTS (SELECT 1 FROM permit_ops p WHERE p.campaign_no = c.no) ORDER BY c.no`)
	if err != nil {
		return nil, translate(err, "operations for permits")
	}
	defer func() { _ = rows.Close() }()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, translate(err, "operations for permits")
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "operations for permits")
	}
	return ids, nil
}

// DonePermitOps ends operations that their permit has taken, or that an epoch opened later has made pointless: their
// rows go. At most 1,000 a call. It is idempotent.
func (db *DB) DonePermitOps(ctx context.Context, seqs []int64) error {
	if len(seqs) > maxPermitOps {
		return sluice.Invalid(sluice.FieldFault{Field: "seqs", Detail: "at most 1,000 a call"})
	}
	if len(seqs) == 0 {
		return nil
	}
	return db.write(ctx, laneUrgent, func(t *tx) error {
		for len(seqs) > 0 {
			n := min(len(seqs), permitOpsChunk)
			// A shorter list is filled up with its last one, so that one prepared statement serves every length.
			args := make([]any, permitOpsChunk)
			for i := range args {
				args[i] = seqs[min(i, n-1)]
			}
			if _, err := t.exec(deletePermitOps, args...); err != nil {
				return err
			}
			seqs = seqs[n:]
		}
		return nil
	})
}

var deletePermitOps = `DELETE FROM permit_ops WHERE seq IN (` + questionMarks(permitOpsChunk) + `)`

// fenced has fn begin with a look whether the leader under whom it writes is still one.
func fenced(ctx context.Context, fn func(*tx) error) func(*tx) error {
	f, ok := sluice.FenceOf(ctx)
	if !ok {
		return fn
	}
	return func(t *tx) error {
		var token int64
		err := t.row(t.locking(`SELECT token FROM leaders WHERE job = ? AND token = ?`), []any{f.Job, f.Token}, &token)
		if errors.Is(err, sluice.ErrNotFound) {
			return sluice.NewFault(sluice.ErrConflict, "DEPOSED", "another node leads the job "+f.Job)
		}
		if err != nil {
			return err
		}
		return fn(t)
	}
}
