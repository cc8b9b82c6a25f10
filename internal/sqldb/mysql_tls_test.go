package sqldb_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// TestMySQLOverTLS: the ledger's connections are encrypted where the URL asks for it, and a certificate that is not
// believed is refused at once, by the name of what is to be set.
func TestMySQLOverTLS(t *testing.T) {
	place := servers.MariaDB(t)
	place.Do(`CREATE USER IF NOT EXISTS secure@'%' IDENTIFIED BY 'sluice' REQUIRE SSL`)
	place.Do(`GRANT ALL PRIVILEGES ON ` + place.Name + `.* TO secure@'%'`)
	t.Cleanup(func() { place.Do(`DROP USER secure@'%'`) })
	url := strings.Replace(place.URL, "sluice:sluice@", "secure:sluice@", 1)
	own := servers.Trust(t, place.CA)
	other, _, _ := servers.Strangers(t)
	elsewhere := servers.Trust(t, place.CA)
	elsewhere.ServerName = "elsewhere.example"
	for _, tc := range []struct {
		name string
		cfg  sqldb.MySQLConfig
		code string // of the Fault; empty: it opens
	}{
		{"its authority", sqldb.MySQLConfig{URL: url + "?tls=true", TLS: own}, ""},
		{"not verified", sqldb.MySQLConfig{URL: url + "?tls=skip-verify", TLS: servers.Trust(t, other)}, ""},
		{"another authority", sqldb.MySQLConfig{URL: url + "?tls=true", TLS: servers.Trust(t, other)}, "LEDGER_TLS"},
		{"the system's", sqldb.MySQLConfig{URL: url + "?tls=true"}, "LEDGER_TLS"},
		{"another name", sqldb.MySQLConfig{URL: url + "?tls=true", TLS: elsewhere}, "LEDGER_TLS"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.code == "" {
				db := openMySQL(t, tc.cfg)
				create(t, db, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 1}})
				if is, err := sqldb.InspectMySQL(t.Context(), tc.cfg); err != nil || !is.Migrated {
					t.Errorf("what doctor asks for: %+v %v", is, err)
				}
				place.Do(`DELETE FROM campaigns WHERE id = 'g'`)
				return
			}
			for _, open := range []func() error{
				func() error { _, err := sqldb.OpenMySQL(t.Context(), tc.cfg); return err },
				func() error { _, err := sqldb.InspectMySQL(t.Context(), tc.cfg); return err },
			} {
				err := open()
				text := fmt.Sprint(err)
				if faultCode(err) != tc.code || !errors.Is(err, sluice.ErrInvalid) || errors.Is(err, sluice.ErrUnavailable) ||
					!strings.Contains(text, "mysql.ca") {
					t.Error(err)
				}
			}
		})
	}
	if _, err := sqldb.OpenMySQL(t.Context(), sqldb.MySQLConfig{URL: url, TLS: own}); !errors.Is(err, sluice.ErrInvalid) {
		t.Errorf("in the clear, which the server refuses: %v", err)
	}
}
