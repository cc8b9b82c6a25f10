package storefront

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/sluice-sale/sluice/internal/pages"
)

//go:embed all:dist
var dist embed.FS

// Bounds of what a shop adds.
const maxTheme = 256 << 10 // bytes of each file of the theme

// How long a browser and a CDN may keep what is served.
const (
	cachePage   = "public, max-age=60, stale-while-revalidate=300"
	cacheAssets = "public, max-age=31536000, immutable"
	cacheSDK    = "public, max-age=300"
)

// Config are the shop's own settings. Zero values mean the page as it comes.
type Config struct {
	Theme  string   // a folder with theme.css, texts.json, or both
	Images []string // origins that pictures of campaigns may come from, beside the page's own
	// Verifier is the provider of siteverify challenges: turnstile, hcaptcha or recaptcha. Its script is let in; no other
	// is.
	Verifier string
	API      string // origin of the public listener; empty where it serves the page itself
}

// verifiers are the origins that a provider's script and frame come from.
var verifiers = map[string]string{
	"turnstile": "https://challenges.cloudflare.com",
	"hcaptcha":  "https://hcaptcha.com https://*.hcaptcha.com",
	"recaptcha": "https://www.google.com/recaptcha/ https://www.gstatic.com/recaptcha/",
}

// file is one file as it goes out, with the headers of each coding, made when first asked for.
type file struct {
	*pages.File
	cache   string
	policy  string // of a page; empty for what is none
	headers [pages.NumCodings]headers
}

type headers struct {
	once sync.Once
	all  http.Header
}

// Pages are the files of the sale page. Nobody writes to them once they are made.
type Pages struct {
	files map[string]*file
	index *file
}

// New reads the page that is built into the binary and the shop's theme.
func New(cfg Config) (*Pages, error) {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, fmt.Errorf("storefront: %w", err)
	}
	return newOf(sub, cfg)
}

func newOf(from fs.FS, cfg Config) (*Pages, error) {
	built, err := pages.Read(from)
	if err != nil {
		return nil, fmt.Errorf("storefront: %w", err)
	}
	p := &Pages{files: map[string]*file{}}
	for name, f := range built {
		p.files[name] = newFile(name, f)
	}
	index := p.files["/index.html"]
	head, err := p.dress(cfg)
	if err != nil {
		return nil, err
	}
	delete(p.files, "/index.html")
	body := bytes.Replace(index.Plain, []byte("</head>"), []byte(head+"</head>"), 1)
	p.index = newFile("/index.html", pages.New("/index.html", body))
	p.index.policy = policy(body, cfg)
	return p, nil
}

func (p *Pages) add(name string, body []byte) string {
	p.files[name] = newFile(name, pages.New(name, body))
	return name
}

func newFile(name string, of *pages.File) *file {
	f := &file{File: of, cache: cachePage}
	switch {
	case strings.HasPrefix(name, "/assets/"), strings.HasPrefix(name, "/theme/"):
		f.cache = cacheAssets
	case strings.HasPrefix(name, "/sdk/"):
		f.cache = cacheSDK
	}
	return f
}

// policy is the content security policy of the page: its own script and nothing inline, its one style by its hash, and
// whatever the shop has named.
func policy(page []byte, cfg Config) string {
	style := "style-src 'self'"
	if _, rest, ok := bytes.Cut(page, []byte("<style>")); ok {
		if inline, _, ok := bytes.Cut(rest, []byte("</style>")); ok {
			sum := sha256.Sum256(inline)
			style += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		}
	}
	scripts, frames := "script-src 'self'", ""
	if from := verifiers[cfg.Verifier]; from != "" {
		scripts += " " + from
		frames = "frame-src " + from + "; "
	}
	connect := "connect-src 'self'"
	if cfg.API != "" {
		connect += " " + cfg.API
	}
	images := strings.Join(append([]string{"img-src 'self' data:"}, cfg.Images...), " ")
	return "default-src 'none'; " + scripts + "; " + style + "; " + images + "; " + connect + "; " + frames +
		"worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// File gives the file of a path as it goes out to a client that accepts the codings of accept (an Accept-Encoding):
// its headers and its body, neither of which may be written to. False where there is none. It does no I/O.
func (p *Pages) File(at, accept string) (http.Header, []byte, bool) {
	f := p.files[at]
	if f == nil && isPage(at) {
		f = p.index
	}
	if f == nil {
		return nil, nil, false
	}
	body, c := f.For(accept)
	h := &f.headers[c]
	h.once.Do(func() { h.all = f.header(c, len(body)) })
	return h.all, body, true
}

// isPage says whether a path is one of the page's own: the script in it knows what to show.
func isPage(at string) bool {
	switch at {
	case "/", "/orders", "/coupons":
		return true
	}
	id, ok := strings.CutPrefix(at, "/c/")
	return ok && id != "" && !strings.ContainsRune(id, '/')
}

func (f *file) header(c pages.Coding, size int) http.Header {
	h := http.Header{
		"Content-Type": {f.Kind}, "Cache-Control": {f.cache}, "Etag": {f.Tag}, "Vary": {"Accept-Encoding"},
		"Cross-Origin-Resource-Policy": {"cross-origin"}, "Referrer-Policy": {"no-referrer"},
		"Content-Length": {strconv.Itoa(size)},
	}
	if f.policy != "" {
		h["Content-Security-Policy"] = []string{f.policy}
		h["X-Frame-Options"] = []string{"DENY"}
		h["Cross-Origin-Resource-Policy"] = []string{"same-origin"}
	}
	if c != pages.Identity {
		h["Content-Encoding"] = []string{c.String()}
	}
	return h
}

func metaTag(name, content string) string {
	return `<meta name="sluice-` + name + `" content="` + html.EscapeString(content) + `">`
}
