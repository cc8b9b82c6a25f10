package memory_test

import (
	"testing"

	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/memory"
)

func TestRisk(t *testing.T) {
	x, h := memory.NewExchange(), memory.NewHeldPlaces()
	conformance.Risk(t, []conformance.RiskExchange{x, x})
	conformance.Holders(t, []conformance.HeldPlaces{h, h})
}
