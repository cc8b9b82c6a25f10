package api

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// ClaimIndex looks claims up. ErrNotFound: there is no such claim, or no such campaign.
type ClaimIndex interface {
	// ClaimsPage reads a campaign's claims in the order of their rows, after the row `after`; next is 0 on the
	// last page.
	ClaimsPage(ctx context.Context, campaign string, after int64, limit int) (
		page []sluice.ClaimRecord, next int64, err error)
	ClaimRecord(ctx context.Context, id sluice.ClaimID) (sluice.ClaimRecord, error)
	// UserClaims gives a user's claims, on all campaigns where campaign is empty.
	UserClaims(ctx context.Context, user, campaign string) ([]sluice.ClaimRecord, error)
	// ClaimsByRequest may take seconds: no index serves it.
	ClaimsByRequest(ctx context.Context, campaign, requestID string) ([]sluice.ClaimRecord, error)
}

// LookupDesk tells everything about one user, claim, order, request, coupon or payment, in the order of time.
type LookupDesk interface {
	Lookup(ctx context.Context, q string) ([]sluice.TimelineEntry, error)
}

type (
	adminClaim struct {
		ClaimID     string    `json:"claim_id"`
		CampaignID  string    `json:"campaign_id"`
		UserID      string    `json:"user_id"`
		RequestID   string    `json:"request_id,omitempty"`
		Source      string    `json:"source" enum:"claim,grant"`
		Quantity    int       `json:"quantity"`
		State       string    `json:"state" enum:"queued,confirmed,rejected,released"`
		Code        string    `json:"code"`
		OrderID     string    `json:"order_id,omitempty"`
		OrderState  string    `json:"order_state,omitempty"`
		CouponCode  string    `json:"coupon_code,omitempty"`
		CouponCodes []string  `json:"coupon_codes,omitempty" doc:"Where the quantity is above 1"`
		CouponState string    `json:"coupon_state,omitempty"`
		CreatedAt   time.Time `json:"created_at"`
	}
	claimListInput struct {
		CampaignID string `query:"campaign_id" maxLength:"64"`
		UserID     string `query:"user_id" maxLength:"64"`
		RequestID  string `query:"request_id" maxLength:"128" doc:"With campaign_id"`
		ClaimID    string `query:"claim_id" maxLength:"64"`
		Limit      int    `query:"limit" minimum:"1" maximum:"5000" default:"100"`
		Cursor     string `query:"cursor" maxLength:"200" doc:"next_cursor of the page before"`
	}
	claimPageOutput struct {
		Body struct {
			Items      []adminClaim `json:"items" nullable:"false"`
			NextCursor string       `json:"next_cursor,omitempty"`
		}
	}
	timelineEntry struct {
		At         time.Time       `json:"at"`
		Type       string          `json:"type"`
		CampaignID string          `json:"campaign_id,omitempty"`
		Subject    string          `json:"subject,omitempty"`
		Data       json.RawMessage `json:"data,omitempty"`
	}
	lookupOutput struct {
		Body struct {
			Items []timelineEntry `json:"items" nullable:"false"`
		}
	}
)

func adminClaimOf(r *sluice.ClaimRecord) adminClaim {
	a := adminClaim{ClaimID: r.ID.String(), CampaignID: r.Campaign, UserID: r.User, RequestID: r.RequestID,
		Source: r.Source.String(), Quantity: r.Quantity, State: r.State.String(), Code: r.Code.String(),
		OrderState: string(r.OrderState), CouponState: string(r.Coupon), CreatedAt: r.At.Time()}
	if r.OrderState != "" && r.OrderState != sluice.OrderRejected {
		a.OrderID = r.ID.OrderID()
	}
	a.CouponCode, a.CouponCodes = couponCodes(r.CouponCodes)
	return a
}

// couponCodes gives the first of a claim's codes, and all of them where there are more than one, as people see them.
func couponCodes(codes []string) (string, []string) {
	if len(codes) == 0 {
		return "", nil
	}
	all := make([]string, len(codes))
	for i, code := range codes {
		all[i] = sluice.FormatCouponCode(code)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all[0], all
}

// registerAdminClaims adds the listing of claims and the lookup.
func (a *Admin) registerAdminClaims(api huma.API) {
	if index := a.deps.Claims; index != nil {
		huma.Register(api, op("GET", "/v1/admin/claims",
			"Claims: all of a campaign in the order of their rows, or those of one user, request or claim", sluice.RoleSupport),
			func(ctx context.Context, in *claimListInput) (*claimPageOutput, error) {
				found, next, err := findClaims(ctx, index, in)
				if err != nil {
					return nil, problemOf(err)
				}
				out := &claimPageOutput{}
				out.Body.NextCursor, out.Body.Items = cursorText(next), answers(found, adminClaimOf)
				return out, nil
			})
	}
	if desk := a.deps.Lookup; desk != nil {
		huma.Register(api, op("GET", "/v1/admin/lookup",
			"Everything about one user, claim, order, request, coupon, payment or block, in the order of time",
			sluice.RoleSupport),
			func(ctx context.Context, in *struct {
				Q string `query:"q" required:"true" minLength:"1" maxLength:"128"`
			}) (*lookupOutput, error) {
				found, err := desk.Lookup(ctx, in.Q)
				if err != nil {
					return nil, problemOf(err)
				}
				out := &lookupOutput{}
				out.Body.Items = make([]timelineEntry, len(found))
				for i, e := range found {
					out.Body.Items[i] = timelineEntry{e.At.Time(), e.Type, e.Campaign, e.Subject, e.Data}
				}
				return out, nil
			})
	}
}

// findClaims takes the narrowest way there is: by claim, by user, by request, by campaign.
func findClaims(ctx context.Context, index ClaimIndex, in *claimListInput) ([]sluice.ClaimRecord, int64, error) {
	after, err := cursorNumber(in.Cursor)
	if err != nil {
		return nil, 0, err
	}
	var found []sluice.ClaimRecord
	switch {
	case in.ClaimID != "":
		id, ok := sluice.ParseClaimID(in.ClaimID)
		if !ok {
			return nil, 0, invalidField("claim_id", "must be a claim id, such as clm_…")
		}
		r, err := index.ClaimRecord(ctx, id)
		if errors.Is(err, sluice.ErrNotFound) {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		found = []sluice.ClaimRecord{r}
	case in.UserID != "":
		found, err = index.UserClaims(ctx, in.UserID, in.CampaignID)
	case in.CampaignID == "":
		return nil, 0, invalidField("campaign_id", "is required without user_id and claim_id")
	case in.RequestID != "":
		found, err = index.ClaimsByRequest(ctx, in.CampaignID, in.RequestID)
	default:
		return index.ClaimsPage(ctx, in.CampaignID, after, in.Limit)
	}
	if err != nil {
		return nil, 0, err
	}
	var list []sluice.ClaimRecord
	for _, r := range found {
		if (in.CampaignID == "" || r.Campaign == in.CampaignID) && (in.UserID == "" || r.User == in.UserID) &&
			(in.RequestID == "" || r.RequestID == in.RequestID) {
			list = append(list, r)
		}
	}
	next := int64(0) // these lists are read as a whole: their cursor counts
	if list = list[min(after, int64(len(list))):]; len(list) > in.Limit {
		list, next = list[:in.Limit], after+int64(in.Limit)
	}
	return list, next, nil
}
