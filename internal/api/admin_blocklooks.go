package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// BlockLooks tells whom blocks hit, on the node that is asked.
type BlockLooks interface {
	// Hits gives what a block has refused since a moment at most an hour ago; ok is false where nobody counts.
	Hits(id string) (n int64, since sluice.Millis, ok bool)
	Preview(ctx context.Context, scope sluice.BlockScope, value string) (sluice.BlockPreview, error)
}

// ListJobs imports a list as a job.
type ListJobs interface {
	// Stage keeps the CSV until the job of this kind that is asked for this takes it; drop forgets it.
	Stage(body []byte) (kind string, ask json.RawMessage, drop func(), err error)
}

// maxListBody bounds the CSV of an import, in bytes.
const maxListBody = 4 << 20

type blockPreview struct {
	Scope    sluice.BlockScope `json:"scope" enum:"address,user,device"`
	Value    string            `json:"value" doc:"In the one form that is kept"`
	People   int               `json:"people" doc:"Who came to this node lately and would be hit"`
	Admitted int               `json:"admitted" doc:"Of those, who were admitted; what they have stays theirs"`
	Known    int               `json:"known" doc:"Who came lately: asked for a pass, or was admitted"`
	Partial  bool              `json:"partial" doc:"More came than are remembered: there may be more of each"`
	Since    time.Time         `json:"since" doc:"What lately means: an hour, or since the node began"`
	Block    *blockAnswer      `json:"block,omitempty" doc:"What is in force on exactly this already"`
}

// hits adds to blocks what they have refused, where somebody counts that.
func (o *blockPageOutput) hits(desk BlocklistDesk) {
	looks, ok := desk.(BlockLooks)
	if !ok {
		return
	}
	for i := range o.Body.Items {
		n, since, counted := looks.Hits(o.Body.Items[i].ID)
		if !counted {
			return
		}
		o.Body.Items[i].HitsHour, o.Body.HitsSince = &n, moment(since)
	}
}

func (a *Admin) registerPreview(api huma.API, looks BlockLooks, words listWords) {
	o := op("GET", words.path+"/preview", words.preview, sluice.RoleSupport)
	o.Description += " It changes nothing. What it counts is what this node has seen; the allowlist is not looked at."
	huma.Register(api, o, func(ctx context.Context, in *struct {
		Scope string `query:"scope" required:"true" enum:"address,user,device"`
		Value string `query:"value" required:"true" minLength:"1" maxLength:"128"`
	}) (*struct{ Body blockPreview }, error) {
		p, err := looks.Preview(ctx, sluice.BlockScope(in.Scope), in.Value)
		if err != nil {
			return nil, problemOf(err)
		}
		out := blockPreview{p.Scope, p.Value, p.Crowd.People, p.Crowd.Admitted, p.Crowd.Known, p.Crowd.Full,
			p.Since.Time(), nil}
		if p.Block != nil {
			b := blockAnswerOf(p.Block)
			out.Block = &b
		}
		return &struct{ Body blockPreview }{out}, nil
	})
}

func (a *Admin) registerListJob(api huma.API, desk ListJobs, words listWords) {
	o := op("POST", words.path+"/import-jobs", words.imports+", as a job", sluice.RoleOperator)
	o.DefaultStatus = http.StatusAccepted
	o.Description += " The body is that of " + words.path + "/import, which tells with dry_run=true what it would come to."
	text := &huma.Schema{Type: "string"}
	o.Parameters = []*huma.Param{
		{Name: "id", In: "query", Schema: text, Description: "Of the job, made by the caller, so that it may ask again"},
		{Name: "reason", In: "query", Schema: text, Description: "Why: for the audit log"},
	}
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"text/csv": {Schema: text}}}
	o.Responses["202"] = &huma.Response{Description: "The job", Content: map[string]*huma.MediaType{
		"application/json": {Schema: schemaOf[jobAnswer](api)},
	}}
	delete(o.Responses, "200")
	a.stream(api, o, func(w http.ResponseWriter, r *http.Request) {
		j, err := a.importJob(r, desk)
		if err != nil {
			a.writeProblem(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		body, _ := json.Marshal(jobAnswerOf(&j)) // strings and numbers only: it cannot fail
		_, _ = w.Write(body)
	})
}

// importJob starts the job of an import. The same id again gives the job that there is, whatever the body.
func (a *Admin) importJob(r *http.Request, desk ListJobs) (sluice.Job, error) {
	var want sluice.Job
	for name, values := range r.URL.Query() {
		switch {
		case name == "id" && len(values) == 1:
			want.ID = values[0]
		case name == "reason" && len(values) == 1:
			want.Reason = values[0]
		default:
			return want, sluice.Invalid(sluice.FieldFault{Field: "query." + name, Detail: "is not known, or given twice"})
		}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxListBody+1))
	if err != nil {
		return want, errors.Join(sluice.ErrInvalid, err)
	}
	kind, ask, drop, err := desk.Stage(body)
	if err != nil {
		return want, err
	}
	want.Kind, want.Ask, want.Object = kind, ask, kind[:len(kind)-len(".import")]
	j, err := a.deps.Jobs.Start(r.Context(), want, actorBecause(r.Context(), want.Reason))
	if err != nil || string(j.Ask) != string(ask) { // another call began it
		drop()
	}
	return j, err
}
