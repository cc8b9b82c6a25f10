package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// ListCSV writes a list as CSV and reads one. An import with a faulty line imports nothing.
type ListCSV interface {
	Export(ctx context.Context, to io.Writer) error
	Import(ctx context.Context, body io.Reader, dryRun bool, a sluice.Actor) (sluice.ListImport, error)
}

type (
	listImportAnswer struct {
		DryRun  bool               `json:"dry_run"`
		Applied bool               `json:"applied" doc:"False in a dry run, and where a line has a fault"`
		Rows    int                `json:"rows"`
		Added   int                `json:"added"`
		Changed int                `json:"changed"`
		Same    int                `json:"same" doc:"Entries that are there as they stand"`
		Faults  int                `json:"faults" doc:"Lines with a fault"`
		Errors  []listErrorAnswer  `json:"errors" nullable:"false" doc:"Of the first lines with a fault, up to 100"`
		Changes []listChangeAnswer `json:"changes" nullable:"false" doc:"The first 1,000"`
	}
	listErrorAnswer struct {
		Line   int    `json:"line"`
		Field  string `json:"field"`
		Detail string `json:"detail"`
	}
	listChangeAnswer struct {
		Line   int          `json:"line"`
		Entry  blockAnswer  `json:"entry"`
		Before *blockAnswer `json:"before,omitempty" doc:"Absent for a new entry"`
	}
)

func (a *Admin) registerListCSV(api huma.API, desk ListCSV, words listWords) {
	out := op("GET", words.path+"/export", words.export, sluice.RoleSupport)
	out.Description += " Columns: scope, value, reason, author, created_at, expires_at. Fields that a spreadsheet would " +
		"calculate begin with an apostrophe, which an import takes away."
	text := &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
	csv := map[string]*huma.MediaType{"text/csv": text}
	out.Responses["200"] = &huma.Response{Description: "The list", Content: csv}
	a.stream(api, out, func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if err := desk.Export(r.Context(), &body); err != nil {
			a.writeProblem(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="list.csv"`)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(body.Bytes()) // the client may be gone
	})
	in := op("POST", words.path+"/import", words.imports, sluice.RoleOperator)
	in.Description += " The body is CSV of at most 4 MB and 20,000 rows, with a first line that names its columns; " +
		"scope and value are required. With dry_run=true nothing is written. Where a line has a fault nothing is imported. " +
		"Entries that the CSV does not have stay."
	in.Parameters = []*huma.Param{{Name: "dry_run", In: "query", Schema: &huma.Schema{Type: "boolean"},
		Description: "Only say what the import would do"}}
	in.RequestBody = &huma.RequestBody{Required: true, Content: csv}
	in.Responses["200"] = &huma.Response{Description: "What the import came to", Content: map[string]*huma.MediaType{
		"application/json": {Schema: schemaOf[listImportAnswer](api)},
	}}
	a.stream(api, in, func(w http.ResponseWriter, r *http.Request) {
		dryRun, err := listQuery(r)
		if err != nil {
			a.writeProblem(w, r, err)
			return
		}
		res, err := desk.Import(r.Context(), r.Body, dryRun, actorOf(r.Context()))
		if err != nil {
			a.writeProblem(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		body, _ := json.Marshal(listImportAnswerOf(&res)) // strings and numbers only: it cannot fail
		_, _ = w.Write(body)
	})
}

func listQuery(r *http.Request) (dryRun bool, err error) {
	for name, values := range r.URL.Query() {
		switch {
		case name != "dry_run":
			return false, sluice.Invalid(sluice.FieldFault{Field: "query." + name, Detail: "is not known"})
		case len(values) != 1 || values[0] != "true" && values[0] != "false":
			return false, sluice.Invalid(sluice.FieldFault{Field: "query.dry_run", Detail: "must be true or false"})
		}
		dryRun = values[0] == "true"
	}
	return dryRun, nil
}

func listImportAnswerOf(res *sluice.ListImport) listImportAnswer {
	answer := listImportAnswer{DryRun: res.DryRun, Applied: res.Applied, Rows: res.Rows, Added: res.Added,
		Changed: res.Changed, Same: res.Same, Faults: res.Faults,
		Errors: []listErrorAnswer{}, Changes: []listChangeAnswer{}}
	for _, e := range res.Errors {
		answer.Errors = append(answer.Errors, listErrorAnswer(e))
	}
	for i := range res.Changes {
		c := &res.Changes[i]
		change := listChangeAnswer{Line: c.Line, Entry: blockAnswerOf(&c.Entry)}
		if c.Before != nil {
			before := blockAnswerOf(c.Before)
			change.Before = &before
		}
		answer.Changes = append(answer.Changes, change)
	}
	return answer
}
