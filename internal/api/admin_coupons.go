package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// CouponDesk serves operators. Codes are as a person typed them. Steps may be repeated; who asked for them is put
// down in the audit log.
type CouponDesk interface {
	// Search gives a page of coupons, newest first.
	Search(ctx context.Context, q sluice.CouponQuery) (sluice.Page[sluice.Coupon], error)
	// Get gives one coupon; ErrNotFound for an unknown or forged code.
	Get(ctx context.Context, code string) (sluice.Coupon, error)
	// Revoke takes a coupon away; ErrConflict where it is redeemed.
	Revoke(ctx context.Context, code string, c sluice.RevokeChoice, by sluice.Actor) (sluice.Coupon, error)
	// Unlock ends whatever lock is on it.
	Unlock(ctx context.Context, code string, by sluice.Actor) (sluice.Coupon, error)
	// Use redeems a coupon for a merchant, or reverses that, as the merchant itself may (see Coupons.Use).
	Use(ctx context.Context, u sluice.CouponUse, lockSec int64) (sluice.Redemption, error)
}

// issuedCoupon is a coupon as operators see it.
type issuedCoupon struct {
	CouponBody
	N             int        `json:"n" doc:"Its number within the claim, from 0"`
	UserID        string     `json:"user_id"`
	RequestID     string     `json:"request_id,omitempty"`
	Source        string     `json:"source" enum:"claim,grant"`
	LiveUnits     int64      `json:"live_units" doc:"What it still takes from the stock"`
	LimitUnits    int64      `json:"limit_units" doc:"What it still takes of the user's limit"`
	MerchantID    string     `json:"merchant_id,omitempty" doc:"Who locked or redeemed it"`
	Reference     string     `json:"reference,omitempty" doc:"Of the lock or of the redemption"`
	LockedUntil   *time.Time `json:"locked_until,omitempty"`
	RedeemedAt    *time.Time `json:"redeemed_at,omitempty"`
	AmountMinor   int64      `json:"amount_minor,omitempty"`
	DiscountMinor int64      `json:"discount_minor,omitempty"`
	EndedAt       *time.Time `json:"ended_at,omitempty" doc:"When it expired or was revoked"`
}

func issuedCouponOf(x *sluice.Coupon) issuedCoupon {
	a := issuedCoupon{
		CouponBody: couponBodyOf(x), N: x.N, UserID: x.User, RequestID: x.RequestID, Source: x.Source.String(),
		LiveUnits: x.LiveUnits, LimitUnits: x.LimitUnits, LockedUntil: timeOrNil(x.LockedUntil),
		RedeemedAt: timeOrNil(x.RedeemedAt), AmountMinor: x.Spend, DiscountMinor: x.Discount, EndedAt: timeOrNil(x.EndedAt),
	}
	switch x.State {
	case sluice.CouponLocked:
		a.MerchantID, a.Reference = x.LockBy, x.LockRef
	case sluice.CouponRedeemed:
		a.MerchantID, a.Reference = x.RedeemBy, x.RedeemRef
	}
	return a
}

type (
	couponOutput struct{ Body issuedCoupon }
	// CouponPath is exported because huma passes over what is embedded and is not.
	CouponPath struct {
		Code string `path:"code" maxLength:"64"`
	}
	couponSearch struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		Cursor   string `query:"cursor" maxLength:"256" doc:"next_cursor of the page before"`
		User     string `query:"user" maxLength:"64"`
		Code     string `query:"code" maxLength:"64"`
		Claim    string `query:"claim" maxLength:"64" doc:"A claim id"`
		Request  string `query:"request" maxLength:"128" doc:"A request id; quick together with user"`
		Campaign string `query:"campaign" maxLength:"64"`
		State    string `query:"state" enum:"issued,locked,redeemed,expired,revoked,rejected"`
	}
	revokeInput struct {
		CouponPath
		Body *struct {
			UnitBack  bool   `json:"unit_back,omitempty" doc:"The unit returns to the stock"`
			LimitBack bool   `json:"limit_back,omitempty" doc:"The user may claim again within the limit"`
			Reason    string `json:"reason,omitempty" maxLength:"500" doc:"For the audit log"`
		}
	}
	deskRedeemInput struct {
		CouponPath
		Body struct {
			Reference   string `json:"reference" minLength:"1" maxLength:"128" doc:"Names the redemption for good"`
			MerchantID  string `json:"merchant_id" minLength:"1" maxLength:"64" doc:"In whose name"`
			AmountMinor int64  `json:"amount_minor" minimum:"0" maximum:"1000000000000" doc:"What the purchase costs"`
			Reason      string `json:"reason,omitempty" maxLength:"500" doc:"For the audit log"`
		}
	}
	deskReverseInput struct {
		CouponPath
		Body struct {
			Reference  string `json:"reference" minLength:"1" maxLength:"128" doc:"That of the redemption"`
			MerchantID string `json:"merchant_id" minLength:"1" maxLength:"64" doc:"In whose name it was redeemed"`
			Reason     string `json:"reason,omitempty" maxLength:"500" doc:"For the audit log"`
		}
	}
	redemptionOutput struct{ Body redemptionBody }
	unlockInput      struct {
		CouponPath
		Body *struct {
			Reason string `json:"reason,omitempty" maxLength:"500" doc:"For the audit log"`
		}
	}
)

