package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/sluice-sale/sluice"
)

// maxActiveFired bounds the records that a server takes over.
const maxActiveFired = 65_536

const (
	riskColumns  = `id, rule, mode, campaign, note, author, revision, created_ms, updated_ms`
	firedColumns = `id, rule, revision, mode, action, scope, value, campaign, campaign_only, saw, node, at_ms, until_ms,
		count, lifted_ms, lifted_by`
)

func scanRisk(scan func(...any) error) (r sluice.RiskRule, err error) {
	err = scan(&r.ID, &r.Rule, &r.Mode, &r.Campaign, &r.Note, &r.Author, &r.Revision, &r.CreatedAt, &r.UpdatedAt)
	return r, err
}

// riskState is a rule as the audit log shows it.
type riskState struct {
	Rule     string          `json:"rule"`
	Mode     sluice.RiskMode `json:"mode"`
	Campaign string          `json:"campaign_id,omitempty"`
	Note     string          `json:"note,omitempty"`
	Revision int64           `json:"revision"`
}

func shownRisk(r sluice.RiskRule) riskState {
	return riskState{r.Rule, r.Mode, r.Campaign, r.Note, r.Revision}
}

// RiskRules reads every risk rule, in the order of their names.
func (db *DB) RiskRules(ctx context.Context) ([]sluice.RiskRule, error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT `+riskColumns+` FROM risk_rules ORDER BY id`)
	if err != nil {
		return nil, translate(err, "read the risk rules")
	}
	defer rows.Close()
	var all []sluice.RiskRule
	for rows.Next() {
		r, err := scanRisk(rows.Scan)
		if err != nil {
			return nil, translate(err, "read the risk rules")
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read the risk rules")
	}
	return all, nil
}

// PutRiskRule writes a rule, new or changed, at r.UpdatedAt and gives it as it is now. Where r.Revision is above zero
// the rule has to be at that revision. ErrConflict: it is not, or there are most rules already.
func (db *DB) PutRiskRule(
	ctx context.Context, r sluice.RiskRule, most int, a sluice.Actor,
) (out sluice.RiskRule, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		out = r
		old, found, err := t.riskRule(r.ID)
		if err != nil {
			return err
		}
		if r.Revision > 0 && old.Revision != r.Revision {
			return sluice.NewFault(sluice.ErrConflict, "RULE_CHANGED",
				fmt.Sprintf("the rule is at revision %d, not %d: read it again", old.Revision, r.Revision))
		}
		out.CreatedAt, out.Revision = r.UpdatedAt, old.Revision+1
		var before any
		if found {
			before, out.CreatedAt = shownRisk(old), old.CreatedAt
			if old.Mode != r.Mode {
				err = t.endFired(r.ID, r.UpdatedAt)
			}
		} else {
			var n int
			if err := t.row(`SELECT COUNT(*) FROM risk_rules`, nil, &n); err != nil {
				return err
			}
			if n >= most {
				return sluice.NewFault(sluice.ErrConflict, "RULES_FULL", fmt.Sprintf("there are %d rules, which is the most", n))
			}
		}
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO risk_rules (`+riskColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET rule = excluded.rule, mode = excluded.mode, campaign = excluded.campaign,
			note = excluded.note, author = excluded.author, revision = excluded.revision, updated_ms = excluded.updated_ms`,
			out.ID, out.Rule, string(out.Mode), out.Campaign, out.Note, out.Author, out.Revision, out.CreatedAt, out.UpdatedAt)
		if err != nil {
			return err
		}
		t.settings = true
		return t.audit(out.UpdatedAt, a, "risk_rule.put", "risk_rule/"+out.ID, before, shownRisk(out))
	})
	return out, err
}

// endFired ends what a rule did in the mode that it leaves, so that none of it comes back with the mode.
func (t *tx) endFired(rule string, now sluice.Millis) error {
	_, err := t.exec(`UPDATE risk_fired SET until_ms = ? WHERE rule = ? AND until_ms > ?`, now, rule, now)
	return err
}

// riskRule reads a rule such that it stays as it is until the transaction ends.
func (t *tx) riskRule(id string) (r sluice.RiskRule, found bool, err error) {
	r, err = scanRisk(func(into ...any) error {
		return t.row(t.locking(`SELECT `+riskColumns+` FROM risk_rules WHERE id = ?`), []any{id}, into...)
	})
	if errors.Is(err, sluice.ErrNotFound) {
		return sluice.RiskRule{}, false, nil
	}
	return r, err == nil, err
}

// DeleteRiskRule deletes a rule and gives what it was. ErrNotFound: there is none.
func (db *DB) DeleteRiskRule(
	ctx context.Context, id string, a sluice.Actor, now sluice.Millis,
) (r sluice.RiskRule, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		var found bool
		if r, found, err = t.riskRule(id); err != nil {
			return err
		}
		if !found {
			return sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_RULE", "no rule "+id+" was written by an operator")
		}
		if _, err := t.exec(`DELETE FROM risk_rules WHERE id = ?`, id); err != nil {
			return err
		}
		if err := t.endFired(id, now); err != nil {
			return err
		}
		t.settings = true
		return t.audit(now, a, "risk_rule.delete", "risk_rule/"+id, shownRisk(r), nil)
	})
	return r, err
}

func scanFired(scan func(...any) error, seq *int64) (f sluice.RiskFired, err error) {
	err = scan(seq, &f.ID, &f.Rule, &f.Revision, &f.Mode, &f.Action, &f.Scope, &f.Value, &f.Campaign, &f.CampaignOnly,
		&f.Saw, &f.Node, &f.At, &f.Until, &f.Count, &f.LiftedAt, &f.LiftedBy)
	return f, err
}

// RecordFired writes what rules did; of a record that is there only the count changes. It may be repeated.
func (db *DB) RecordFired(ctx context.Context, all []sluice.RiskFired) error {
	if len(all) == 0 {
		return nil
	}
	return db.write(ctx, laneBackground, func(t *tx) error {
		for _, f := range all {
			only := 0
			if f.CampaignOnly {
				only = 1
			}
			_, err := t.exec(`INSERT INTO risk_fired (`+firedColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '')
				ON CONFLICT (id) DO UPDATE SET count = excluded.count`,
				f.ID, f.Rule, f.Revision, string(f.Mode), f.Action, string(f.Scope), f.Value, f.Campaign, only,
				cutText(f.Saw, 1000), f.Node, f.At, f.Until, f.Count)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ActiveFired reads the records that hold at now and have a number above after, oldest first, and gives the highest
// number. At most 65,536, the newest.
func (db *DB) ActiveFired(
	ctx context.Context, now sluice.Millis, after int64,
) (all []sluice.RiskFired, last int64, err error) {
	all, seqs, err := db.fired(ctx, `SELECT seq, `+firedColumns+` FROM risk_fired WHERE until_ms > ? AND seq > ?
		ORDER BY seq DESC LIMIT ?`, now, after, maxActiveFired)
	if len(seqs) > 0 {
		last = seqs[0]
	}
	return all, last, err
}

func (db *DB) fired(ctx context.Context, query string, args ...any) (
	all []sluice.RiskFired, seqs []int64, err error,
) {
	rows, err := db.rdb.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, nil, translate(err, "read what risk rules did")
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		f, err := scanFired(rows.Scan, &seq)
		if err != nil {
			return nil, nil, translate(err, "read what risk rules did")
		}
		all, seqs = append(all, f), append(seqs, seq)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, translate(err, "read what risk rules did")
	}
	return all, seqs, nil
}

