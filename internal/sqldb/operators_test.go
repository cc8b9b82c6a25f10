package sqldb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

var operator = sluice.Actor{KeyID: "key_1", Name: "ops", Role: sluice.RoleOperator, Addr: "192.0.2.1", RequestID: "r1"}

func openLedger(t *testing.T, path string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(context.Background(), sqldb.Config{Path: path, CacheMB: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func lastAudit(t *testing.T, db *sqldb.DB) sluice.AuditEntry {
	t.Helper()
	rows, err := db.Audit(context.Background(), sluice.AuditQuery{Limit: 1})
	if err != nil || len(rows) != 1 {
		t.Fatalf("the newest audit row: %v %v", rows, err)
	}
	return rows[0]
}

func wantJSON(t *testing.T, what string, got json.RawMessage, want string) {
	t.Helper()
	var g, w any
	_ = json.Unmarshal(got, &g)
	_ = json.Unmarshal([]byte(want), &w)
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func TestSwitchesSurviveARestartAndAreAudited(t *testing.T) { onEach(t, switchesSurvive) }

func switchesSurvive(t *testing.T, open opener) {
	ctx := context.Background()
	db := open(t, sqldb.Config{})
	set := sluice.SwitchSetting{Name: sluice.SwitchMaxRate, Value: 500, Set: true, Reason: "calm", Author: "ops", At: 1000}
	if before, err := db.SetSwitch(ctx, set, operator); err != nil || before.Set {
		t.Fatalf("first set: %+v %v", before, err)
	}
	set.Value, set.At = 900, 2000
	if before, err := db.SetSwitch(ctx, set, operator); err != nil || before.Value != 500 {
		t.Fatalf("second set: %+v %v", before, err)
	}
	e := lastAudit(t, db)
	if e.Action != "switch.set" || e.Object != "switch/max_rate" || e.Actor != operator || e.At != 2000 {
		t.Errorf("audit row %+v", e)
	}
	wantJSON(t, "before", e.Before, `{"value":500,"reason":"calm"}`)
	wantJSON(t, "after", e.After, `{"value":900,"reason":"calm"}`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, sqldb.Config{})
	all, err := db.Switches(ctx)
	if err != nil || len(all) != 1 || all[0] != set {
		t.Fatalf("after a restart: %+v %v", all, err)
	}
	if _, err := db.SetSwitch(ctx, sluice.SwitchSetting{Name: set.Name, At: 3000}, operator); err != nil {
		t.Fatal(err)
	}
	if all, _ = db.Switches(ctx); len(all) != 0 {
		t.Errorf("after clearing: %+v", all)
	}
	if e = lastAudit(t, db); e.Action != "switch.cleared" || e.After != nil {
		t.Errorf("audit row %+v", e)
	}
	_, err = db.SetSwitch(ctx, sluice.SwitchSetting{Name: "closed", Campaign: "nope", Value: 1, Set: true}, operator)
	if !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("a switch of an unknown campaign: %v", err)
	}
}

func TestBlocksKeepTheirIDAndExpire(t *testing.T) { onEach(t, blocksKeepTheirIDAndExpire) }

func blocksKeepTheirIDAndExpire(t *testing.T, open opener) {
	db, ctx := open(t, sqldb.Config{}), context.Background()
	b := sluice.Block{ID: "blk_a", Scope: sluice.BlockUser, Value: "u1", Reason: "bot", Author: "ops",
		CreatedAt: 1000, ExpiresAt: 5000}
	if _, err := db.AddBlock(ctx, b, operator); err != nil {
		t.Fatal(err)
	}
	again := b
	again.ID, again.ExpiresAt, again.CreatedAt = "blk_b", 9000, 2000
	got, err := db.AddBlock(ctx, again, operator)
	if err != nil || got.ID != "blk_a" || got.ExpiresAt != 9000 {
		t.Fatalf("the same value again: %+v %v", got, err)
	}
	for now, want := range map[sluice.Millis]int{8999: 1, 9000: 0} {
		if all, err := db.Blocks(ctx, now); err != nil || len(all) != want {
			t.Errorf("at %d: %v %v, want %d", now, all, err, want)
		}
	}
	if page, err := db.BlocksPage(ctx, sluice.BlockDevice, "", "", 0, 10); err != nil || len(page) != 0 {
		t.Errorf("blocks of devices: %v %v", page, err)
	}
	if _, err := db.RemoveBlock(ctx, "blk_a", operator, 3000); err != nil {
		t.Fatal(err)
	}
	if _, err := db.RemoveBlock(ctx, "blk_a", operator, 3000); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("lifting it twice: %v", err)
	}
	e := lastAudit(t, db)
	wantJSON(t, "before", e.Before, `{"scope":"user","value":"u1","reason":"bot","expires_at_ms":9000}`)
}

// TestASwitchsActIsNotedOnce: an act that was replaced while the ledger was away has its row, and no second one.
func TestASwitchsActIsNotedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db := open(t, sqldb.Config{})
		p := sluice.PendingSwitch{
			Setting: sluice.SwitchSetting{Name: sluice.SwitchMaxRate, Campaign: "spring", Value: 20, Set: true,
				Reason: "slower", At: 2000},
			Actor:  sluice.Actor{KeyID: "k1", Name: "ann", Role: sluice.RoleOperator, RequestID: "r1", Reason: "slower"},
			Before: sluice.SwitchSetting{Name: sluice.SwitchMaxRate, Campaign: "spring", Value: 10, Set: true},
		}
		off := p
		off.Setting.Set, off.Setting.At, off.Actor.RequestID = false, 3000, "r2"
		for _, x := range []sluice.PendingSwitch{p, p, off, p, off} {
			if err := db.NoteSwitch(t.Context(), x); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := db.Audit(t.Context(), sluice.AuditQuery{Object: "switch/max_rate/spring", Limit: 9})
		if err != nil || len(rows) != 2 {
			t.Fatalf("the audit log has %+v, %v", rows, err)
		}
		if e := rows[1]; e.Action != "switch.set" || e.At != 2000 || e.Actor.KeyID != "k1" || e.Actor.Reason != "slower" {
			t.Errorf("audit row %+v", e)
		}
		wantJSON(t, "after", rows[1].After, `{"value":20,"reason":"slower"}`)
		if e := rows[0]; e.Action != "switch.cleared" || e.After != nil {
			t.Errorf("audit row %+v", e)
		}
		if all, err := db.Switches(t.Context()); len(all) != 0 || err != nil {
			t.Errorf("an act was put in force: %+v, %v", all, err)
		}
	})
}

