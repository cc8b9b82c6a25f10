package fleet_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
)

// pendingRate has the fleet set a switch while its ledger is away, and leaves it pending in Redis though the ledger is
// back, as when Redis stops answering in that moment.
func pendingRate(t *testing.T, all []*node, ledger *store) {
	t.Helper()
	<-time.After(2 * time.Second)
	ledger.mu.Lock()
	ledger.leader = "nobody"
	ledger.mu.Unlock()
	ledger.set(true, false)
	<-time.After(2 * time.Second)
	r, err := all[0].desk.Set(t.Context(), rate(1000), operator)
	if err != nil || r.InForce != 3 {
		t.Fatalf("while the ledger is away: %+v, %v", r, err)
	}
	ledger.set(false, false)
	<-time.After(2 * time.Second)
}

func rate(v float64) sluice.SwitchSetting {
	return sluice.SwitchSetting{Name: sluice.SwitchMaxRate, Value: v, Set: true}
}

// TestRedisFreezesWithASwitchPending: the switch is set anew in the ledger, on each node in turn, in the moment that
// Redis freezes. The answer waits for no call to Redis, and what Redis is owed it gets when it is back.
func TestRedisFreezesWithASwitchPending(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		for at := range 3 {
			synctest.Test(t, func(t *testing.T) {
				ledger, redis := newStore(), newStore()
				all := start(t, 3, ledger, redis)
				defer stop(all)
				pendingRate(t, all, ledger)
				redis.set(refuses, !refuses)
				began := time.Now()
				r, err := all[at].desk.Set(t.Context(), rate(2000), operator)
				if took := time.Since(began); err != nil || r.Nodes != 3 || r.InForce != 3 || took > 1500*time.Millisecond {
					t.Errorf("node %d, refuses %v: %+v, %v after %s", at, refuses, r, err, took)
				}
				for i, x := range all {
					if v := x.board.value(sluice.SwitchMaxRate); v != 2000 {
						t.Errorf("node %d has %v in force", i, v)
					}
				}
				redis.set(false, false)
				<-time.After(3 * time.Second)
				if len(redis.pending) != 0 {
					t.Errorf("still pending: %v", redis.pending)
				}
				for i, x := range all {
					if v := x.board.value(sluice.SwitchMaxRate); v != 2000 {
						t.Errorf("in the end node %d has %v in force", i, v)
					}
				}
			})
		}
	}
}

// TestClearedWhileRedisFreezes: what is pending in Redis is cleared while that cannot be told. The answer says that
// it is so on this node only; when Redis is back the switch is clear everywhere and stays so, whoever records what.
func TestClearedWhileRedisFreezes(t *testing.T) {
	for _, leader := range []string{"node-0", "node-1"} {
		synctest.Test(t, func(t *testing.T) {
			ledger, redis := newStore(), newStore()
			all := start(t, 3, ledger, redis)
			defer stop(all)
			pendingRate(t, all, ledger)
			redis.set(false, true)
			off := rate(0)
			off.Set = false
			began := time.Now()
			r, err := all[1].desk.Set(t.Context(), off, operator)
			if took := time.Since(began); err != nil || r.Nodes != 3 || r.InForce != 1 || took > 4*time.Second {
				t.Errorf("%+v, %v after %s", r, err, took)
			}
			if v := all[1].board.value(sluice.SwitchMaxRate); v != -1 {
				t.Errorf("it is %v on the node that cleared it", v)
			}
			ledger.mu.Lock()
			ledger.leader = leader
			ledger.mu.Unlock()
			redis.set(false, false)
			<-time.After(5 * time.Second)
			for i, x := range all {
				if v := x.board.value(sluice.SwitchMaxRate); v != -1 {
					t.Errorf("leader %s: it is %v again on node %d", leader, v, i)
				}
			}
			if len(redis.pending) != 0 {
				t.Errorf("still pending: %v", redis.pending)
			}
		})
	}
}

// TestNodesThatAreNotListed: neither store lists the nodes any more once the switch is recorded. Those count that were
// known, and only where they are known to have it.
func TestNodesThatAreNotListed(t *testing.T) {
	for _, calls := range [][]string{{"Nodes", "Meet"}, {"Nodes", "Meet", "SettingsRev"}} {
		synctest.Test(t, func(t *testing.T) {
			ledger, redis := newStore(), newStore()
			all := start(t, 3, ledger, redis)
			defer stop(all)
			<-time.After(3 * time.Second)
			ledger.stick(calls...)
			redis.stick(calls...)
			began := time.Now()
			r, err := all[2].desk.Set(t.Context(), closed, operator)
			if took := time.Since(began); err != nil || r.Nodes != 3 || r.InForce != 1 || took > 4*time.Second {
				t.Errorf("%v hang: %+v, %v after %s", calls, r, err, took)
			}
		})
	}
}

// TestRevisionOfWhatWasNotRead: a node that sees a new revision and cannot read the switches of it does not say that
// it has them in force.
func TestRevisionOfWhatWasNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := newStore()
		all := start(t, 2, ledger, nil)
		defer stop(all)
		<-time.After(3 * time.Second)
		ledger.stick("node-1") // reading them
		r, err := all[0].desk.Set(t.Context(), closed, operator)
		if err != nil || r.Nodes != 2 || r.InForce != 1 || all[0].board.value(sluice.SwitchClosed) != 1 {
			t.Errorf("%+v, %v; here it is %v", r, err, all[0].board.value(sluice.SwitchClosed))
		}
		ledger.stick()
		<-time.After(2 * time.Second)
		if v := all[1].board.value(sluice.SwitchClosed); v != 1 {
			t.Errorf("the other node has %v in the end", v)
		}
	})
}

// TestRecordingDoesNotStopTheHeart: the node that records what is pending has a call to Redis hang, and goes on taking
// over what others set.
func TestRecordingDoesNotStopTheHeart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger, redis := newStore(), newStore()
		all := start(t, 3, ledger, redis)
		defer stop(all)
		pendingRate(t, all, ledger)
		redis.stick("Pending", "Drop")
		ledger.mu.Lock()
		ledger.leader = "node-2"
		ledger.mu.Unlock()
		<-time.After(time.Second)
		r, err := all[0].desk.Set(t.Context(), closed, operator)
		if err != nil || r.Nodes != 3 || r.InForce != 3 || r.TookMS > 1500 {
			t.Errorf("%+v, %v", r, err)
		}
		redis.stick()
		<-time.After(10 * time.Second)
		if want := []string{"ann closed 1", "ann max_rate 1000"}; !slices.Equal(ledger.acts, want) {
			t.Errorf("the audit log has %v", ledger.acts)
		}
	})
}
