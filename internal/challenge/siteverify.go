package challenge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sluice-sale/sluice"
)

// Providers of the siteverify protocol.
const (
	Turnstile = "turnstile"
	HCaptcha  = "hcaptcha"
	ReCAPTCHA = "recaptcha"
)

// Policies for a service that gives no answer.
const (
	OnTroubleClosed = "closed" // nobody is let through
	OnTroubleOpen   = "open"   // everybody is, and it is counted
)

// Defaults and bounds of a service.
const (
	DefaultSiteTimeout = 2 * time.Second
	MaxSiteTimeout     = 10 * time.Second
	maxSiteToken       = 4096     // bytes; the services say 2048
	maxSiteAnswer      = 64 << 10 // bytes
	maxSiteCalls       = 64       // at once; the next is as if the service gave no answer
	siteTokenTTL       = 30 * time.Minute
)

// endpoints are where the services are asked. They speak the same protocol.
var endpoints = map[string]string{
	Turnstile: "https://challenges.cloudflare.com/turnstile/v0/siteverify",
	HCaptcha:  "https://api.hcaptcha.com/siteverify",
	ReCAPTCHA: "https://www.google.com/recaptcha/api/siteverify",
}

// Providers lists the services.
func Providers() []string { return []string{Turnstile, HCaptcha, ReCAPTCHA} }

// SiteConfig of a service. Provider, SiteKey and Secret are required.
type SiteConfig struct {
	Provider string
	SiteKey  string // public: the widget's
	Secret   string
	// URL is asked in place of the provider's own: https, or http on this machine.
	URL       string
	Timeout   time.Duration // of one call, up to MaxSiteTimeout
	OnTrouble string        // OnTroubleClosed, the default, or OnTroubleOpen
	Hostnames []string      // where the widget may have been solved; empty: anywhere
	Action    string        // that the widget must have been given; empty: any
	MinScore  float64       // 0 to 1, where the service gives a score
	Transport http.RoundTripper
}

// siteverify asks a service whether a widget's token is right.
type siteverify struct {
	cfg    SiteConfig
	http   *http.Client
	once   sluice.Once
	log    *slog.Logger
	calls  chan struct{}
	waived func()
}

func newSiteverify(cfg SiteConfig, once sluice.Once, log *slog.Logger) (*siteverify, error) {
	if cfg.URL == "" {
		cfg.URL = endpoints[cfg.Provider]
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultSiteTimeout
	}
	if cfg.OnTrouble == "" {
		cfg.OnTrouble = OnTroubleClosed
	}
	bad := func(format string, args ...any) (*siteverify, error) {
		return nil, fmt.Errorf("challenge: %w: siteverify: %s", sluice.ErrInvalid, fmt.Sprintf(format, args...))
	}
	u, err := url.Parse(cfg.URL)
	switch {
	case !slices.Contains(Providers(), cfg.Provider):
		return bad("the provider must be one of %s", strings.Join(Providers(), ", "))
	case cfg.SiteKey == "" || cfg.Secret == "":
		return bad("site key and secret are required")
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !here(u.Hostname())):
		return bad("the URL must be https, or http on this machine")
	case cfg.Timeout < time.Millisecond || cfg.Timeout > MaxSiteTimeout:
		return bad("a time-out of %v is not within 1ms and %v", cfg.Timeout, MaxSiteTimeout)
	case cfg.OnTrouble != OnTroubleClosed && cfg.OnTrouble != OnTroubleOpen:
		return bad("the policy for trouble must be open or closed")
	case !(cfg.MinScore >= 0 && cfg.MinScore <= 1):
		return bad("a score of %v is not within 0 and 1", cfg.MinScore)
	}
	client := &http.Client{
		Timeout: cfg.Timeout, Transport: cfg.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &siteverify{cfg: cfg, http: client, once: once, log: log, calls: make(chan struct{}, maxSiteCalls)}, nil
}

