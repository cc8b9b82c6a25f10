package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// holdersKept is how long after its window a place is kept, in ms.
const holdersKept = 24 * 3600 * 1000

// noClaim is the claim of the row that is locked while a holder's places change.
var noClaim = make([]byte, len(sluice.ClaimID{}))

// HeldPlaces remembers who holds unpaid orders, where nodes share nothing but the ledger.
type HeldPlaces struct{ db *DB }

// HeldPlaces gives it.
func (db *DB) HeldPlaces() HeldPlaces { return HeldPlaces{db} }

// Hold takes a place for p unless the holder has limit others, which it gives then.
func (h HeldPlaces) Hold(
	ctx context.Context, holder string, p sluice.Held, limit int,
) (others []sluice.Held, ok bool, err error) {
	err = h.db.writeAgain(ctx, laneUrgent, func(t *tx) error {
		others, ok = nil, false
		kept := p.Until + holdersKept
		// Whoever writes this row has the holder to itself until the commit.
		if _, err := t.exec(`INSERT INTO holders (holder, claim_id, until_ms) VALUES (?, ?, ?)
			ON CONFLICT (holder, claim_id) DO UPDATE SET until_ms = excluded.until_ms`, holder, noClaim, kept); err != nil {
			return err
		}
		rows, err := t.query(`SELECT claim_id, until_ms FROM holders WHERE holder = ?`, holder)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var id []byte
			var o sluice.Held
			if err := rows.Scan(&id, &o.Until); err != nil {
				return err
			}
			if copy(o.ID[:], id); o.ID == (sluice.ClaimID{}) {
				continue
			}
			if o.ID == p.ID {
				ok = true
			}
			o.Until -= holdersKept
			others = append(others, o)
		}
		if err := rows.Err(); err != nil || ok || len(others) >= limit {
			return err
		}
		_ = rows.Close()
		ok = true
		_, err = t.exec(`INSERT INTO holders (holder, claim_id, until_ms) VALUES (?, ?, ?)`, holder, p.ID[:], kept)
		return err
	})
	if err != nil || ok {
		return nil, ok, err
	}
	return others, false, nil
}

// Free gives places back.
func (h HeldPlaces) Free(ctx context.Context, holder string, ids []sluice.ClaimID) error {
	return h.db.writeAgain(ctx, laneUrgent, func(t *tx) error {
		for _, id := range ids {
			if _, err := t.exec(`DELETE FROM holders WHERE holder = ? AND claim_id = ?`, holder, id[:]); err != nil {
				return err
			}
		}
		return nil
	})
}

// OrderStates gives the state of the orders that are there.
func (db *DB) OrderStates(
	ctx context.Context, ids []sluice.ClaimID,
) (map[sluice.ClaimID]sluice.OrderState, error) {
	out := make(map[sluice.ClaimID]sluice.OrderState, len(ids))
	for _, id := range ids {
		var state sluice.OrderState
		err := db.rdb.QueryRowContext(ctx, `SELECT state FROM orders WHERE claim_id = ?`, id[:]).Scan(&state)
		switch {
		case err == nil:
			out[id] = state
		case !errors.Is(err, sql.ErrNoRows):
			return nil, translate(err, "the states of orders")
		}
	}
	return out, nil
}

// UnpaidHolders calls back for every order that is unpaid.
func (db *DB) UnpaidHolders(
	ctx context.Context, each func(user string, id sluice.ClaimID, due sluice.Millis) error,
) error {
	rows, err := db.rdb.QueryContext(ctx, `SELECT user_id, claim_id, due_ms FROM orders WHERE state = 'unpaid'`)
	if err != nil {
		return translate(err, "the unpaid orders")
	}
	defer rows.Close()
	for rows.Next() {
		var user string
		var raw []byte
		var due sluice.Millis
		if err := rows.Scan(&user, &raw, &due); err != nil {
			return translate(err, "the unpaid orders")
		}
		id := sluice.ClaimID{}
		if copy(id[:], raw) != len(id) {
			return fmt.Errorf("sqldb: an order's claim id has %d bytes", len(raw))
		}
		if err := each(user, id, due); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return translate(err, "the unpaid orders")
	}
	return nil
}
