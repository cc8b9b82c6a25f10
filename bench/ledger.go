package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// The campaign that the ledger is filled with, and how.
const (
	filled    = "filled"
	fillBatch = sqldb.MaxSettle
	oneByOne  = 2 * time.Second // how long one transaction per claim is measured
)

// ledgerName is the server's name for the ledger in its data folder.
const ledgerName = "sluice.db"

func campaign(id string) sluice.Campaign {
	now := sluice.MillisOf(time.Now())
	return sluice.Campaign{
		ID: id, Kind: sluice.KindGoods, Title: id, Stock: sluice.Stock{Total: sluice.MaxTotal}, PerUserLimit: 1,
		StartsAt: now - 1000, EndsAt: now.Add(365 * 24 * time.Hour), LoadTest: true, Control: sluice.ControlOpen,
		Goods: sluice.Goods{SKU: "LAB", PriceMinor: 9900, Currency: "CNY", UnpaidWindowSec: sluice.MaxWindowSec},
	}
}

// claims makes n claims on id, numbered from `from`.
func claims(id string, from, n int) []sluice.Claim {
	at := sluice.MillisOf(time.Now())
	list := make([]sluice.Claim, n)
	for i := range list {
		user, request := fmt.Sprintf("filled-%08d", from+i), fmt.Sprintf("request-%08d", from+i)
		list[i] = sluice.Claim{
			ID: sluice.NewClaimID(id, user, sluice.SourceClaim, request), Campaign: id, User: user, RequestID: request,
			Quantity: 1, At: at,
		}
	}
	return list
}

// settle writes list in one transaction; every claim has to be confirmed.
func settle(ctx context.Context, db *sqldb.DB, list []sluice.Claim) error {
	out, err := db.Settle(ctx, list)
	if err != nil {
		return err
	}
	for i, o := range out {
		if o.Reason != sluice.ReasonConfirmed {
			return fmt.Errorf("claim %s came to %v", list[i].ID, o.Reason)
		}
	}
	return nil
}

func openLedger(ctx context.Context, dir, id string) (*sqldb.DB, error) {
	db, err := sqldb.Open(ctx, sqldb.Config{Path: filepath.Join(dir, ledgerName)})
	if err != nil {
		return nil, err
	}
	_, err = db.Campaign(ctx, id)
	if errors.Is(err, sluice.ErrNotFound) {
		_, err = db.CreateCampaign(ctx, campaign(id), sluice.Actor{Name: "bench"}, sluice.MillisOf(time.Now()))
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// filledFolder gives a data folder whose ledger holds at least n claims of one campaign, how many it holds, and the
// cursor before the first of them in the list of claims. It is kept between runs, since filling it takes longer than
// measuring; another schema makes another folder.
func (b *bench) filledFolder(ctx context.Context, n int) (dir string, rows, cursor int64, err error) {
	hash := fnv.New32a()
	schema, err := filepath.Glob(filepath.Join("internal", "sqldb", "migrations", "sqlite", "*.sql"))
	if err != nil {
		return "", 0, 0, err
	}
	for _, path := range schema {
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", 0, 0, err
		}
		_, _ = hash.Write(raw)
	}
	dir = filepath.Join(os.TempDir(), fmt.Sprintf("sluice-bench-filled-%d-%08x", n, hash.Sum32()))
	db, err := openLedger(ctx, dir, filled)
	if err != nil {
		return "", 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	c, err := db.Campaign(ctx, filled)
	if err != nil {
		return "", 0, 0, err
	}
	have := int(c.Stock.Held)
	began := time.Now()
	for have < n {
		size := min(fillBatch, n-have)
		if err := settle(ctx, db, claims(filled, have, size)); err != nil {
			return "", 0, 0, fmt.Errorf("fill the ledger (remove %s to begin anew): %w", dir, err)
		}
		if have/fillBatch%100 == 0 {
			fmt.Fprintf(os.Stderr, "\r  filling %s: %d of %d claims, %.0f s ", dir, have, n, time.Since(began).Seconds())
		}
		if have += size; ctx.Err() != nil {
			return "", 0, 0, ctx.Err()
		}
	}
	return dir, int64(have), c.No << 32, nil
}

// oneTransactionEach measures the baseline: the same store, one commit for every claim, in claims a second.
func (b *bench) oneTransactionEach(ctx context.Context) (perSecond float64, err error) {
	dir, err := os.MkdirTemp(b.temp, "one-by-one-")
	if err != nil {
		return 0, err
	}
	db, err := openLedger(ctx, dir, filled)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	n, began := 0, time.Now()
	for time.Since(began) < oneByOne {
		if err := settle(ctx, db, claims(filled, n, 1)); err != nil {
			return 0, err
		}
		n++
	}
	return float64(n) / time.Since(began).Seconds(), nil
}