func here(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

type siteData struct {
	Provider string `json:"provider"`
	SiteKey  string `json:"site_key"`
	Action   string `json:"action,omitempty"`
}

func (s *siteverify) issue(
	_ context.Context, keys [][]byte, id *ident, _ float64,
) (json.RawMessage, []byte, error) {
	id.nonce = newNonce()
	data, err := json.Marshal(siteData{Provider: s.cfg.Provider, SiteKey: s.cfg.SiteKey, Action: s.cfg.Action})
	return data, keys[0], err
}

// siteSolution is what the widget gave.
type siteSolution struct {
	Token string `json:"token"`
	site  *siteverify
}

func (s *siteverify) read(raw json.RawMessage) (solution, error) {
	got := &siteSolution{}
	if err := strictly(raw, got); err != nil {
		return nil, solutionFault("must be an object with token")
	}
	if got.Token == "" || len(got.Token) > maxSiteToken {
		return nil, solutionFault("token must have 1 to %d bytes", maxSiteToken)
	}
	got.site = s
	return got, nil
}

// right asks the service. A token counts once, whatever the service says of it, and however many challenges it is
// brought to.
func (t *siteSolution) right(ctx context.Context, _ []byte, id *ident, a *sluice.ChallengeAnswer) (bool, error) {
	s := t.site
	answer, err := s.ask(ctx, t.Token, a)
	if errors.Is(err, errCalls) { // the crowd's doing, and no reason to waive anything
		return false, errBusy()
	}
	if err != nil {
		s.log.WarnContext(ctx, "the siteverify service gave no answer", "provider", s.cfg.Provider, "policy", s.cfg.OnTrouble,
			"error", err)
		if s.cfg.OnTrouble == OnTroubleClosed || errors.Is(err, errAsked) {
			return false, unavailable(err)
		}
		s.waived()
	} else if !s.accepts(answer, id) {
		return false, nil
	}
	sum := sha256.Sum256([]byte(t.Token))
	first, err := s.once.First(ctx, "t"+string(sum[:]), siteTokenTTL)
	if err != nil {
		return false, unavailable(err)
	}
	return first, nil
}

// siteAnswer is what a service says. What is not named here is passed over.
type siteAnswer struct {
	Success    *bool      `json:"success"`
	Time       *time.Time `json:"challenge_ts"`
	Hostname   string     `json:"hostname"`
	Action     string     `json:"action"`
	Score      *float64   `json:"score"`
	ErrorCodes []string   `json:"error-codes"`
}

// ours are the codes that say that our own call was wrong, or that the service is in trouble: no word about the buyer.
var ours = []string{"missing-input-secret", "invalid-input-secret", "bad-request", "internal-error",
	"sitekey-secret-mismatch", "not-using-dummy-passcode", "invalid-sitekey", "missing-remoteip", "invalid-remoteip"}

var errCalls = errors.New("too many calls are under way")

// errAsked is in the errors that a buyer can bring about by what is sent as a token: policy does not waive them.
var errAsked = errors.New("it does not take what it was asked")

// ask makes one call; it is not made again, since a service takes a token once.
func (s *siteverify) ask(ctx context.Context, token string, a *sluice.ChallengeAnswer) (answer siteAnswer, err error) {
	select {
	case s.calls <- struct{}{}:
		defer func() { <-s.calls }()
	default:
		return answer, errCalls
	}
	form := url.Values{"secret": {s.cfg.Secret}, "response": {token}, "sitekey": {s.cfg.SiteKey}}
	if a.Addr.IsValid() {
		form.Set("remoteip", a.Addr.String())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return answer, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	res, err := s.http.Do(req)
	if err != nil {
		return answer, err
	}
	defer func() { _ = res.Body.Close() }()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnprocessableEntity, http.StatusRequestHeaderFieldsTooLarge:
		return answer, fmt.Errorf("%w: status %d", errAsked, res.StatusCode)
	default:
		return answer, fmt.Errorf("it answers with status %d", res.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxSiteAnswer+1))
	if err != nil {
		return answer, err
	}
	return readSiteAnswer(raw)
}

// readSiteAnswer reads what a service says. An error: it says nothing of the token.
func readSiteAnswer(raw []byte) (answer siteAnswer, err error) {
	if len(raw) > maxSiteAnswer {
		return answer, fmt.Errorf("it answers with more than %d bytes", maxSiteAnswer)
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return answer, errors.New("its answer is no JSON that can be read")
	}
	if answer.Success == nil {
		return answer, errors.New("its answer does not say success")
	}
	fault := func(code string) bool { return slices.Contains(ours, code) }
	if !*answer.Success && slices.ContainsFunc(answer.ErrorCodes, fault) {
		err := fmt.Errorf("it refuses the call: %.200q", answer.ErrorCodes)
		if slices.Contains(answer.ErrorCodes, "bad-request") {
			err = errors.Join(errAsked, err)
		}
		return answer, err
	}
	return answer, nil
}

// accepts judges what the service says: a success is not enough if it was had elsewhere, for something else, or before
// the challenge was there.
func (s *siteverify) accepts(a siteAnswer, id *ident) bool {
	switch {
	case !*a.Success:
		return false
	case len(s.cfg.Hostnames) > 0 && !slices.Contains(s.cfg.Hostnames, a.Hostname):
		return false
	case s.cfg.Action != "" && a.Action != s.cfg.Action:
		return false
	case a.Score != nil && *a.Score < s.cfg.MinScore, a.Score == nil && s.cfg.MinScore > 0:
		return false
	case a.Time != nil && sluice.MillisOf(*a.Time)+siteEarlyMS < id.issued:
		return false
	}
	return true
}

// siteEarlyMS is how long before the challenge a widget may have been solved: pages show some at once, and clocks
// differ.
const siteEarlyMS = 5 * 60_000
