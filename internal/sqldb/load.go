package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// loadBatch is how many rows Load hands over at a time.
const loadBatch = 4096

// Load reads a campaign and all its claims as they are at one moment between two transactions. begin is given the
// campaign at that moment, inside the writer's pause, so that whatever commits later comes to the permit after begin;
// it must be quick. Then each gets the rows in batches, in the order in which they were settled, while the writer goes
// on; the slice is used again for the next batch. Rows of one claim on several coupons are summed. An error of each
// ends Load.
func (db *DB) Load(
	ctx context.Context, campaignID string, begin func(sluice.Campaign), each func([]sluice.ClaimRow) error,
) error {
	err := db.snapshot(ctx, campaignID, begin, func(s *snapshot) error { return s.claims(each) })
	if err != nil {
		return fmt.Errorf("sqldb: load %s: %w", campaignID, err)
	}
	return nil
}

// snapshot is a reader's view of one campaign as of one moment between two transactions.
type snapshot struct {
	ctx      context.Context
	texts    *texts // of MySQL
	conn     driver.QueryerContext
	campaign sluice.Campaign
}

// snapshot opens a view of the campaign and hands it to use; begin, where given, runs inside the writer's pause.
func (db *DB) snapshot(
	ctx context.Context, campaignID string, begin func(sluice.Campaign), use func(*snapshot) error,
) (err error) {
	conn, err := db.rdb.Conn(ctx)
	if err != nil {
		return translate(err, "snapshot")
	}
	defer func() { _ = conn.Close() }()
	defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`) }()
	s := &snapshot{ctx: ctx, texts: db.rdb.texts}
	if e := db.pause(ctx, func() {
		// The first read of the transaction takes its snapshot; with TiDB, its beginning does.
		if err = db.openSnapshot(ctx, conn); err != nil {
			return
		}
		row := conn.QueryRowContext(ctx, `SELECT `+campaignColumns+` FROM campaigns WHERE id = ?`, campaignID)
		s.campaign, err = scanCampaign(row)
		if err == nil && begin != nil {
			begin(s.campaign)
		}
	}); e != nil {
		return e
	}
	if err != nil {
		return readFailed(err, "snapshot")
	}
	if e := conn.Raw(func(dc any) error {
		var ok bool
		if s.conn, ok = dc.(driver.QueryerContext); !ok {
			return fmt.Errorf("sqldb: the driver's connection is a %T", dc)
		}
		err = use(s)
		return nil
	}); e != nil {
		return translate(e, "snapshot")
	}
	return err
}

// openSnapshot begins a transaction all of whose reads see what the first one saw.
func (db *DB) openSnapshot(ctx context.Context, conn *sql.Conn) error {
	if db.dialect == dialectMySQL { // of the next transaction only
		if _, err := conn.ExecContext(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`); err != nil {
			return err
		}
	}
	_, err := conn.ExecContext(ctx, `BEGIN`)
	return err
}

// claims hands the campaign's claims to each, in batches.
func (s *snapshot) claims(each func([]sluice.ClaimRow) error) error {
	table := `orders`
	if s.campaign.Kind == sluice.KindCoupon {
		table = `coupons`
	}
	batch := make([]sluice.ClaimRow, 0, loadBatch)
	err := s.scan(`SELECT claim_id, quantity, live_units, limit_units, rejected, created_ms FROM `+table+`
		WHERE seq BETWEEN ? AND ? ORDER BY seq`,
		s.campaign.No, func(row []driver.Value) error {
			id := claimIDOf(row[0])
			live, limit := int32(intOf(row[2])), int32(intOf(row[3]))
			if n := len(batch); n > 0 && batch[n-1].ID == id { // the coupons of one claim lie side by side
				batch[n-1].LiveUnits += live
				batch[n-1].LimitUnits += limit
				return nil
			}
			if len(batch) == loadBatch {
				if err := s.hand(batch, each); err != nil {
					return err
				}
				batch = batch[:0]
			}
			r := sluice.ClaimRow{
				ID: id, Quantity: int32(intOf(row[1])), LiveUnits: live, LimitUnits: limit, At: sluice.Millis(intOf(row[5])),
			}
			if rejected := textOf(row[4]); rejected != "" {
				r.Rejected = recordedReason(rejected)
			}
			batch = append(batch, r)
			return nil
		})
	if err != nil || len(batch) == 0 {
		return err
	}
	return s.hand(batch, each)
}

func (s *snapshot) hand(batch []sluice.ClaimRow, each func([]sluice.ClaimRow) error) error {
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", sluice.ErrUnavailable, err)
	}
	return each(batch)
}

// scan reads the rows of a campaign with a query whose two arguments are the bounds of seq.
func (s *snapshot) scan(query string, no int64, each func(row []driver.Value) error) error {
	lo, hi := seqRange(no)
	return s.query(query, each, lo, hi)
}

// query runs a query on the snapshot; the values of a row are valid only inside each.
func (s *snapshot) query(query string, each func(row []driver.Value) error, args ...driver.Value) error {
	if s.texts != nil {
		st := s.texts.of(query)
		query, args = st.text, arrange(st, args)
	}
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	rows, err := s.conn.QueryContext(s.ctx, query, named)
	if err != nil {
		return translate(err, "query")
	}
	return drain(rows, each)
}
