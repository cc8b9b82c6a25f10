package upkeep

import (
	"context"
	"time"

	"github.com/sluice-sale/sluice"
)

// Outdater marks coupons past their validity as expired.
type Outdater interface {
	// ExpireCoupons ends up to most coupons past their validity at now in one transaction that claims and payments
	// go before. Idempotent; an error means that it may be called again.
	ExpireCoupons(ctx context.Context, now sluice.Millis, most int) (sluice.Sweep, error)
}

// CouponExpirer writes down what every reader of a coupon sees already: that its validity is over. It may be late
// without harm, so it looks every 10 s by default.
type CouponExpirer struct{ *agent }

// NewCouponExpirer makes the agent; Start sets it going.
func NewCouponExpirer(cfg Config, store Outdater) *CouponExpirer {
	if cfg.Every <= 0 {
		cfg.Every = 10 * time.Second
	}
	return &CouponExpirer{newAgent("coupon expirer", cfg, store.ExpireCoupons)}
}
