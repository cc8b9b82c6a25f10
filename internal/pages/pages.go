// Package pages keeps the files of a page that is built into the binary, as they go out: with type, entity tag and
// compressed forms. How a page is found, cached and shut in is its own package's.
package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"path"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"
)

// Sizes in bytes.
const (
	smallest = 256      // below it nothing is gained by compressing
	patient  = 64 << 10 // above it Brotli's best takes seconds of a core, while whoever came first waits
)

// quick is the level of Brotli for what is larger: half a megabyte takes as long as with gzip, and becomes smaller.
const quick = 9

// Coding is a form in which a file goes out.
type Coding uint8

// The codings, in the order in which they are preferred, the last first.
const (
	Identity Coding = iota
	Gzip
	Brotli
	NumCodings
)

// names are those of Content-Encoding; Identity has none.
var names = [NumCodings]string{Gzip: "gzip", Brotli: "br"}

// String gives the name that Content-Encoding has for it; empty for Identity.
func (c Coding) String() string { return names[c] }

// File is one file. Nobody writes to it once it is made.
type File struct {
	Kind  string // its Content-Type
	Tag   string // its entity tag, with quotes
	Plain []byte
	forms [NumCodings]form
}

// form is a file in one coding, made when it is first asked for; body is empty where the coding is not worth it.
type form struct {
	once sync.Once
	body []byte
}

// New makes the file of a name.
func New(name string, body []byte) *File {
	return &File{Kind: kindOf(name), Tag: `"` + Digest(body) + `"`, Plain: body}
}

// Digest gives 24 hex digits that change with the content.
func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:12])
}

// Read reads every file of a built page, by "/" and its name. An error is fs.ErrNotExist where there is no index.html.
func Read(from fs.FS) (map[string]*File, error) {
	files := map[string]*File{}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		files["/"+name] = New(name, body)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("pages: read the files: %w", err)
	}
	if files["/index.html"] == nil {
		return nil, fmt.Errorf("pages: there is no index.html: %w", fs.ErrNotExist)
	}
	return files, nil
}

// For gives the body for a client that accepts the codings of accept (an Accept-Encoding), and its coding. It does no
// I/O, and compresses each file once.
func (f *File) For(accept string) ([]byte, Coding) {
	for c := Brotli; c > Identity; c-- {
		if !accepts(accept, names[c]) {
			continue
		}
		o := &f.forms[c]
		o.once.Do(func() { o.body = f.coded(c) })
		if len(o.body) > 0 {
			return o.body, c
		}
	}
	return f.Plain, Identity
}

func (f *File) coded(c Coding) (body []byte) {
	if len(f.Plain) < smallest || strings.HasPrefix(f.Kind, "image/png") || strings.HasPrefix(f.Kind, "font/") {
		return nil
	}
	if c == Gzip {
		body = fasthttp.AppendGzipBytesLevel(nil, f.Plain, fasthttp.CompressBestCompression)
	} else {
		level := fasthttp.CompressBrotliBestCompression
		if len(f.Plain) > patient {
			level = quick
		}
		body = fasthttp.AppendBrotliBytesLevel(nil, f.Plain, level)
	}
	if len(body) >= len(f.Plain) {
		return nil
	}
	return body
}

// kinds are the types by a name's ending. The machine's own list of types, which may be any, has no say in these.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".json": "application/json",
	".map": "application/json", ".webmanifest": "application/manifest+json", ".ico": "image/x-icon",
	".woff2": "font/woff2", ".svg": "image/svg+xml", ".png": "image/png",
}

func kindOf(name string) string {
	ext := path.Ext(name)
	if kind := kinds[ext]; kind != "" {
		return kind
	}
	if kind := mime.TypeByExtension(ext); kind != "" {
		return kind
	}
	return "application/octet-stream"
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
