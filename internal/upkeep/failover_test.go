package upkeep_test

import (
	"errors"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// TestFailoverInACluster: a master of a Cluster dies with claims that its replica never saw. The replica is armed anew
// from the ledger, and every unit is where it has to be.
func TestFailoverInACluster(t *testing.T) {
	cluster := servers.RedisCluster(t, servers.Proxied())
	w := newWorld(t, sluice.Campaign{Shards: 2}, func(t *testing.T, w *world) permit {
		return onRedis(t, w, cluster.URL(), nil, nil)
	})
	gate := w.gate.(*inRedis)
	orders := w.buy(names("a", 4)...)
	kept := w.queue("kept")
	w.promised(kept)
	c := w.campaign()
	claim := w.claim("unseen", 1)
	master := cluster.MasterOf(gate.client.OutboxKey(&c, gate.Home(c, claim.ID.User())))
	cluster.WaitInStep()
	cluster.ProxyOf(master).LoseReplies()
	if r := gate.admit(c, claim); r != sluice.ReasonUnavailable {
		t.Errorf("an answer that was lost is %s", r)
	}
	w.cancel(orders[0])
	master.Kill9()
	w.rearmer.Doubt(w.id, c.Epoch) // as whoever was answered nothing
	preheater := upkeep.NewPreheater(upkeep.PreheaterConfig{}, w.db, w.rearmer, w.reconciler, &w.frozen)
	w.until(func() error { // the other shard sells on at once, this one when its replica is the master
		_, err := w.rearmer.RunOnce(t.Context())
		if _, e := preheater.RunOnce(t.Context()); e != nil {
			err = e
		}
		armed, e := w.rearmer.Armed(t.Context(), w.campaign())
		if e == nil && !armed {
			e = errors.New("not armed yet")
		}
		return errors.Join(err, e)
	})
	w.release()
	w.exact()
	w.causeIs(sluice.EpochLost)
	if n := w.available(); n != total-4 {
		t.Errorf("%d units are on sale, want %d", n, total-4)
	}
	clean(t, w.reconcile())
	// Who was not answered asks again with the same request, and gets the unit.
	claim.Epoch = w.campaign().Epoch
	if r := gate.admit(w.campaign(), claim); r != sluice.ReasonQueued {
		t.Errorf("the same request again: %s", r)
	}
	for _, out := range w.settle(append(kept, claim)) {
		if out.Reason != sluice.ReasonConfirmed {
			t.Errorf("%+v", out)
		}
	}
	w.exact()
}
