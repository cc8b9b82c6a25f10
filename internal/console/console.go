package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
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

// smallest is the size below which nothing is gained by compressing.
const smallest = 512

// file is one file of the console. packed is made when it is first asked for.
type file struct {
	kind   string
	tag    string // entity tag
	plain  []byte
	once   sync.Once
	packed []byte // gzip; empty where it would not be smaller
}

// Handler serves the console's files.
type Handler struct{ files map[string]*file }

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
	h := &Handler{files: map[string]*file{}}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		h.files["/"+name] = &file{kind: kindOf(name), plain: body, tag: `"` + hex.EncodeToString(sum[:12]) + `"`}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("console: read the files: %w", err)
	}
	if h.files["/index.html"] == nil {
		return nil, fmt.Errorf("console: there is no index.html: %w", fs.ErrNotExist)
	}
	return h, nil
}

// kindOf does not ask the machine's own list of types, which may be any.
func kindOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".ico":
		return "image/x-icon"
	case ".webmanifest":
		return "application/manifest+json"
	case ".map", ".json":
		return "application/json"
	case ".woff2":
		return "font/woff2"
	case ".txt":
		return "text/plain; charset=utf-8"
	default:
		if kind := mime.TypeByExtension(ext); kind != "" {
			return kind
		}
		return "application/octet-stream"
	}
}

// find gives the file of a path. What is no file and does not look like one is a place inside the console, which its
// script knows: index.html.
func (h *Handler) find(at string) *file {
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
	out.Set("ETag", f.tag)
	out.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(r.URL.Path, assets) {
		out.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if accepts(r.Header.Get("Accept-Encoding")) && len(f.gzip()) > 0 {
		body = f.packed
		out.Set("Content-Encoding", "gzip")
	}
	out.Set("Content-Type", f.kind)
	out.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone
	}
}

// accepts says whether an Accept-Encoding takes gzip.
func accepts(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q = strings.TrimSpace(q)
			return q != "q=0" && !strings.HasPrefix(q, "q=0.0")
		}
	}
	return false
}

func (f *file) gzip() []byte {
	f.once.Do(func() {
		if len(f.plain) < smallest || strings.HasPrefix(f.kind, "image/png") || strings.HasPrefix(f.kind, "font/") {
			return
		}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return
		}
		_, err1 := z.Write(f.plain)
		if err2 := z.Close(); err1 == nil && err2 == nil && b.Len() < len(f.plain) {
			f.packed = b.Bytes()
		}
	})
	return f.packed
}