// FiredPage reads what rules did, newest first. ErrInvalid: the cursor is none of a page.
func (db *DB) FiredPage(ctx context.Context, q sluice.RiskFiredQuery) (p sluice.Page[sluice.RiskFired], err error) {
	before := int64(1<<63 - 1)
	if q.Cursor != "" {
		if before, err = strconv.ParseInt(q.Cursor, 10, 64); err != nil {
			return p, sluice.Invalid(sluice.FieldFault{Field: "cursor", Detail: "is not one of a page"})
		}
	}
	limit := q.Limit
	if limit <= 0 {
		limit = sluice.DefaultPage
	}
	limit = min(limit, sluice.MaxPage)
	all, seqs, err := db.fired(ctx, `SELECT seq, `+firedColumns+` FROM risk_fired WHERE seq < ?
		AND (? = '' OR id = ?) AND (? = '' OR rule = ?) AND (? = '' OR scope = ?) AND (? = '' OR value = ?)
		ORDER BY seq DESC LIMIT ?`,
		before, q.ID, q.ID, q.Rule, q.Rule, string(q.Scope), string(q.Scope), q.Value, q.Value, limit+1)
	if err != nil {
		return p, err
	}
	if p.Items = all; len(all) > limit {
		p.Items = all[:limit]
		p.Next = strconv.FormatInt(seqs[limit-1], 10)
	}
	return p, nil
}

// LiftFired undoes what a rule did about one subject, by the reference of a record, and gives that record; those that
// other nodes have of the same are lifted with it. Lifting it again changes nothing.
// ErrNotFound: there is no such record.
func (db *DB) LiftFired(
	ctx context.Context, id string, a sluice.Actor, now sluice.Millis,
) (f sluice.RiskFired, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		var seq int64
		f, err = scanFired(func(into ...any) error {
			return t.row(t.locking(`SELECT seq, `+firedColumns+` FROM risk_fired WHERE id = ?`), []any{id}, into...)
		}, &seq)
		if errors.Is(err, sluice.ErrNotFound) {
			return sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_FIRED", "no rule did anything under the reference "+id)
		}
		if err != nil || f.LiftedAt != 0 {
			return err
		}
		f.LiftedAt, f.LiftedBy = now, a.Name
		// Other nodes may have a record of the same.
		if _, err := t.exec(`UPDATE risk_fired SET lifted_ms = ?, lifted_by = ? WHERE value = ? AND scope = ? AND rule = ? AND
			lifted_ms = 0 AND (seq = ? OR until_ms > ?)`,
			now, a.Name, f.Value, string(f.Scope), f.Rule, seq, now); err != nil {
			return err
		}
		t.settings = true
		return t.audit(now, a, "risk_fired.lift", "risk_fired/"+id, nil, map[string]any{
			"rule": f.Rule, "action": f.Action, "scope": f.Scope, "value": f.Value})
	})
	return f, err
}
