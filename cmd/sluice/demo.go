package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/lab"
)

// demoCmd shows what Sluice does, on a server of its own.
type demoCmd struct {
	Buyers int   `default:"100000" placeholder:"N" help:"How many buyers rush for the goods. Default: 100000."`
	Stock  int64 `default:"10000" placeholder:"N" help:"How many units there are. Default: 10000."`
	Once   bool  `help:"Exit after the verdict instead of staying up."`
}

// The demo's campaigns, and who tries the third one.
const (
	demoGoods   = "spring-sale"
	demoCoupons = "lucky-coupon"
	demoTry     = "try-it"
	demoUser    = "me"
	demoRequest = "my-first-click"
)

// demoLog is the server's log in the demo's folder: the terminal belongs to the crowd.
const demoLog = "server.log"

// demo is one showing.
type demo struct {
	*demoCmd
	a      *app
	server *server
	secret string
	key    string
	broken []string // what broke its word
}

// Run shows it: a sale of goods, one of coupons, the verdicts; then the server stays up until Ctrl-C. A server that
// breaks its word is exit code 1.
func (c *demoCmd) Run(a *app) (err error) {
	dir, err := os.MkdirTemp("", "sluice-demo-")
	if err != nil {
		return fmt.Errorf("the demo's folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	log, err := os.Create(filepath.Join(dir, demoLog))
	if err != nil {
		return fmt.Errorf("the demo's log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	d := &demo{demoCmd: c, a: a}
	if err := d.start(dir, log); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = errors.Join(err, d.server.stop(ctx))
	}()
	if err := d.show(); err != nil {
		return err
	}
	if len(d.broken) > 0 {
		return fmt.Errorf("the server broke its word: %v", d.broken)
	}
	if c.Once {
		return nil
	}
	stop, err := d.evening()
	if err != nil {
		return err
	}
	defer stop()
	if err := d.tryIt(dir); err != nil {
		return err
	}
	select {
	case <-a.ctx.Done():
		fmt.Fprintln(a.err, "\nstopping; the demo's folder is removed")
		return nil
	case err := <-d.server.failed:
		return err
	}
}

// start brings the server up on its well-known ports, or on others where those are taken.
func (d *demo) start(dir string, log io.Writer) error {
	public, admin := d.port("127.0.0.1:8080"), d.port("127.0.0.1:8081")
	cfg, err := d.a.loadConfig("", map[string]string{"data": dir, "listen": public, "admin_listen": admin})
	if err != nil {
		return err
	}
	options := serverOptions{log: log, progress: io.Discard, started: time.Now()}
	if d.server, err = startServer(d.a.ctx, cfg, options); err != nil {
		return err
	}
	d.secret, d.key = cfg.JWT.Secret[0].Reveal(), cfg.Admin.Key[0].Reveal()
	d.say("%s  a flash sale on this machine\n", d.a.paint.bold("sluice demo"))
	d.say("  sale page  %s   buyers: any name signs in", d.server.publicURL())
	d.say("  console    %s   operators: sign in with this key", d.server.adminURL())
	d.say("  key        %s", d.key)
	d.say("  ledger     %s   SQLite, every commit synced to disk\n", dir)
	return nil
}

// port gives addr, or a free one where it is taken, and says so.
func (d *demo) port(addr string) string {
	ln, err := net.Listen("tcp", addr)
	if err == nil {
		_ = ln.Close()
		return addr
	}
	d.say("%s is taken: another port is used", addr)
	return "127.0.0.1:0"
}

// show runs both sales.
func (d *demo) show() error {
	goods := lab.Config{Buyers: d.Buyers, Stock: d.Stock, NewID: demoGoods, Title: "Spring sale: one jacket each"}
	d.say("%s  %s buyers rush for %s jackets, one each, all within a second", d.a.paint.bold("Goods"),
		lab.Thousands(int64(d.Buyers)), lab.Thousands(d.Stock))
	if err := d.sale(goods); err != nil {
		return err
	}
	coupons := lab.Config{
		Buyers: max(1, d.Buyers/5), Stock: max(1, d.Stock/5), NewID: demoCoupons, Title: "Lucky coupon: 10 off from 50",
		Kind: sluice.KindCoupon, Retry: 0.5,
	}
	d.say("%s  %s people want one of %s coupons, and half of them click twice", d.a.paint.bold("Coupons"),
		lab.Thousands(int64(coupons.Buyers)), lab.Thousands(coupons.Stock))
	return d.sale(coupons)
}

// sale runs one crowd and prints its verdict.
func (d *demo) sale(cfg lab.Config) error {
	cfg.URL, cfg.AdminURL, cfg.AdminKey, cfg.JWTSecret = d.server.publicURL(), d.server.adminURL(), d.key, d.secret
	cfg.Listed, cfg.Shared = true, true
	screen := lab.NewScreen(d.a.out, isTerminal(d.a.out), true)
	cfg.Stage, cfg.Progress = screen.Stage, screen.Progress
	if d.a.json {
		cfg.Stage, cfg.Progress = nil, nil
	}
	r, err := lab.Run(d.a.ctx, cfg)
	screen.Clear()
	if err != nil {
		return err
	}
	if !r.Verdict.OK {
		d.broken = append(d.broken, r.Verdict.Sentence())
	}
	if d.a.json {
		return r.WriteJSON(d.a.out)
	}
	err = r.WriteSummary(d.a.out, d.a.paint.named)
	d.say("")
	return err
}

// tryIt makes a campaign that has units left and prints lines that work when copied.
func (d *demo) tryIt(dir string) error {
	ops := lab.NewOperators(lab.Config{AdminURL: d.server.adminURL(), AdminKey: d.key})
	defer ops.Close()
	cfg := lab.Config{NewID: demoTry, Title: "Try it yourself", Stock: 100, Limit: 2, Kind: sluice.KindGoods, Listed: true}
	if _, err := ops.CreateCampaign(d.a.ctx, cfg, time.Now()); err != nil {
		return err
	}
	id := sluice.NewClaimID(demoTry, demoUser, sluice.SourceClaim, demoRequest)
	d.say("%s  a crowd comes over the next ten minutes, and most of it pays", d.a.paint.bold("Evening sale"))
	d.say("  watch it    %s/live/%s   (the key is above)", d.server.adminURL(), demoEvening)
	d.say("  be in it    %s/c/%s\n", d.server.publicURL(), demoEvening)
	d.say("%s  another campaign, %s, has 100 units left: %s/c/%s\n", d.a.paint.bold("Try it yourself"), demoTry,
		d.server.publicURL(), demoTry)
	d.say("  # who you are")
	d.say("  TOKEN=%s\n", lab.Token(d.secret, demoUser, time.Now(), 24*time.Hour))
	d.say("  # claim one unit; send it again: the same answer, no second unit")
	d.say("  curl -s %s/v1/campaigns/%s/claims -X POST -H \"Authorization: Bearer $TOKEN\" -H 'Idempotency-Key: %s'\n",
		d.server.publicURL(), demoTry, demoRequest)
	d.say("  # pay for it, with the sandbox's money")
	d.say("  curl -s %s/v1/orders/%s/pay -X POST -H \"Authorization: Bearer $TOKEN\"\n", d.server.publicURL(),
		id.OrderID())
	d.say("  # count everything again from the rows, with the key from above as $KEY")
	d.say("  curl -s %s/v1/admin/campaigns/%s/verify -H \"Authorization: Bearer $KEY\"\n", d.server.adminURL(), demoTry)
	d.say("%s", d.a.paint.dim("Ctrl-C stops the server and removes its folder. Its log: "+filepath.Join(dir, demoLog)))
	return nil
}

// say prints a line for people; with --json nothing but the results is printed.
func (d *demo) say(format string, args ...any) {
	if !d.a.json {
		fmt.Fprintf(d.a.out, format+"\n", args...)
	}
}
