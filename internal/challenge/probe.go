package challenge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sluice-sale/sluice"
)

// probeToken is no widget's: a service that is set up right says that it is wrong.
const probeToken = "sluice-probe"

// ErrNoService says that campaigns that ask for siteverify get proof of work here.
var ErrNoService = errors.New("there is no siteverify service")

// ProbeSite asks a service about a token that is none, and says whether it can be used: it answers within its time, and
// takes the secret. ErrInvalid: a setting is out of its bounds.
func ProbeSite(ctx context.Context, cfg SiteConfig) error {
	s, err := newSiteverify(cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return s.probe(ctx)
}

func (s *siteverify) probe(ctx context.Context) error {
	if _, err := s.ask(ctx, probeToken, &sluice.ChallengeAnswer{}); err != nil {
		return fmt.Errorf("the siteverify service %s: %w", s.cfg.Provider, err)
	}
	return nil
}

// Pictures reads a folder of pictures as a Desk does and says how many there are. ErrInvalid: it cannot be read, has
// none, has too many, or one of them cannot be used.
func Pictures(folder string) (int, error) {
	p, err := (&SliderConfig{Folder: folder}).pictures()
	if err != nil {
		return 0, err
	}
	return len(p.kept), nil
}

// Probe says whether challenges of this kind can be given out now: it makes one that nobody gets, or asks the service.
// ErrNoService: it is siteverify, and there is none. Everything else is trouble that may pass.
func (d *Desk) Probe(ctx context.Context, t sluice.ChallengeType) error {
	if t == sluice.ChallengeSiteverify {
		if d.site == nil {
			return ErrNoService
		}
		return d.site.probe(ctx)
	}
	number, err := d.number(t)
	if err != nil {
		return err
	}
	keys := d.cfg.Keys()
	if len(keys) == 0 {
		return errors.New("there is no key for challenges yet")
	}
	now := sluice.MillisOf(d.cfg.Now())
	_, _, err = d.kinds[number].issue(ctx, keys, &ident{kind: number, issued: now, ends: now.Add(d.cfg.Life)}, 1)
	return err
}
