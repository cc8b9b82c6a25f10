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
	rows := 0
	err := b.EachBucket(t.Context(), "spring", 0, 0, func(x *sluice.Bucket) error {
		rows++
		if x.Counts[sluice.ReasonSoldOut] != 31 || x.Counts[sluice.ReasonNone] != 2 || x.Latency[3] != 31 {
			t.Errorf("%v, %v", x.Counts, x.Latency[3])
		}
		return nil
	})
	if err != nil || rows != 1 {
		t.Errorf("%d buckets, %v", rows, err)
	}
}
