package risk_test

import (
	"testing"

	"github.com/sluice-sale/sluice"
)

// TestSoldOut: nobody is judged anew where nothing is left; claims are counted all the same, and what holds goes on.
func TestSoldOut(t *testing.T) {
	n := newNode(t, &shelf{}, "a", nil, nil)
	n.put(t, "r", farmRule+"block 15m", sluice.RiskOn)
	farm(n)
	s := n.who("bot1", "d1", "10.0.0.1")
	s.SoldOut = true
	if v := n.Look(s); v.Block {
		t.Errorf("judged: %+v", v)
	}
	s.SoldOut = false // a unit came back
	if v := n.Look(s); !v.Block {
		t.Errorf("what was counted meanwhile is forgotten: %+v", v)
	}
	s.SoldOut = true
	if v := n.Look(s); !v.Block || v.Reference == "" {
		t.Errorf("what is in force does not hold: %+v", v)
	}
}
