package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/sluice-sale/sluice"
)

// requestInfo is what every request of the operators' listener carries in its context.
type requestInfo struct {
	id   string
	addr netip.Addr
	lang lang
	key  sluice.APIKey // set once authenticated

	agent   string         // what the caller calls itself
	secure  bool           // the caller speaks TLS
	foreign bool           // a page of another site asks
	session sluice.Session // of the cookie, with secret; both empty where an API key came
	secret  string
}

type requestKey struct{}

func infoOf(ctx context.Context) *requestInfo {
	if i, ok := ctx.Value(requestKey{}).(*requestInfo); ok {
		return i
	}
	return &requestInfo{}
}

// actorOf gives who is doing this, for the audit log: the key, its role, the address and the request id.
func actorOf(ctx context.Context) sluice.Actor {
	i := infoOf(ctx)
	actor := sluice.Actor{KeyID: i.key.ID, Name: i.key.Name, Role: i.key.Role, RequestID: i.id}
	if i.addr.IsValid() {
		actor.Addr = i.addr.String()
	}
	return actor
}

// actorBecause is actorOf with the reason that the operator gave, as UTF-8: in an address it may be any bytes.
func actorBecause(ctx context.Context, reason string) sluice.Actor {
	actor := actorOf(ctx)
	actor.Reason = strings.ToValidUTF8(reason, "\uFFFD")
	return actor
}

// The keys in Operation.Metadata: which role a call needs, and whether it is outside of all scopes.
const (
	roleOf   = "role"
	unscoped = "unscoped"
)

// anyScope is the mark of an unscoped call in the description.
const anyScope = "x-any-scope"

// op describes one call of the operators' listener that needs role. Its id is made of method and path.
func op(method, path, summary string, role sluice.Role) huma.Operation {
	return huma.Operation{
		OperationID: operationID(method, path), Method: method, Path: path, Summary: summary,
		Description:     "Needs an API key of role " + string(role) + " or above.",
		Security:        []map[string][]string{{"apiKey": {}}, {"session": {}}},
		Metadata:        map[string]any{roleOf: role},
		MaxBodyBytes:    maxAdminBody,
		BodyReadTimeout: adminReadTimeout,
		Tags:            []string{tagOf(path)},
		Responses: map[string]*huma.Response{
			"4XX": problemResponse("The request is at fault"), "5XX": problemResponse("The server is at fault"),
		},
	}
}

// problemResponse documents an answer that is a Problem.
func problemResponse(means string) *huma.Response {
	return &huma.Response{Description: means, Content: map[string]*huma.MediaType{
		problemType: {Schema: &huma.Schema{Ref: "#/components/schemas/Problem"}},
	}}
}

// operationID makes get-campaigns-id-verify of GET /v1/admin/campaigns/{id}/verify.
func operationID(method, path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "/v1"), "/admin")
	words := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/{}.", r) })
	return strings.Join(append([]string{strings.ToLower(method)}, words...), "-")
}

// tagOf groups calls by their noun: "Api keys" of /v1/admin/api-keys/{id}, "Audit log" of /v1/admin/audit-log.csv.
func tagOf(path string) string {
	noun, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(strings.Trim(path, "/"), "v1/"), "admin/"), "/")
	noun, _, _ = strings.Cut(noun, ".")
	noun = strings.ReplaceAll(noun, "-", " ")
	return strings.ToUpper(noun[:1]) + noun[1:]
}

// authenticate is the middleware of every call that was made with op.
func (a *Admin) authenticate(ctx huma.Context, next func(huma.Context)) {
	o := ctx.Operation()
	need, ok := o.Metadata[roleOf].(sluice.Role)
	r, w := humago.Unwrap(ctx)
	if !ok {
		a.writeProblem(w, r, newProblem(http.StatusInternalServerError, codeInternal, ""))
		return
	}
	err := a.permit(r, need)
	if _, free := o.Metadata[unscoped]; err == nil && !free {
		err = inScope(infoOf(r.Context()).key.Scope, o.Method, o.Tags)
	}
	if err != nil {
		a.writeProblem(w, r, err)
		return
	}
	next(ctx)
}

