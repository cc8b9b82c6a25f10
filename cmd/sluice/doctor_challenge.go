package main

import (
	"context"
	"fmt"

	"github.com/sluice-sale/sluice/internal/challenge"
	"github.com/sluice-sale/sluice/internal/config"
)

// checkChallenges looks at what campaigns may ask of buyers and this server was set up for: the service of siteverify,
// and the operator's pictures. The secrets of passes and of the other kinds are made by the server and kept in the
// ledger: there is nothing to set.
func checkChallenges(ctx context.Context, cfg *config.Loaded) []finding {
	site := &findings{name: "siteverify"}
	switch v := &cfg.Challenge.Siteverify; {
	case v.Provider == "none":
		site.add("ok", "not set up: a campaign that asks for it gives out proof of work", "")
	default:
		bounded, cancel := context.WithTimeout(ctx, doctorTimeout)
		defer cancel()
		if err := challenge.ProbeSite(bounded, siteConfig(v)); err != nil {
			site.add("bad", err.Error(), "mend challenge.siteverify, and let this machine reach the service")
			break
		}
		site.add("ok", v.Provider+" answers and takes the secret, which is from "+
			cfg.Source("challenge.siteverify.secret"), "")
	}
	pictures := &findings{name: "pictures"}
	n, err := challenge.Pictures(cfg.Challenge.Pictures)
	switch {
	case err != nil:
		pictures.add("bad", err.Error(), "mend challenge.pictures")
	case cfg.Challenge.Pictures == "":
		pictures.add("ok", "sliders are painted by the server", "")
	default:
		pictures.add("ok", fmt.Sprintf("%s has %d that can be used", cfg.Challenge.Pictures, n), "")
	}
	return append(site.all, pictures.all...)
}
