package gate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

const (
	maxKeyBytes   = 1 << 20 // of a key file or a JWKS answer
	jwksRetry     = 10 * time.Second
	unknownKeyMax = 2 * time.Second // how long a token with an unknown kid waits for the JWKS
)

// keySource keeps a Tokens' key set up to date. One goroutine reads the file and the URL; a token with an unknown kid
// asks it to look at once and waits for that look.
type keySource struct {
	cfg    *TokenConfig
	out    *atomic.Pointer[keySet]
	static []key

	// Owned by the goroutine, before it starts by newKeySource.
	fileRaw, urlRaw   []byte
	fileKeys, urlKeys []key

	look chan struct{} // asks for the JWKS now; holds one

	mu     sync.Mutex
	flight chan struct{} // closed when the look that was asked for is over; nil where none is under way
	looked time.Time     // when the last one that a token asked for began

	cancel context.CancelFunc
	done   chan struct{}
}

func newKeySource(ctx context.Context, cfg *TokenConfig, out *atomic.Pointer[keySet]) (*keySource, error) {
	s := &keySource{cfg: cfg, out: out, look: make(chan struct{}, 1), done: make(chan struct{})}
	for _, secret := range cfg.Secrets {
		k, err := newKey("", secret)
		if err != nil {
			return nil, err
		}
		s.static = append(s.static, k)
	}
	for _, text := range cfg.PublicKeys {
		keys, err := parseKeys(text, false)
		if err != nil {
			return nil, err
		}
		s.static = append(s.static, keys...)
	}
	if cfg.KeyFile == "" && cfg.JWKSURL == "" && len(s.static) == 0 {
		return nil, fmt.Errorf("gate: no key to verify tokens with: %w", sluice.ErrInvalid)
	}
	if cfg.KeyFile != "" {
		if err := s.readFile(); err != nil {
			return nil, err
		}
	}
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if cfg.JWKSURL != "" {
		s.report(s.fetch(ctx), "fetch the JWKS")
	}
	s.publish()
	if cfg.KeyFile == "" && cfg.JWKSURL == "" {
		close(s.done)
		return s, nil
	}
	go s.watch(ctx)
	return s, nil
}

func (s *keySource) close() {
	s.cancel()
	<-s.done
}

func (s *keySource) report(err error, what string) {
	if err != nil {
		s.cfg.Logger.Warn("gate: cannot "+what+"; the keys before stay", "error", err)
	}
}

// publish makes the next generation of keys.
func (s *keySource) publish() {
	next := &keySet{}
	for _, keys := range [][]key{s.static, s.fileKeys, s.urlKeys} {
		next.keys = append(next.keys, keys...)
	}
	s.out.Store(next)
}

func (s *keySource) watch(ctx context.Context) {
	defer close(s.done)
	var fileTick <-chan time.Time
	if s.cfg.KeyFile != "" {
		t := time.NewTicker(s.cfg.KeyFilePoll)
		defer t.Stop()
		fileTick = t.C
	}
	var fetch <-chan time.Time
	timer := time.NewTimer(s.nextFetch(len(s.urlKeys) > 0))
	defer timer.Stop()
	if s.cfg.JWKSURL != "" {
		fetch = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			s.landed()
			return
		case <-fileTick:
			before := s.fileRaw
			err := s.readFile()
			s.report(err, "read the key file")
			if err == nil && !bytes.Equal(before, s.fileRaw) {
				s.publish()
			}
		case <-fetch:
			s.fetchAndPublish(ctx, timer)
		case <-s.look:
			s.fetchAndPublish(ctx, timer)
			s.landed()
		}
	}
}

func (s *keySource) nextFetch(ok bool) time.Duration {
	if ok {
		return s.cfg.JWKSRefresh
	}
	return min(jwksRetry, s.cfg.JWKSRefresh)
}

func (s *keySource) fetchAndPublish(ctx context.Context, timer *time.Timer) {
	before := s.urlRaw
	err := s.fetch(ctx)
	s.report(err, "fetch the JWKS")
	if err == nil && !bytes.Equal(before, s.urlRaw) {
		s.publish()
	}
	timer.Reset(s.nextFetch(err == nil))
}

// readFile reads the key file. Keys change only where all of it could be read, and only with its contents.
func (s *keySource) readFile() error {
	f, err := os.Open(s.cfg.KeyFile)
	if err != nil {
		return fmt.Errorf("gate: key file: %w: %w", err, sluice.ErrInvalid)
	}
	defer func() { _ = f.Close() }()
	raw, err := readBounded(f)
	if err != nil || bytes.Equal(raw, s.fileRaw) {
		return err
	}
	keys, err := parseKeys(raw, true)
	if err != nil {
		return fmt.Errorf("%s: %w", s.cfg.KeyFile, err)
	}
	s.fileRaw, s.fileKeys = raw, keys
	return nil
}

func (s *keySource) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.JWKSTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cfg.JWKSURL, http.NoBody)
	if err != nil {
		return fmt.Errorf("gate: JWKS URL: %w", err)
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	resp, err := s.cfg.HTTPClient.Do(req)
	if err != nil {
		return fmt.Errorf("gate: JWKS: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("gate: JWKS: status %d: %w", resp.StatusCode, sluice.ErrUnavailable)
	}
	raw, err := readBounded(resp.Body)
	if err != nil || bytes.Equal(raw, s.urlRaw) {
		return err
	}
	keys, err := parseKeys(raw, false)
	if err != nil {
		return fmt.Errorf("%s: %w", s.cfg.JWKSURL, err)
	}
	s.urlRaw, s.urlKeys = raw, keys
	return nil
}

func readBounded(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxKeyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("gate: read keys: %w", err)
	}
	if len(raw) > maxKeyBytes {
		return nil, fmt.Errorf("gate: keys of more than %d bytes: %w", maxKeyBytes, sluice.ErrInvalid)
	}
	return raw, nil
}

// refresh has the JWKS fetched for a token with an unknown kid and waits for it. Many tokens share one fetch, and after
// it nobody causes another for JWKSPause: made-up kids cost the issuer next to nothing.
func (s *keySource) refresh() {
	if s.cfg.JWKSURL == "" {
		return
	}
	s.mu.Lock()
	flight := s.flight
	if flight == nil {
		if !s.looked.IsZero() && time.Since(s.looked) < s.cfg.JWKSPause {
			s.mu.Unlock()
			return
		}
		flight = make(chan struct{})
		s.flight, s.looked = flight, time.Now()
		s.look <- struct{}{} // never blocks: there is one flight, and the channel holds one
	}
	s.mu.Unlock()
	timeout := time.NewTimer(unknownKeyMax)
	defer timeout.Stop()
	select {
	case <-flight:
	case <-s.done:
	case <-timeout.C:
	}
}

// landed lets those go who wait for the look that was asked for.
func (s *keySource) landed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight != nil {
		close(s.flight)
		s.flight = nil
	}
}
