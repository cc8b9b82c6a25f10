package risk_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"github.com/sluice-sale/sluice"
)

// sizeRules count addresses and subnets in every way that addresses are counted.
var sizeRules = []string{
	"claims per address > 50 in 10m -> challenge", "accounts per subnet > 50 in 10m -> challenge",
}

const (
	manyAddresses = 10_000_000
	statedPerRule = 6 << 20 // bytes of one table, as docs/risk.md says
)

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestTenMillionAddresses: the tables take what they take before the first address, and the one that is loud is still
// seen, and the quiet ones are not taken for it.
func TestTenMillionAddresses(t *testing.T) {
	before := heap()
	n := newNode(t, &shelf{}, "a", nil, nil)
	for i, r := range sizeRules {
		n.put(t, fmt.Sprint("r", i), r, sluice.RiskOn)
	}
	empty := heap()
	s := n.who("u", "", "10.0.0.1")
	loud := netip.MustParseAddr("203.0.113.9")
	many := uint32(manyAddresses)
	if raceEnabled { // ten times as slow, and the heap is not what it is
		many /= 10
	}
	var b [4]byte
	for i := range many {
		binary.BigEndian.PutUint32(b[:], i*429) // spread over the whole space
		s.Addr = netip.AddrFrom4(b)
		n.Saw(s, sluice.ReasonSoldOut)
		if i%(many/100) == 0 { // a hundred in between
			s.Addr = loud
			n.Saw(s, sluice.ReasonSoldOut)
		}
	}
	full := heap()
	t.Logf("tables of %d rules: %d KB empty, %d KB after %d addresses", len(sizeRules), (empty-before)>>10,
		(full-before)>>10, many)
	if most := int64(len(sizeRules)) * statedPerRule; full-before > most {
		t.Errorf("%d bytes, more than the %d that are stated", full-before, most)
	}
	if full-empty > 1<<20 {
		t.Errorf("the addresses took %d bytes more", full-empty)
	}
	if s.Addr = loud; !n.Look(s).Challenge {
		t.Error("the loud address was forgotten among the many")
	}
	if s.Addr = netip.MustParseAddr("198.51.100.3"); n.Look(s).Challenge {
		t.Error("an address that never came is challenged")
	}
	runtime.KeepAlive(n)
}

// TestNothingAllocates: neither counting nor judging does, block in force or not.
func TestNothingAllocates(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector allocates by itself")
		return
	}
	n := newNode(t, &shelf{}, "a", nil, nil)
	for i, r := range append(sizeRules, farmRule+"block 15m", "refused share per account > 0.5 in 1m -> slow 2",
		"devices per account > 3 in 10m and account age < 1d -> slow 3") {
		n.put(t, fmt.Sprint("r", i), r, sluice.RiskOn)
	}
	farm(n)
	blocked, other := n.who("bot1", "d1", "10.0.0.1"), n.who("u2", "d2", "2001:db8::1")
	other.Claims = map[string][]string{"created": {"1700000000"}}
	n.Look(blocked) // the record
	if a := testing.AllocsPerRun(1000, func() {
		n.Look(blocked)
		n.Look(other)
		n.Saw(other, sluice.ReasonTooFrequent)
		n.Saw(blocked, sluice.ReasonBlocked)
		n.Challenged(other, false)
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if !n.Look(blocked).Block {
		t.Error("nobody was blocked")
	}
}

func BenchmarkLookAndSaw(b *testing.B) {
	t := &testing.T{}
	n := newNode(t, &shelf{}, "a", nil, nil)
	for i, r := range append(sizeRules[:2:2], farmRule+"block 15m", "refused share per account > 0.5 in 1m -> slow 2") {
		if _, err := n.Put(b.Context(), sluice.RiskRule{ID: fmt.Sprint("r", i), Rule: r, Mode: sluice.RiskOn},
			sluice.Actor{}); err != nil {
			b.Fatal(err)
		}
	}
	s := n.who("u1", "d1", "10.0.0.1")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Addr = netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		n.Look(s)
		n.Saw(s, sluice.ReasonSoldOut)
	}
}

// FuzzBatch: what another node tells is bounded and never breaks this one.
func FuzzBatch(f *testing.F) {
	t := &testing.T{}
	n := newNode(t, &shelf{}, "a", nil, nil)
	for i, r := range []string{farmRule + "log", "claims per account > 3 in 10m -> log"} {
		if _, err := n.Put(f.Context(), sluice.RiskRule{ID: fmt.Sprint("r", i), Rule: r, Mode: sluice.RiskOn},
			sluice.Actor{}); err != nil {
			f.Fatal(err)
		}
	}
	farm(n)
	good := n.Batch()
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		err := n.Hear(b)
		if len(b) == 0 && err == nil {
			t.Fatal("an empty batch was read")
		}
	})
}
