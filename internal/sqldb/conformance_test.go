package sqldb_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// ops is a permit that remembers what it was told.
type ops struct {
	mu        sync.Mutex
	list      []sluice.PermitOp
	uncertain []string
}

func (o *ops) Apply(list []sluice.PermitOp) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, list...)
}

func (o *ops) Uncertain(campaigns []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.uncertain = append(o.uncertain, campaigns...)
}

func (o *ops) told() []sluice.PermitOp {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.list)
}

func TestLedger(t *testing.T) {
	conformance.Ledger(t, func(t *testing.T) conformance.LedgerUnderTest {
		return underTest(t, filepath.Join(t.TempDir(), "ledger.db"))
	})
}

func underTest(t *testing.T, path string) conformance.LedgerUnderTest {
	db := openAt(t, sqldb.Config{Path: path, CacheMB: 8})
	told := &ops{}
	db.SetPermit(told)
	return conformance.LedgerUnderTest{
		Claims: db, Campaigns: db, Stock: db, Told: told.told,
		Plant: func(t *testing.T, statement string) { plant(t, path, statement) },
		Restart: func(t *testing.T) conformance.LedgerUnderTest {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			return underTest(t, path)
		},
	}
}

// plant changes the file behind the ledger's back.
func plant(t *testing.T, path, statement string) {
	t.Helper()
	raw, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=ignore_check_constraints(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	if _, err := raw.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("plant %q: %v", statement, err)
	}
}
