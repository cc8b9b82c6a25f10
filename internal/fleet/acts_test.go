package fleet_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestActsOnASwitchAreRecorded: a switch is set several times while the ledger is away, or set there and then anew in
// the ledger. Each act is in the audit log, once, in its order, whoever leads.
func TestActsOnASwitchAreRecorded(t *testing.T) {
	off := rate(0)
	off.Set = false
	for _, leader := range []string{"node-0", "node-1"} {
		synctest.Test(t, func(t *testing.T) {
			ledger, redis := newStore(), newStore()
			all := start(t, 2, ledger, redis)
			defer stop(all)
			ask := func(at int, value float64) {
				t.Helper()
				x := rate(value)
				if value == 0 {
					x = off
				}
				if r, err := all[at].desk.Set(t.Context(), x, operator); err != nil || r.InForce != 2 {
					t.Fatalf("%v: %+v, %v", value, r, err)
				}
			}
			leads := func(who string, away bool) {
				ledger.mu.Lock()
				ledger.leader, ledger.away = who, away
				ledger.mu.Unlock()
				<-time.After(5 * time.Second)
			}
			want := func(what string, acts ...string) {
				t.Helper()
				ledger.mu.Lock()
				defer ledger.mu.Unlock()
				if !slices.Equal(ledger.acts, acts) {
					t.Errorf("%s, %s leads: the audit log has %q, want %q", what, leader, ledger.acts, acts)
				}
				ledger.acts = nil
				if len(redis.pending) != 0 || len(redis.replaced) != 0 {
					t.Errorf("%s: left in Redis: %v, %v", what, redis.pending, redis.replaced)
				}
			}
			<-time.After(time.Second)
			leads("nobody", true)
			ask(0, 10)
			ask(1, 20)
			ask(0, 0)
			leads(leader, false)
			want("set twice and cleared", "ann max_rate 10", "ann max_rate 20", "ann max_rate 0")

			leads("nobody", true)
			ask(1, 30)
			leads("nobody", false)
			ask(0, 40)
			leads(leader, false)
			want("set anew in the ledger", "ann max_rate 40", "ann max_rate 30")

			leads("nobody", true)
			ask(1, 50)
			leads("nobody", false)
			ask(1, 0)
			leads(leader, false)
			want("cleared in the ledger, which has another", "ann max_rate 0", "ann max_rate 50")

			leads("nobody", true)
			ask(0, 60)
			leads("nobody", false)
			ask(1, 0)
			leads(leader, false)
			want("cleared in a ledger that has none", "ann max_rate 60", "ann max_rate 0")
		})
	}
}
