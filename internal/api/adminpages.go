package api

import (
	"embed"
	"fmt"
	"net/http"
	"net/http/pprof"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

var typeOfProblem = reflect.TypeFor[Problem]()

// page is what /docs shows: our own renderer of the two descriptions, without anything from elsewhere.
//
//go:embed docs/index.html docs/docs.js docs/docs.css
var pageFiles embed.FS

// pagePolicy lets the page load its own script, style and descriptions, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// registerPages adds what is served beside the API. None of it needs a key: it tells no more than the source does,
// and the operators' listener is not for the public network.
func (a *Admin) registerPages() error {
	a.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok"}`))
	})
	a.mux.HandleFunc("GET /readyz", a.ready)
	if a.deps.Metrics != nil {
		a.mux.Handle("GET /metrics", a.deps.Metrics)
	}
	a.api.OpenAPI().ExternalDocs = &huma.ExternalDocs{
		URL: "/openapi-public.json", Description: "The description of the public listener",
	}
	for path, doc := range map[string]*huma.OpenAPI{
		"/openapi.json": a.api.OpenAPI(), "/openapi-public.json": PublicOpenAPI(),
	} {
		body, err := EncodeOpenAPI(doc)
		if err != nil {
			return err
		}
		a.page(path, "application/json", body)
	}
	for path, file := range map[string]struct{ name, contentType string }{
		"/docs":          {"index.html", "text/html; charset=utf-8"},
		"/docs/docs.js":  {"docs.js", "text/javascript; charset=utf-8"},
		"/docs/docs.css": {"docs.css", "text/css; charset=utf-8"},
	} {
		body, err := pageFiles.ReadFile("docs/" + file.name)
		if err != nil {
			return fmt.Errorf("api: the docs page: %w", err)
		}
		a.page(path, file.contentType, body)
	}
	return nil
}

// page serves a file that does not change while the process runs.
func (a *Admin) page(path, contentType string, body []byte) {
	tag := string(entityTag(body))
	a.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		if has([]byte(r.Header.Get("If-None-Match")), []byte(tag)) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", contentType)
		_, _ = w.Write(body) // the client may be gone
	})
}

// registerProfiles adds Go's profiles, for admins only and outside the API's description.
func (a *Admin) registerProfiles(api huma.API) {
	for path, handle := range map[string]http.HandlerFunc{
		"/debug/pprof/{name...}": pprof.Index, "/debug/pprof/cmdline": pprof.Cmdline, "/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
	} {
		o := op("GET", path, "A profile of the process", sluice.RoleAdmin)
		o.Hidden = true
		a.stream(api, o, handle)
	}
}

// forConsole says whether r asks for a page of the console: a GET of something that no version of the API can have.
func forConsole(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for _, ours := range []string{"/v1/", "/debug/", "/docs/"} {
		if strings.HasPrefix(r.URL.Path, ours) {
			return false
		}
	}
	return true
}
