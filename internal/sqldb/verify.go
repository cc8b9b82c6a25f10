package sqldb

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"github.com/sluice-sale/sluice"
)

// Verify recomputes a campaign from its rows as of one moment between two transactions, at which permit is asked for
// its own figures, so that the two can be compared exactly; permit must be quick, and nil means that there is none.
// The writer goes on while the rows are counted. A user's units are held in memory meanwhile, 16 bytes a claim.
func (db *DB) Verify(ctx context.Context, campaignID string, permit func() sluice.Permit) (sluice.Verification, error) {
	var v sluice.Verification
	done, err := db.count(ctx)
	if err != nil {
		return v, err
	}
	defer done()
	err = db.snapshot(ctx, campaignID, func(sluice.Campaign) {
		v.CheckedAt = sluice.MillisOf(db.cfg.Now())
		if permit != nil {
			p := permit()
			v.Available, v.Queued = p.Available, p.Queued
		}
	}, func(s *snapshot) error { return s.verify(&v, permit != nil) })
	if err != nil {
		return v, fmt.Errorf("sqldb: verify %s: %w", campaignID, err)
	}
	return v, nil
}

// count waits for the turn of one who counts all rows of a campaign. One at a time does: it holds a reader for seconds
// and memory by the claim, and whoever asks for many must not leave buyers without either.
func (db *DB) count(ctx context.Context) (done func(), err error) {
	select {
	case db.counting <- struct{}{}:
		return func() { <-db.counting }, nil
	case <-ctx.Done():
		return nil, translate(ctx.Err(), "wait for a turn to count")
	}
}

// spending is what the rows of one user take of a limit.
type spending struct {
	user  sluice.UserKey
	units int32
}

func (s *snapshot) verify(v *sluice.Verification, hasPermit bool) error {
	c := s.campaign
	v.Total = c.Stock.Total
	own, err := s.count(v, c)
	if err != nil {
		return err
	}
	if !hasPermit {
		v.Available = v.Total - v.Held - v.Sold
	}
	limit, all := int64(c.PerUserLimit), own
	if c.LimitGroup != "" {
		if all, limit, err = s.groupSpending(own); err != nil {
			return err
		}
	}
	if v.UsersOverLimit, err = s.overLimit(own, all, limit); err != nil {
		return err
	}
	adjusted, err := s.number(`SELECT COALESCE(SUM(applied), 0) FROM adjustments WHERE campaign_no = ?`, c.No)
	if err != nil {
		return err
	}
	v.UnitsOverTotal = max(0, v.Held+v.Sold-v.Total)
	v.Drift = abs(v.Total-v.Available-v.Queued-v.Held-v.Sold) + abs(c.Stock.Held-v.Held) + abs(c.Stock.Sold-v.Sold) +
		abs(v.Total-c.Created-adjusted)
	v.OK = v.Drift == 0 && v.UsersOverLimit == 0 && v.UnitsOverTotal == 0
	return nil
}

// count sums the live units of the campaign's rows and collects what they take of the limit.
func (s *snapshot) count(v *sluice.Verification, c sluice.Campaign) ([]spending, error) {
	var list []spending
	query := `SELECT claim_id, limit_units, live_units, state = 'unpaid' FROM orders WHERE seq BETWEEN ? AND ?`
	if c.Kind == sluice.KindCoupon {
		query = `SELECT claim_id, limit_units, live_units, 0 FROM coupons WHERE seq BETWEEN ? AND ?`
	}
	err := s.scan(query, c.No, func(row []driver.Value) error {
		id := claimIDOf(row[0])
		if units := intOf(row[1]); units > 0 {
			list = append(list, spending{id.User(), int32(units)})
		}
		if intOf(row[3]) == 1 {
			v.Held += intOf(row[2])
		} else {
			v.Sold += intOf(row[2])
		}
		if len(list)%loadBatch == 0 {
			return s.ctx.Err()
		}
		return nil
	})
	return list, err
}

// groupSpending adds what the other campaigns of the limit group take, and gives the largest limit among them: a claim
// counts against its own campaign's limit, so that no sum can lie above the largest.
func (s *snapshot) groupSpending(own []spending) (all []spending, limit int64, err error) {
	all = slices.Clone(own)
	var others []sluice.Campaign
	err = s.query(`SELECT no, kind, per_user_limit FROM campaigns WHERE limit_group = ?`, func(row []driver.Value) error {
		limit = max(limit, intOf(row[2]))
		if no := intOf(row[0]); no != s.campaign.No {
			others = append(others, sluice.Campaign{No: no, Kind: sluice.Kind(textOf(row[1]))})
		}
		return nil
	}, s.campaign.LimitGroup)
	for _, c := range others {
		var ignored sluice.Verification
		list, e := s.count(&ignored, c)
		if e != nil {
			return nil, 0, e
		}
		all = append(all, list...)
	}
	return all, limit, err
}

// overLimit counts the users whose rows on the campaign pass its own limit, or whose rows in the whole group pass the
// group's.
func (s *snapshot) overLimit(own, all []spending, groupLimit int64) (int64, error) {
	over := map[string]bool{}
	if err := s.suspects(own, int64(s.campaign.PerUserLimit), s.campaign.No, over); err != nil {
		return 0, err
	}
	if s.campaign.LimitGroup != "" {
		if err := s.suspects(all, groupLimit, 0, over); err != nil {
			return 0, err
		}
	}
	return int64(len(over)), nil
}

// suspects finds the user keys whose sum passes limit and asks the rows who it is: two users may share a key. With no
// = 0 all campaigns of the limit group count.
func (s *snapshot) suspects(list []spending, limit, no int64, over map[string]bool) error {
	slices.SortFunc(list, func(a, b spending) int { return bytes.Compare(a.user[:], b.user[:]) })
	for i := 0; i < len(list); {
		sum, j := int64(0), i
		for ; j < len(list) && list[j].user == list[i].user; j++ {
			sum += int64(list[j].units)
		}
		if sum > limit {
			if err := s.ask(list[i].user, limit, no, over); err != nil {
				return err
			}
		}
		i = j
	}
	return nil
}

func (s *snapshot) ask(key sluice.UserKey, limit, no int64, over map[string]bool) error {
	var id sluice.ClaimID
	copy(id[:], key[:])
	lo, hi := claimRange(id)
	const rows = `SELECT user_id, limit_units FROM %s WHERE claim_id BETWEEN ?1 AND ?2
		AND CASE WHEN ?3 > 0 THEN campaign_no = ?3 ELSE limit_no = (SELECT limit_no FROM campaigns WHERE no = ?5) END`
	return s.query(`SELECT user_id FROM (`+fmt.Sprintf(rows, "orders")+` UNION ALL `+fmt.Sprintf(rows, "coupons")+`) u
		GROUP BY user_id HAVING SUM(limit_units) > ?4`, func(row []driver.Value) error {
		over[textOf(row[0])] = true
		return nil
	}, lo[:], hi[:], no, limit, s.campaign.No)
}

func (s *snapshot) number(query string, args ...driver.Value) (n int64, err error) {
	err = s.query(query, func(row []driver.Value) error { n = intOf(row[0]); return nil }, args...)
	return n, err
}

func abs(n int64) int64 { return max(n, -n) }
