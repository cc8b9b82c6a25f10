package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

func session(n byte, key string, at sluice.Millis) sluice.Session {
	return sluice.Session{ID: fmt.Sprintf("ses_%03d", n), KeyID: key, Name: "ops", Role: sluice.RoleOperator,
		Hash: [32]byte{n, 1}, Proof: [32]byte{n, 2}, Addr: "192.0.2.1", Agent: "A browser 中", CreatedAt: at,
		ExpiresAt: at + sluice.SessionLife}
}

func TestSessions(t *testing.T) { onEach(t, sessionsAreKept) }

func sessionsAreKept(t *testing.T, open opener) {
	ctx := context.Background()
	db := open(t, sqldb.Config{})
	one := session(1, "key_1", 1000)
	if err := db.OpenSession(ctx, one, operator); err != nil {
		t.Fatal(err)
	}
	if e := lastAudit(t, db); e.Action != "session.open" || e.Object != "session/"+one.ID {
		t.Errorf("audit row %+v", e)
	}
	if got, err := db.Session(ctx, one.Hash); err != nil || got != one {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := db.Session(ctx, [32]byte{9}); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("no such session: %v", err)
	}
	for n := byte(2); n <= sluice.MaxKeySessions+3; n++ {
		if err := db.OpenSession(ctx, session(n, "key_1", 1000+sluice.Millis(n)), operator); err != nil {
			t.Fatal(err)
		}
	}
	all, err := db.Sessions(ctx, 2000)
	if err != nil || len(all) != sluice.MaxKeySessions || all[0].ID != "ses_053" {
		t.Errorf("%d sessions, newest %+v, %v", len(all), all[0], err)
	}
	if _, err := db.Session(ctx, one.Hash); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("the oldest has not given way: %v", err)
	}
	if s, err := db.CloseSession(ctx, "ses_053", operator, 3000); err != nil || s.ID != "ses_053" {
		t.Errorf("close: %+v %v", s, err)
	}
	if e := lastAudit(t, db); e.Action != "session.close" || e.After != nil {
		t.Errorf("audit row %+v", e)
	}
	if _, err := db.CloseSession(ctx, "ses_053", operator, 3000); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("closed twice: %v", err)
	}
	late := session(200, "key_2", 2000+sluice.SessionLife)
	if err := db.OpenSession(ctx, late, operator); err != nil {
		t.Fatal(err)
	}
	if all, err := db.Sessions(ctx, 0); err != nil || len(all) != 1 {
		t.Errorf("what has expired is not deleted: %d, %v", len(all), err)
	}
	k := sluice.APIKey{ID: "key_2", Name: "n", Role: sluice.RoleViewer, Prefix: "slk_x", Hash: [32]byte{7}, CreatedAt: 1}
	if err := db.CreateAPIKey(ctx, k, operator); err != nil {
		t.Fatal(err)
	}
	if _, err := db.RevokeAPIKey(ctx, "key_2", operator, 5000); err != nil {
		t.Fatal(err)
	}
	if all, err := db.Sessions(ctx, 0); err != nil || len(all) != 0 {
		t.Errorf("sessions outlive their key: %+v, %v", all, err)
	}
}
