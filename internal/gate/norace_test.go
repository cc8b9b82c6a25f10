//go:build !race

// The tests that a race detector would spoil: it makes pools forget on purpose, and ten million steps take it minutes.

package gate_test

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/gate"
)

// TestNoAllocation: with the token cached, no decision allocates inside the gate, whatever it is.
func TestNoAllocation(t *testing.T) {
	none := fault{name: "none", want: sluice.ReasonConfirmed, edit: func(*stage) {}}
	unhurried := fault{edit: func(s *stage) { s.config.PerUserRate = 1e9 }}
	for _, f := range append(faults, none) {
		for _, requestID := range []string{"", "a request id"} {
			these := []fault{f}
			if f.want != sluice.ReasonTooFrequent {
				these = append(these, unhurried)
			}
			g, req := prepare(t, these...)
			req.RequestID = requestID
			ctx := t.Context()
			claim := func() {
				if d := g.Claim(ctx, req); d.Reason != f.want {
					t.Fatalf("%s: %s", f.name, d.Reason)
				}
			}
			claim()
			if n := testing.AllocsPerRun(200, claim); n != 0 {
				t.Errorf("%s, request id %q: %v allocations", f.name, requestID, n)
			}
		}
	}
}

// TestLimiterIsBounded: ten million keys do not make it grow, and most of the last of them are still remembered.
func TestLimiterIsBounded(t *testing.T) {
	const room = 1 << 16
	l := gate.NewLimiter(room)
	for key := range uint64(10_000_000) {
		if _, ok := l.Take(key, 0.1, 0); !ok {
			// The odds of two keys in one place are 8 in 2²⁴ each: five or so of ten million.
			t.Logf("key %d was taken for another", key)
		}
	}
	if l.Capacity() != room || l.Remembered(0) != room {
		t.Errorf("room for %d, %d in it, want %d", l.Capacity(), l.Remembered(0), room)
	}
	if n := l.Remembered(11 * time.Second); n != 0 {
		t.Errorf("%d are remembered for longer than their pace asks", n)
	}
}

// TestMeterIsBounded: ten million addresses, each with a device of its own, do not make the meter grow by a byte, and a
// farm among the last of them is still seen.
func TestMeterIsBounded(t *testing.T) {
	r, _ := passRig(t, sluice.Protection{Pass: sluice.PassAdaptive})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	size := r.MeterSize()
	for i := range uint32(10_000_000) {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], i*2654435761) // each once, in no order
		r.Measure("spring", "", netip.AddrFrom4(b))
	}
	free := 0
	for range 1000 {
		if r.Measure("spring", "farm", netip.MustParseAddr("192.0.2.1")) <= 5 {
			free++
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); r.MeterSize() != size || grown > 1<<20 {
		t.Errorf("the meter has %d bytes, then %d; the heap grew by %d", size, r.MeterSize(), grown)
	}
	if size != gate.DefaultMeterKeys*8 || free > 100 {
		t.Errorf("%d bytes; %d of 1000 claims of a farm were let through", size, free)
	}
}

// TestPageOpenAllocatesNothing: an open page that says so costs no memory, known or not.
func TestPageOpenAllocatesNothing(t *testing.T) {
	r := newRig(t, nil)
	if n := testing.AllocsPerRun(200, func() { r.PageOpen("spring"); r.PageOpen("nowhere") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
