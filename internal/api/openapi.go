package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// opDoc documents one route of the public listener.
type opDoc struct {
	summary, detail, tag string
	request              any // a zero value of the body's type; nil where there is no body
	optionalBody         bool
	response             any // a zero value of the answer's type
	status               int // of the good answer; zero means 200
	query                []paramDoc
	header               []paramDoc
	problems             []int // statuses beyond those that every route, its authKind and its body bring
}

// paramDoc documents one parameter of the query or one header.
type paramDoc struct {
	name, kind, means string // kind is string or integer
	low, high         int64  // bounds of an integer; bounds of the length of a string
}

// pageDocs are the parameters of every page.
func pageDocs() []paramDoc {
	return []paramDoc{
		{"limit", "integer", "Items of one page; default 100", 1, maxPage},
		{"cursor", "string", "next_cursor of the page before", 0, 256},
	}
}

// PublicOpenAPI describes the public listener, from its table of routes.
func PublicOpenAPI() *huma.OpenAPI {
	routes := publicRoutes()
	registry, _ := bodySchemas(routes)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Sluice public API", Version: "1",
			Description: "For buyers, merchants and the payment side. Decisions about claims are answers with a code; faults " +
				"of the request or the server are application/problem+json.",
		},
		Components: &huma.Components{
			Schemas: registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"buyer": {
					Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "The buyer's token; sub is the user",
				},
				"merchant": {Type: "http", Scheme: "bearer", Description: "An API key of role merchant"},
				"payment": {
					Type: "apiKey", In: "header", Name: "Sluice-Signature",
					Description: "t=<unix s>,v1=<hex HMAC-SHA256 of \"t.body\">, at most 5 minutes old",
				},
			},
		},
		Extensions: map[string]any{"x-reasons": reasonDocs(), "x-problem-codes": codeDocs()},
	}
	for i := range routes {
		doc.AddOperation(routes[i].operation(registry))
	}
	return doc
}

func (r *route) operation(registry huma.Registry) *huma.Operation {
	d := &r.doc
	o := &huma.Operation{
		OperationID: operationID(r.method, r.path), Method: r.method, Path: r.path,
		Summary: d.summary, Description: d.detail, Tags: []string{d.tag},
		Responses: map[string]*huma.Response{}, Parameters: r.parameters(),
	}
	good := &huma.Response{Description: "OK"}
	if d.response != nil {
		good.Content = map[string]*huma.MediaType{"application/json": {
			Schema: registry.Schema(reflect.TypeOf(d.response), true, ""),
		}}
	}
	status := d.status
	if status == 0 {
		status = http.StatusOK
	}
	o.Responses[strconv.Itoa(status)] = good
	for _, s := range r.statuses() {
		o.Responses[strconv.Itoa(s)] = problemResponse(http.StatusText(s))
	}
	if d.request != nil {
		o.RequestBody = &huma.RequestBody{
			Required: !d.optionalBody,
			Content: map[string]*huma.MediaType{"application/json": {
				Schema: registry.Schema(reflect.TypeOf(d.request), true, ""),
			}},
		}
	}
	scheme := [...]string{authBuyer: "buyer", authMerchant: "merchant", authPayment: "payment", authClaim: "buyer"}
	if r.auth != authNone {
		o.Security = []map[string][]string{{scheme[r.auth]: {}}}
	}
	return o
}

// statuses lists the problems that the route can answer.
func (r *route) statuses() []int {
	all := append([]int{http.StatusInternalServerError}, r.doc.problems...)
	if strings.Contains(r.path, "{") {
		all = append(all, http.StatusNotFound)
	}
	if len(r.doc.query) > 0 || r.doc.request != nil {
		all = append(all, http.StatusUnprocessableEntity)
	}
	if r.doc.request != nil {
		all = append(all, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if r.auth != authNone {
		all = append(all, http.StatusUnauthorized)
	}
	if r.auth == authMerchant {
		all = append(all, http.StatusForbidden, http.StatusTooManyRequests)
	}
	if r.lane != laneFree || r.auth != authNone {
		all = append(all, http.StatusServiceUnavailable)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *route) parameters() []*huma.Param {
	var all []*huma.Param
	for s := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(s, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			all = append(all, &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: "string"}})
		}
	}
	for _, d := range r.doc.query {
		all = append(all, d.param("query"))
	}
	for _, d := range r.doc.header {
		all = append(all, d.param("header"))
	}
	return all
}

func (d *paramDoc) param(in string) *huma.Param {
	s := &huma.Schema{Type: d.kind}
	if d.kind == "integer" {
		low, high := float64(d.low), float64(d.high)
		s.Minimum, s.Maximum = &low, &high
	} else {
		low, high := int(d.low), int(d.high)
		s.MinLength, s.MaxLength = &low, &high
	}
	return &huma.Param{Name: d.name, In: in, Description: d.means, Schema: s}
}

// reasonDoc tells how one Reason is answered.
type reasonDoc struct {
	Code    string `json:"code"`
	Body    int    `json:"status_body"` // with decision_status: body
	HTTP    int    `json:"status_http"` // with decision_status: http
	Problem bool   `json:"problem"`
	EN      string `json:"message_en"`
	ZH      string `json:"message_zh_cn"`
}

func reasonDocs() []reasonDoc {
	var all []reasonDoc
	for _, r := range sluice.Reasons() {
		body, problem := reasonStatus(r, false)
		http, _ := reasonStatus(r, true)
		all = append(all, reasonDoc{r.String(), body, http, problem, reasonText[r][langEN], reasonText[r][langZH]})
	}
	return all
}

// codeDoc tells what people read for one problem code.
type codeDoc struct {
	Code string `json:"code"`
	EN   string `json:"title_en"`
	ZH   string `json:"title_zh_cn"`
}

func codeDocs() []codeDoc {
	var all []codeDoc
	for _, code := range slices.Sorted(maps.Keys(codeText)) {
		all = append(all, codeDoc{code, codeText[code][langEN], codeText[code][langZH]})
	}
	return all
}

// AdminOpenAPI describes the operators' listener as it was built.
func (a *Admin) AdminOpenAPI() *huma.OpenAPI { return a.api.OpenAPI() }

// EncodeOpenAPI gives the description as it is served and checked in: indented, with a final newline.
func EncodeOpenAPI(doc *huma.OpenAPI) ([]byte, error) {
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("api: encode the description: %w", err)
	}
	var loose any // sorts the keys
	if err := json.Unmarshal(raw, &loose); err != nil {
		return nil, fmt.Errorf("api: encode the description: %w", err)
	}
	out, err := json.MarshalIndent(loose, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("api: encode the description: %w", err)
	}
	return append(out, '\n'), nil
}
