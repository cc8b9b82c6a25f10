package api

import (
	"net/http"
	"net/http/pprof"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

var typeOfProblem = reflect.TypeFor[Problem]()

// registerPages adds what is served beside the API. None of it needs a key: it tells no more than the source does, and
// the operators' listener is not for the public network.
func (a *Admin) registerPages() error {
	a.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok"}`))
	})
	a.mux.HandleFunc("GET /readyz", a.ready)
	if a.deps.Metrics != nil {
		a.mux.Handle("GET /metrics", a.deps.Metrics)
	}
	return nil
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
