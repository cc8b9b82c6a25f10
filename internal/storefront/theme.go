package storefront

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-sale/sluice/internal/pages"
)

// dress adds the shop's theme and gives what stands in the head of the page for it.
func (p *Pages) dress(cfg Config) (head string, err error) {
	if cfg.API != "" {
		head += metaTag("api", cfg.API)
	}
	if cfg.Theme == "" {
		return head, nil
	}
	css, err := readTheme(cfg.Theme, "theme.css")
	if err != nil {
		return "", err
	}
	texts, err := readTheme(cfg.Theme, "texts.json")
	if err != nil {
		return "", err
	}
	if css == nil && texts == nil {
		return "", fmt.Errorf("storefront: the theme %s has neither theme.css nor texts.json: %w", cfg.Theme, fs.ErrNotExist)
	}
	if css != nil {
		name := p.add("/theme/"+pages.Digest(css)+".css", css)
		head += `<link rel="stylesheet" href="` + name + `">`
	}
	if texts != nil {
		if err := checkTexts(texts); err != nil {
			return "", fmt.Errorf("storefront: %s: %w", filepath.Join(cfg.Theme, "texts.json"), err)
		}
		head += metaTag("texts", p.add("/theme/"+pages.Digest(texts)+".json", texts))
	}
	return head, nil
}

// readTheme gives nil where there is no such file.
func readTheme(dir, name string) ([]byte, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("storefront: the theme: %w", err)
	}
	defer func() { _ = f.Close() }()
	body, err := io.ReadAll(io.LimitReader(f, maxTheme+1))
	if err != nil {
		return nil, fmt.Errorf("storefront: the theme: %w", err)
	}
	if len(body) > maxTheme {
		return nil, fmt.Errorf("storefront: %s is larger than %d bytes", f.Name(), maxTheme)
	}
	return body, nil
}

// checkTexts says what is wrong with a texts.json: for each language, each key has a text or the pair of a button and
// its line of help.
func checkTexts(body []byte) error {
	var langs map[string]map[string]any
	if err := json.Unmarshal(body, &langs); err != nil {
		return fmt.Errorf("want {\"zh-CN\": {…}, \"en\": {…}}: %w", err)
	}
	for lang, texts := range langs {
		if lang != "zh-CN" && lang != "en" {
			return fmt.Errorf("%q is no language of the page: zh-CN and en are", lang)
		}
		for key, v := range texts {
			if _, one := v.(string); !one && !isPair(v) {
				return fmt.Errorf("%s.%s: want a text, or the two of a button and its help", lang, key)
			}
		}
	}
	return nil
}

// isPair says whether v is a list of two texts.
func isPair(v any) bool {
	list, ok := v.([]any)
	if !ok || len(list) != 2 {
		return false
	}
	_, first := list[0].(string)
	_, second := list[1].(string)
	return first && second
}

// Export writes the page as plain files for a CDN: the page at /, /orders, /coupons, at /c/ID for each campaign, and as
// 404.html for a CDN that serves that for what it does not have, so that /c/ANY works. The policy stands in the page
// itself, since no header comes with a plain file. It overwrites, and removes nothing.
func (p *Pages) Export(dir string, campaigns []string) (written []string, err error) {
	// frame-ancestors counts in a header only.
	inPage, _, _ := strings.Cut(p.index.policy, "; frame-ancestors")
	page := strings.Replace(string(p.index.Plain), "<title>",
		`<meta http-equiv="Content-Security-Policy" content="`+strings.ReplaceAll(inPage, `"`, "")+`"><title>`, 1)
	files := map[string][]byte{}
	for name, f := range p.files {
		files[name] = f.Plain
	}
	for _, at := range []string{"/index.html", "/orders/index.html", "/coupons/index.html", "/404.html"} {
		files[at] = []byte(page)
	}
	for _, id := range campaigns {
		if !isPage("/c/"+id) || strings.Contains(id, "..") || strings.ContainsRune(id, '\\') {
			return nil, fmt.Errorf("storefront: %q cannot be the name of a folder", id)
		}
		files["/c/"+id+"/index.html"] = []byte(page)
	}
	for name, body := range files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, fmt.Errorf("storefront: export: %w", err)
		}
		if err := os.WriteFile(to, body, 0o644); err != nil {
			return nil, fmt.Errorf("storefront: export: %w", err)
		}
		written = append(written, name)
	}
	return written, nil
}
