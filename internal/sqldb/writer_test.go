package sqldb_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// A panic fails alone wherever it comes from: also where the write holds the driver's own connection, which must not be
// taken for a broken one.
func TestAPanicWhileHotFailsAlone(t *testing.T) {
	b := openBroken(t, sqldb.Config{})
	err := b.PanicWhileHot(t.Context())
	if err == nil || errors.Is(err, sluice.ErrUncertain) {
		t.Fatalf("the panic: %v", err)
	}
	b.well(t, "after")
}

// A user id is any text of a token that was signed.
func TestOddUsersAreThemselves(t *testing.T) {
	b := openBroken(t, sqldb.Config{})
	for i, user := range []string{"a\x00b", "a\x00c", "a", "A", "\u00e4", "a\u0308", " a", "a ", "'; DROP TABLE orders"} {
		for replay := range 2 {
			out, err := b.Settle(t.Context(), []sluice.Claim{goods("g", user, "r")})
			if err != nil || out[0].Reason != sluice.ReasonConfirmed || out[0].Replayed != (replay == 1) {
				t.Errorf("user %q, try %d: %+v %v", user, replay, out, err)
			}
		}
		if list, err := b.UserClaims(t.Context(), user, "g"); err != nil || len(list) != 1 || list[0].User != user {
			t.Errorf("claims of %q: %+v %v", user, list, err)
		}
		b.whole(t, "g", int64(i+1))
	}
}

// The path is a name, whatever stands in it.
func TestTheLedgerIsWhereItsPathSays(t *testing.T) {
	for _, folder := range []string{"a b", "a%20b", "a?b", "a#b", "a&b=c", "ä"} {
		path := filepath.Join(t.TempDir(), folder, "ledger.db")
		db := openAt(t, sqldb.Config{Path: path, CacheMB: 8})
		create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 1}})
		if st, err := os.Stat(path); err != nil || st.Size() == 0 {
			t.Errorf("%q: %v", folder, err)
		}
		if err := db.Backup(t.Context(), path+".copy", nil); err != nil {
			t.Errorf("%q: backup: %v", folder, err)
		}
		if st, err := os.Stat(path + ".copy"); err != nil || st.Size() == 0 {
			t.Errorf("%q: backup: %v", folder, err)
		}
	}
}
