package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of a run with bots.
const (
	besideEachOther = 500 // people; larger sales go one after the other
	maxHonest       = 20_000
	maxBotAccounts  = 20_000
	maxBotTries     = 200
	botConns        = 64
	accountsASolver = 190
	botsTimeout     = 20 * time.Second
	botsPatience    = 20 * time.Second // after the opening, for everybody to come to an end
	maxThink        = 4.0              // medians
)

// Bots is the model of a sale that scripts raid: who they are, what they have, what they do, and who else comes. It is
// printed with the result, since the result is worth what the model is. Zero values mean the defaults given.
type Bots struct {
	Honest        int     `json:"honest"`          // buyers who are people; default 2,000
	Stock         int64   `json:"stock"`           // units, one a user; default half of Honest
	RequestShare  float64 `json:"request_share"`   // of the bots in all requests; default 0.8
	Accounts      int     `json:"accounts"`        // of the bots; default half more than the stock
	PerDevice     int     `json:"per_device"`      // accounts of a bots' device; default 20
	PerAddress    int     `json:"per_address"`     // accounts of a bots' address; default 40
	Forgers       float64 `json:"forgers"`         // of the accounts: a new device header each time; default 0.4
	Solvers       int     `json:"solvers"`         // challenges at once, of all bots; default one for 190 accounts
	BotSolveMS    int     `json:"bot_solve_ms"`    // a bot's time for a challenge; default 500
	BotSolved     float64 `json:"bot_solved"`      // share of the bots' solutions that are right; default 0.9
	HonestSolveMS int     `json:"honest_solve_ms"` // a person's time for a challenge; default 1500
	HonestSolved  float64 `json:"honest_solved"`   // default 0.95
	Carrier       float64 `json:"carrier"`         // share of the people behind one address; default 0.02
	Family        float64 `json:"family"`          // of the people: two share a device; default 0.02
	ThinkMS       int     `json:"think_ms"`        // median from the opening to a click; default 1500
	LeadMS        int     `json:"lead_ms"`         // passes can be earned for so long before the opening; default 6000
	EarlyClaims   int     `json:"early_claims"`    // of each bot, before the opening; default 3, below 0 none
	Challenge     string  `json:"challenge"`       // of the campaign; default pow
	Seed          uint64  `json:"seed"`            // default random
	Tries         int     `json:"bot_tries"`       // claims of each bot, from RequestShare
	PricePerSolve float64 `json:"solve_price_usd"` // default 0.002
}

// Modes are the protections that are compared, in order.
var botModes = []sluice.PassMode{sluice.PassOff, sluice.PassAdaptive, sluice.PassAlways}

func (b Bots) withDefaults() Bots {
	orInt := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	orShare := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	orInt(&b.Honest, 2000)
	if b.Stock == 0 {
		b.Stock = int64(max(1, b.Honest/2))
	}
	orInt(&b.Accounts, max(1, int(b.Stock*3/2)))
	orInt(&b.PerDevice, 20)
	orInt(&b.PerAddress, 40)
	orInt(&b.Solvers, max(1, b.Accounts/accountsASolver))
	orInt(&b.BotSolveMS, 500)
	orInt(&b.HonestSolveMS, 1500)
	orInt(&b.ThinkMS, 1500)
	orInt(&b.LeadMS, 6000)
	orInt(&b.EarlyClaims, 3)
	b.EarlyClaims = max(0, b.EarlyClaims)
	orShare(&b.RequestShare, 0.8)
	orShare(&b.Forgers, 0.4)
	orShare(&b.BotSolved, 0.9)
	orShare(&b.HonestSolved, 0.95)
	orShare(&b.Carrier, 0.02)
	orShare(&b.Family, 0.02)
	orShare(&b.PricePerSolve, 0.002)
	if b.Challenge == "" {
		b.Challenge = string(sluice.ChallengePoW)
	}
	for b.Seed == 0 {
		b.Seed = rand.Uint64() >> 33
	}
	// A person claims about 1.15 times: a tenth click twice, a twentieth too early.
	want := b.RequestShare / (1 - b.RequestShare) * 1.15 * float64(b.Honest) / float64(b.Accounts)
	b.Tries = min(maxBotTries, max(b.EarlyClaims+1, int(want+0.5)))
	return b
}

