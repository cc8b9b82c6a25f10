// Command sluice is the server, its operators' tool and its load laboratory in one binary.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/posener/complete"
	"github.com/willabides/kongplete"
)

// cli is every verb. Each verb's struct and Run stand in a file of its own.
type cli struct {
	JSON    bool `name:"json" help:"Print JSON for scripts."`
	NoColor bool `name:"no-color" help:"Print without colours (so does NO_COLOR, and anything that is not a terminal)."`

	ShowVersion kong.VersionFlag `name:"version" hidden:"" help:"Print the version."`

	Serve  serveCmd  `cmd:"" group:"run" help:"Run the server."`
	Demo   demoCmd   `cmd:"" group:"run" help:"Show a flash sale: a server, a crowd of 100,000, the verdict."`
	Lab    labCmd    `cmd:"" group:"run" help:"Measure a sale: an open-loop crowd, its speed, an audit of every claim."`
	Token  tokenCmd  `cmd:"" group:"run" help:"Make a buyer's token, for tests and development."`
	Config configCmd `cmd:"" group:"run" help:"Print the settings in force and where each came from, secrets masked."`

	Campaign   campaignCmd   `cmd:"" group:"sale" help:"Campaigns: list, create, get, edit, pause, end, adjust, grant …"`
	Switch     switchCmd     `cmd:"" group:"sale" help:"Switches: list, set, clear."`
	Nodes      nodesCmd      `cmd:"" group:"sale" help:"The servers of this fleet and what is in force on them."`
	Blocklist  blocklistCmd  `cmd:"" group:"sale" help:"The blocklist: list, add, remove, export, import."`
	Allowlist  allowlistCmd  `cmd:"" group:"sale" help:"The allowlist, which beats blocklist and rules: list, add …"`
	Rules      rulesCmd      `cmd:"" group:"sale" help:"Risk rules: list, set, delete, fired, lift."`
	Deadletter deadletterCmd `cmd:"" group:"sale" help:"Claims that could not be settled: list, show, replay, discard."`
	Key        keyCmd        `cmd:"" group:"sale" help:"API keys: create, list, rotate, revoke."`
	PassKey    passKeyCmd    `cmd:"" group:"sale" help:"Keys that passes are signed with: list, rotate."`
	Events     eventsCmd     `cmd:"" group:"sale" help:"Print the feed of events, and follow it."`
	Report     reportCmd     `cmd:"" group:"sale" help:"Tell what happened in a campaign."`
	Reconcile  reconcileCmd  `cmd:"" group:"sale" help:"Comparisons of gates and ledger: list, show, run, repair, rearm."`
	Verify     verifyCmd     `cmd:"" group:"sale" help:"Recompute campaigns from their rows; exit code 4 if one is off."`

	Storefront storefrontCmd `cmd:"" group:"keep" help:"The sale page: export."`
	Backup     backupCmd     `cmd:"" group:"keep" help:"Copy the ledger, beside a running server."`
	Migrate    migrateCmd    `cmd:"" group:"keep" help:"Bring the ledger's schema up to date; serve does so by itself."`
	Doctor     doctorCmd     `cmd:"" group:"keep" help:"Check this machine and its settings."`
	Version    versionCmd    `cmd:"" group:"keep" help:"Print the version."`
	Completion completionCmd `cmd:"" group:"keep" help:"Print what a shell needs to complete commands."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := &app{ctx: ctx, stop: stop, out: os.Stdout, err: os.Stderr, in: os.Stdin, environ: os.Environ()}
	code := a.main(os.Args[1:])
	stop()
	os.Exit(code)
}

// app is what every verb runs with: data goes to out, progress and errors to err.
type app struct {
	ctx     context.Context
	stop    context.CancelFunc // gives the signals back their default meaning
	out     io.Writer
	err     io.Writer
	in      io.Reader
	environ []string
	json    bool
	paint   painter
}

// quit ends parsing where kong would end the process.
type quit struct{ code int }

// main runs one command line and gives its exit code.
func (a *app) main(args []string) (code int) {
	defer func() {
		if q, ok := recover().(quit); ok {
			code = q.code
		}
	}()
	var c cli
	parser, err := a.parser(&c)
	if err != nil {
		fmt.Fprintln(a.err, "sluice:", err)
		return exitFailed
	}
	kongplete.Complete(parser,
		kongplete.WithPredictor("file", complete.PredictFiles("*")),
		kongplete.WithPredictor("dir", complete.PredictDirs("*")))
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := parser.Parse(args)
	if err != nil {
		return a.report(usageError(parser, err))
	}
	a.json, a.paint = c.JSON, newPainter(a.out, c.NoColor, a.environ)
	return a.report(kctx.Run(a))
}

func (a *app) parser(c *cli) (*kong.Kong, error) {
	c.Serve.Plugins, c.Config.Plugins = settingFlags(), settingFlags()
	return kong.New(c,
		kong.Name("sluice"),
		kong.Description("A flash-sale and coupon engine: it never oversells.\n\nExit codes: "+exitCodes),
		kong.Writers(a.out, a.err),
		kong.Exit(func(code int) { panic(quit{code}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 110}),
		kong.ExplicitGroups(groups),
		kong.WithHyphenPrefixedParameters(true), // --delta -100
		kong.Vars{"admin_url": defaultAdminURL, "version": buildInfo().String()},
	)
}

var groups = []kong.Group{
	{Key: "run", Title: "Run"},
	{Key: "sale", Title: "Run a sale (these talk to a running server)"},
	{Key: "keep", Title: "Keep it well"},
}

func usageError(parser *kong.Kong, err error) error {
	next := "sluice --help"
	var pe *kong.ParseError
	if errors.As(err, &pe) && pe.Context != nil {
		if n := pe.Context.Selected(); n != nil {
			next = n.FullPath() + " --help"
		}
	}
	return &failure{code: exitUsage, err: err, next: next}
}
