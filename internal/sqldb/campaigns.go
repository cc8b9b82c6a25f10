package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// maxPage bounds a page of any list.
const maxPage = 5000

const campaignColumns = `no, id, kind, title, image_url, total, created_total, held, sold, per_user_limit, limit_group,
	starts_ms, ends_ms, terms, load_test, control, control_note, revision, epoch, created_ms, updated_ms`

// scanner is a row of campaignColumns.
type scanner interface{ Scan(into ...any) error }

func scanCampaign(row scanner) (c sluice.Campaign, err error) {
	var text string
	err = row.Scan(&c.No, &c.ID, &c.Kind, &c.Title, &c.ImageURL, &c.Stock.Total, &c.Created, &c.Stock.Held, &c.Stock.Sold,
		&c.PerUserLimit, &c.LimitGroup, &c.StartsAt, &c.EndsAt, &text, &c.LoadTest, &c.Control, &c.ControlNote,
		&c.Revision, &c.Epoch, &c.CreatedAt, &c.UpdatedAt)
	if errors.Is(err, sql.ErrNoRows) || errors.Is(err, sluice.ErrNotFound) {
		return c, sluice.ErrNotFound
	}
	if err != nil {
		return c, err
	}
	t, err := parseTerms(text)
	c.Goods, c.Coupon, c.Protection, c.Eligibility = t.Goods, t.Coupon, t.Protection, t.Eligibility
	c.Shards = t.Shards
	return c, err
}

// campaign reads a campaign inside a write and locks it, by its number as lockCampaign does; ErrNotFound where there is
// none.
func (t *tx) campaign(id string) (c sluice.Campaign, err error) {
	if t.db.dialect == dialectMySQL {
		_, _, err = t.lockCampaign(id)
	}
	if err == nil {
		c, err = scanCampaign(oneRow{t, `SELECT ` + campaignColumns + ` FROM campaigns WHERE id = ?`, []any{id}})
	}
	if err != nil {
		return c, fmt.Errorf("sqldb: campaign %s: %w", id, err)
	}
	return c, nil
}

// Campaign reads one campaign; ErrNotFound where there is none. Its Stock is that of the last commit.
func (db *DB) Campaign(ctx context.Context, id string) (sluice.Campaign, error) {
	c, err := scanCampaign(db.rdb.QueryRowContext(ctx, `SELECT `+campaignColumns+` FROM campaigns WHERE id = ?`, id))
	if err != nil {
		return c, readFailed(err, "campaign "+id)
	}
	return c, nil
}

// Campaigns reads all campaigns in the order of their creation.
func (db *DB) Campaigns(ctx context.Context) ([]sluice.Campaign, error) {
	return db.campaignsWhere(ctx, `ORDER BY no`)
}

func (db *DB) campaignsWhere(ctx context.Context, where string, args ...any) ([]sluice.Campaign, error) {
	rows, err := db.rdb.QueryContext(ctx, `SELECT `+campaignColumns+` FROM campaigns `+where, args...)
	if err != nil {
		return nil, readFailed(err, "campaigns")
	}
	defer func() { _ = rows.Close() }()
	var list []sluice.Campaign
	for rows.Next() {
		c, err := scanCampaign(rows)
		if err != nil {
			return nil, readFailed(err, "campaigns")
		}
		list = append(list, c)
	}
	if err := rows.Err(); err != nil {
		return nil, readFailed(err, "campaigns")
	}
	return list, nil
}

