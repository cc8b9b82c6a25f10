package sqldb_test

import (
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// TestBucketsOfSeveralNodes: what nodes have counted of one second adds up, however often each writes its own.
func TestBucketsOfSeveralNodes(t *testing.T) {
	url := servers.MariaDB(t).URL
	a := openMySQL(t, sqldb.MySQLConfig{URL: url, Node: "a"})
	b := openMySQL(t, sqldb.MySQLConfig{URL: url, Node: "b"})
	c := sluice.Campaign{ID: "spring", Kind: sluice.KindGoods, Title: "Spring", PerUserLimit: 1,
		Stock: sluice.Stock{Total: 5}, Created: 5, StartsAt: 1000, EndsAt: 9000, Control: sluice.ControlOpen}
	if _, err := a.CreateCampaign(t.Context(), c, sluice.Actor{Name: "op", Role: sluice.RoleOperator}, 1); err != nil {
		t.Fatal(err)
	}
	bucket := func(soldOut int64) []sluice.Bucket {
		x := sluice.Bucket{Start: 2000, Width: 1000}
		x.Counts[sluice.ReasonSoldOut], x.Counts[sluice.ReasonNone] = soldOut, 1
		x.Latency[3] = uint32(soldOut)
		return []sluice.Bucket{x}
	}
	for _, step := range []struct {
		db *sqldb.DB
		n  int64
	}{{a, 10}, {b, 20}, {a, 11}, {b, 20}} {
		if err := step.db.KeepBuckets(t.Context(), "spring", bucket(step.n)); err != nil {
			t.Fatal(err)
		}
	}
	c2 := openMySQL(t, sqldb.MySQLConfig{URL: url, Node: "c"})
	for _, tc := range []struct {
		name        string
		db          *sqldb.DB
		own, others int64 // of decisions; the latency has as many
		nodes       int64 // others that have counted; each has one replay
	}{{"a", a, 11, 20, 1}, {"b", b, 20, 11, 1}, {"c, which has counted nothing", c2, 0, 31, 2}} {
		var got [2]int64
		err := tc.db.EachBucket(t.Context(), "spring", 0, 0, func(x *sluice.Bucket, own bool) error {
			n, i := tc.nodes, 0
			if own {
				n, i = 1, 1
			}
			got[i] += x.Counts[sluice.ReasonSoldOut]
			if x.Counts[sluice.ReasonNone] != n || int64(x.Latency[3]) != x.Counts[sluice.ReasonSoldOut] {
				t.Errorf("%s: %v, %v", tc.name, x.Counts, x.Latency[3])
			}
			return nil
		})
		if err != nil || got != [2]int64{tc.others, tc.own} {
			t.Errorf("%s: %v of others and its own, %v", tc.name, got, err)
		}
	}
}
