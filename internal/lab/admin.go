package lab

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-sale/sluice"
)

// Operators speaks the operators' API: the little of it that a run needs.
type Operators struct {
	base string
	key  string
	http *http.Client
}

// NewOperators makes one from the addresses and the key in cfg. The caller closes it.
func NewOperators(cfg Config) *Operators {
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: cfg.RootCAs}, Proxy: nil}
	client := &http.Client{Transport: tr, Timeout: adminWait}
	return &Operators{base: strings.TrimSuffix(cfg.AdminURL, "/"), key: cfg.AdminKey, http: client}
}

// Close lets go of its connections.
func (a *Operators) Close() { a.http.CloseIdleConnections() }

// call makes one call. A status other than want is an error that carries the server's own words.
func (a *Operators) call(ctx context.Context, method, path string, body any, want int, into any) error {
	raw, err := a.raw(ctx, method, path, body, want)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("lab: %s %s: %w", method, path, err)
	}
	return nil
}

func (a *Operators) raw(ctx context.Context, method, path string, body any, want int) ([]byte, error) {
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("lab: %s %s: %w", method, path, err)
		}
		send = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, send)
	if err != nil {
		return nil, fmt.Errorf("lab: %s %s: %w", method, path, err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := a.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("lab: %s %s: %w: %w", method, path, sluice.ErrUnavailable, err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAdminBody))
	if err != nil {
		return nil, fmt.Errorf("lab: %s %s: %w", method, path, err)
	}
	if res.StatusCode != want {
		return nil, fmt.Errorf("lab: %s %s answered %d: %s", method, path, res.StatusCode, raw[:min(len(raw), 500)])
	}
	return raw, nil
}

// goodsBody, couponBody and campaignBody are the API's words for a new campaign.
type goodsBody struct {
	SKU           string `json:"sku"`
	PriceMinor    int64  `json:"price_minor"`
	Currency      string `json:"currency"`
	UnpaidWindowS int64  `json:"unpaid_window_s"`
}

type couponBody struct {
	Type      string `json:"type"`
	Value     int64  `json:"value"`
	MinSpend  int64  `json:"min_spend_minor"`
	Currency  string `json:"currency"`
	ValidDays int    `json:"valid_days"`
}

type campaignBody struct {
	ID           string      `json:"id,omitempty"`
	Kind         sluice.Kind `json:"kind"`
	Title        string      `json:"title"`
	Total        int64       `json:"total"`
	PerUserLimit int         `json:"per_user_limit"`
	StartsAt     time.Time   `json:"starts_at"`
	EndsAt       time.Time   `json:"ends_at"`
	Goods        *goodsBody  `json:"goods,omitempty"`
	Coupon       *couponBody `json:"coupon,omitempty"`
	LoadTest     bool        `json:"load_test"`

	Protection *protectionBody `json:"protection,omitempty"`
}

type protectionBody struct {
	Pass      string `json:"pass"`
	Challenge string `json:"challenge,omitempty"`
}

// The unpaid window is long enough that no unit comes back while a run lasts: the audit counts on it. People who look
// at a listed campaign expect an ordinary one.
const (
	unpaidWindow       = 24 * 3600
	unpaidWindowListed = 900
)

// CreateCampaign makes the campaign that cfg describes, open since a second ago, and gives its id.
func (a *Operators) CreateCampaign(ctx context.Context, cfg Config, now time.Time) (string, error) {
	body := campaignBody{
		ID: cfg.NewID, Kind: cfg.Kind, Title: cfg.Title, Total: cfg.Stock, PerUserLimit: cfg.Limit,
		StartsAt: now.Add(-time.Second).UTC(), LoadTest: !cfg.Listed,
		EndsAt: now.Add(time.Duration(cfg.Seconds)*time.Second + 24*time.Hour).UTC(),
	}
	if body.Title == "" {
		body.Title = "load test " + strconv.FormatUint(cfg.Seed, 10)
	}
	if cfg.Kind == sluice.KindCoupon {
		body.Coupon = &couponBody{Type: "amount_off", Value: 1000, MinSpend: 5000, Currency: "CNY", ValidDays: 7}
	} else {
		body.Goods = &goodsBody{SKU: "LAB", PriceMinor: 9900, Currency: "CNY", UnpaidWindowS: unpaidWindow}
		if cfg.Listed {
			body.Goods.UnpaidWindowS = unpaidWindowListed
		}
	}
	var made struct {
		ID string `json:"id"`
	}
	if err := a.call(ctx, http.MethodPost, "/v1/admin/campaigns", body, http.StatusCreated, &made); err != nil {
		return "", err
	}
	return made.ID, nil
}

// verification is the answer of /verify.
type verification struct {
	OK             bool  `json:"ok"`
	Total          int64 `json:"total"`
	Available      int64 `json:"available"`
	Queued         int64 `json:"queued"`
	Held           int64 `json:"held"`
	Sold           int64 `json:"sold"`
	UsersOverLimit int64 `json:"users_over_limit"`
	UnitsOverTotal int64 `json:"units_over_total"`
	Drift          int64 `json:"drift"`
}

// verify asks the server to recompute the campaign from its rows, once nothing is queued any more.
func (a *Operators) verify(ctx context.Context, campaign string) (v verification, err error) {
	path := "/v1/admin/campaigns/" + url.PathEscape(campaign) + "/verify"
	deadline := time.Now().Add(settleWait)
	for {
		if err = a.call(ctx, http.MethodGet, path, nil, http.StatusOK, &v); err != nil {
			return v, err
		}
		if v.Queued == 0 || time.Now().After(deadline) {
			return v, nil
		}
		wait := time.NewTimer(200 * time.Millisecond)
		select {
		case <-ctx.Done():
			wait.Stop()
			return v, ctx.Err()
		case <-wait.C:
		}
	}
}

// claimRow is one claim as the operators' API lists it.
type claimRow struct {
	ID        string `json:"claim_id"`
	User      string `json:"user_id"`
	RequestID string `json:"request_id"`
	Quantity  int64  `json:"quantity"`
	State     string `json:"state"`
}

// claims goes through all claims of campaign, page by page, from the cursor on.
func (a *Operators) claims(ctx context.Context, campaign, cursor string, each func(claimRow)) error {
	for {
		q := url.Values{"campaign_id": {campaign}, "limit": {strconv.Itoa(auditPage)}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		var page struct {
			Items []claimRow `json:"items"`
			Next  string     `json:"next_cursor"`
		}
		if err := a.call(ctx, http.MethodGet, "/v1/admin/claims?"+q.Encode(), nil, http.StatusOK, &page); err != nil {
			return err
		}
		for _, r := range page.Items {
			each(r)
		}
		if page.Next == "" || page.Next == cursor {
			return nil
		}
		cursor = page.Next
	}
}

// metrics reads the sums of the server's own metrics by name, labels added up; nil where they cannot be had.
func (a *Operators) metrics(ctx context.Context) map[string]float64 {
	raw, err := a.raw(ctx, http.MethodGet, "/metrics", nil, http.StatusOK)
	if err != nil {
		return nil
	}
	sums := map[string]float64{}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if i < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, _ := strings.Cut(line[:i], "{")
		if v, err := strconv.ParseFloat(line[i+1:], 64); err == nil {
			sums[name] += v
		}
	}
	return sums
}
