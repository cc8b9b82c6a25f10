//go:build unix

package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// mysqlEnv names the folder into which the packages of a MySQL were unpacked, with the libraries that it needs: then
// every test that asks for a MariaDB gets that MySQL. scripts/mysql.sh makes it.
const mysqlEnv = "SLUICE_TEST_MYSQL"

// IsMySQL says whether what is started as MariaDB is a MySQL.
func IsMySQL() bool { return os.Getenv(mysqlEnv) != "" }

// sqlServer is a program that MariaServer can be: how it makes its system tables and how it is started, but for what
// all have in common.
type sqlServer struct {
	name  string
	setUp []string // program and flags
	start []string
}

// unpackedMySQL is the server of packages that are unpacked into root and not installed: its own loader and libraries.
func unpackedMySQL(root string) (sqlServer, error) {
	loaders, _ := filepath.Glob(filepath.Join(root, "usr", "lib", "*", "ld-linux*.so.*"))
	if len(loaders) == 0 {
		return sqlServer{}, fmt.Errorf("servers: %s=%s: no packages of MySQL are unpacked there: scripts/mysql.sh does it",
			mysqlEnv, root)
	}
	start := []string{
		loaders[0], "--library-path", filepath.Dir(loaders[0]), filepath.Join(root, "usr", "sbin", "mysqld"),
		"--no-defaults", "--user=" + userName(), "--basedir=" + filepath.Join(root, "usr"),
		"--secure-file-priv=", "--lc-messages-dir=" + filepath.Join(root, "usr", "share", "mysql"),
		"--plugin-dir=" + filepath.Join(root, "usr", "lib", "mysql", "plugin"),
	}
	return sqlServer{
		name:  "mysqld",
		setUp: append(start[:len(start):len(start)], "--initialize-insecure"),
		start: append(start[:len(start):len(start)], "--mysqlx=OFF", "--innodb-redo-log-capacity=256M"),
	}, nil
}

// make writes the system tables into data. It takes MySQL ten seconds.
func (s sqlServer) make(data string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	args := append(s.setUp[1:len(s.setUp):len(s.setUp)], "--datadir="+data)
	out, err := exec.CommandContext(ctx, s.setUp[0], args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("servers: make the tables of %s: %w: %s", s.name, err, out)
	}
	return nil
}

// Plant runs SQL that the tables' CHECKs would refuse. MariaDB leaves them out for one session; MySQL knows only how to
// take them off the table, and there they stay off.
func (d *MariaDatabase) Plant(statement string) {
	d.t.Helper()
	if !IsMySQL() {
		d.Do("SET SESSION check_constraint_checks = 0; " + statement)
		return
	}
	for line := range strings.Lines(d.Do(`SELECT TABLE_NAME, CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS
		WHERE CONSTRAINT_SCHEMA = DATABASE() AND CONSTRAINT_TYPE = 'CHECK' AND ENFORCED = 'YES'`)) {
		table, check, _ := strings.Cut(strings.TrimSpace(line), "\t")
		d.Do("ALTER TABLE `" + table + "` ALTER CHECK `" + check + "` NOT ENFORCED")
	}
	d.Do(statement)
}

// LockWaits says how many transactions wait for a row that another one holds.
func (d *MariaDatabase) LockWaits() int {
	d.t.Helper()
	table := "information_schema.INNODB_LOCK_WAITS"
	if IsMySQL() {
		table = "performance_schema.data_lock_waits"
	}
	n, err := strconv.Atoi(strings.TrimSpace(d.Do("SELECT COUNT(*) FROM " + table)))
	if err != nil {
		d.t.Error(err)
	}
	return n
}

// Plan gives how a query would be run: a line a table, tabs between columns.
func (d *MariaDatabase) Plan(query string) string {
	d.t.Helper()
	if IsMySQL() {
		return d.Do("EXPLAIN FORMAT=TRADITIONAL " + query)
	}
	return d.Do("EXPLAIN " + query)
}
