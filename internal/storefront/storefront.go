package storefront

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"
)

//go:embed all:dist
var dist embed.FS

// Bounds of what a shop adds.
const (
	maxTheme = 256 << 10 // bytes of each file of the theme
	smallest = 256       // bytes below which nothing is gained by compressing
)

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

// file is one file as it goes out. packed are its compressed forms, made when first asked for.
type file struct {
	kind, cache string
	tag         string
	policy      string // of a page; empty for what is none
	plain       []byte
	packed      [numCodings]variant
}

type coding uint8

const (
	identity coding = iota
	gzipped
	brotlied
	numCodings
)

// variant is a file in one coding; body is empty where the coding is not worth it.
type variant struct {
	once   sync.Once
	body   []byte
	header http.Header
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
	p := &Pages{files: map[string]*file{}}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		p.add("/"+name, body)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("storefront: read the page: %w", err)
	}
	index := p.files["/index.html"]
	if index == nil {
		return nil, fmt.Errorf("storefront: there is no index.html: %w", fs.ErrNotExist)
	}
	head, err := p.dress(cfg)
	if err != nil {
		return nil, err
	}
	delete(p.files, "/index.html")
	body := bytes.Replace(index.plain, []byte("</head>"), []byte(head+"</head>"), 1)
	p.index = newFile("/index.html", body)
	p.index.policy = policy(body, cfg)
	return p, nil
}

func (p *Pages) add(name string, body []byte) string {
	p.files[name] = newFile(name, body)
	return name
}

func newFile(name string, body []byte) *file {
	f := &file{kind: kindOf(name), cache: cachePage, plain: body}
	switch {
	case strings.HasPrefix(name, "/assets/"), strings.HasPrefix(name, "/theme/"):
		f.cache = cacheAssets
	case strings.HasPrefix(name, "/sdk/"):
		f.cache = cacheSDK
	}
	f.tag = `"` + digest(body) + `"`
	return f
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:10])
}

// kindOf does not ask the machine's own list of types, which may be any.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".json":
		return "application/json"
	}
	return "application/octet-stream"
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
	for _, c := range [...]coding{brotlied, gzipped, identity} {
		if c != identity && !accepts(accept, [...]string{gzipped: "gzip", brotlied: "br"}[c]) {
			continue
		}
		v := &f.packed[c]
		v.once.Do(func() { v.body, v.header = f.coded(c) })
		if len(v.body) > 0 {
			return v.header, v.body, true
		}
	}
	return nil, nil, false
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

func (f *file) coded(c coding) ([]byte, http.Header) {
	h := http.Header{
		"Content-Type": {f.kind}, "Cache-Control": {f.cache}, "Etag": {f.tag}, "Vary": {"Accept-Encoding"},
		"Cross-Origin-Resource-Policy": {"cross-origin"}, "Referrer-Policy": {"no-referrer"},
	}
	if f.policy != "" {
		h["Content-Security-Policy"] = []string{f.policy}
		h["X-Frame-Options"] = []string{"DENY"}
		h["Cross-Origin-Resource-Policy"] = []string{"same-origin"}
	}
	body := f.plain
	if c != identity {
		if len(f.plain) < smallest {
			return nil, nil
		}
		if c == gzipped {
			body = fasthttp.AppendGzipBytesLevel(nil, f.plain, fasthttp.CompressBestCompression)
		} else {
			body = fasthttp.AppendBrotliBytesLevel(nil, f.plain, fasthttp.CompressBrotliBestCompression)
		}
		if len(body) >= len(f.plain) {
			return nil, nil
		}
		h["Content-Encoding"] = []string{[...]string{gzipped: "gzip", brotlied: "br"}[c]}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	return body, h
}

// accepts says whether an Accept-Encoding takes a coding.
func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			q = strings.TrimSpace(q)
			return q != "q=0" && !strings.HasPrefix(q, "q=0.0")
		}
	}
	return false
}

func metaTag(name, content string) string {
	return `<meta name="sluice-` + name + `" content="` + html.EscapeString(content) + `">`
}
