package api_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/api"
)

func TestPublicDescription(t *testing.T) {
	doc := api.PublicOpenAPI()
	body, err := api.EncodeOpenAPI(doc)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../api/openapi-public.json", body)
	for name, ok := range api.Documented() {
		if !ok {
			t.Errorf("%s has no summary, tag or response", name)
		}
		method, path, _ := strings.Cut(name, " ")
		if item := doc.Paths[path]; item == nil || operationOf(item, method) == nil {
			t.Errorf("%s is not described", name)
		}
	}
}

func operationOf(item *huma.PathItem, method string) *huma.Operation {
	return map[string]*huma.Operation{
		"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete,
	}[method]
}

// TestAnswersFitTheirDescription sends real requests and holds each answer against the schema of its status.
func TestAnswersFitTheirDescription(t *testing.T) {
	ledger := &fakeClaims{}
	r := record("alice", "r1", sluice.ClaimConfirmed)
	ledger.put(r)
	gate := &fakeGate{campaign: spring()}
	p := public(t, api.PublicConfig{}, api.PublicDeps{
		Gate: gate, Claims: ledger, Campaigns: &fakeCampaigns{views: []sluice.CampaignView{view("spring", nil)}},
	})
	doc := api.PublicOpenAPI()
	for _, tt := range []struct{ method, path, uri, body, who string }{
		{"GET", "/v1/time", "/v1/time", "", ""},
		{"GET", "/healthz", "/healthz", "", ""},
		{"GET", "/v1/campaigns", "/v1/campaigns", "", ""},
		{"GET", "/v1/campaigns", "/v1/campaigns?limit=0", "", ""},
		{"GET", "/v1/campaigns/{id}", "/v1/campaigns/spring", "", ""},
		{"GET", "/v1/campaigns/{id}", "/v1/campaigns/none", "", ""},
		{"GET", "/v1/claims/{claim_id}", "/v1/claims/" + r.ID.String(), "", alice},
		{"GET", "/v1/claims/{claim_id}", "/v1/claims/" + r.ID.String(), "", "X-None: 1"},
		{"GET", "/v1/campaigns/{id}/claims", claims, "", alice},
		{"POST", "/v1/campaigns/{id}/claims", claims, `{"quantity":0}`, alice},
		{"POST", "/v1/campaigns/{id}/claims", claims, `{`, alice},
		{"POST", "/v1/campaigns/{id}/claims", claims, strings.Repeat("x", 20<<10), alice},
	} {
		got := do(p, peer, tt.method, tt.uri, tt.body, isJSON, tt.who)
		fits(t, doc, operationOf(doc.Paths[tt.path], tt.method), tt.method+" "+tt.uri, got)
	}
	claim := operationOf(doc.Paths["/v1/campaigns/{id}/claims"], "POST")
	for _, d := range decisions() {
		gate.decide = decided(d)
		fits(t, doc, claim, d.Reason.String(), do(p, peer, "POST", claims, "", alice))
	}
}

func fits(t *testing.T, doc *huma.OpenAPI, o *huma.Operation, name string, got answer) {
	t.Helper()
	described := o.Responses[strconv.Itoa(got.status)]
	if described == nil {
		described = o.Responses[strconv.Itoa(got.status/100)+"XX"]
	}
	if described == nil {
		t.Errorf("%s: status %d is not described: %s", name, got.status, got.body)
		return
	}
	media := described.Content[got.header("Content-Type")]
	if media == nil {
		t.Errorf("%s: %d is not described as %q", name, got.status, got.header("Content-Type"))
		return
	}
	var v any
	if err := json.Unmarshal([]byte(got.body), &v); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	var res huma.ValidateResult
	huma.Validate(doc.Components.Schemas, media.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, &res)
	for _, err := range res.Errors {
		t.Errorf("%s: %d: %v: %s", name, got.status, err, got.body)
	}
}
