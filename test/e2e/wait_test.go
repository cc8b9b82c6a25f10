package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/test/e2e"
)

// TestAStartWaitsForItsStores: a node that is started before MySQL and Redis says once what it waits for, is ready when
// they are there, and sells. RabbitMQ may come later still: it sells without, and settles once that is up.
func TestAStartWaitsForItsStores(t *testing.T) {
	redis, maria, rabbit := servers.Redis(t), servers.OwnMariaDB(t, ""), servers.OwnRabbit(t)
	maria.Kill9()
	redis.Kill9()
	rabbit.Kill9()
	node := startAll(t, true, 1, "--admission", redis.URL(), "--queue", rabbit.URL, "--ledger", maria.URL)[0]
	says := func(text string) bool { return strings.Contains(node.Log(), text) }
	if !node.Eventually(20*time.Second, func() bool { return says("waiting for MySQL") }) {
		t.Fatal("it does not wait for MySQL")
	}
	maria.Start()
	if !node.Eventually(20*time.Second, func() bool { return says("waiting for Redis") }) {
		t.Fatal("it does not wait for Redis")
	}
	redis.Start()
	node.WaitReady(t)
	createSale(t, node, "spring", 10)
	if codes := sell(t, []*e2e.Server{node}, "spring", 20); codes["QUEUED"] != 10 || codes["SOLD_OUT"] != 10 {
		t.Errorf("without a broker the buyers heard %v", codes)
	}
	rabbit.Start()
	if !node.Eventually(60*time.Second, func() bool { return rows(maria, "live_units") == 10 }) {
		t.Errorf("%d units are settled", rows(maria, "live_units"))
	}
	for _, text := range []string{"waiting for MySQL", "waiting for Redis", "MySQL answers", "Redis answers"} {
		if n := strings.Count(node.Log(), text); n != 1 {
			t.Errorf("%q was said %d times", text, n)
		}
	}
}

// TestAStartDoesNotWaitForever: after the bound, and at once where waiting cannot help, the start ends and says why.
func TestAStartDoesNotWaitForever(t *testing.T) {
	maria := servers.MariaDB(t)
	tests := []struct {
		name, admission, queue, ledger string
		wait                           string
		wants                          []string
		atLeast, atMost                time.Duration
	}{
		{"no MySQL", "ledger", "none", "mysql://sluice:sluice@" + e2e.FreeAddr(t) + "/none", "2s",
			[]string{"MySQL has not answered within 2s", "start.wait"}, 2 * time.Second, 15 * time.Second},
		{"no Redis", "redis://" + e2e.FreeAddr(t), "redis", maria.URL, "2s",
			[]string{"Redis has not answered within 2s", "start.wait"}, 2 * time.Second, 15 * time.Second},
		{"a wrong password", "ledger", "none", strings.Replace(maria.URL, ":sluice@", ":wrong@", 1), "60s",
			[]string{"Access denied"}, 0, 30 * time.Second},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			env := append(e2e.Environment(), "SLUICE_ADMISSION="+tc.admission, "SLUICE_QUEUE="+tc.queue,
				"SLUICE_LEDGER="+tc.ledger, "SLUICE_START_WAIT="+tc.wait)
			began := time.Now()
			r := e2e.Command(t, env, "", "serve", "--data", t.TempDir(), "--listen", e2e.FreeAddr(t),
				"--admin-listen", e2e.FreeAddr(t))
			took := time.Since(began)
			if r.Code != 1 || took < tc.atLeast || took > tc.atMost {
				t.Errorf("code %d after %s", r.Code, took)
			}
			for _, want := range tc.wants {
				if !strings.Contains(r.Err, want) {
					t.Errorf("it says %s, want %s", r.Err, want)
				}
			}
		})
	}
}
