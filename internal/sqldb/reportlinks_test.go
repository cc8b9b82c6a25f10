package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

func link(n byte, campaign string, created, expires sluice.Millis) sluice.ReportLink {
	return sluice.ReportLink{ID: fmt.Sprintf("lnk_%03d", n), Campaign: campaign, Hash: [32]byte{n, 1}, Note: "for 财务",
		KeyID: "key_1", Author: "Olga", CreatedAt: created, ExpiresAt: expires}
}

func TestReportLinks(t *testing.T) { onEach(t, linksAreKept) }

func linksAreKept(t *testing.T, open opener) {
	ctx := context.Background()
	db := open(t, sqldb.Config{})
	for _, id := range []string{"g", "h"} {
		create(t, db, priced(id))
	}
	one := link(1, "g", 1000, 2000)
	if err := db.CreateReportLink(ctx, one, operator); err != nil {
		t.Fatal(err)
	}
	if e := lastAudit(t, db); e.Action != "report_link.create" || e.Object != "campaign/g" || e.Before != nil {
		t.Errorf("audit row %+v", e)
	}
	if got, err := db.ReportLink(ctx, one.Hash); err != nil || got != one {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := db.ReportLink(ctx, [32]byte{9}); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("no such link: %v", err)
	}
	if err := db.CreateReportLink(ctx, link(2, "nope", 1000, 2000), operator); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("of no campaign: %v", err)
	}
	if all, err := db.ReportLinks(ctx, "g", 1999); err != nil || len(all) != 1 || all[0] != one {
		t.Errorf("%+v %v", all, err)
	}
	if all, err := db.ReportLinks(ctx, "g", 2000); err != nil || len(all) != 0 {
		t.Errorf("it has expired: %+v %v", all, err)
	}
	// As many as may be, made at once; what has expired makes room, and other campaigns are not counted.
	var made, full atomic.Int64
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 15 {
				err := db.CreateReportLink(ctx, link(byte(10+w*15+i), "g", 3000, 9000), operator)
				switch {
				case err == nil:
					made.Add(1)
				case faultCode(err) == "TOO_MANY_LINKS":
					full.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if made.Load() != sluice.MaxReportLinks || full.Load() != 10 {
		t.Errorf("%d were made, %d refused", made.Load(), full.Load())
	}
	if err := db.CreateReportLink(ctx, link(200, "h", 3000, 9000), operator); err != nil {
		t.Errorf("another campaign: %v", err)
	}
	if _, err := db.ReportLink(ctx, one.Hash); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("what has expired is kept: %v", err)
	}
	if _, err := db.DeleteReportLink(ctx, "g", "lnk_200", operator, 4000); faultCode(err) != "UNKNOWN_LINK" {
		t.Errorf("under another campaign: %v", err)
	}
	if l, err := db.DeleteReportLink(ctx, "h", "lnk_200", operator, 4000); err != nil || l.ID != "lnk_200" {
		t.Errorf("%+v %v", l, err)
	}
	if e := lastAudit(t, db); e.Action != "report_link.delete" || e.Object != "campaign/h" || e.After != nil {
		t.Errorf("audit row %+v", e)
	}
	if _, err := db.DeleteReportLink(ctx, "h", "lnk_200", operator, 4000); !errors.Is(err, sluice.ErrNotFound) {
		t.Errorf("taken back twice: %v", err)
	}
}
