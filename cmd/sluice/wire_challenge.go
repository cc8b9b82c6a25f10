package main

import (
	"context"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/challenge"
)

// challengeKeys names the secrets of challenges among those that are derived from the keys of passes.
const challengeKeys = "challenge"

// openChallenges makes the desk of challenges. derived gives the secrets of a label, the one that signs first.
func openChallenges(s *server, once sluice.Once, derived func(label string) [][]byte) (*challenge.Desk, error) {
	c := s.cfg.Challenge
	cfg := challenge.Config{
		Keys: func() [][]byte { return derived(challengeKeys) }, Once: once, Life: c.Life, Tries: c.Tries, Log: s.log,
		PoW:    challenge.PoWConfig{Max: c.PoWMax, Ceiling: c.PoWCeiling, Rate: c.PoWRate},
		Slider: challenge.SliderConfig{Tolerance: c.SliderTolerance, Folder: c.Pictures},
		Pool:   challenge.PoolConfig{Size: c.Pool, Workers: c.Workers, Waiting: c.Waiting},
		Seen:   func(kind sluice.ChallengeType, e challenge.Event) { s.metrics.Challenge(kind, string(e)) },
	}
	if v := c.Siteverify; v.Provider != "none" {
		cfg.Site = challenge.SiteConfig{
			Provider: v.Provider, SiteKey: v.SiteKey, Secret: v.Secret[0].Reveal(), URL: v.URL, Timeout: v.Timeout,
			OnTrouble: v.OnTrouble, Hostnames: v.Hostnames, Action: v.Action, MinScore: v.MinScore,
		}
	}
	desk, err := challenge.New(cfg)
	if err != nil {
		return nil, err
	}
	s.onStop("the challenges", func(context.Context) error { desk.Close(); return nil })
	return desk, nil
}
