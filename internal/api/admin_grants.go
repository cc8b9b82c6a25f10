package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// GrantDesk issues claims by hand. Bulk streams: it calls emit with each line's result in the order of the lines,
// and goes on to the end whatever a line says; an error of emit ends it, with what was begun finished.
type GrantDesk interface {
	Give(ctx context.Context, campaign string, g sluice.Grant, a sluice.Actor) (sluice.Decision, error)
	Bulk(ctx context.Context, campaign string, format sluice.BulkFormat, body io.Reader, a sluice.Actor,
		emit func(sluice.GrantResult) error) (sluice.GrantTotals, error)
}

// AudienceDesk keeps who may claim on a campaign that asks for an audience. Bodies are read line by line.
type AudienceDesk interface {
	Upload(ctx context.Context, campaign string, replace bool, body io.Reader, a sluice.Actor) (
		sluice.AudienceResult, error)
	Remove(ctx context.Context, campaign string, body io.Reader, a sluice.Actor) (sluice.AudienceResult, error)
}

// How often the results of a bulk are sent on, where their buffer does not fill before.
const bulkFlush = 200 * time.Millisecond

type (
	grantBody struct {
		GrantID  string `json:"grant_id,omitempty" doc:"Required: names the grant for good, 1 to 128 bytes"`
		UserID   string `json:"user_id,omitempty" doc:"Required: 1 to 64 bytes"`
		Quantity *int   `json:"quantity,omitempty" nullable:"false" doc:"1 to the campaign's limit per user; default 1"`
		Reason   string `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
	// grantAnswer is what a grant came to: a claim's answer, with the grant id.
	grantAnswer struct {
		Line        int64    `json:"line,omitempty" doc:"In a bulk: the number of the line, a header counted"`
		GrantID     string   `json:"grant_id"`
		UserID      string   `json:"user_id"`
		Quantity    int      `json:"quantity"`
		Code        string   `json:"code" doc:"CONFIRMED, a reason, or VALIDATION where a line cannot be right"`
		Detail      string   `json:"detail,omitempty" doc:"With VALIDATION: what is wrong with the line"`
		ClaimID     string   `json:"claim_id,omitempty"`
		State       string   `json:"state,omitempty"`
		OrderID     string   `json:"order_id,omitempty"`
		CouponCode  string   `json:"coupon_code,omitempty"`
		CouponCodes []string `json:"coupon_codes,omitempty" doc:"Where the quantity is above 1"`
		Replayed    bool     `json:"replayed,omitempty" doc:"The recorded answer, given again"`
		Claims      []string `json:"claims,omitempty" doc:"With LIMIT_REACHED: the user's claims"`
	}
	// grantTotals is the last line of a bulk's answer, told from the others by done.
	grantTotals struct {
		Done      bool             `json:"done" doc:"Every line was read"`
		Lines     int64            `json:"lines"`
		Confirmed int64            `json:"confirmed" doc:"New ones"`
		Replayed  int64            `json:"replayed"`
		Units     int64            `json:"units" doc:"Of the new ones"`
		Faults    int64            `json:"faults" doc:"Lines that could not be right"`
		Refused   map[string]int64 `json:"refused"`
		Error     *Problem         `json:"error,omitempty" doc:"Why it ended before the last line"`
	}
	audienceAnswer struct {
		Lines   int64          `json:"lines"`
		Added   int64          `json:"added"`
		Removed int64          `json:"removed"`
		Total   int64          `json:"total" doc:"Users in the audience now"`
		Asked   bool           `json:"asked_for" doc:"False: all may claim until the campaign has eligibility.audience"`
		Faulty  int64          `json:"faulty" doc:"Lines that could not be right, and were passed over"`
		Errors  []FieldProblem `json:"errors,omitempty" doc:"The first 100 of them"`
	}
)

func grantAnswerOf(g *sluice.Grant, d *sluice.Decision) grantAnswer {
	a := grantAnswer{GrantID: g.ID, UserID: g.User, Quantity: g.Quantity, Code: d.Reason.String(),
		State: d.State.String(), Replayed: d.Replayed}
	for _, id := range d.Claims {
		a.Claims = append(a.Claims, id.String())
	}
	if !d.HasID {
		return a
	}
	if a.ClaimID = d.ID.String(); !d.Reason.Admitted() {
		return a
	}
	if d.Kind == sluice.KindGoods {
		a.OrderID = d.ID.OrderID()
	}
	a.CouponCode, a.CouponCodes = couponCodes(d.CouponCodes)
	return a
}

// registerGrants adds grants, one and many, and audiences.
func (a *Admin) registerGrants(api huma.API) {
	if desk := a.deps.Grants; desk != nil {
		a.registerGrant(api, desk)
		a.registerBulk(api, desk)
	}
	if desk := a.deps.Audience; desk != nil {
		a.registerAudience(api, desk)
	}
}

func (a *Admin) registerGrant(api huma.API, desk GrantDesk) {
	huma.Register(api, op("POST", "/v1/admin/campaigns/{id}/grants",
		"Issue a claim by hand, once a grant id", sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			CampaignPath
			Body grantBody
		}) (*struct{ Body grantAnswer }, error) {
			g := sluice.Grant{ID: in.Body.GrantID, User: in.Body.UserID, Quantity: valueOr(in.Body.Quantity, 1)}
			d, err := desk.Give(ctx, in.ID, g, actorBecause(ctx, in.Body.Reason))
			if err != nil {
				return nil, problemOf(err)
			}
			if status, isProblem := reasonStatus(d.Reason, false); isProblem {
				p := newProblem(status, d.Reason.String(), "")
				if d.HasID {
					p.ClaimID = d.ID.String()
				}
				return nil, p
			}
			return &struct{ Body grantAnswer }{grantAnswerOf(&g, &d)}, nil
		})
}

func (a *Admin) registerBulk(api huma.API, desk GrantDesk) {
	o := op("POST", "/v1/admin/campaigns/{id}/grants/bulk", "Issue up to a million claims by hand", sluice.RoleOperator)
	o.Description += " The body is CSV with the header user_id,grant_id,quantity (quantity may be left out) " +
		"or JSON lines with these fields. The answer is JSON lines: the result of each line in their order, " +
		"then the totals with \"done\". " +
		"Read it while you send: results wait for nobody. Sending the same grant ids again answers the same."
	o.Parameters = []*huma.Param{{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}}}
	text := &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"text/csv": text, typeJSONLines: text,
	}}
	o.Responses["200"] = &huma.Response{Description: "One line for each grant, then the totals",
		Content: map[string]*huma.MediaType{typeJSONLines: text}}
	a.stream(api, o, func(w http.ResponseWriter, r *http.Request) { a.bulk(desk, w, r) })
}

const typeJSONLines = "application/x-ndjson"

// bulkFormat reads the Content-Type of a bulk.
func bulkFormat(header string) (sluice.BulkFormat, error) {
	kind, _, _ := mime.ParseMediaType(header)
	switch kind {
	case "text/csv", "application/csv":
		return sluice.FormatCSV, nil
	case typeJSONLines, "application/jsonl", "application/json-lines", "application/jsonlines":
		return sluice.FormatJSONLines, nil
	}
	return "", newProblem(http.StatusUnsupportedMediaType, codeMediaType, "must be text/csv or "+typeJSONLines)
}

func (a *Admin) bulk(desk GrantDesk, w http.ResponseWriter, r *http.Request) {
	format, err := bulkFormat(r.Header.Get("Content-Type"))
	if err != nil {
		a.writeProblem(w, r, err)
		return
	}
	rc := http.NewResponseController(w)
	out, flushed := bufio.NewWriterSize(w, 32<<10), a.cfg.Now()
	began := false
	send := func(v any) error {
		if !began {
			began = true
			_ = rc.EnableFullDuplex() // HTTP/2 has it always; without it the body would be dropped at the first result
			w.Header().Set("Content-Type", typeJSONLines)
			w.WriteHeader(http.StatusOK)
		}
		line, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
		if now := a.cfg.Now(); now.Sub(flushed) >= bulkFlush {
			flushed = now
			if err := out.Flush(); err != nil {
				return err
			}
			return rc.Flush()
		}
		return nil
	}
	totals, err := desk.Bulk(r.Context(), r.PathValue("id"), format, r.Body, actorOf(r.Context()),
		func(res sluice.GrantResult) error { return send(bulkLine(&res)) })
	if err != nil && !began {
		a.writeProblem(w, r, err)
		return
	}
	last := grantTotals{Done: err == nil, Lines: totals.Lines, Confirmed: totals.Confirmed, Replayed: totals.Replayed,
		Units: totals.Units, Faults: totals.Faults, Refused: map[string]int64{}}
	for reason, n := range totals.Refused {
		last.Refused[reason.String()] = n
	}
	if err != nil {
		last.Error = a.finished(r.Context(), asProblem(err), err)
	}
	if send(last) == nil && out.Flush() == nil { // else the client is gone
		drain(r.Body)
	}
}

// maxDrain bounds what is read of a body that nobody wants any more.
const maxDrain = 64 << 20

// drain reads a body to its end: a server that answers while it reads cannot go on to the next request before.
// Where the rest is too long the connection is given up.
func drain(body io.Reader) {
	if n, err := io.CopyN(io.Discard, body, maxDrain); err == nil && n == maxDrain {
		panic(http.ErrAbortHandler)
	}
}

func bulkLine(res *sluice.GrantResult) grantAnswer {
	if res.Fault != "" {
		return grantAnswer{Line: res.Line, GrantID: res.ID, UserID: res.User, Quantity: res.Quantity,
			Code: codeValidation, Detail: res.Fault}
	}
	answer := grantAnswerOf(&res.Grant, &res.Decision)
	answer.Line = res.Line
	return answer
}

func (a *Admin) registerAudience(api huma.API, desk AudienceDesk) {
	const path = "/v1/admin/campaigns/{id}/audience"
	type act func(context.Context, string, io.Reader, sluice.Actor) (sluice.AudienceResult, error)
	upload := func(replace bool) act {
		return func(ctx context.Context, id string, body io.Reader, by sluice.Actor) (sluice.AudienceResult, error) {
			return desk.Upload(ctx, id, replace, body, by)
		}
	}
	for _, c := range []struct {
		method, path, summary string
		act                   act
	}{
		{"POST", path, "Add users to the audience", upload(false)},
		{"PUT", path, "Replace the audience", upload(true)},
		{"POST", path + "/remove", "Take users out of the audience", desk.Remove},
	} {
		o := op(c.method, c.path, c.summary, sluice.RoleOperator)
		o.Description += " The body is text or CSV: a user id a line, up to five million. " +
			"A first line user_id is a heading; further columns are passed over. " +
			"It keeps others out where the campaign's eligibility has \"audience\": true."
		o.Parameters = []*huma.Param{{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}}}
		text := &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
		o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"text/csv": text, "text/plain": text,
		}}
		o.Responses["200"] = &huma.Response{Description: "What was done", Content: map[string]*huma.MediaType{
			"application/json": {Schema: schemaOf[audienceAnswer](api)},
		}}
		a.stream(api, o, func(w http.ResponseWriter, r *http.Request) {
			res, err := c.act(r.Context(), r.PathValue("id"), r.Body, actorOf(r.Context()))
			if err != nil {
				a.writeProblem(w, r, err)
				return
			}
			writeAudience(w, &res)
		})
	}
}

func writeAudience(w http.ResponseWriter, res *sluice.AudienceResult) {
	answer := audienceAnswer{Lines: res.Lines, Added: res.Added, Removed: res.Removed, Total: res.Total,
		Asked: res.Asked, Faulty: res.Faulty}
	for _, f := range res.Faults {
		answer.Errors = append(answer.Errors, FieldProblem{f.Field, f.Detail})
	}
	w.Header().Set("Content-Type", "application/json")
	body, _ := json.Marshal(answer) // strings and numbers only: it cannot fail
	_, _ = w.Write(body)            // the client may be gone
}

// schemaOf registers T's schema and gives a reference to it.
func schemaOf[T any](api huma.API) *huma.Schema {
	return api.OpenAPI().Components.Schemas.Schema(typeFor[T](), true, "")
}
