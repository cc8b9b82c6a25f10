package config

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// SecretsFile is the name of the file in the data folder that keeps the secrets which serve made.
const SecretsFile = "secrets.json"

// ErrNoSecret says that a secret is neither set nor kept in the data folder.
var ErrNoSecret = errors.New("no such secret is set or kept")

// kept is the content of the secrets file.
type kept struct {
	JWTSecret     string `json:"jwt_secret,omitempty"`
	AdminKey      string `json:"admin_key,omitempty"`
	PaymentSecret string `json:"payment_secret,omitempty"`
}

// secretSlot pairs a setting with its place in the file.
type secretSlot struct {
	name   string
	into   *Secrets
	slot   *string
	needed bool
}

func (k *kept) slots(c *Config) []secretSlot {
	return []secretSlot{
		{"jwt.secret", &c.JWT.Secret, &k.JWTSecret, !c.verifiesByKeys()},
		{"admin.key", &c.Admin.Key, &k.AdminKey, true},
		{"payment.secret", &c.Payment.Secret, &k.PaymentSecret, true},
	}
}

// SecretsPath is where the data folder keeps its secrets.
func (c *Loaded) SecretsPath() string { return filepath.Join(c.Data, SecretsFile) }

// ReadSecrets fills the secrets that are not set from the data folder. A missing file is no fault: the secrets stay
// empty.
func (c *Loaded) ReadSecrets() error {
	k, err := readKept(c.SecretsPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c.take(k)
	return nil
}

// MakeSecrets is ReadSecrets, then makes what is still missing and keeps it, with mode 0600. It gives the names of
// those it made.
func (c *Loaded) MakeSecrets() (made []string, err error) {
	path := c.SecretsPath()
	k, err := readKept(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, s := range k.slots(&c.Config) {
		if len(*s.into) == 0 && *s.slot == "" && s.needed {
			*s.slot = randomSecret()
			made = append(made, s.name)
		}
	}
	if len(made) > 0 {
		if err := writeKept(path, k); err != nil {
			return nil, err
		}
	}
	c.take(k)
	return made, nil
}

// MissingSecrets names those that are needed and neither set nor kept.
func (c *Loaded) MissingSecrets() (names []string) {
	for _, s := range new(kept).slots(&c.Config) {
		if len(*s.into) == 0 && s.needed {
			names = append(names, s.name)
		}
	}
	return names
}

func (c *Loaded) take(k kept) {
	for _, s := range k.slots(&c.Config) {
		if len(*s.into) == 0 && *s.slot != "" && s.needed {
			*s.into = Secrets{NewSecret(*s.slot)}
			c.from[s.name] = "file " + c.SecretsPath()
		}
	}
}

func readKept(path string) (k kept, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return k, fmt.Errorf("secrets: %w", err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return k, fmt.Errorf("secrets: %s can be read by others (mode %04o): run chmod 600 %s", path, st.Mode().Perm(), path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return k, fmt.Errorf("secrets: %w", err)
	}
	if err := json.Unmarshal(raw, &k); err != nil {
		return k, fmt.Errorf("secrets: %s is not the JSON that serve wrote: move it away to have new ones made", path)
	}
	return k, nil
}

// writeKept replaces the file whole: a crash leaves the old one or the new one.
func writeKept(path string, k kept) error {
	raw, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), SecretsFile+".*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("secrets: %w", err)
	}
	return nil
}

// randomSecret gives 160 bits as 32 letters and digits.
func randomSecret() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// VerifiesByKeys says whether buyers' tokens are verified by public keys, so that no secret has to be made.
func (c *Loaded) VerifiesByKeys() bool { return c.Config.verifiesByKeys() }

func (c *Config) verifiesByKeys() bool {
	return len(c.JWT.PublicKeys) > 0 || c.JWT.KeyFile != "" || c.JWT.JWKSURL != ""
}
