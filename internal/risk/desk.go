package risk

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// Book keeps rules and what they did, for operators; writes leave their audit row in the same transaction.
type Book interface {
	// PutRiskRule writes a rule; one whose Revision is above zero has to be at it. ErrConflict: it is not, or there are
	// most rules already.
	PutRiskRule(ctx context.Context, r sluice.RiskRule, most int, a sluice.Actor) (sluice.RiskRule, error)
	DeleteRiskRule(ctx context.Context, id string, a sluice.Actor, now sluice.Millis) (sluice.RiskRule, error)
	FiredPage(ctx context.Context, q sluice.RiskFiredQuery) (sluice.Page[sluice.RiskFired], error)
	LiftFired(ctx context.Context, id string, a sluice.Actor, now sluice.Millis) (sluice.RiskFired, error)
}

// Desk is where operators change rules and undo what rules did. What it answers is committed and in force on this node;
// others follow within 3 s.
type Desk struct {
	book   Book
	engine *Engine
	spread func(ctx context.Context)
}

// NewDesk makes a desk. spread has the other nodes look at once; nil where there are none.
func NewDesk(book Book, engine *Engine, spread func(context.Context)) *Desk {
	if spread == nil {
		spread = func(context.Context) {}
	}
	return &Desk{book, engine, spread}
}

// Rules lists every rule, those of the file too, in the order of their names.
func (d *Desk) Rules(ctx context.Context) ([]sluice.RiskRule, error) {
	rules, err := d.engine.cfg.Ledger.RiskRules(ctx)
	if err != nil {
		return nil, fmt.Errorf("risk: list the rules: %w", err)
	}
	return join(d.engine.cfg.File, rules), nil
}

// Rule gives one rule. ErrNotFound: there is none.
func (d *Desk) Rule(ctx context.Context, id string) (sluice.RiskRule, error) {
	all, err := d.Rules(ctx)
	if err != nil {
		return sluice.RiskRule{}, err
	}
	for _, r := range all {
		if r.ID == id {
			return r, nil
		}
	}
	return sluice.RiskRule{}, sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_RULE", "there is no rule "+id)
}

// Put writes a rule, new or changed. A new one without a mode is a dry run. A rule of the file is replaced by one of
// the same name until that is deleted.
func (d *Desk) Put(ctx context.Context, r sluice.RiskRule, a sluice.Actor) (sluice.RiskRule, error) {
	if r.Mode == "" {
		r.Mode = sluice.RiskDryRun
	}
	kept, err := d.check(&r)
	if err != nil {
		return r, err
	}
	r.Rule = kept
	all, err := d.Rules(ctx)
	if err != nil {
		return r, err
	}
	if err := fits(all, r); err != nil {
		return r, err
	}
	r.Author, r.UpdatedAt = a.Name, d.engine.now()
	if r, err = d.book.PutRiskRule(ctx, r, sluice.MaxRiskRules, a); err != nil {
		return r, err
	}
	return r, d.inForce(ctx)
}

// fits says whether the tables of all rules with r are few enough.
func fits(all []sluice.RiskRule, r sluice.RiskRule) error {
	have := map[tableKey]*table{}
	for _, o := range append(all, r) {
		if o.ID == r.ID && o.Rule != r.Rule || o.Mode == sluice.RiskOff {
			continue
		}
		read, err := parse(o.Rule)
		if err != nil {
			continue
		}
		for k := range keysOf(read, have) {
			have[k] = &table{}
		}
	}
	if len(have) > maxTables {
		return sluice.NewFault(sluice.ErrConflict, "RULES_FULL", fmt.Sprintf("the rules would count %d different "+
			"combinations of signal, scope and time, and %d is the most: use the times of other rules", len(have), maxTables))
	}
	return nil
}

func (d *Desk) inForce(ctx context.Context) error {
	if err := d.engine.Load(context.WithoutCancel(ctx)); err != nil {
		return &sluice.Fault{Kind: sluice.ErrUnavailable, Code: "NOT_IN_FORCE",
			Detail: "the change is recorded, but not in force yet: make it again"}
	}
	d.spread(ctx)
	return nil
}