// stream registers a call whose body or answer is read and written piece by piece: bulk uploads, exports,
// profiles. The listener's timeouts are lifted; instead each read and each write may take streamIdle. The handler
// bounds the rows.
func (a *Admin) stream(api huma.API, o huma.Operation, handle func(http.ResponseWriter, *http.Request)) {
	if !o.Hidden {
		api.OpenAPI().AddOperation(&o)
	}
	api.Adapter().Handle(&o, api.Middlewares().Handler(func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		rc := http.NewResponseController(w)
		r.Body = &patientBody{ReadCloser: r.Body, rc: rc}
		_ = rc.SetReadDeadline(time.Now().Add(streamIdle)) // an answer without a connection has no deadline
		handle(&patientWriter{ResponseWriter: w, rc: rc}, r)
	}))
}

// patientBody gives each read its own time.
type patientBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

func (b *patientBody) Read(p []byte) (int, error) {
	_ = b.rc.SetReadDeadline(time.Now().Add(streamIdle))
	return b.ReadCloser.Read(p)
}

// patientWriter gives each write its own time.
type patientWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

func (w *patientWriter) Write(p []byte) (int, error) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(streamIdle))
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController through.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// writeProblem answers err outside huma.
func (a *Admin) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := a.finished(r.Context(), asProblem(err), err)
	h := w.Header()
	h.Set("Content-Type", problemType)
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt((p.RetryAfter+999)/1000, 10))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(p.Status)
	body, _ := json.Marshal(p) // strings and numbers only: it cannot fail
	_, _ = w.Write(body)       // the client may be gone
}

// finished fills in what depends on the request, and logs what is the server's fault.
func (a *Admin) finished(ctx context.Context, p *Problem, cause error) *Problem {
	info, q := infoOf(ctx), *p
	q.Title, q.RequestID = titleOf(q.Code, q.Status, info.lang), info.id
	if q.Status >= http.StatusInternalServerError {
		a.cfg.Logger.Log(ctx, failureLevel(cause), "request failed", "err", cause, "status", q.Status, "request_id", info.id)
	}
	return &q
}

// completeProblem is the transformer that gives huma's own errors the form of ours.
func (a *Admin) completeProblem(ctx huma.Context, _ string, v any) (any, error) {
	switch x := v.(type) {
	case *Problem:
		return a.finished(ctx.Context(), x, x), nil
	case *huma.ErrorModel:
		return a.finished(ctx.Context(), problemOfModel(x), x), nil
	}
	return v, nil
}

func problemOfModel(m *huma.ErrorModel) *Problem {
	p := newProblem(m.Status, codeOfStatus(m.Status), m.Detail)
	if m.Status >= http.StatusInternalServerError {
		p.Detail = ""
		return p
	}
	for _, d := range m.Errors[:min(len(m.Errors), maxErrors)] {
		if d == nil {
			continue
		}
		field := d.Location
		for _, in := range []string{"body.", "query.", "path."} {
			field = strings.TrimPrefix(field, in)
		}
		p.Errors = append(p.Errors, FieldProblem{Field: field, Detail: d.Message})
	}
	return p
}

// codeOfStatus gives the code for an error that came as a status only.
func codeOfStatus(status int) string {
	switch status {
	case http.StatusBadRequest:
		return codeMalformed
	case http.StatusNotFound:
		return codeNotFound
	case http.StatusRequestTimeout:
		return codeTimeout
	case http.StatusConflict:
		return codeConflict
	case http.StatusRequestEntityTooLarge:
		return codeTooLarge
	case http.StatusUnsupportedMediaType:
		return codeMediaType
	case http.StatusUnprocessableEntity:
		return codeValidation
	case http.StatusServiceUnavailable:
		return codeUnavailable
	}
	if status >= http.StatusInternalServerError {
		return codeInternal
	}
	return codeBadRequest
}

