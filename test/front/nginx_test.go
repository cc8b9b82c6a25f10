package front_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/test/e2e"
)

const (
	startWait = 30 * time.Second
	pollEvery = 20 * time.Millisecond
)

// nginx is a running nginx with the project's configuration.
type nginx struct {
	URL   string // https
	Plain string // http
	dir   string
	cmd   *exec.Cmd
}

// upstreams are the addresses of the nodes of the current version and of the canary, and the canary's share in percent.
type upstreams struct {
	current []string
	canary  []string
	percent int
	rate    string // of one address; empty: as delivered
}

func start(t *testing.T, u upstreams) *nginx {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Fatal("nginx is not installed: make servers, or apt-get install -y --no-install-recommends nginx")
	}
	n := &nginx{dir: t.TempDir()}
	secure, plain := e2e.FreeAddr(t), e2e.FreeAddr(t)
	n.URL, n.Plain = "https://"+secure, "http://"+plain
	n.configure(t, u, secure, plain)
	certificate(t, n.dir)
	n.cmd = exec.Command(program, "-p", n.dir, "-e", filepath.Join(n.dir, "error.log"), "-c",
		filepath.Join(n.dir, "nginx.conf"), "-g", "daemon off;")
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err = n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _ = n.cmd.Wait(); close(gone) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-n.cmd.Process.Pid, syscall.SIGKILL) // the group is this test's own: master and workers
		<-gone
	})
	eventually(t, "nginx listens: "+n.log(), func() bool {
		c, err := net.Dial("tcp", secure)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return n
}

// configure copies the delivered files, and puts in where things are.
func (n *nginx) configure(t *testing.T, u upstreams, secure, plain string) {
	t.Helper()
	server := func(all []string) string {
		var b strings.Builder
		for _, a := range all {
			b.WriteString("server " + a + " max_fails=2 fail_timeout=2s;\n")
		}
		return b.String()
	}
	if len(u.canary) == 0 {
		u.canary = []string{"127.0.0.1:1"}
	}
	if u.rate == "" {
		u.rate = "1500r/s"
	}
	asWhom := "" // the folder is this user's
	if os.Geteuid() == 0 {
		asWhom = "user root;\n"
	}
	put := strings.NewReplacer(
		"/etc/nginx/sluice/", n.dir+"/",
		"/var/cache/nginx/sluice/", n.dir+"/",
		"/var/log/nginx/sluice-error.log", n.dir+"/error.log",
		"/run/nginx-sluice.pid", n.dir+"/pid",
		"worker_processes auto;", asWhom+"worker_processes 2;", "worker_rlimit_nofile 131072;", "",
		"worker_connections 32768", "worker_connections 4096",
		"rate=1500r/s", "rate="+u.rate,
		"listen 80;", "listen "+plain+";", "listen 443 ssl", "listen "+secure+" ssl", "backlog=8192", "backlog=1024",
		"https://$host$request_uri", "https://"+secure+"$request_uri",
		"    * sluice_current;\n", fmt.Sprintf("    %s\n    * sluice_current;\n", share(u.percent)),
		"    server 10.0.0.11:8080 max_fails=2 fail_timeout=2s;\n", server(u.current),
		"    server 10.0.0.12:8080 max_fails=2 fail_timeout=2s;\n", "",
		"    server 10.0.0.13:8080 max_fails=2 fail_timeout=2s;\n", "",
		"    server 10.0.0.21:8080 max_fails=2 fail_timeout=2s;\n", server(u.canary),
	)
	files, err := filepath.Glob("../../deploy/nginx/*.conf")
	if err != nil || len(files) == 0 {
		t.Fatal("no configuration", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err = os.WriteFile(filepath.Join(n.dir, filepath.Base(f)), []byte(put.Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func share(percent int) string {
	if percent == 0 {
		return ""
	}
	return strconv.Itoa(percent) + "% sluice_canary;"
}

func (n *nginx) log() string {
	text, err := os.ReadFile(filepath.Join(n.dir, "error.log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// burn puts the fuse in force, or takes it back.
func (n *nginx) burn(t *testing.T, on bool) {
	t.Helper()
	f := filepath.Join(n.dir, "fuse")
	err := os.WriteFile(f, nil, 0o600)
	if !on {
		err = os.Remove(f)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// certificate makes the pair that the configuration names.
func certificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sale.example"}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"sale.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: raw},
	} {
		if err = os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// browser is a client that takes the test's certificate and keeps many connections.
func browser() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the test's own server
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 512,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       60 * time.Second,
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end := time.After(startWait)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("not in time: " + what)
		}
	}
}
