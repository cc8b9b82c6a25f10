package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// Audit reads the audit log, newest first.
func (db *DB) Audit(ctx context.Context, q sluice.AuditQuery) ([]sluice.AuditEntry, error) {
	where, args := db.auditWhere(q)
	rows, err := db.rdb.QueryContext(ctx, `SELECT seq, at_ms, key_id, name, role, addr, request_id, reason,
		action, object, before, after
		FROM audit_log`+where+` ORDER BY seq DESC LIMIT ?`, append(args, q.Limit)...)
	if err != nil {
		return nil, translate(err, "read the audit log")
	}
	defer rows.Close()
	var all []sluice.AuditEntry
	for rows.Next() {
		var e sluice.AuditEntry
		var before, after sql.NullString
		err := rows.Scan(&e.Seq, &e.At, &e.Actor.KeyID, &e.Actor.Name, &e.Actor.Role, &e.Actor.Addr, &e.Actor.RequestID,
			&e.Actor.Reason, &e.Action, &e.Object, &before, &after)
		if err != nil {
			return nil, translate(err, "read the audit log")
		}
		if before.Valid {
			e.Before = json.RawMessage(before.String)
		}
		if after.Valid {
			e.After = json.RawMessage(after.String)
		}
		all = append(all, e)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read the audit log")
	}
	return all, nil
}

// auditWhere builds the condition from constant pieces; every value is an argument.
func (db *DB) auditWhere(q sluice.AuditQuery) (where string, args []any) {
	var conds []string
	add := func(cond string, a ...any) { conds, args = append(conds, cond), append(args, a...) }
	match := func(column, v string) {
		if p, ok := strings.CutSuffix(v, "*"); ok {
			n := utf8.RuneCountInString(p)
			if db.dialect == dialectMySQL { // where what names something is bytes
				n = len(p)
			}
			add("substr("+column+", 1, ?) = ?", n, p)
		} else if v != "" {
			add(column+" = ?", v)
		}
	}
	if q.Actor != "" {
		add("(key_id = ? OR name = ?)", q.Actor, q.Actor)
	}
	match("action", q.Action)
	match("object", q.Object)
	if q.From != 0 {
		add("at_ms >= ?", q.From)
	}
	if q.Until != 0 {
		add("at_ms < ?", q.Until)
	}
	if q.Before != 0 {
		add("seq < ?", q.Before)
	}
	if len(conds) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(conds, " AND "), args
}

// Note writes one row to the audit log for an act that changes nothing else in the ledger, such as a log level or
// a preheat.
func (db *DB) Note(
	ctx context.Context, a sluice.Actor, action, object string, before, after any, now sluice.Millis,
) error {
	return db.write(ctx, laneUrgent, func(t *tx) error { return t.audit(now, a, action, object, before, after) })
}
