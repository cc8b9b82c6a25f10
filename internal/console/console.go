package console

import (
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"github.com/sluice-sale/sluice/internal/pages"
)

//go:embed all:dist
var dist embed.FS

// Policy is the content security policy of every page: own scripts only and none inline. Styles may be inline, since
// the component library writes them while it runs.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
	"font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'"

// assets is where files lie whose names change with their content.
const assets = "/assets/"

// shared is where pages lie that need no session: what opens them stands behind the #, and no cache keeps their place.
const shared = "/shared/"

// Handler serves the console's files.
type Handler struct{ files map[string]*pages.File }

// New reads what is built into the binary.
func New() (*Handler, error) {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return NewOf(sub)
}

// NewOf reads the files of a built console; there must be an index.html.
func NewOf(from fs.FS) (*Handler, error) {
	files, err := pages.Read(from)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return &Handler{files}, nil
}

// find gives the file of a path. What is no file and does not look like one is a place inside the console, which its
// script knows: index.html.
func (h *Handler) find(at string) *pages.File {
	if f := h.files[at]; f != nil {
		return f
	}
	if strings.HasPrefix(at, assets) || (strings.LastIndexByte(at, '/') == 0 && strings.ContainsRune(at, '.')) {
		return nil
	}
	return h.files["/index.html"]
}

// ServeHTTP answers GET and HEAD.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := w.Header()
	out.Set("Content-Security-Policy", Policy)
	out.Set("X-Frame-Options", "DENY")
	out.Set("X-Content-Type-Options", "nosniff")
	out.Set("Referrer-Policy", "no-referrer")
	out.Set("Cross-Origin-Opener-Policy", "same-origin")
	out.Set("Vary", "Accept-Encoding")
	f := h.find(r.URL.Path)
	if f == nil {
		out.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("there is no such file\n"))
		return
	}
	out.Set("ETag", f.Tag)
	out.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(r.URL.Path, assets) {
		out.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if strings.HasPrefix(r.URL.Path, shared) {
		out.Set("Cache-Control", "no-store")
		out.Set("X-Robots-Tag", "noindex")
	}
	if strings.Contains(r.Header.Get("If-None-Match"), f.Tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body, coding := f.For(r.Header.Get("Accept-Encoding"))
	if coding != pages.Identity {
		out.Set("Content-Encoding", coding.String())
	}
	out.Set("Content-Type", f.Kind)
	out.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone
	}
}
