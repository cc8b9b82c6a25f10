package sim

import (
	"context"
	"database/sql"
	"fmt"
)

// Auditor recounts a ledger's rows with SQL of its own. It shares no code with the ledger.
type Auditor struct{ DB *sql.DB }

// sums is what the auditor found of a campaign.
type sums struct {
	total, held, sold int64 // counters
	created           int64
	adjusted          int64
	rowsHeld          int64 // live units of unpaid orders
	rowsSold          int64 // live units of everything else
	overLimit         int64 // users above the campaign's limit
	twice             int64 // claim ids that stand more than once
	unbalanced        int64 // paid orders without a payment that applied, and the reverse
	doubleUse         int64 // coupons with more redemptions than reversals + 1
}

// A campaign's rows are those whose seq is in its range (the migration says so); mine names them for the tables below.
const mine = `seq BETWEEN c.no << 32 AND (c.no << 32) + 4294967295`

const auditSQL = `
SELECT c.total, c.held, c.sold, c.created_total,
  (SELECT COALESCE(SUM(applied), 0) FROM adjustments a WHERE a.campaign_no = c.no AND a.state = 'done'),
  (SELECT COALESCE(SUM(live_units), 0) FROM orders WHERE ` + mine + ` AND state = 'unpaid'),
  (SELECT COALESCE(SUM(live_units), 0) FROM orders WHERE ` + mine + ` AND state <> 'unpaid')
    + (SELECT COALESCE(SUM(live_units), 0) FROM coupons WHERE ` + mine + `),
  (SELECT COUNT(*) FROM (
     SELECT user_id FROM (
       SELECT o.user_id, o.limit_units FROM campaigns m
         CROSS JOIN orders o ON o.seq BETWEEN m.no << 32 AND (m.no << 32) + 4294967295 WHERE m.limit_no = c.limit_no
       UNION ALL SELECT k.user_id, k.limit_units FROM campaigns m
         CROSS JOIN coupons k ON k.seq BETWEEN m.no << 32 AND (m.no << 32) + 4294967295 WHERE m.limit_no = c.limit_no)
     GROUP BY user_id HAVING SUM(limit_units) > c.per_user_limit)),
  (SELECT COUNT(*) FROM (SELECT claim_id FROM orders WHERE ` + mine + ` GROUP BY claim_id HAVING COUNT(*) > 1)),
  (SELECT COUNT(*) FROM orders o WHERE o.` + mine + ` AND o.amount_minor > 0 AND (o.state IN ('paid', 'refunded')) <>
     (SELECT COUNT(*) > 0 FROM payments p WHERE p.claim_id = o.claim_id AND p.result = 'applied')),
  (SELECT COUNT(*) FROM coupons k WHERE k.` + mine + ` AND k.code IS NOT NULL
     AND (SELECT COUNT(*) FROM redemptions r WHERE r.code = k.code AND r.op = 'redeem')
       - (SELECT COUNT(*) FROM redemptions r WHERE r.code = k.code AND r.op = 'reverse') <>
       (CASE WHEN k.state = 'redeemed' THEN 1 ELSE 0 END))
FROM campaigns c WHERE c.id = ?`

// check recounts a campaign and compares it with what the oracle says.
func (a Auditor) check(ctx context.Context, c *campaign) error {
	var s sums
	err := a.DB.QueryRowContext(ctx, auditSQL, c.set.ID).Scan(&s.total, &s.held, &s.sold, &s.created, &s.adjusted,
		&s.rowsHeld, &s.rowsSold, &s.overLimit, &s.twice, &s.unbalanced, &s.doubleUse)
	if err != nil {
		return fmt.Errorf("audit %s: %w", c.set.ID, err)
	}
	held, sold := c.sums()
	want := sums{
		total: c.set.Stock.Total, held: held, sold: sold, created: c.set.Created, adjusted: c.set.Stock.Total - c.set.Created,
		rowsHeld: held, rowsSold: sold,
	}
	if s != want || s.rowsHeld+s.rowsSold > s.total {
		return fmt.Errorf("audit %s: the rows say %+v, the history %+v", c.set.ID, s, want)
	}
	return nil
}
