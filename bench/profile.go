package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"

	"github.com/sluice-sale/sluice/internal/lab"
)

// profileSeconds is how long a fleet is profiled: the sale and the settling after it.
const profileSeconds = 15

// statements lists what MariaDB was asked, what took longest in all first.
const statements = `SELECT count_star, ROUND(sum_timer_wait / 1e9) AS ms, ROUND(sum_lock_time / 1e9) AS lock_ms,
	sum_rows_examined, sum_rows_sent, sum_rows_affected, LEFT(digest_text, 300)
	FROM performance_schema.events_statements_summary_by_digest ORDER BY sum_timer_wait DESC LIMIT 30`

// profileFleet profiles nodes and client from the moment the campaign is on sale, and writes what each process used and
// what Redis was asked. The function that it gives waits for the profiles. It does nothing without --profile.
func (b *bench) profileFleet(ctx context.Context, f *fleet, cfg *lab.Config) (done func() error) {
	if b.profile == "" {
		return func() error { return nil }
	}
	var all sync.WaitGroup
	errs := make([]error, len(f.nodes)+1)
	ready := cfg.Ready
	pids := append([]int{cfg.PID}, cfg.PIDs...)
	before := map[int]string{}
	cfg.Ready = func(ctx context.Context, campaign string) error {
		if err := ready(ctx, campaign); err != nil {
			return err
		}
		f.redis.Do("CONFIG", "RESETSTAT")
		f.maria.Do("TRUNCATE performance_schema.events_statements_summary_by_digest")
		for _, pid := range pids {
			before[pid] = usedBy(pid)
		}
		for i, n := range f.nodes {
			all.Go(func() {
				errs[i] = fetchProfile(ctx, n, filepath.Join(b.profile, "node"+strconv.Itoa(i)+".pprof"))
			})
		}
		client, err := os.Create(filepath.Join(b.profile, "client.pprof"))
		if err == nil {
			err = pprof.StartCPUProfile(client)
		}
		return err
	}
	return func() error {
		pprof.StopCPUProfile()
		for _, pid := range pids {
			fmt.Fprintf(b.out, "    %-8d %s, before: %s\n", pid, usedBy(pid), before[pid])
		}
		text := f.redis.Do("INFO", "commandstats") + f.redis.Do("INFO", "cpu")
		errs[len(errs)-1] = errors.Join(
			os.WriteFile(filepath.Join(b.profile, "redis.txt"), []byte(text), 0o600),
			os.WriteFile(filepath.Join(b.profile, "maria.txt"), []byte(f.maria.Do(statements)), 0o600))
		all.Wait()
		return errors.Join(errs...)
	}
}

// usedBy gives the name of a process and the ticks of CPU that it has used, as a user and in the kernel.
func usedBy(pid int) string {
	raw, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	f := strings.Fields(string(raw))
	if len(f) < 15 {
		return "gone"
	}
	return f[1] + " " + f[13] + "+" + f[14]
}

func fetchProfile(ctx context.Context, n *lab.Process, path string) error {
	url := n.AdminURL + "/debug/pprof/profile?seconds=" + strconv.Itoa(profileSeconds)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+n.AdminKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, res.Body)
	return errors.Join(err, f.Close())
}
