package lab_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/lab"
)

// childMode is the environment variable that makes the test binary play the server.
const childMode = "LAB_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		os.Exit(child(mode))
	}
	// What the fake's library leaves running: its pool looks for the end every ten seconds, its clock never ends.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}

// child answers on both addresses until SIGTERM; mode "broken" ends at once, mode "slow" never gets ready.
func child(mode string) int {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	data := fs.String("data", "", "")
	public, admin := fs.String("listen", "", ""), fs.String("admin-listen", "", "")
	if os.Args[1] != "serve" || fs.Parse(os.Args[2:]) != nil || mode == "broken" {
		fmt.Println("the ledger is made of cheese")
		return 1
	}
	if os.Getenv("SLUICE_JWT_SECRET") == "" || os.Getenv("SLUICE_ADMIN_KEY") == "" {
		return 1
	}
	if os.WriteFile(filepath.Join(*data, "mark"), nil, 0o600) != nil {
		return 1
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	for _, addr := range []string{*public, *admin} {
		go func() {
			_ = http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if mode == "slow" {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}))
		}()
	}
	<-stop
	return 0
}

func TestOwnServer(t *testing.T) {
	t.Parallel()
	p, err := lab.StartServer(t.Context(), lab.ServerConfig{Binary: os.Args[0], Env: []string{childMode + "=good"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	cfg := p.Use(lab.Config{Buyers: 3})
	if cfg.Buyers != 3 || cfg.URL == "" || cfg.URL == cfg.AdminURL || cfg.PID != p.PID || cfg.AdminKey == cfg.JWTSecret {
		t.Errorf("the run's config is %+v", cfg)
	}
	if _, err := os.Stat(filepath.Join(p.Data, "mark")); err != nil {
		t.Error(err)
	}
	p.Stop()
	p.Stop()
	if _, err := os.Stat(p.Data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
}

// A data folder that was given is left as it is.
func TestOwnServerKeepsAGivenFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := lab.ServerConfig{Binary: os.Args[0], Data: dir, Env: []string{childMode + "=good"}}
	p, err := lab.StartServer(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if _, err := os.Stat(filepath.Join(dir, "mark")); err != nil {
		t.Error(err)
	}
}

func TestOwnServerThatFails(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	cases := []struct {
		name string
		ctx  context.Context
		cfg  lab.ServerConfig
		want error
		says string
	}{
		{"ends at once", t.Context(), lab.ServerConfig{Env: []string{childMode + "=broken"}},
			sluice.ErrUnavailable, "cheese"},
		{"is never ready", t.Context(), lab.ServerConfig{Env: []string{childMode + "=slow"}, Wait: 300 * time.Millisecond},
			sluice.ErrUnavailable, "not ready"},
		{"is not waited for", cancelled, lab.ServerConfig{Env: []string{childMode + "=slow"}}, context.Canceled, ""},
		{"is not there", t.Context(), lab.ServerConfig{Binary: "/no/such/binary"}, os.ErrNotExist, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.cfg.Binary == "" {
				c.cfg.Binary = os.Args[0]
			}
			_, err := lab.StartServer(c.ctx, c.cfg)
			if !errors.Is(err, c.want) {
				t.Fatalf("gave %v, want %v", err, c.want)
			}
			if message := err.Error(); !strings.Contains(message, c.says) {
				t.Errorf("%q does not say %q", message, c.says)
			}
		})
	}
}