// registerCoupons adds what operators do with coupons.
func (a *Admin) registerCoupons(api huma.API) {
	desk := a.deps.Coupons
	if desk == nil {
		return
	}
	answer := func(x sluice.Coupon, err error) (*couponOutput, error) {
		if err != nil {
			return nil, problemOf(err)
		}
		return &couponOutput{Body: issuedCouponOf(&x)}, nil
	}
	search := op("GET", "/v1/admin/coupons", "Search coupons, newest first", sluice.RoleSupport)
	search.Description += " A page may be short, even empty, and still have a next_cursor: a search that no index helps " +
		"looks at a bounded number of coupons."
	huma.Register(api, search, func(ctx context.Context, in *couponSearch) (*listOutput[issuedCoupon], error) {
		q := sluice.CouponQuery{
			User: in.User, Code: in.Code, RequestID: in.Request, Campaign: in.Campaign,
			State: sluice.CouponState(in.State), Limit: in.Limit, Cursor: in.Cursor,
		}
		if in.Claim != "" {
			id, ok := sluice.ParseClaimID(in.Claim)
			if !ok {
				return listOf(sluice.Page[sluice.Coupon]{}, nil, issuedCouponOf)
			}
			q.ID = id
		}
		page, err := desk.Search(ctx, q)
		return listOf(page, err, issuedCouponOf)
	})
	huma.Register(api, op("GET", "/v1/admin/coupons/{code}", "One coupon", sluice.RoleSupport),
		func(ctx context.Context, in *CouponPath) (*couponOutput, error) {
			return answer(desk.Get(ctx, in.Code))
		})
	huma.Register(api, op("POST", "/v1/admin/coupons/{code}/revoke", "Take a coupon away", sluice.RoleSupport),
		func(ctx context.Context, in *revokeInput) (*couponOutput, error) {
			var choice sluice.RevokeChoice
			by := actorOf(ctx)
			if b := in.Body; b != nil {
				choice = sluice.RevokeChoice{UnitBack: b.UnitBack, LimitBack: b.LimitBack}
				by.Reason = b.Reason
			}
			return answer(desk.Revoke(ctx, in.Code, choice, by))
		})
	huma.Register(api, op("POST", "/v1/admin/coupons/{code}/unlock", "End a coupon's lock", sluice.RoleSupport),
		func(ctx context.Context, in *unlockInput) (*couponOutput, error) {
			by := actorOf(ctx)
			if in.Body != nil {
				by.Reason = in.Body.Reason
			}
			return answer(desk.Unlock(ctx, in.Code, by))
		})
}

// registerRedemptions adds what operators do in a merchant's name, where its till cannot.
func (a *Admin) registerRedemptions(api huma.API) {
	desk := a.deps.Coupons
	if desk == nil {
		return
	}
	use := func(ctx context.Context, u sluice.CouponUse, reason string) (*redemptionOutput, error) {
		u.By = actorOf(ctx)
		u.By.Reason = reason
		r, err := desk.Use(ctx, u, 0)
		if err != nil {
			return nil, problemOf(err)
		}
		return &redemptionOutput{Body: redemptionBodyOf(r)}, nil
	}
	redeem := op("POST", "/v1/admin/coupons/{code}/redeem", "Redeem a coupon in a merchant's name", sluice.RoleOperator)
	redeem.Description += " Idempotent by merchant and reference, and one with what the merchant does itself."
	huma.Register(api, redeem, func(ctx context.Context, in *deskRedeemInput) (*redemptionOutput, error) {
		b := &in.Body
		return use(ctx, sluice.CouponUse{Op: sluice.CouponRedeem, Code: in.Code, Reference: b.Reference,
			Merchant: b.MerchantID, SpendMinor: b.AmountMinor}, b.Reason)
	})
	reverse := op("POST", "/v1/admin/coupons/{code}/reverse", "Undo a redemption in a merchant's name",
		sluice.RoleOperator)
	huma.Register(api, reverse, func(ctx context.Context, in *deskReverseInput) (*redemptionOutput, error) {
		b := &in.Body
		return use(ctx, sluice.CouponUse{Op: sluice.CouponReverse, Code: in.Code, Reference: b.Reference,
			Merchant: b.MerchantID}, b.Reason)
	})
}
