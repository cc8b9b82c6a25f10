package redis_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
)

// TestTransfer breaks a transfer off after each step: whoever meets it completes it, and no unit is lost or made.
func TestTransfer(t *testing.T) {
	h := sharded(t, 3, 10)
	ctx := t.Context()
	first, err := h.Out(ctx, &h.c, 0, 1, 1)
	if err != nil || first.Units != 5 || first.Seq != 1 {
		t.Fatalf("half of what is there: %+v %v", first, err)
	}
	again, err := h.Out(ctx, &h.c, 0, 2, 1)
	if err != nil || *again != *first {
		t.Errorf("one at a time: %+v %v", again, err)
	}
	if s := h.sums(); s[0].Out != 5 || s[0].Available != 5 {
		t.Errorf("%+v", s)
	}
	for i, want := range []redis.TransferResult{redis.TransferApplied, redis.TransferAlready} {
		if got, err := h.In(ctx, &h.c, *first); got != want || err != nil {
			t.Errorf("in, time %d: %d %v", i, got, err)
		}
		// It has arrived and is not forgotten: State counts the units once.
		if s := h.sums(); s[0].Out != 0 || s[0].Share != 5 || s[1].Available != 5 {
			t.Errorf("%+v", s)
		}
	}
	for range 2 {
		if err := h.Forget(ctx, &h.c, *first); err != nil {
			t.Error(err)
		}
	}
	// PROTOCOL "What was wrong before": a forgotten transfer mark minted a unit. It comes late, and does nothing.
	if got, err := h.In(ctx, &h.c, *first); got != redis.TransferAlready || err != nil {
		t.Errorf("in, late: %d %v", got, err)
	}
	if got := h.available(); !slices.Equal(got, []int64{5, 5, 0}) {
		t.Errorf("%v", got)
	}
	if second, err := h.Out(ctx, &h.c, 0, 2, 4); err != nil || second.Seq != 2 || second.Units != 4 {
		t.Errorf("more than half where it is wanted: %+v %v", second, err)
	}
	if err := h.Complete(ctx, h.c); err != nil {
		t.Error(err)
	}
	if got := h.available(); !slices.Equal(got, []int64{1, 5, 4}) {
		t.Errorf("%v", got)
	}
}

