//go:build unix

package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
)

const mariaPackage = "mariadb-server"

// MariaServer is one mariadbd. Its user sluice with the password sluice may do everything.
type MariaServer struct {
	Addr string
	Dir  string // its data
	CA   string // PEM file of the authority of its certificate: it speaks TLS with who asks for it

	process   *process
	socket    string
	databases atomic.Int64
}

// MariaDatabase is a database of its own on a server, which it may share with other tests: what stops the server
// stops it for all of them.
type MariaDatabase struct {
	*MariaServer
	Control
	Name string
	URL  string // mysql://user:password@host:port/name
}

// MariaDB gives a fresh database on the server of this test process.
func MariaDB(t testing.TB) *MariaDatabase {
	t.Helper()
	return sharedMaria(t).Database(t)
}

// OwnMariaDB starts a server of the test's own, for tests that kill it or fill its disk, with further flags of
// mariadbd. Its data lies in dir, which may be a small file system; empty means a temporary folder.
func OwnMariaDB(t testing.TB, dir string, flags ...string) *MariaDatabase {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	port := freePort(t)
	shared.mu.Lock()
	sockets, err := processFolder()
	shared.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newMaria(t, dir, sockets, port, flags...)
	if err == nil {
		t.Cleanup(func() { s.process.end(syscall.SIGKILL) })
		err = s.process.start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.Database(t)
}

func sharedMaria(t testing.TB) *MariaServer {
	t.Helper()
	shared.mu.Lock()
	s := shared.maria
	shared.mu.Unlock()
	if s != nil {
		return s
	}
	port := freePort(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.maria != nil {
		return shared.maria
	}
	dir, err := processFolder()
	if err != nil {
		t.Fatal(err)
	}
	if s, err = newMaria(t, filepath.Join(dir, "maria"), dir, port); err == nil {
		err = s.process.start()
	}
	if err != nil {
		t.Fatal(err)
	}
	shared.maria = s
	return s
}

// newMaria makes the system tables and prepares the server. Its socket lies in the process's own folder, since the
// path of one is bounded to about a hundred bytes and a test's folder may be longer.
func newMaria(t testing.TB, dir, sockets string, port int, flags ...string) (*MariaServer, error) {
	t.Helper()
	program, err := sqlServerOf(t)
	if err != nil {
		return nil, err
	}
	tool(t, mariaPackage, "mariadb")
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := os.Stat(data); os.IsNotExist(err) {
		if err := program.make(data); err != nil {
			// Where several are made at once, its bootstrap fails now and then, and leaves half of a folder.
			t.Logf("servers: made once more: %v", err)
			_ = os.RemoveAll(data)
			if err := program.make(data); err != nil {
				return nil, err
			}
		}
	}
	s := &MariaServer{Addr: local(port), Dir: dir, socket: filepath.Join(sockets, strconv.Itoa(port)+".s")}
	cert, key := certificate(t, dir)
	s.CA = filepath.Join(dir, "ca.pem")
	// Temporary files of its own: two servers that share a folder take each other's away.
	temporary := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return nil, err
	}
	args := append(program.start[1:len(program.start):len(program.start)],
		"--datadir="+data, "--tmpdir="+temporary, "--bind-address=127.0.0.1", "--port="+strconv.Itoa(port),
		"--socket="+s.socket, "--pid-file="+filepath.Join(dir, "pid"), "--skip-name-resolve",
		"--character-set-server=utf8mb4", "--max-connections=500", "--innodb-buffer-pool-size=256M",
		"--ssl-ca="+s.CA, "--ssl-cert="+cert, "--ssl-key="+key)
	args = append(args, flags...)
	s.process = &process{
		name: program.name + " on " + s.Addr, log: filepath.Join(dir, "log"),
		build: func() *exec.Cmd { return exec.Command(program.start[0], args...) },
		ready: func(ctx context.Context) error {
			_, err := s.sql(ctx, "CREATE USER IF NOT EXISTS sluice@'%' IDENTIFIED BY 'sluice'; "+
				"GRANT ALL PRIVILEGES ON *.* TO sluice@'%' WITH GRANT OPTION")
			return err
		},
	}
	return s, nil
}

// sqlServerOf gives the MariaDB that is installed, or the MySQL that the environment names.
func sqlServerOf(t testing.TB) (sqlServer, error) {
	t.Helper()
	if root := os.Getenv(mysqlEnv); root != "" {
		return unpackedMySQL(root)
	}
	own := []string{"--no-defaults", "--user=" + userName()}
	return sqlServer{
		name: "mariadbd",
		setUp: append([]string{tool(t, mariaPackage, "mariadb-install-db")},
			append(own, "--auth-root-authentication-method=normal", "--skip-test-db")...),
		start: append([]string{tool(t, mariaPackage, "mariadbd", "/usr/sbin", "/usr/local/sbin")},
			append(own, "--innodb-log-file-size=128M")...),
	}, nil
}

// userName is whom mariadbd runs as: it refuses root unless told so.
func userName() string {
	if os.Geteuid() == 0 {
		return "root"
	}
	return os.Getenv("USER")
}

func (s *MariaServer) sql(ctx context.Context, statement string) (string, error) {
	return run(ctx, "mariadb", "--no-defaults", "-uroot", "-S", s.socket, "-N", "-B", "-e", statement)
}

// Database makes a fresh database on this server.
func (s *MariaServer) Database(t testing.TB) *MariaDatabase {
	t.Helper()
	d := &MariaDatabase{MariaServer: s, Control: Control{t, s.process}, Name: fmt.Sprintf("sluice_%d", s.databases.Add(1))}
	d.URL = "mysql://sluice:sluice@" + s.Addr + "/" + d.Name
	if _, err := s.sql(t.Context(), "CREATE DATABASE "+d.Name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.sql(context.Background(), "DROP DATABASE IF EXISTS "+d.Name) })
	return d
}

// Do runs SQL as root in the database, by the server's own client, and gives the rows, tabs between columns.
func (d *MariaDatabase) Do(statement string) string {
	d.t.Helper()
	out, err := d.sql(context.Background(), "USE "+d.Name+"; "+statement)
	if err != nil {
		d.t.Errorf("servers: %s: %v", statement, err)
	}
	return out
}
