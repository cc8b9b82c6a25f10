package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice/internal/config"
)

// certificate serves one certificate and takes over a new one when its files change. A pair that cannot be read
// leaves the old one in force.
type certificate struct {
	files   config.TLS
	current atomic.Pointer[tls.Certificate]
	log     *slog.Logger

	mu   sync.Mutex // one reload at a time; guards seen
	seen [2]stamp
}

// stamp tells whether a file has changed since it was read.
type stamp struct {
	modified time.Time
	size     int64
}

// newCertificate reads the pair; nil where TLS is not asked for.
func newCertificate(files config.TLS, log *slog.Logger) (*certificate, error) {
	if files.Cert == "" {
		return nil, nil
	}
	c := &certificate{files: files, log: log}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *certificate) load() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.stamps()
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("TLS certificate %s: %w", c.files.Cert, err)
	}
	c.seen = seen
	c.current.Store(&pair)
	return nil
}

func (c *certificate) stamps() (s [2]stamp) {
	for i, path := range []string{c.files.Cert, c.files.Key} {
		if st, err := os.Stat(path); err == nil {
			s[i] = stamp{st.ModTime(), st.Size()}
		}
	}
	return s
}

// reload reads the files again, where they changed or force is set.
func (c *certificate) reload(force bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	same := c.stamps() == c.seen
	c.mu.Unlock()
	if same && !force {
		return
	}
	if err := c.load(); err != nil {
		c.log.Error("the TLS certificate was not taken over; the old one stays", "err", err)
		return
	}
	c.log.Info("TLS certificate read again", "file", c.files.Cert)
}

// config gives what a listener needs; nil for plain HTTP.
func (c *certificate) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
