package api_test

import (
	"context"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

// actDesk keeps who acted last.
type actDesk struct {
	api.SwitchDesk
	by sluice.Actor
}

func (d *actDesk) Set(
	_ context.Context, s sluice.SwitchSetting, a sluice.Actor,
) (sluice.SwitchResult, error) {
	d.by = a
	return sluice.SwitchResult{Setting: s}, nil
}

// TestReasonsAreUTF8: what stands in an address may be any bytes. MySQL takes text alone, and what is kept in Redis is
// found again by what it reads as.
func TestReasonsAreUTF8(t *testing.T) {
	desk := &actDesk{}
	a := operators(t, api.AdminConfig{}, api.AdminDeps{Switches: desk})
	got := ask(a, "DELETE", "/v1/admin/switches/closed?reason=a%ffb%E5%BC%80", "", as("operator"))
	if got.status != 200 || desk.by.Reason != "a\ufffdb\u5f00" {
		t.Errorf("%d %s: the reason is %q", got.status, got.body, desk.by.Reason)
	}
}