// Delete deletes a rule that an operator wrote, and ends what it did. A rule of the file of the same name is in force
// again. ErrNotFound: there is none.
func (d *Desk) Delete(ctx context.Context, id string, a sluice.Actor) (sluice.RiskRule, error) {
	r, err := d.book.DeleteRiskRule(ctx, id, a, d.engine.now())
	if err != nil {
		return r, err
	}
	return r, d.inForce(ctx)
}

// Fired lists what rules did, newest first; of other nodes what is a second old.
func (d *Desk) Fired(ctx context.Context, q sluice.RiskFiredQuery) (sluice.Page[sluice.RiskFired], error) {
	if err := d.engine.write(ctx); err != nil {
		return sluice.Page[sluice.RiskFired]{}, err
	}
	return d.book.FiredPage(ctx, q)
}

// Lift undoes what a rule did about one subject: at once, and until the record's end the rule leaves it alone.
func (d *Desk) Lift(ctx context.Context, id string, a sluice.Actor) (sluice.RiskFired, error) {
	// What fired in the last second may not be written yet.
	if err := d.engine.write(ctx); err != nil {
		return sluice.RiskFired{}, err
	}
	f, err := d.book.LiftFired(ctx, id, a, d.engine.now())
	if err != nil {
		return f, err
	}
	return f, d.inForce(ctx)
}

// check names every fault of a rule, and gives its text in the one form that is kept.
func (d *Desk) check(r *sluice.RiskRule) (string, error) {
	var faults []sluice.FieldFault
	add := func(field, detail string) {
		faults = append(faults, sluice.FieldFault{Field: field, Detail: detail})
	}
	if !validName(r.ID) {
		add("id", "must be 1 to 64 of A-Z a-z 0-9 . _ -, and begin with a letter or digit")
	}
	kept, err := Check(r.Rule)
	if err != nil {
		add("rule", err.Error())
	}
	switch r.Mode {
	case sluice.RiskOff, sluice.RiskDryRun, sluice.RiskOn:
	default:
		add("mode", "must be off, dry_run or on")
	}
	if len(r.Note) > sluice.MaxNote || !utf8.ValidString(r.Note) || strings.ContainsFunc(r.Note, unicode.IsControl) {
		add("note", fmt.Sprintf("must be UTF-8 without control characters, of at most %d bytes", sluice.MaxNote))
	}
	if r.Campaign != "" && !validName(r.Campaign) {
		add("campaign_id", "is no campaign's id")
	}
	return kept, sluice.Invalid(faults...)
}

func validName(v string) bool {
	ok := v != "" && len(v) <= 64 && !strings.ContainsRune("._-", rune(v[0]))
	for i := 0; ok && i < len(v); i++ {
		c := v[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
	}
	return ok
}

// FileRule reads a rule of the configuration file: "NAME [(off|dry_run|on)]: RULE". Without a mode it is a dry run.
func FileRule(text string) (r sluice.RiskRule, err error) {
	head, rule, ok := strings.Cut(text, ":")
	if !ok {
		return r, fmt.Errorf("must be a name, a colon and a rule, such as: "+
			"farm (dry_run): accounts per device > 5 in %s -> block 15m", span(10*time.Minute))
	}
	r.ID, r.Mode, r.File = strings.TrimSpace(head), sluice.RiskDryRun, true
	if name, mode, ok := strings.Cut(r.ID, "("); ok {
		r.ID, r.Mode = strings.TrimSpace(name), sluice.RiskMode(strings.TrimSuffix(mode, ")"))
	}
	switch r.Mode {
	case sluice.RiskOff, sluice.RiskDryRun, sluice.RiskOn:
	default:
		return r, fmt.Errorf("has the mode %q, and must have off, dry_run or on", string(r.Mode))
	}
	if !validName(r.ID) {
		return r, fmt.Errorf("has the name %q, and must have one of 1 to 64 of A-Z a-z 0-9 . _ -", r.ID)
	}
	if r.Rule, err = Check(rule); err != nil {
		return r, fmt.Errorf("%s: %w", r.ID, err)
	}
	return r, nil
}
