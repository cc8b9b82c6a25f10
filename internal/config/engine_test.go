package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice/internal/config"
)

// TestEnginesThatGoTogether has every combination of kinds: those of the documentation are taken, all others are
// refused in one sentence that names all of them.
func TestEnginesThatGoTogether(t *testing.T) {
	admissions := []string{"memory", "ledger", "redis://h:6379", "rediss://u:p4ssw0rd@a:1,b:2?mode=cluster"}
	queues := []string{"none", "redis", "amqp://u:p4ssw0rd@h:5672/v", "amqps://h"}
	ledgers := []string{"sqlite", "mysql://u:p4ssw0rd@h:3306/db"}
	taken := 0
	for _, a := range admissions {
		for _, q := range queues {
			for _, l := range ledgers {
				c, err := config.Load(config.Sources{Flags: map[string]string{"admission": a, "queue": q, "ledger": l}})
				mysql, redis := l != "sqlite", strings.HasPrefix(a, "redis")
				want := a == "memory" && q == "none" && !mysql || a == "ledger" && q == "none" && mysql ||
					redis && q != "none" && mysql
				if (err == nil) != want {
					t.Errorf("%s + %s + %s: %v", a, q, l, err)
				}
				text := fmt.Sprint(err)
				if err != nil && !strings.Contains(text, "goes with") {
					t.Errorf("%s + %s + %s: not a clear sentence: %s", a, q, l, text)
				}
				if err == nil {
					taken++
					text = fmt.Sprint(c.Masked())
				}
				if strings.Contains(text, "p4ssw0rd") {
					t.Errorf("%s + %s + %s: a password is shown: %s", a, q, l, text)
				}
			}
		}
	}
	if taken != 8 {
		t.Errorf("%d combinations are taken", taken)
	}
}

func TestEngineURLs(t *testing.T) {
	const my = "mysql://u:p4ssw0rd@h/db"
	tests := []struct{ key, url, problem string }{
		{"admission", "redis://127.0.0.1:6379", ""},
		{"admission", "redis://h", "without a port"},
		{"admission", "redis://u:p4ssw0rd@a:1?mode=sentinel&master=m&sentinel_password=p4ssw0rd", ""},
		{"admission", "redis://a:1?sentinel_password=p4ssw0rd", `"sentinel_password" in its query`},
		{"admission", "redis://:p4ssw0rd@h:6379/3", ""},
		{"admission", "rediss://u:p4ss%2Fw0rd@h:6379/0", ""},
		{"admission", "redis://[::1]:6379", ""},
		{"admission", "redis://a:1,b:2,c:3?mode=cluster", ""},
		{"admission", "redis://a:1,b:2/0?mode=sentinel&master=m", ""},
		{"admission", "redis://a:1,b:2", "several addresses and no mode"},
		{"admission", "redis://a:1?mode=sentinel", "names no master"},
		{"admission", "redis://a:1?master=m", "only ?mode=sentinel"},
		{"admission", "redis://a:1/2?mode=cluster", "a cluster knows only 0"},
		{"admission", "redis://a:1/x", "a number from 0 to 15"},
		{"admission", "redis://a:1?mode=ring", "neither cluster nor sentinel"},
		{"admission", "redis://a:1?timeout=1", `"timeout" in its query`},
		{"admission", "redis://", "has no host"},
		{"admission", "redis://u:p4ssw0rd@", "has no host"},
		{"admission", "redis://u:p4ssw0rd@h:99999", "1 to 65535"},
		{"admission", "redis://u:p4ssw0rd/x@h:1", "write %2F"},
		{"admission", "redis://u:p4ssw0rd%@h:1", "write %25"},
		{"admission", "redis://u:p4ssw0rd @h:1", "a blank"},
		{"admission", "redis://u:x?p4ssw0rd@h:1", "1 to 65535"},
		{"ledger", my, ""},
		{"ledger", "mysql://u@h/db", ""},
		{"ledger", my + "?tls=skip-verify", ""},
		{"ledger", "mysql://h/db", "names no user"},
		{"ledger", "mysql://u:p4ssw0rd@h", "names no database"},
		{"ledger", "mysql://u:p4ssw0rd@h/a/b", "names no database"},
		{"ledger", "mysql://u:p4ssw0rd@a,b/db", "several addresses"},
		{"ledger", my + "?tls=perhaps", "none of true"},
		{"ledger", my + "?parseTime=true", `"parseTime" in its query`},
		{"queue", "amqp://h", ""},
		{"queue", "amqp://u:p4ssw0rd@h:5672/v", ""},
		{"queue", "amqps://u:p4ssw0rd@a:1,b:2/v", ""},
		{"queue", "amqp://:p4ssw0rd@h", "no user"},
		{"queue", "amqp://h?heartbeat=1", `"heartbeat" in its query`},
	}
	for _, tt := range tests {
		flags := map[string]string{"admission": "redis://h:1", "queue": "redis", "ledger": my}
		flags[tt.key] = tt.url
		c, err := config.Load(config.Sources{Flags: flags})
		text := fmt.Sprint(err)
		if (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(text, tt.problem) {
			t.Errorf("%s: got %v, want %q", tt.url, err, tt.problem)
		}
		if c != nil {
			text += fmt.Sprint(c.Masked(), c.Config)
		}
		if strings.Contains(text, "p4ss") {
			t.Errorf("%s: a password is shown: %s", tt.url, text)
		}
	}
}

func TestEngineHidesItsPassword(t *testing.T) {
	c := load(t, config.Sources{Environ: []string{
		"SLUICE_ADMISSION=redis://shop:p4ssw0rd@h:6379", "SLUICE_QUEUE=amqp://shop:p4ssw0rd@h",
		"SLUICE_LEDGER=mysql://shop:p4ssw0rd@h/db",
	}})
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v %s", c.Config, c.Config, c.Config, c.Ledger), fmt.Sprint(c.Masked()),
		c.Queue.LogValue().String(),
	} {
		if strings.Contains(text, "p4ssw0rd") {
			t.Errorf("a password is shown: %s", text)
		}
	}
	if c.Admission.Reveal() != "redis://shop:p4ssw0rd@h:6379" || c.Admission.Scheme() != "redis" {
		t.Errorf("the URL is not what was set: %s", c.Admission.Scheme())
	}
}

func TestAckNeedsItsEngine(t *testing.T) {
	faults := faultsOf(t, config.Sources{Flags: map[string]string{
		"admission": "redis://h:1", "queue": "redis", "ledger": "mysql://u@h/db", "admission_ack": "broker",
	}})
	if len(faults) != 1 || faults[0].Key != "admission_ack" {
		t.Errorf("%v", faults)
	}
}
