package redis_test

import (
	"testing"

	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// TestRisk runs the suites of risk counts and held places on one Redis, two nodes.
func TestRisk(t *testing.T) {
	url := servers.Redis(t).URL()
	var exchanges []conformance.RiskExchange
	var places []conformance.HeldPlaces
	var clients []*redis.Client
	for range 2 {
		c, err := redis.Open(t.Context(), redis.Config{URL: url, Prefix: "sluice:risk-test"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		clients = append(clients, c)
		exchanges, places = append(exchanges, redis.NewExchange(c)), append(places, redis.NewHeldPlaces(c))
	}
	conformance.Risk(t, exchanges)
	conformance.Holders(t, places)
	ttls, err := clients[0].TTLs(t.Context(), "sluice:risk-test:{held*")
	if err != nil || len(ttls) != 2 {
		t.Fatal(ttls, err)
	}
	for key, ttl := range ttls {
		if ttl <= 0 {
			t.Errorf("%s has no time to live", key)
		}
	}
}
