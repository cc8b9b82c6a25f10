package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice/internal/servers"
)

// TestMain stops the servers that tests share.
func TestMain(m *testing.M) { servers.Main(m) }

// examined runs doctor on these engines and gives its findings as "state check detail" lines.
func examined(t *testing.T, settings ...string) (lines string, code int) {
	t.Helper()
	env := append([]string{"SLUICE_JWT_SECRET=" + strings.Repeat("s", 40), "SLUICE_ADMIN_KEY=" + strings.Repeat("a", 40),
		"SLUICE_PAYMENT_SECRET=" + strings.Repeat("p", 40)}, settings...)
	out, errs, code := run(t, env, "doctor", "--json", "--data", t.TempDir(), "--admin-url", "http://127.0.0.1:1")
	var r struct {
		Items []finding
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	var b strings.Builder
	for _, f := range r.Items {
		b.WriteString(f.State + " " + f.Check + " " + f.Detail + " -> " + f.Advice + "\n")
		if f.State != "ok" && f.Advice == "" {
			t.Errorf("%s %s: does not say what to change", f.Check, f.Detail)
		}
	}
	for _, secret := range []string{"sluice:sluice", "guest:guest", "pw-of-redis"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("a password is shown: %s", b.String())
		}
	}
	return b.String(), code
}

func holds(t *testing.T, lines string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(lines, w) {
			t.Errorf("not found: %s\nin:\n%s", w, lines)
		}
	}
}

// TestDoctorFindsNothingWrong: on servers that are set up as they should be no finding is bad.
func TestDoctorFindsNothingWrong(t *testing.T) {
	redis, maria := servers.RedisCluster(t), servers.MariaDB(t)
	lines, code := examined(t, "SLUICE_ADMISSION="+redis.URL(), "SLUICE_QUEUE=redis", "SLUICE_LEDGER="+maria.URL)
	if code != 0 || strings.Contains(lines, "bad ") {
		t.Errorf("code %d:\n%s", code, lines)
	}
	holds(t, lines, "ok redis 16384 of 16384 slots are served",
		"ok redis "+redis.Nodes[0].Addr+" appends to a file everysec",
		"ok mysql isolation of the ledger's connections is READ-COMMITTED",
		"ok mysql the database's character set is utf8mb4",
		"ok mysql innodb_flush_log_at_trx_commit = 1", "has room for", "ok clocks ", "tables are not there yet")
}

// TestDoctorFindsWhatIsWrong sets each server up badly.
func TestDoctorFindsWhatIsWrong(t *testing.T) {
	redis := servers.Redis(t, servers.With("appendonly", "no"), servers.With("maxmemory", "64mb"),
		servers.With("maxmemory-policy", "allkeys-lru"), servers.With("slowlog-log-slower-than", "0"),
		servers.User("shop", "pw-of-redis", "~*", "&*", "+@all"))
	for range 3 {
		redis.Do("LPUSH", "celery", "job")
	}
	maria := servers.OwnMariaDB(t, "", "--innodb-flush-log-at-trx-commit=2", "--max-connections=40")
	maria.Do("ALTER DATABASE " + maria.Name + " CHARACTER SET latin1")
	rabbit := servers.Rabbit(t)
	classic := map[string]any{"durable": true, "arguments": map[string]any{"x-queue-type": "classic"}}
	path := "/api/queues/" + rabbit.Name + "/sluice.claims"
	if err := rabbit.Manage(t.Context(), http.MethodPut, path, classic, nil); err != nil {
		t.Fatal(err)
	}
	lines, code := examined(t, "SLUICE_ADMISSION="+redis.URL(), "SLUICE_QUEUE="+rabbit.URL, "SLUICE_LEDGER="+maria.URL,
		"SLUICE_RABBITMQ_MANAGEMENT="+rabbit.Management, "SLUICE_ADMISSION_ACK=replica")
	if code != 1 {
		t.Errorf("code %d", code)
	}
	holds(t, lines, "keeps nothing on disk", "maxmemory-policy allkeys-lru", "1 of 1 keys looked at are not sluice:…",
		"calls in the slow log (longer than 0s)", "0 replicas, and admission_ack is replica",
		"bad mysql innodb_flush_log_at_trx_commit = 2", "bad mysql the database's character set is latin1",
		"warn mysql max_connections = 40 has room for 1 nodes", "bad rabbitmq sluice.claims is a classic queue",
		"warn rabbitmq 1 of 1 members run", "ok rabbitmq version 3.")
}

// TestDoctorOnServersThatAreAway: each is named, with what to do, and no password is shown.
func TestDoctorOnServersThatAreAway(t *testing.T) {
	lines, code := examined(t, "SLUICE_ADMISSION=redis://shop:pw-of-redis@127.0.0.1:1",
		"SLUICE_QUEUE=amqp://guest:guest@127.0.0.1:1", "SLUICE_LEDGER=mysql://sluice:sluice@127.0.0.1:1/db")
	if code != 1 {
		t.Errorf("code %d", code)
	}
	holds(t, lines, "bad redis redis://********@127.0.0.1:1", "bad mysql mysql://********@127.0.0.1:1/db",
		"bad rabbitmq amqp://********@127.0.0.1:1")
}

// TestDoctorAsksTheChallengeService: a secret that is not taken, a service that is away and a folder without pictures
// are found before buyers meet them; the secret is not shown.
func TestDoctorAsksTheChallengeService(t *testing.T) {
	const right = "secret-of-the-shop"
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := "invalid-input-response"
		if r.FormValue("secret") != right {
			code = "invalid-input-secret"
		}
		_, _ = fmt.Fprintf(w, `{"success":false,"error-codes":[%q]}`, code)
	}))
	defer service.Close()
	env := func(secret string) []string {
		return []string{"SLUICE_CHALLENGE_SITEVERIFY_PROVIDER=turnstile", "SLUICE_CHALLENGE_SITEVERIFY_SITE_KEY=site",
			"SLUICE_CHALLENGE_SITEVERIFY_SECRET=" + secret, "SLUICE_CHALLENGE_SITEVERIFY_URL=" + service.URL}
	}
	lines, _ := examined(t)
	holds(t, lines, "ok siteverify not set up", "ok pictures sliders are painted by the server")
	lines, _ = examined(t, env(right)...)
	holds(t, lines, "ok siteverify turnstile answers and takes the secret")
	lines, code := examined(t, append(env("secret-of-another"), "SLUICE_CHALLENGE_PICTURES="+t.TempDir())...)
	holds(t, lines, "bad siteverify", "invalid-input-secret", "bad pictures", "no JPEG and no PNG")
	if code != 1 || strings.Contains(lines, "secret-of-another") {
		t.Errorf("code %d:\n%s", code, lines)
	}
	service.Close()
	lines, _ = examined(t, env(right)...)
	holds(t, lines, "bad siteverify")
}
