package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice/internal/config"
)

// FuzzConfig: whatever stands in the file and in the environment, it is a configuration that can be shown, or a list
// of faults that says where each is, and no secret stands in either.
func FuzzConfig(f *testing.F) {
	for _, s := range [][2]string{
		{"listen: 127.0.0.1:1\n", "SLUICE_LOG_LEVEL=warn"}, {"log:\n  level: [a, b]\n", "SLUICE_LISTEN="},
		{"jwt:\n  secret: [a, b]\n", "SLUICE_JWT_SECRET=x"}, {"limits: {connections: -1}", "SLUICE_LIMITS_CONNECTIONS=1e9"},
		{"a: &a [*a]", "SLUICE_"}, {"sqlite: {cache: 12XB}", "SLUICE_SQLITE_CACHE=9999999999999999999GB"},
		{"\x00", "="}, {"? {}", "SLUICE_CORS_ORIGINS=http://x,,https://"},
		{"trusted_proxies: 10.0.0.0/33", "SLUICE_DATA=\xff"},
		{"log: {level: }\nlog: {}", "SLUICE_LOG__LEVEL=x"}, {"<<: {}", "SLUICE_TLS_CERT=/nowhere"},
	} {
		f.Add(s[0], s[1])
	}
	const secret = "hunter2-hunter2-hunter2-hunter2-hunter2"
	path := filepath.Join(f.TempDir(), "sluice.yaml")
	f.Fuzz(func(t *testing.T, text, variable string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.Sources{File: path, Environ: []string{variable, "SLUICE_ADMIN_KEY=" + secret}})
		shown := ""
		if err != nil {
			var faults config.Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("%v are no faults", err)
			}
			for _, x := range faults {
				if x.Problem == "" || x.Source == "" {
					t.Errorf("a fault without its place: %+v", x)
				}
			}
			shown = err.Error()
		} else {
			for _, s := range c.Masked() {
				shown += s.Key + "=" + s.Value + "\n"
			}
		}
		if strings.Contains(shown, secret) {
			t.Errorf("a secret is shown: %s", shown)
		}
	})
}
