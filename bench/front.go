package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
)

// front is a running nginx with the delivered configuration, and beside it, on a port of its own, the constant answer
// that the same workers give without a node.
type front struct {
	url      string
	constant string
	pids     []int
}

// constantServer is the second server of the same nginx.
const constantServer = `
server {
    listen %s backlog=8192 reuseport;
    location / {
        default_type application/json;
        return 200 '{"code":"SOLD_OUT","message":"%s"}';
    }
}
`

// frontOf starts nginx before nodes. What differs from the delivered files: where things are; no TLS, as in every other
// figure; the bound on one address, since all buyers of this machine come from one.
func frontOf(s *shelf, nodes []string) (*front, error) {
	dir := s.TempDir()
	public, constant := servers.FreeAddr(s), servers.FreeAddr(s)
	if err := configureFront(dir, public, servers.FreeAddr(s), constant, nodes); err != nil {
		return nil, err
	}
	log := filepath.Join(dir, "error.log")
	cmd := exec.Command("nginx", "-p", dir, "-e", log, "-c", filepath.Join(dir, "nginx.conf"), "-g", "daemon off;")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("nginx (package nginx): %w", err)
	}
	s.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group is its own: master and workers
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; {
		c, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", constant)
		if err == nil && len(family(cmd.Process.Pid)) > 1 {
			_ = c.Close()
			break
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log)
			return nil, fmt.Errorf("nginx does not answer: %w\n%s", err, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return &front{url: "http://" + public, constant: "http://" + constant, pids: family(cmd.Process.Pid)}, nil
}

func configureFront(dir, public, plain, constant string, nodes []string) error {
	var list strings.Builder
	for _, n := range nodes {
		list.WriteString("    server " + n + " max_fails=2 fail_timeout=2s;\n")
	}
	user := "" // of the workers: the folder is this one's
	if os.Geteuid() == 0 {
		user = "user root;\n"
	}
	put := strings.NewReplacer(
		"/etc/nginx/sluice/", dir+"/", "/var/cache/nginx/sluice/", dir+"/",
		"/var/log/nginx/sluice-error.log", dir+"/error.log", "/run/nginx-sluice.pid", dir+"/pid",
		"worker_processes auto;", user+"worker_processes auto;",
		"listen 80;", "listen "+plain+";", "listen 443 ssl http2", "listen "+public,
		"    ssl_certificate     /etc/nginx/sluice/cert.pem;\n", "",
		"    ssl_certificate_key /etc/nginx/sluice/key.pem;\n", "",
		"rate=1500r/s", "rate=1000000r/s", "burst=3000", "burst=1000000",
		"limit_conn sluice_open 8000", "limit_conn sluice_open 60000",
		"    server 10.0.0.11:8080 max_fails=2 fail_timeout=2s;\n", list.String(),
		"    server 10.0.0.12:8080 max_fails=2 fail_timeout=2s;\n", "",
		"    server 10.0.0.13:8080 max_fails=2 fail_timeout=2s;\n", "",
		"    server 10.0.0.21:8080 max_fails=2 fail_timeout=2s;\n", "    server 127.0.0.1:1;\n",
	)
	files, err := filepath.Glob(filepath.Join("deploy", "nginx", "*.conf"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no configuration of nginx below deploy: run the benchmark from the top of the repository: %w", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		out := put.Replace(string(text))
		if filepath.Base(f) == "sluice.conf" {
			out += fmt.Sprintf(constantServer, constant, strings.Repeat(".", 170))
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), []byte(out), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// family gives a process and its children, where that can be told.
func family(pid int) []int {
	all := []int{pid}
	at := strconv.Itoa(pid)
	raw, _ := os.ReadFile("/proc/" + at + "/task/" + at + "/children")
	for _, f := range strings.Fields(string(raw)) {
		if n, err := strconv.Atoi(f); err == nil {
			all = append(all, n)
		}
	}
	return all
}