func TestAuditPagesAndFilters(t *testing.T) { onEach(t, auditPagesAndFilters) }

func auditPagesAndFilters(t *testing.T, open opener) {
	db, ctx := open(t, sqldb.Config{}), context.Background()
	for i := range 10 {
		a := operator
		if i%2 == 1 {
			a.KeyID, a.Name = "key_2", "other"
		}
		action := []string{"campaign.pause", "switch.set"}[i/5]
		object, at := fmt.Sprintf("campaign/c%d", i), sluice.Millis(1000+i)
		if err := db.Note(ctx, a, action, object, nil, map[string]int{"i": i}, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		q    sluice.AuditQuery
		want []string
	}{
		{"newest first", sluice.AuditQuery{Limit: 2}, []string{"c9", "c8"}},
		{"next page", sluice.AuditQuery{Before: 9, Limit: 2}, []string{"c7", "c6"}},
		{"by name", sluice.AuditQuery{Actor: "other", Limit: 9}, []string{"c9", "c7", "c5", "c3", "c1"}},
		{"by key", sluice.AuditQuery{Actor: "key_2", Limit: 1}, []string{"c9"}},
		{"by action", sluice.AuditQuery{Action: "campaign.pause", Limit: 2}, []string{"c4", "c3"}},
		{"by prefix", sluice.AuditQuery{Action: "campaign.*", Limit: 1}, []string{"c4"}},
		{"a percent sign is no pattern", sluice.AuditQuery{Object: "campaign/%*", Limit: 9}, nil},
		{"by object", sluice.AuditQuery{Object: "campaign/c7", Limit: 9}, []string{"c7"}},
		{"by time", sluice.AuditQuery{From: 1002, Until: 1004, Limit: 9}, []string{"c3", "c2"}},
	} {
		rows, err := db.Audit(ctx, c.q)
		var got []string
		for _, r := range rows {
			got = append(got, r.Object[len("campaign/"):])
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestKeysAreAuditedWithoutTheirHash(t *testing.T) { onEach(t, keysAreAuditedWithoutTheirHash) }

func keysAreAuditedWithoutTheirHash(t *testing.T, open opener) {
	db, ctx := open(t, sqldb.Config{}), context.Background()
	k := sluice.APIKey{ID: "key_9", Name: "till", Role: sluice.RoleMerchant, MerchantID: "m1", Prefix: "slk_ab",
		CreatedAt: 1000}
	k.Hash[0] = 7
	if err := db.CreateAPIKey(ctx, k, operator); err != nil {
		t.Fatal(err)
	}
	wantJSON(t, "after", lastAudit(t, db).After, `{"name":"till","role":"merchant","merchant_id":"m1","prefix":"slk_ab"}`)
	for range 2 {
		got, err := db.RevokeAPIKey(ctx, "key_9", operator, 2000)
		if err != nil || got.RevokedAt != 2000 {
			t.Fatalf("revoked: %+v %v", got, err)
		}
	}
	if rows, _ := db.Audit(ctx, sluice.AuditQuery{Limit: 9}); len(rows) != 2 {
		t.Errorf("revoking twice left %d audit rows, want 2", len(rows))
	}
	all, err := db.APIKeys(ctx)
	if k.RevokedAt = 2000; err != nil || len(all) != 1 || !reflect.DeepEqual(all[0], k) {
		t.Errorf("keys: %+v %v", all, err)
	}
}