// check gives an ErrInvalid Fault that names every field that is out of bounds.
func (b Bots) check() error {
	var faults []sluice.FieldFault
	need := func(ok bool, field, detail string) {
		if !ok {
			faults = append(faults, sluice.FieldFault{Field: field, Detail: detail})
		}
	}
	share := func(v float64, field string) { need(v >= 0 && v <= 1, field, "must be 0 to 1") }
	need(b.Honest >= 1 && b.Honest <= maxHonest, "buyers", "must be 1 to 20,000 with bots")
	need(b.Stock >= 1 && b.Stock <= maxHonest, "stock", "must be 1 to 20,000 with bots")
	need(b.Accounts >= 1 && b.Accounts <= maxBotAccounts, "bot-accounts", "must be 1 to 20,000")
	need(b.PerDevice >= 1 && b.PerAddress >= 1, "per-device, per-address", "must be 1 or more")
	need(b.RequestShare > 0 && b.RequestShare <= 0.99, "bot-share", "must be above 0 and at most 0.99")
	need(b.Solvers >= 1 && b.Solvers <= 1000, "solvers", "must be 1 to 1,000")
	need(b.EarlyClaims <= maxBotTries, "early", "must be at most 200")
	need(b.LeadMS >= 500 && b.LeadMS <= 600_000, "lead", "must be half a second to ten minutes")
	need(b.Challenge == string(sluice.ChallengePoW), "challenge", "must be pow: the lab can solve no other")
	share(b.Forgers, "forgers")
	share(b.BotSolved, "bot-solved")
	share(b.HonestSolved, "honest-solved")
	share(b.Carrier, "carrier")
	share(b.Family, "family")
	return sluice.Invalid(faults...)
}

// words says the model in sentences.
func (b Bots) words() []string {
	return []string{
		fmt.Sprintf("%s people: %d ms median from the opening to the click; a device each, %.0f%% share theirs with "+
			"one other; an address each, but %.0f%% behind one carrier's; a tenth click twice, a twentieth too early",
			Thousands(int64(b.Honest)), b.ThinkMS, 100*b.Family, 100*b.Carrier),
		fmt.Sprintf("bots send %.0f%% of the requests: %s accounts, %d a device, %d an address, %d claims each, %d of "+
			"them before the opening, the others from its first millisecond on", 100*b.RequestShare,
			Thousands(int64(b.Accounts)),
			b.PerDevice, b.PerAddress, b.Tries, b.EarlyClaims),
		fmt.Sprintf("%.0f%% of the accounts have no device claim and make up a device id for each request without a pass; "+
			"all spoof X-Forwarded-For, forge their agent and their timestamp", 100*b.Forgers),
		"they try each other's passes and each other's solved challenges, and use their own passes again",
		fmt.Sprintf("a challenge (%s, of little work: its time is waited) costs a person %d ms, %.0f%% right; a bot %d ms, "+
			"%.0f%% right, %d at once, $%.3f each",
			b.Challenge, b.HonestSolveMS, 100*b.HonestSolved, b.BotSolveMS, 100*b.BotSolved, b.Solvers, b.PricePerSolve),
		fmt.Sprintf("passes can be earned from %.1f s before the opening; one unit a user", float64(b.LeadMS)/1000),
	}
}

// BotsConfig says how a run with bots is made. Start starts a server for one mode, which must take X-Forwarded-For from
// the lab; it is stopped afterwards.
type BotsConfig struct {
	Bots  Bots
	Start func(ctx context.Context) (*Process, error)
	Stage func(string)
}

// BotsServer gives the flags of a server for RunBots: it takes the lab for a proxy, so that each of the crowd has an
// address, and asks for the least work, since the lab has one processor for all of them.
func BotsServer() []string {
	return []string{"--trusted-proxies", "127.0.0.1/32", "--challenge-pow-max", "1000", "--challenge-pow-ceiling", "1000"}
}

// RunBots raids the same sale with protection off, adaptive and always, each on a server of its own; small sales go on
// beside each other.
func RunBots(ctx context.Context, cfg BotsConfig) (BotsResult, error) {
	b := cfg.Bots.withDefaults()
	if err := b.check(); err != nil {
		return BotsResult{}, err
	}
	if cfg.Stage == nil {
		cfg.Stage = func(string) {}
	}
	r := BotsResult{Started: time.Now().UTC(), Model: b, Says: b.words()}
	r.Raids = make([]Raid, len(botModes))
	faults := make([]error, len(botModes))
	var wg sync.WaitGroup
	for i, mode := range botModes {
		wg.Go(func() {
			cfg.Stage("bots: a sale with protection " + string(mode))
			r.Raids[i], faults[i] = oneRaid(ctx, cfg, b, mode)
		})
		if b.Honest > besideEachOther {
			wg.Wait()
		}
	}
	wg.Wait()
	if err := errors.Join(faults...); err != nil {
		return r, err
	}
	r.judge()
	return r, nil
}

// oneRaid starts a server, has everybody come, and audits.
func oneRaid(ctx context.Context, cfg BotsConfig, b Bots, mode sluice.PassMode) (Raid, error) {
	p, err := cfg.Start(ctx)
	if err != nil {
		return Raid{}, err
	}
	defer p.Stop()
	ops := NewOperators(p.Use(Config{}))
	defer ops.Close()
	f, err := newFarm(b, mode, p)
	if err != nil {
		return Raid{}, err
	}
	defer f.close()
	if err := f.open(ctx, ops); err != nil {
		return Raid{}, err
	}
	f.run(ctx)
	if err := ctx.Err(); err != nil {
		return Raid{}, fmt.Errorf("lab: stopped: %w", err)
	}
	return f.reckon(ctx, ops)
}
