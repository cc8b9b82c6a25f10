package sqldb

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// Switches reads every switch that is set, in the order of name and campaign.
func (db *DB) Switches(ctx context.Context) ([]sluice.SwitchSetting, error) {
	rows, err := db.rdb.QueryContext(ctx,
		`SELECT name, campaign, value, reason, author, at_ms FROM switches ORDER BY name, campaign`)
	if err != nil {
		return nil, translate(err, "read the switches")
	}
	defer rows.Close()
	var all []sluice.SwitchSetting
	for rows.Next() {
		s := sluice.SwitchSetting{Set: true}
		if err := rows.Scan(&s.Name, &s.Campaign, &s.Value, &s.Reason, &s.Author, &s.At); err != nil {
			return nil, translate(err, "read the switches")
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read the switches")
	}
	return all, nil
}

// switchState is a switch as the audit log and the feed show it.
type switchState struct {
	Value  float64 `json:"value"`
	Reason string  `json:"reason,omitempty"`
}

// SetSwitch sets s, or clears it where s.Set is false, at s.At, and gives the setting before it. The payment
// clock stops and starts with payments_down in the same transaction. Setting what is already set writes the new
// reason; clearing what is not set writes nothing. ErrNotFound: there is no such campaign. The caller has checked
// name and bounds against the catalogue.
func (db *DB) SetSwitch(
	ctx context.Context, s sluice.SwitchSetting, a sluice.Actor,
) (before sluice.SwitchSetting, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		before, err = t.setSwitch(s, a)
		return err
	})
	return before, err
}

func (t *tx) setSwitch(s sluice.SwitchSetting, a sluice.Actor) (before sluice.SwitchSetting, err error) {
	var campaignNo int64
	object := "switch/" + s.Name
	if s.Campaign != "" {
		if campaignNo, err = t.noOf(s.Campaign); err != nil {
			return before, err
		}
		object += "/" + s.Campaign
	}
	before = sluice.SwitchSetting{Name: s.Name, Campaign: s.Campaign, Set: true}
	err = t.row(`SELECT value, reason, author, at_ms FROM switches WHERE name = ? AND campaign = ?`,
		[]any{s.Name, s.Campaign}, &before.Value, &before.Reason, &before.Author, &before.At)
	if errors.Is(err, sluice.ErrNotFound) {
		before.Set, err = false, nil
	}
	if err != nil {
		return before, fmt.Errorf("sqldb: switch %s: %w", s.Name, err)
	}
	action, was, is := "switch.set", any(nil), any(switchState{s.Value, s.Reason})
	if before.Set {
		was = switchState{before.Value, before.Reason}
	}
	switch {
	case s.Set:
		_, err = t.exec(`INSERT INTO switches (name, campaign, value, reason, author, at_ms) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (name, campaign) DO UPDATE SET value = excluded.value, reason = excluded.reason,
			author = excluded.author, at_ms = excluded.at_ms`, s.Name, s.Campaign, s.Value, s.Reason, s.Author, s.At)
	case before.Set:
		action, is = "switch.cleared", nil
		_, err = t.exec(`DELETE FROM switches WHERE name = ? AND campaign = ?`, s.Name, s.Campaign)
	default:
		return before, nil
	}
	t.settings = true
	if err == nil && s.Name == sluice.SwitchPaymentsDown {
		err = t.movePaymentClock(s.Set && s.Value != 0, s.At)
	}
	if err == nil {
		err = t.event(s.At, action, campaignNo, s.Name, map[string]any{
			"name": s.Name, "campaign_id": s.Campaign, "value": s.Value, "set": s.Set, "reason": s.Reason})
	}
	if err == nil {
		err = t.audit(s.At, a, action, object, was, is)
	}
	return before, err
}

// NoteSwitch puts an act on a switch down in the audit log that was replaced by a later one before this ledger had it:
// nothing but the row is written. Repeating it writes nothing.
func (db *DB) NoteSwitch(ctx context.Context, p sluice.PendingSwitch) error {
	s, object, action := p.Setting, "switch/"+p.Setting.Name, "switch.cleared"
	if s.Campaign != "" {
		object += "/" + s.Campaign
	}
	was, is := any(nil), any(nil)
	if p.Before.Set {
		was = switchState{p.Before.Value, p.Before.Reason}
	}
	if s.Set {
		action, is = "switch.set", switchState{s.Value, s.Reason}
	}
	return db.write(ctx, laneUrgent, func(t *tx) error {
		var n int
		err := t.row(`SELECT COUNT(*) FROM audit_log WHERE object = ? AND action = ? AND at_ms = ? AND request_id = ?`,
			[]any{object, action, s.At, p.Actor.RequestID}, &n)
		if err != nil || n > 0 {
			return err
		}
		return t.audit(s.At, p.Actor, action, object, was, is)
	})
}

// movePaymentClock stops or starts the clock of unpaid windows. The row is read under the writer's lock, so that
// no order settles between the switch and the clock.
func (t *tx) movePaymentClock(down bool, now sluice.Millis) error {
	var c sluice.PaymentClock
	err := t.row(t.locking(`SELECT stopped_ms, since_ms FROM payment_clock WHERE one = 1`), nil, &c.Stopped, &c.Since)
	if err != nil {
		return fmt.Errorf("sqldb: payment clock: %w", err)
	}
	if down {
		c = c.Stop(now)
	} else {
		c = c.Start(now)
	}
	_, err = t.exec(`UPDATE payment_clock SET stopped_ms = ?, since_ms = ? WHERE one = 1`, c.Stopped, c.Since)
	return err
}

// noOf gives the number of the campaign id; an ErrNotFound Fault where there is none.
func (t *tx) noOf(id string) (no int64, err error) {
	err = t.row(`SELECT no FROM campaigns WHERE id = ?`, []any{id}, &no)
	if errors.Is(err, sluice.ErrNotFound) {
		return 0, sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_CAMPAIGN", "there is no campaign "+id)
	}
	return no, err
}