// strictFormat is JSON without keys that are there twice.
func strictFormat() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) },
		Unmarshal: func(data []byte, v any) error {
			if err := checkJSON(data); err != nil {
				return formError{asProblem(err)}
			}
			return json.Unmarshal(data, v)
		},
	}
}

// formError says what is wrong with a body's form. huma keeps only its text and answers 400.
type formError struct{ problem *Problem }

func (e formError) Error() string {
	if len(e.problem.Errors) > 0 {
		return e.problem.Errors[0].Field + " " + e.problem.Errors[0].Detail
	}
	return e.problem.Detail
}

// logPanic names the route, not the path as it came: see access.
func (a *Admin) logPanic(r *http.Request, route string, cause any) {
	a.cfg.Logger.Error("panic in a handler", "cause", fmt.Sprint(cause), "request_id", infoOf(r.Context()).id,
		"route", route, "stack", string(debug.Stack()))
}

type levelBody struct {
	Level string `json:"level" enum:"debug,info,warn,error" doc:"What is logged: this and everything above"`
}

type levelInput struct{ Body levelBody }

type levelOutput struct{ Body levelBody }

// registerSystem adds what is about the process itself.
func (a *Admin) registerSystem(api huma.API) {
	api.OpenAPI().Components.Schemas.Schema(typeOfProblem, true, "")
	a.registerProfiles(api)
	if a.cfg.Level == nil {
		return
	}
	show := func() *levelOutput {
		return &levelOutput{Body: levelBody{Level: strings.ToLower(a.cfg.Level.Level().String())}}
	}
	huma.Register(api, op("GET", "/v1/admin/log-level", "The log level", sluice.RoleAdmin),
		func(context.Context, *struct{}) (*levelOutput, error) { return show(), nil })
	huma.Register(api, op("PUT", "/v1/admin/log-level", "Change the log level until the next start", sluice.RoleAdmin),
		func(ctx context.Context, in *levelInput) (*levelOutput, error) {
			var level slog.Level
			if err := level.UnmarshalText([]byte(in.Body.Level)); err != nil {
				return nil, invalidField("level", "must be debug, info, warn or error")
			}
			if err := a.setLevel(ctx, level); err != nil {
				return nil, problemOf(err)
			}
			return show(), nil
		})
}

// Noter writes an audit row for an act that changes nothing else in the ledger.
type Noter interface {
	Note(ctx context.Context, a sluice.Actor, action, object string, before, after any, now sluice.Millis) error
}

// setLevel changes the log level, puts that down in the audit log and tells it at the level that shows more: nobody
// silences the log in silence.
func (a *Admin) setLevel(ctx context.Context, level slog.Level) error {
	before, by := a.cfg.Level.Level(), actorOf(ctx)
	if a.deps.Noter != nil {
		name := func(l slog.Level) map[string]string { return map[string]string{"level": strings.ToLower(l.String())} }
		err := a.deps.Noter.Note(ctx, by, "log_level.set", "server/log_level", name(before), name(level),
			sluice.MillisOf(a.cfg.Now()))
		if err != nil {
			return err
		}
	}
	a.cfg.Level.Set(min(before, level))
	a.cfg.Logger.Warn("log level changed", "from", before, "to", level, "by", by.KeyID)
	a.cfg.Level.Set(level)
	return nil
}

// ready answers /readyz: 200 when nothing is waited for.
func (a *Admin) ready(w http.ResponseWriter, _ *http.Request) {
	var waiting []string
	if a.deps.Ready != nil {
		waiting = slices.Clone(a.deps.Ready())
	}
	status := struct {
		Status  string   `json:"status"`
		Waiting []string `json:"waiting,omitempty"`
	}{"ready", waiting}
	w.Header().Set("Content-Type", "application/json")
	if len(waiting) > 0 {
		status.Status = "not ready"
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	body, _ := json.Marshal(status)
	_, _ = w.Write(body)
}