// CreateCampaign records a new campaign with its event and audit row, and returns it with No, Created, Revision and
// Epoch set. c is taken as it stands: whoever calls has validated it. An id in use is an ErrConflict Fault
// CAMPAIGN_EXISTS.
func (db *DB) CreateCampaign(
	ctx context.Context, c sluice.Campaign, actor sluice.Actor, now sluice.Millis,
) (sluice.Campaign, error) {
	c.Stock.Held, c.Stock.Sold, c.Created = 0, 0, c.Stock.Total
	c.Revision, c.Epoch, c.CreatedAt, c.UpdatedAt = 1, 1, now, now
	text, err := marshalTerms(&c)
	if err != nil {
		return c, err
	}
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		limitNo, err := t.nextCampaign(&c)
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO campaigns (no, id, kind, title, image_url, total, created_total, per_user_limit,
			limit_group, limit_no, starts_ms, ends_ms, terms, load_test, control, control_note, created_ms, updated_ms)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.No, c.ID, c.Kind, c.Title, c.ImageURL, c.Stock.Total, c.Stock.Total, c.PerUserLimit, c.LimitGroup,
			limitNo, c.StartsAt, c.EndsAt, text, c.LoadTest, c.Control, c.ControlNote, now, now)
		if isUnique(err) {
			return sluice.NewFault(sluice.ErrConflict, "CAMPAIGN_EXISTS", "there is a campaign with this id")
		}
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO epochs (campaign_no, epoch, cause, armed_ms) VALUES (?, 1, 'created', ?)`, c.No, now)
		if err != nil {
			return err
		}
		t.settings = true
		if err := t.event(now, "campaign.created", c.No, c.ID, campaignEvent(&c)); err != nil {
			return err
		}
		return t.audit(now, actor, "campaign.create", "campaign/"+c.ID, nil, auditView(&c))
	})
	if err != nil {
		return c, fmt.Errorf("sqldb: create campaign %s: %w", c.ID, err)
	}
	return c, nil
}

// nextCampaign gives c its number and says which number its limit counts under: the one of its group, or its own.
func (t *tx) nextCampaign(c *sluice.Campaign) (limitNo int64, err error) {
	next := `SELECT COALESCE(MAX(no), 0) + 1 FROM campaigns`
	if t.db.dialect == dialectMySQL { // several at once would find the same number, and each be the first of its group
		if c.No, err = t.number("campaigns"); err != nil {
			return 0, err
		}
	} else if err := t.row(next, nil, &c.No); err != nil {
		return 0, err
	}
	if c.LimitGroup == "" {
		return c.No, nil
	}
	err = t.row(`SELECT limit_no FROM campaigns WHERE limit_group = ? LIMIT 1`, []any{c.LimitGroup}, &limitNo)
	if errors.Is(err, sluice.ErrNotFound) {
		return c.No, nil
	}
	return limitNo, err
}

// number takes the next number of a counter, whose row stays locked until the transaction ends.
func (t *tx) number(counter string) (n int64, err error) {
	changed, err := t.exec(`UPDATE counters SET value = value + 1 WHERE name = ?`, counter)
	if err == nil && changed != 1 {
		err = fmt.Errorf("sqldb: there is no counter %s", counter)
	}
	if err != nil {
		return 0, err
	}
	err = t.row(`SELECT value FROM counters WHERE name = ?`, []any{counter}, &n)
	return n, err
}

// UpdateCampaign records what an operator changed of a campaign: title, image, limit, window, terms and the load-test
// mark. Stock, kind, limit group and control have their own ways and are left alone. It returns the campaign as it is
// then. Whether the change is allowed is for the caller to say, by check, which is given the campaign as it is inside
// the transaction.
func (db *DB) UpdateCampaign(ctx context.Context, c sluice.Campaign, check func(now sluice.Campaign) error,
	actor sluice.Actor, now sluice.Millis) (sluice.Campaign, error) {
	text, err := marshalTerms(&c)
	if err != nil {
		return c, err
	}
	var after sluice.Campaign
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		before, err := t.campaign(c.ID)
		if err != nil {
			return err
		}
		if check != nil {
			if err := check(before); err != nil {
				return err
			}
		}
		_, err = t.exec(`UPDATE campaigns SET title = ?, image_url = ?, per_user_limit = ?, starts_ms = ?, ends_ms = ?,
			terms = ?, load_test = ?, updated_ms = ? WHERE no = ?`,
			c.Title, c.ImageURL, c.PerUserLimit, c.StartsAt, c.EndsAt, text, c.LoadTest, now, before.No)
		if err != nil {
			return err
		}
		if after, err = t.campaign(c.ID); err != nil {
			return err
		}
		t.settings = true
		if err := t.event(now, "campaign.updated", after.No, after.ID, campaignEvent(&after)); err != nil {
			return err
		}
		return t.audit(now, actor, "campaign.update", "campaign/"+c.ID, auditView(&before), auditView(&after))
	})
	if err != nil {
		return c, fmt.Errorf("sqldb: update campaign %s: %w", c.ID, err)
	}
	return after, nil
}

// controlEvents gives the event of each command.
var controlEvents = map[sluice.ControlCommand]string{
	sluice.CommandPublish: "campaign.updated", sluice.CommandPause: "campaign.paused",
	sluice.CommandResume: "campaign.resumed", sluice.CommandEnd: "campaign.ended", sluice.CommandFreeze: "campaign.frozen",
}

// SetControl applies cmd to the campaign's control, with event and audit row. A command that changes nothing writes
// nothing. An ErrConflict Fault says that the campaign's state forbids it.
func (db *DB) SetControl(ctx context.Context, id string, cmd sluice.ControlCommand, note string, actor sluice.Actor,
	now sluice.Millis) (sluice.Campaign, error) {
	var c sluice.Campaign
	err := db.write(ctx, laneUrgent, func(t *tx) error {
		before, err := t.campaign(id)
		if err != nil {
			return err
		}
		c = before
		next, err := c.Control.Apply(cmd)
		if err != nil || next == c.Control {
			return err
		}
		c.Control, c.ControlNote, c.UpdatedAt = next, note, now
		_, err = t.exec(`UPDATE campaigns SET control = ?, control_note = ?, updated_ms = ? WHERE no = ?`,
			next, note, now, c.No)
		if err != nil {
			return err
		}
		t.settings = true
		if err := t.event(now, controlEvents[cmd], c.No, c.ID, campaignEvent(&c)); err != nil {
			return err
		}
		return t.audit(now, actor, "campaign."+string(cmd), "campaign/"+id, auditView(&before), auditView(&c))
	})
	if err != nil {
		return c, fmt.Errorf("sqldb: %s campaign %s: %w", cmd, id, err)
	}
	return c, nil
}

// campaignEvent is the data of a campaign's events.
func campaignEvent(c *sluice.Campaign) any {
	return struct {
		ID       string         `json:"campaign_id"`
		Kind     sluice.Kind    `json:"kind"`
		Title    string         `json:"title"`
		Control  sluice.Control `json:"control"`
		Note     string         `json:"note,omitempty"`
		Total    int64          `json:"total"`
		Revision int64          `json:"revision"`
		StartsAt sluice.Millis  `json:"starts_at_ms"`
		EndsAt   sluice.Millis  `json:"ends_at_ms"`
	}{c.ID, c.Kind, c.Title, c.Control, c.ControlNote, c.Stock.Total, c.Revision, c.StartsAt, c.EndsAt}
}

// auditView is what the audit log keeps of a campaign: everything but the seed of its slots, which nobody may read
// before the opening.
func auditView(is *sluice.Campaign) any {
	c := *is
	c.Protection.SpreadSeed = ""
	text, _ := marshalTerms(&c) // it was encoded when it was written
	return struct {
		Title        string          `json:"title"`
		ImageURL     string          `json:"image_url,omitempty"`
		Total        int64           `json:"total"`
		PerUserLimit int             `json:"per_user_limit"`
		LimitGroup   string          `json:"limit_group,omitempty"`
		StartsAt     sluice.Millis   `json:"starts_at_ms"`
		EndsAt       sluice.Millis   `json:"ends_at_ms"`
		Control      sluice.Control  `json:"control"`
		Note         string          `json:"note,omitempty"`
		LoadTest     bool            `json:"load_test,omitempty"`
		Terms        json.RawMessage `json:"terms"`
	}{c.Title, c.ImageURL, c.Stock.Total, c.PerUserLimit, c.LimitGroup, c.StartsAt, c.EndsAt, c.Control, c.ControlNote,
		c.LoadTest, json.RawMessage(text)}
}
