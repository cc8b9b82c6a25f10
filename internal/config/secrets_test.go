package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice/internal/config"
)

func inFolder(t *testing.T, dir string, environ ...string) *config.Loaded {
	t.Helper()
	return load(t, config.Sources{Environ: environ, Flags: map[string]string{"data": dir}})
}

func TestSecretsAreMadeOnceAndKept(t *testing.T) {
	dir := t.TempDir()
	first := inFolder(t, dir)
	made, err := first.MakeSecrets()
	if err != nil || !slices.Equal(made, []string{"jwt.secret", "admin.key", "payment.secret"}) {
		t.Fatalf("made %v, %v", made, err)
	}
	st, err := os.Stat(first.SecretsPath())
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", st.Mode(), err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder has %v", entries)
	}
	second := inFolder(t, dir)
	if made, err := second.MakeSecrets(); err != nil || len(made) != 0 {
		t.Fatalf("made again: %v, %v", made, err)
	}
	if first.Admin.Key[0] != second.Admin.Key[0] || first.JWT.Secret[0] == first.Payment.Secret[0] {
		t.Error("the secrets changed, or are not of their own")
	}
	if n := len(first.Admin.Key[0].Reveal()); n < 26 {
		t.Errorf("a made secret has %d characters", n)
	}
	if from := second.Source("admin.key"); !strings.HasSuffix(from, "secrets.json") {
		t.Errorf("admin.key comes from %q", from)
	}
}

// TestSetSecretsBeatKeptOnes: what the operator sets is used and never written down.
func TestSetSecretsBeatKeptOnes(t *testing.T) {
	dir := t.TempDir()
	const own = "the-operators-own-key-000"
	c := inFolder(t, dir, "SLUICE_ADMIN_KEY="+own)
	made, err := c.MakeSecrets()
	if err != nil || slices.Contains(made, "admin.key") || c.Admin.Key[0].Reveal() != own {
		t.Fatalf("made %v, %v", made, err)
	}
	raw, err := os.ReadFile(c.SecretsPath())
	if err != nil || strings.Contains(string(raw), own) {
		t.Errorf("the file holds the operator's own key: %v", err)
	}
}

// TestNoSecretIsMadeWherePublicKeysAre: nobody should be able to sign for buyers with a key that nobody asked for.
func TestNoSecretIsMadeWherePublicKeysAre(t *testing.T) {
	dir := t.TempDir()
	before := inFolder(t, dir)
	if _, err := before.MakeSecrets(); err != nil { // an HS256 secret from an earlier time is in the folder
		t.Fatal(err)
	}
	c := inFolder(t, dir, "SLUICE_JWT_JWKS_URL=https://issuer.example/keys")
	if made, err := c.MakeSecrets(); err != nil || len(made) != 0 || len(c.JWT.Secret) != 0 {
		t.Errorf("made %v, %v; %d secrets in force", made, err, len(c.JWT.Secret))
	}
}

func TestBrokenSecretsFiles(t *testing.T) {
	tests := []struct {
		name, content string
		mode          os.FileMode
		want          string
	}{
		{"readable by others", `{"admin_key":"0123456789abcdef"}`, 0o644, "chmod 600"},
		{"not JSON", "secret!", 0o600, "not the JSON"},
	}
	for _, tt := range tests {
		c := inFolder(t, t.TempDir())
		if err := os.WriteFile(c.SecretsPath(), []byte(tt.content), tt.mode); err != nil {
			t.Fatal(err)
		}
		for name, do := range map[string]func() error{
			"read": c.ReadSecrets, "make": func() error { _, err := c.MakeSecrets(); return err },
		} {
			err := do()
			if err == nil {
				t.Errorf("%s, %s: taken", tt.name, name)
				continue
			}
			if text := err.Error(); !strings.Contains(text, tt.want) || strings.Contains(text, "secret!") {
				t.Errorf("%s, %s: %s", tt.name, name, text)
			}
		}
	}
	if err := inFolder(t, filepath.Join(t.TempDir(), "none")).ReadSecrets(); err != nil {
		t.Errorf("a folder without secrets: %v", err)
	}
}