// TestTransferAcrossEpochs: units on their way when an epoch begins are counted anew, and do not arrive as well.
func TestTransferAcrossEpochs(t *testing.T) {
	h := sharded(t, 2, 10)
	old, err := h.Out(t.Context(), &h.c, 0, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	h.arm(3, 10)
	if got, err := h.In(t.Context(), &h.c, *old); got != redis.TransferRefused || err != nil {
		t.Errorf("in of an epoch that is over: %d %v", got, err)
	}
	if got := h.available(); got[0]+got[1] != 10 {
		t.Errorf("%v", got)
	}
	behind := redis.Transfer{From: 0, To: 1, Epoch: 4, Seq: 1, Units: 5} // the giver is armed for 4 already
	if got, err := h.In(t.Context(), &h.c, behind); got != redis.TransferRefused || err != nil {
		t.Errorf("in of an epoch that is to come: %d %v", got, err)
	}
}

// TestTransferUnderLease: while a marker may stand nothing comes to a dry shard; and a giver whose units are on
// their way is not dry.
func TestTransferUnderLease(t *testing.T) {
	h := sharded(t, 2, 1)
	out, err := h.Out(t.Context(), &h.c, 0, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	giver, err := h.Dry(t.Context(), &h.c, 0)
	if err != nil || giver.Granted || giver.Pending == nil || *giver.Pending != *out {
		t.Errorf("the giver: %+v %v", giver, err)
	}
	if receiver, err := h.Dry(t.Context(), &h.c, 1); err != nil || !receiver.Granted {
		t.Errorf("the receiver: %+v %v", receiver, err)
	}
	if got, err := h.In(t.Context(), &h.c, *out); err != nil || got != redis.TransferWait {
		t.Errorf("under the lease: %d %v", got, err)
	}
	within(t, 3*time.Second, func() bool {
		got, err := h.In(t.Context(), &h.c, *out)
		return err == nil && got == redis.TransferApplied
	})
}

// TestPull brings the last unit to whoever asks, from wherever it is.
func TestPull(t *testing.T) {
	h := sharded(t, 4, 1)
	for to := 1; to < 4; to++ {
		got, err := h.Pull(t.Context(), &h.c, to, 1)
		if got != 1 || err != nil {
			t.Errorf("to %d: %d %v", to, got, err)
		}
		if all := h.available(); all[to] != 1 {
			t.Errorf("to %d: %v", to, all)
		}
	}
	if got, err := h.Pull(t.Context(), &h.c, 3, 1); got != 0 || err != nil {
		t.Errorf("nothing to pull: %d %v", got, err)
	}
	// One that somebody else has begun is completed, wherever it goes.
	if _, err := h.Out(t.Context(), &h.c, 3, 2, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Pull(t.Context(), &h.c, 0, 1); err != nil {
		t.Error(err)
	}
	if all := h.available(); all[0] != 1 {
		t.Errorf("%v", all)
	}
}

// TestSoldOut: only when every shard is dry under a lease; never while a unit is on its way or on its way back.
func TestSoldOut(t *testing.T) {
	h := sharded(t, 3, 2)
	ctx := t.Context()
	ask := func() redis.SoldOut {
		t.Helper()
		s, err := h.SoldOut(ctx, &h.c, 1)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	claims := h.atHome(0, 3)
	h.admit(claims[0])
	if s := ask(); s.SoldOut {
		t.Errorf("with a unit left: %+v", s)
	}
	// Wherever the unit is now, it goes to a buyer.
	h.settleDown()
	if got := h.sell(); got != 1 {
		t.Fatalf("%d of the last unit went", got)
	}
	began := time.Now()
	s := ask()
	if !s.SoldOut || s.Until.Before(began) || s.Until.After(time.Now().Add(redis.Lease)) {
		t.Errorf("dry: %+v, asked at %v", s, began)
	}
	// A unit that comes back waits for the end of the lease: sold out, and no new marker.
	h.apply(with(release(claims[0], 1, 1), 2, 1))
	if all := h.sums(); all[0].Returning != 1 || all[0].Available != 0 {
		t.Errorf("%+v", all[0])
	}
	h.want("under the lease", h.admit(claims[1]), dry)
	if s := ask(); !s.SoldOut || !s.Until.IsZero() {
		t.Errorf("something is coming back: %+v", s)
	}
	within(t, 3*time.Second, func() bool { return h.admit(claims[2]).Claims[0].Verdict == welcome })
	if took := time.Since(began); took < redis.Lease*8/10 {
		t.Errorf("it was to be had after %v, while a marker may have stood", took)
	}
	if s := ask(); !s.SoldOut {
		t.Errorf("dry again: %+v", s)
	}
}

// sell lets buyers at every shard try, and gives how many were admitted.
func (h *house) sell() (n int) {
	for shard := range h.c.Shards {
		r := h.admit(h.atHome(shard, 7)[6])
		if r.Claims[0].Verdict == welcome {
			n++
		}
	}
	return n
}

// settleDown waits until no lease runs and no unit is on its way.
func (h *house) settleDown() {
	within(h.t, 3*time.Second, func() bool {
		if err := h.Complete(h.t.Context(), h.c); err != nil {
			h.t.Error(err)
		}
		for _, s := range h.sums() {
			if s.Out != 0 {
				return false
			}
		}
		return true
	})
}

// atHome makes n claims of users whose home is shard.
func (h *house) atHome(shard, n int) (all []sluice.Claim) {
	for i := 0; len(all) < n; i++ {
		if c := h.claim(fmt.Sprintf("home-%d", i), "1", 1); h.Home(h.c, c.ID.User()) == shard {
			all = append(all, c)
		}
	}
	return all
}

// within tries until it is so.
func within(t testing.TB, limit time.Duration, so func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); !so(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %v", limit)
		}
	}
}

// TestSoldOutUnitInTransit: PROTOCOL "What was wrong before": sold out was told while a unit was in transit.
func TestSoldOutUnitInTransit(t *testing.T) {
	h := sharded(t, 3, 1)
	if _, err := h.Out(t.Context(), &h.c, 0, 2, 1); err != nil {
		t.Fatal(err)
	}
	s, err := h.SoldOut(t.Context(), &h.c, 1)
	if err != nil || s.SoldOut {
		t.Errorf("%+v %v", s, err)
	}
	within(t, 3*time.Second, func() bool { // to wherever it may have gone under a lease
		s, err := h.SoldOut(t.Context(), &h.c, 1)
		if err != nil || s.SoldOut {
			t.Fatalf("%+v %v", s, err)
		}
		return h.sell() == 1
	})
}

// TestLeaseByGate: no lease without a gate, of another epoch or of a sealed gate.
func TestLeaseByGate(t *testing.T) {
	h, server := single(t, aSale("spring", 1), 0)
	for _, tt := range []struct {
		name string
		do   func()
		want redis.GateStatus
	}{
		{"dry", func() {}, redis.GateOK},
		{"another epoch", func() { h.c.Epoch = 2 }, redis.GateEpoch},
		{"sealed", func() {
			h.c.Epoch = 1
			if _, err := h.Seal(t.Context(), h.c, 2); err != nil {
				t.Fatal(err)
			}
		}, redis.GateClosed},
		{"no gate", server.FlushAll, redis.GateNone},
	} {
		tt.do()
		d, err := h.Dry(t.Context(), &h.c, 0)
		s, err2 := h.SoldOut(t.Context(), &h.c, 0)
		if err != nil || err2 != nil || d.Status != tt.want || s.Status != tt.want ||
			d.Granted != (tt.want == redis.GateOK) || s.SoldOut != d.Granted {
			t.Errorf("%s: %+v, %+v, %v %v", tt.name, d, s, err, err2)
		}
	}
}

func TestHolders(t *testing.T) {
	h, server := single(t, aSale("spring", 3), 10)
	a, b := h.claim("a", "1", 1), h.claim("b", "1", 1)
	h.admit(a, h.claim("a", "2", 1))
	h.admit(b, h.claim("a", "3", 1))
	h.apply(take(h.claim("c", "1", 1)))
	read := func(from int64) redis.Holders {
		t.Helper()
		r, err := h.Gates.Holders(t.Context(), &h.c, 0, from)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := read(0)
	want := []sluice.UserKey{a.ID.User(), b.ID.User(), sluice.UserKeyOf("c")}
	if !slices.Equal(r.Keys, want) || r.Next != 30 || r.Total != 30 || r.Epoch != 1 {
		t.Errorf("%+v", r)
	}
	if r := read(30); len(r.Keys) != 0 || r.Next != 30 {
		t.Errorf("at the end: %+v", r)
	}
	h.arm(2, 10)
	if r := read(10); r.Epoch != 2 || len(r.Keys) != 2 {
		t.Errorf("in the next epoch: %+v", r)
	}
	server.FlushAll()
	if r := read(0); r.Status != redis.GateNone {
		t.Errorf("without a gate: %+v", r)
	}
}

// TestDrop deletes in slices, and nothing that is not settled.
func TestDrop(t *testing.T) {
	h, server := single(t, aSale("spring", 3), 100_000)
	h.c.Epoch = 1
	rows := make([]sluice.ClaimRow, 25_000)
	for i := range rows {
		rows[i] = row(h.claim(user(i), "1", 1), 1, 1)
	}
	h.arm(2, 100_000, rows...)
	a := h.claim("a", "1", 1)
	h.admit(a)
	if more, err := h.Drop(t.Context(), h.c, true); !more || err == nil {
		t.Errorf("with a claim that is not settled: %v %v", more, err)
	}
	h.want("still on sale", h.admit(h.claim("b", "1", 1)), welcome)
	if err := h.Gates.Settled(t.Context(), []sluice.Claim{a, h.claim("b", "1", 1)}); err != nil {
		t.Fatal(err)
	}
	if err := h.client.Do(t.Context(), "XTRIM", h.client.OutboxKey(&h.c, 0), "MAXLEN", "0"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		claims bool
		left   string
		calls  int
	}{{false, "1", 1}, {true, "0", 3}} {
		calls := 0
		for more := true; more; calls++ {
			var err error
			if more, err = h.Drop(t.Context(), h.c, tt.claims); err != nil {
				t.Fatal(err)
			}
		}
		if n := server.Do("DBSIZE"); n != tt.left || calls < tt.calls {
			t.Errorf("claims %v: %s keys left after %d calls", tt.claims, n, calls)
		}
	}
}
