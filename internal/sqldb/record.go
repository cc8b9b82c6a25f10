package sqldb

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// event appends one event to the feed. campaignNo is 0 where it concerns none; data is marshalled to JSON.
func (t *tx) event(at sluice.Millis, typ string, campaignNo int64, subject string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("sqldb: event %s: %w", typ, err)
	}
	_, err = t.exec(`INSERT INTO events (at_ms, type, campaign_no, subject, data) VALUES (?, ?, ?, ?, ?)`,
		at, typ, sql.NullInt64{Int64: campaignNo, Valid: campaignNo != 0}, subject, string(b))
	return err
}

// eventBatch appends one row that stands for one event per claim id.
func (t *tx) eventBatch(at sluice.Millis, typ string, campaignNo int64, ids []byte) error {
	_, err := t.exec(insertEventBatch, at, typ, campaignNo, ids)
	return err
}

const insertEventBatch = `INSERT INTO events (at_ms, type, campaign_no, ids) VALUES (?, ?, ?, ?)`

// audit appends one row to the audit log. before and after are marshalled to JSON; nil stays empty.
func (t *tx) audit(at sluice.Millis, a sluice.Actor, action, object string, before, after any) error {
	b, err := jsonOrNull(before)
	if err != nil {
		return err
	}
	c, err := jsonOrNull(after)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO audit_log (at_ms, key_id, name, role, addr, request_id, reason, action, object,
		before, after) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		at, a.KeyID, a.Name, string(a.Role), a.Addr, a.RequestID, a.Reason, action, object, b, c)
	return err
}

func jsonOrNull(v any) (sql.NullString, error) {
	if v == nil {
		return sql.NullString{}, nil
	}
	b, err := json.Marshal(v)
	return sql.NullString{String: string(b), Valid: err == nil}, err
}
