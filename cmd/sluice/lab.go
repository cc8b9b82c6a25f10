package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/config"
	"github.com/sluice-sale/sluice/internal/lab"
)

// labCmd runs the load laboratory.
type labCmd struct {
	Buyers      int     `default:"100000" placeholder:"N" help:"How many buyers come. Default: 100000."`
	Stock       int64   `default:"10000" placeholder:"N" help:"How many units there are. Default: 10000."`
	Seconds     float64 `default:"1" placeholder:"S" help:"How long the buyers take to come. Default: 1, all at once."`
	Limit       int     `placeholder:"N" help:"Units per user. Default: the quantity."`
	Quantity    int     `default:"1" placeholder:"N" help:"Units per claim. Default: 1."`
	Retry       float64 `placeholder:"SHARE" help:"Share of buyers, 0 to 1, that click again with the same request id."`
	Shape       string  `default:"burst" enum:"burst,ramp,flat" help:"How they come: burst, ramp or flat. Default: burst."`
	Page        bool    `help:"Each buyer looks at the campaign first, then claims."`
	Kind        string  `default:"goods" enum:"goods,coupon" help:"What is given out: goods or coupon. Default: goods."`
	Connections int     `default:"1024" placeholder:"N" help:"Keep-alive connections at most. Default: 1024."`
	Seed        uint64  `placeholder:"N" help:"Seed of the schedule, to repeat a run. Default: random."`

	URL      string  `name:"url" placeholder:"URL" help:"A running server, secrets as for serve. Default: its own."`
	AdminURL string  `name:"admin-url" placeholder:"URL" help:"Its operators' listener. Default: ${admin_url}."`
	Bots     bool    `help:"Send bots beside people, with protection off, adaptive, always: who gets the units."`
	BotShare float64 `default:"0.8" placeholder:"SHARE" help:"With --bots: their share of the requests. Default: 0.8."`
	Accounts int     `name:"bot-accounts" placeholder:"N" help:"With --bots: accounts. Default: half more than the stock."`
	Carrier  float64 `default:"0.02" placeholder:"SHARE" help:"With --bots: people behind one address. Default: 0.02."`
	Early    int     `default:"3" placeholder:"N" help:"With --bots: claims of each before the opening. Default: 3."`
	Lead     float64 `default:"6" placeholder:"S" help:"With --bots: passes are to be had for so long before. Default: 6."`
	Solvers  int     `placeholder:"N" help:"With --bots: challenges at once. Default: one for 190 accounts."`

	HTML string `name:"html" placeholder:"FILE" predictor:"file" help:"Also write the report as one HTML page."`
	dataFlags
}

// setup is what is measured. Of a running server it takes the secrets as the other verbs do: from the environment or
// the data folder, of several the first, which is the one that signs.
func (c *labCmd) setup(a *app) (lab.Config, error) {
	cfg := lab.Config{
		URL: c.URL, AdminURL: c.AdminURL, Buyers: c.Buyers, Stock: c.Stock,
		Seconds: c.Seconds, Limit: c.Limit, Quantity: c.Quantity, Retry: c.Retry, Shape: lab.Shape(c.Shape), Page: c.Page,
		Connections: c.Connections, Kind: sluice.Kind(c.Kind), Seed: c.Seed,
	}
	if c.URL == "" {
		return cfg, nil
	}
	cfg.AdminURL = cmp.Or(c.AdminURL, a.getenv("SLUICE_ADMIN_URL"), defaultAdminURL)
	loaded, err := c.load(a)
	if err == nil {
		err = loaded.ReadSecrets()
	}
	if err != nil {
		return cfg, err
	}
	first := func(s config.Secrets) string {
		if len(s) == 0 {
			return ""
		}
		return s[0].Reveal()
	}
	cfg.AdminKey, cfg.JWTSecret = first(loaded.Admin.Key), first(loaded.JWT.Secret)
	return cfg, nil
}

// Run runs it. A server that breaks its word is exit code 1.
func (c *labCmd) Run(a *app) error {
	if c.Bots {
		return c.runBots(a)
	}
	cfg, err := c.setup(a)
	if err != nil {
		return err
	}
	screen := lab.NewScreen(a.err, isTerminal(a.err), false)
	defer screen.Clear()
	cfg.Stage, cfg.Progress = screen.Stage, screen.Progress
	own, memory := c.URL == "", false
	if own {
		if c.AdminURL != "" {
			return usage("--admin-url needs --url: without it the lab starts a server of its own")
		}
		screen.Stage("starting a server on a temporary ledger")
		server, err := lab.StartServer(a.ctx, lab.ServerConfig{})
		if err != nil {
			return err
		}
		defer server.Stop()
		cfg, memory = server.Use(cfg), server.MemoryStore()
	}
	r, err := lab.Run(a.ctx, cfg)
	screen.Clear()
	if err != nil {
		return labFailure(err)
	}
	r.Server.Own, r.Server.Memory = own, memory
	if c.HTML != "" {
		if err := writeReport(c.HTML, r); err != nil {
			return err
		}
	}
	if a.json {
		err = r.WriteJSON(a.out)
	} else {
		err = r.WriteText(a.out, a.paint.named)
	}
	if err == nil && !r.Verdict.OK {
		err = errors.New("the server broke its word: " + r.Verdict.Sentence())
	}
	return err
}

// labFailure gives err its exit code.
func labFailure(err error) error {
	switch {
	case errors.Is(err, sluice.ErrInvalid):
		return &failure{code: exitUsage, err: err, next: "sluice lab --help"}
	case errors.Is(err, sluice.ErrUnavailable):
		return &failure{code: exitUnreachable, err: err}
	}
	return err
}

// named paints for the lab, which knows styles by name.
func (p painter) named(style, text string) string {
	switch style {
	case "good":
		return p.good(text)
	case "bad":
		return p.bad(text)
	case "bold":
		return p.bold(text)
	}
	return p.dim(text)
}

func writeReport(path string, r lab.Result) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("the HTML report: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return r.WriteHTML(io.Writer(f))
}
