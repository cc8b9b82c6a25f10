package risk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// ServiceRule is the name that records and verdicts of the risk service carry.
const ServiceRule = "risk-service"

// Bounds of the risk service.
const (
	DefaultServiceBudget = 20 * time.Millisecond
	maxServiceAnswer     = 4 << 10
	serviceTries         = 5               // failures in a row before it is not asked
	serviceRest          = 5 * time.Second // for so long; then one is asked again
	maxServiceAsks       = 64              // at once
)

// ServiceConfig sets a Service up. URL is required.
type ServiceConfig struct {
	URL    string
	Token  string        // sent as a bearer token; empty: none
	Budget time.Duration // default DefaultServiceBudget
	// Closed: a buyer of whom the service says nothing in time has to solve a challenge. Else nothing follows.
	Closed bool
	Client *http.Client     // default: one of its own
	Now    func() time.Time // default time.Now
}

// Service asks a risk service of the shop's own. It is asked where a pass is asked for, never for a claim. A service
// that is slow or away costs its budget a few times, and then nothing: it is not asked for some seconds.
type Service struct {
	cfg  ServiceConfig
	asks chan struct{}

	mu     sync.Mutex // guards what follows
	failed int
	until  time.Time
	asked  map[string]int64
}

// NewService makes one.
func NewService(cfg ServiceConfig) *Service {
	if cfg.Budget <= 0 {
		cfg.Budget = DefaultServiceBudget
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: maxServiceAsks, MaxConnsPerHost: maxServiceAsks},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{cfg: cfg, asks: make(chan struct{}, maxServiceAsks), asked: map[string]int64{}}
}

type serviceQuestion struct {
	Campaign string `json:"campaign_id"`
	User     string `json:"user_id"`
	Device   string `json:"device_id,omitempty"`
	Addr     string `json:"address,omitempty"`
	At       int64  `json:"at_ms"`
}

type serviceAnswer struct {
	Verdict   string `json:"verdict"` // allow, challenge or block
	Reference string `json:"reference"`
}

// Ask asks what to do about s within the budget. It blocks for that at most.
func (s *Service) Ask(ctx context.Context, sub *sluice.Subject) sluice.Verdict {
	if !s.enter() {
		s.count("rested")
		return s.silent()
	}
	defer func() { <-s.asks }()
	a, err := s.ask(ctx, sub)
	if s.note(err); err != nil {
		s.count("failed")
		return s.silent()
	}
	s.count(a.Verdict)
	switch a.Verdict {
	case "challenge":
		return sluice.Verdict{Challenge: true, Rule: ServiceRule}
	case "block":
		return sluice.Verdict{Block: true, Rule: ServiceRule, Reference: a.Reference}
	}
	return sluice.Verdict{}
}

func (s *Service) count(what string) {
	s.mu.Lock()
	s.asked[what]++
	s.mu.Unlock()
}

// Asked gives what came of questions so far: allow, challenge, block, failed, and rested where it was not asked.
func (s *Service) Asked() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.asked)
}

// silent is what follows where the service says nothing.
func (s *Service) silent() sluice.Verdict {
	return sluice.Verdict{Challenge: s.cfg.Closed, Rule: ServiceRule}
}

// enter says whether the service is to be asked, and takes a place.
func (s *Service) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	if s.failed >= serviceTries && now.Before(s.until) {
		return false
	}
	select {
	case s.asks <- struct{}{}:
	default:
		return false
	}
	if s.failed >= serviceTries {
		s.until = now.Add(serviceRest) // this one tries; the others rest on
	}
	return true
}

func (s *Service) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.failed = 0
		return
	}
	if s.failed++; s.failed >= serviceTries {
		s.until = s.cfg.Now().Add(serviceRest)
	}
}

func (s *Service) ask(ctx context.Context, sub *sluice.Subject) (a serviceAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Budget)
	defer cancel()
	q := serviceQuestion{Campaign: sub.Campaign, User: sub.User, Device: sub.Device, At: int64(sub.Now)}
	if sub.Addr.IsValid() {
		q.Addr = sub.Addr.String()
	}
	body, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.cfg.Token)
	}
	res, err := s.cfg.Client.Do(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return a, fmt.Errorf("risk: the service answers %d", res.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxServiceAnswer+1))
	if err != nil {
		return a, err
	}
	return parseAnswer(text)
}

// parseAnswer reads what the service said.
func parseAnswer(text []byte) (a serviceAnswer, err error) {
	if len(text) > maxServiceAnswer {
		return a, fmt.Errorf("risk: the service's answer is longer than %d bytes", maxServiceAnswer)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("risk: the service's answer: %w", err)
	}
	switch a.Verdict {
	case "allow", "challenge", "block":
	default:
		return a, fmt.Errorf("risk: the service's verdict is none of allow, challenge, block")
	}
	if len(a.Reference) > 64 {
		a.Reference = ""
	}
	return a, nil
}
