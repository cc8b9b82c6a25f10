package sqldb_test

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// TestPassKeys: keys come back as they were, of servers that make the same one at once one makes it, old ones are
// forgotten with the next, every other server is told by the settings' revision, and no secret is in the audit log.
func TestPassKeys(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		one, two := open(t, sqldb.Config{}), open(t, sqldb.Config{})
		by := sluice.Actor{Name: "suite"}
		if keys, err := one.PassKeys(t.Context()); err != nil || len(keys) != 0 {
			t.Fatalf("%v %v", keys, err)
		}
		before, err := two.SettingsRev(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		key := func(seq int64, secret byte) sluice.PassKey {
			k := sluice.PassKey{Seq: seq, CreatedAt: sluice.Millis(seq), ActiveAt: sluice.Millis(seq) + 10}
			for i := range k.Secret {
				k.Secret[i] = secret
			}
			return k
		}
		var all sync.WaitGroup
		errs := make([]error, 2)
		for i, db := range []*sqldb.DB{one, two} {
			all.Go(func() { errs[i] = db.AddPassKey(t.Context(), key(1, byte(i)), 1, by) })
		}
		all.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), sluice.ErrConflict) {
			t.Fatalf("of two at once: %v", errs)
		}
		for seq := int64(2); seq <= 3; seq++ {
			if err := one.AddPassKey(t.Context(), key(seq, 'K'), seq-1, by); err != nil {
				t.Fatal(err)
			}
		}
		keys, err := two.PassKeys(t.Context())
		if err != nil || !reflect.DeepEqual(keys, []sluice.PassKey{key(3, 'K'), key(2, 'K')}) {
			t.Errorf("%v %v", keys, err)
		}
		if after, err := two.SettingsRev(t.Context()); err != nil || after <= before {
			t.Errorf("revision %d, then %d: %v", before, after, err)
		}
		entries, err := one.Audit(t.Context(), sluice.AuditQuery{Limit: 10})
		if err != nil || len(entries) != 3 {
			t.Fatalf("%+v %v", entries, err)
		}
		for _, e := range entries {
			if text := string(e.After); strings.Contains(text, "KKKK") || strings.Contains(text, "S0tL") {
				t.Errorf("the audit log has the secret: %s", text)
			}
		}
	})
}
