package main

import (
	"context"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/challenge"
	"github.com/sluice-sale/sluice/internal/config"
)

// challengeKeys names the secrets of challenges among those that are derived from the keys of passes.
const challengeKeys = "challenge"

// openChallenges makes the desk of challenges, whose secrets come from the keys of passes: all nodes have them.
func (p *parts) openChallenges(s *server) (err error) {
	c := s.cfg.Challenge
	cfg := challenge.Config{
		Keys: func() [][]byte { return p.passKeys.Derived(challengeKeys) }, Once: p.once, Life: c.Life, Tries: c.Tries,
		Log:    s.log,
		PoW:    challenge.PoWConfig{Max: c.PoWMax, Ceiling: c.PoWCeiling, Rate: c.PoWRate},
		Slider: challenge.SliderConfig{Tolerance: c.SliderTolerance, Folder: c.Pictures},
		Pool:   challenge.PoolConfig{Size: c.Pool, Workers: c.Workers, Waiting: c.Waiting},
		Seen:   func(kind sluice.ChallengeType, e challenge.Event) { s.metrics.Challenge(kind, string(e)) },
	}
	if v := &c.Siteverify; v.Provider != "none" {
		cfg.Site = siteConfig(v)
	}
	if p.challenges, err = challenge.New(cfg); err != nil {
		return err
	}
	s.onStop("the challenges", func(context.Context) error { p.challenges.Close(); return nil })
	return nil
}

// siteConfig is how the service is asked. It must have a provider, which the configuration gives a secret.
func siteConfig(v *config.Siteverify) challenge.SiteConfig {
	return challenge.SiteConfig{
		Provider: v.Provider, SiteKey: v.SiteKey, Secret: v.Secret[0].Reveal(), URL: v.URL, Timeout: v.Timeout,
		OnTrouble: v.OnTrouble, Hostnames: v.Hostnames, Action: v.Action, MinScore: v.MinScore,
	}
}
