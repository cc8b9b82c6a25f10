package gate_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
)

// TestBlockHits: what each block refuses is counted, claims and asks for a pass; the hour goes by; a list that is
// replaced keeps the counts; what the allowlist lets through is no hit.
func TestBlockHits(t *testing.T) {
	r := newRig(t, nil)
	list := []sluice.Block{
		{ID: "net", Scope: sluice.BlockAddress, Value: "192.0.2.0/24"},
		{ID: "mallory", Scope: sluice.BlockUser, Value: "mallory"},
		{ID: "phone", Scope: sluice.BlockDevice, Value: "telephone"},
	}
	want := func(when, id string, n int64) {
		t.Helper()
		if got := r.BlockHits(id); got != n {
			t.Errorf("%s: %s has %d hits, want %d", when, id, got, n)
		}
	}
	r.SetBlocks(list[:1])
	r.claim(t, r.request(t, "alice"), sluice.ReasonBlocked)
	r.claim(t, r.request(t, "bob"), sluice.ReasonBlocked)
	want("two claims", "net", 2)
	r.SetBlocks(list[1:])
	r.claim(t, r.request(t, "mallory"), sluice.ReasonBlocked)
	req := r.request(t, "carol")
	req.Device = "telephone"
	r.claim(t, req, sluice.ReasonBlocked)
	ask := &sluice.Subject{Campaign: "spring", User: "mallory", Addr: req.Addr, Now: r.clock.millis()}
	if st, ok := r.Stand(ask); !ok || !st.Blocked {
		t.Fatalf("%+v %v", st, ok)
	}
	want("a claim and an ask", "mallory", 2)
	want("a device", "phone", 1)
	want("it is lifted", "net", 2)
	want("nobody", "none", 0)
	r.SetAllowed([]sluice.Block{{ID: "a", Scope: sluice.BlockUser, Value: "mallory"}})
	r.claim(t, r.request(t, "mallory"), sluice.ReasonConfirmed)
	want("allowed", "mallory", 2)
	r.clock.advance(54 * time.Minute)
	want("54 minutes later", "phone", 1)
	r.clock.advance(7 * time.Minute)
	want("an hour later", "phone", 0)
	r.SetBlocks(list[1:])
	r.SetAllowed(nil)
	ask.Now = r.clock.millis()
	r.Stand(ask)
	want("again", "mallory", 1)
}

// TestCrowd: whom a block would hit is told before it is in force, by the place where each was seen last.
func TestCrowd(t *testing.T) {
	r := newRig(t, nil)
	from := func(user, addr, device string) {
		r.Stand(&sluice.Subject{Campaign: "spring", User: user, Device: device, Addr: netip.MustParseAddr(addr),
			Now: r.clock.millis()})
	}
	from("alice", "192.0.2.1", "a-phone")
	from("bob", "::ffff:192.0.2.200", "")
	from("carol", "2001:db8::1", "")
	r.claim(t, r.request(t, "alice"), sluice.ReasonConfirmed) // at 192.0.2.7, without the device
	for _, tt := range []struct {
		scope  sluice.BlockScope
		value  string
		people int
		won    int
	}{
		{sluice.BlockAddress, "192.0.2.0/24", 2, 1}, {sluice.BlockAddress, "192.0.2.200", 1, 0},
		{sluice.BlockAddress, "192.0.2.1", 0, 0}, {sluice.BlockAddress, "2001:db8::/32", 1, 0},
		{sluice.BlockAddress, "nonsense", 0, 0}, {sluice.BlockUser, "alice", 1, 1}, {sluice.BlockUser, "dave", 0, 0},
		{sluice.BlockDevice, "a-phone", 0, 0}, {"planet", "earth", 0, 0},
	} {
		n := r.Crowd(tt.scope, tt.value)
		if n.People != tt.people || n.Admitted != tt.won || n.Known != 3 || n.Full {
			t.Errorf("%s %s: %+v, want %d and %d of 3", tt.scope, tt.value, n, tt.people, tt.won)
		}
	}
	from("alice", "203.0.113.1", "a-phone")
	if n := r.Crowd(sluice.BlockDevice, "a-phone"); n.People != 1 || n.Admitted != 1 {
		t.Errorf("who moved is still who was admitted: %+v", n)
	}
	r.clock.advance(time.Hour + time.Millisecond)
	if n := r.Crowd(sluice.BlockAddress, "192.0.2.0/24"); n.People != 0 || n.Known != 0 {
		t.Errorf("an hour later: %+v", n)
	}
}

// TestCrowdIsBounded: of more people than are remembered the newest stay, and that some are missing is told.
func TestCrowdIsBounded(t *testing.T) {
	r := newRig(t, nil)
	s := &sluice.Subject{Campaign: "spring", Addr: netip.MustParseAddr("192.0.2.7"), Now: r.clock.millis()}
	const room = 16 * 4096
	for i := range 2 * room {
		s.User = fmt.Sprint("u", i)
		r.Stand(s)
	}
	n := r.Crowd(sluice.BlockAddress, "192.0.2.7")
	if n.People > room || n.People < room*9/10 || !n.Full {
		t.Errorf("%+v", n)
	}
	if r.Crowd(sluice.BlockUser, s.User).People != 1 || r.Crowd(sluice.BlockUser, "u0").People != 0 {
		t.Error("the oldest stay, or the newest do not")
	}
}
