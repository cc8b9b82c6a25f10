package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice/internal/config"
)

// TestCertificatesInTheClear: who names certificates for a store thinks that it is spoken to over TLS.
func TestCertificatesInTheClear(t *testing.T) {
	const file = "config_test.go"
	for _, tt := range []struct{ admission, queue, ledger, refused string }{
		{"redis://h:1", "amqp://h", "mysql://u@h/db", "redis.ca mysql.ca rabbitmq.ca"},
		{"rediss://h:1", "amqp://h", "mysql://u@h/db?tls=false", "mysql.ca rabbitmq.ca"},
		{"redis://h:1", "amqps://h", "mysql://u@h/db?tls=skip-verify", "redis.ca"},
		{"rediss://h:1", "amqps://h", "mysql://u@h/db?tls=true", ""},
	} {
		_, err := config.Load(config.Sources{Flags: map[string]string{
			"admission": tt.admission, "queue": tt.queue, "ledger": tt.ledger,
			"redis.ca": file, "mysql.ca": file, "rabbitmq.ca": file,
		}})
		text := ""
		if err != nil {
			text = err.Error()
		}
		for _, key := range []string{"redis.ca", "mysql.ca", "rabbitmq.ca"} {
			if want := slices.Contains(strings.Fields(tt.refused), key); strings.Contains(text, key) != want {
				t.Errorf("%s %s %s: %q names %s: want %v", tt.admission, tt.queue, tt.ledger, text, key, want)
			}
		}
	}
}
