package main

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/sluice-sale/sluice/internal/storefront"
)

// storefrontCmd is about the sale page.
type storefrontCmd struct {
	Export storefrontExportCmd `cmd:"" help:"Write the sale page as plain files for a CDN."`
}

// storefrontExportCmd writes the page that this binary serves, as files.
type storefrontExportCmd struct {
	Out      string   `required:"" placeholder:"DIR" help:"Where to. Made where it is missing." predictor:"dir"`
	API      string   `placeholder:"URL" help:"Origin of the public listener, where it is another than the page's."`
	Theme    string   `placeholder:"DIR" help:"Folder with theme.css, texts.json, or both." predictor:"dir"`
	Image    []string `placeholder:"ORIGIN" help:"Where pictures may come from; may be given more than once."`
	Verifier string   `placeholder:"NAME" help:"turnstile, hcaptcha or recaptcha, where siteverify is used."`
	Campaign []string `placeholder:"ID" help:"Write /c/ID as well, for a CDN that serves no 404.html; may be repeated."`
}

// Run writes it and says what it wrote.
func (c *storefrontExportCmd) Run(a *app) error {
	for name, list := range map[string][]string{"api": {c.API}, "image": c.Image} {
		for _, origin := range list {
			u, err := url.Parse(origin)
			if origin != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
				u.Scheme+"://"+u.Host != origin) {
				return usage("--%s %q is no origin: want https://host[:port]", name, origin)
			}
		}
	}
	if !slices.Contains([]string{"", "turnstile", "hcaptcha", "recaptcha"}, c.Verifier) {
		return usage("--verifier is %q: turnstile, hcaptcha and recaptcha are known", c.Verifier)
	}
	pages, err := storefront.New(storefront.Config{
		API: c.API, Theme: c.Theme, Images: c.Image, Verifier: c.Verifier,
	})
	if err != nil {
		return err
	}
	files, err := pages.Export(c.Out, c.Campaign)
	if err != nil {
		return err
	}
	slices.Sort(files)
	if a.json {
		return a.printJSON(map[string]any{"dir": c.Out, "files": files})
	}
	for _, f := range files {
		if _, err := fmt.Fprintln(a.out, f); err != nil {
			return err
		}
	}
	return nil
}
