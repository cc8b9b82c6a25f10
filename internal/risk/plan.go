package risk

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// kind is what a table counts.
type kind uint8

const (
	kindAccounts kind = iota
	kindDevices
	kindClaims
	kindOrders
	kindFailed
	kindEarly
	kindRefused
)

var kinds = [numSignals]kind{
	sigAccounts: kindAccounts, sigDevices: kindDevices, sigClaims: kindClaims, sigOrders: kindOrders,
	sigFailed: kindFailed, sigEarly: kindEarly, sigShare: kindRefused,
}

// tableKey names a table, the same on all nodes.
type tableKey struct {
	kind kind
	by   by
	half uint32 // ms
}

// table counts one kind for one scope over one window.
type table struct {
	tableKey
	counts_  *counts    // or
	distinct *distincts //
	floor    float64    // what has been counted less is not told to other nodes
}

func newTable(k tableKey) *table {
	t := &table{tableKey: k}
	if k.kind <= kindDevices {
		t.distinct = newDistincts()
	} else {
		t.counts_ = newCounts()
	}
	return t
}

// counts says whether a decision belongs into the table.
func (t *table) counts(r sluice.Reason) bool {
	switch t.kind {
	case kindOrders:
		return r.Admitted()
	case kindFailed:
		return false
	case kindEarly:
		return r == sluice.ReasonNotStarted
	case kindRefused:
		return blamed(r)
	}
	return true
}

func (t *table) at(now sluice.Millis) uint32 { return uint32(int64(now) / int64(t.half)) }

func (t *table) add(x *subject) {
	hash := x.hash[t.by]
	if hash == 0 {
		return
	}
	half := t.at(x.Now)
	if t.distinct == nil {
		t.counts_.add(hash, half, 1, false)
		return
	}
	member := x.hash[byAccount]
	if t.kind == kindDevices {
		member = x.hash[byDevice]
	}
	if member != 0 {
		t.distinct.add(hash, member, half)
	}
}

func (t *table) value(x *subject) float64 {
	hash := x.hash[t.by]
	if hash == 0 {
		return 0
	}
	if t.distinct != nil {
		return t.distinct.size(hash, t.at(x.Now))
	}
	return float64(t.counts_.sum(hash, t.at(x.Now)))
}

// actKey names what a rule does in one mode.
type actKey struct {
	rule string
	mode sluice.RiskMode
	deed deed
}

// lit is a rule in force.
type lit struct {
	rule
	id       string
	revision int64
	mode     sluice.RiskMode
	campaign string
	to       by // target
	lasts    int64
	acted    *atomic.Int64
	tables   []*table // one a condition; nil for an account's age
	of       []*table // of a refused share, all claims
}

// saw is what was counted for each condition.
type saw [MaxConditions]float64

func (l *lit) hash(x *subject) uint64 { return x.hash[l.to] }

// holds says whether every condition does.
func (l *lit) holds(e *Engine, x *subject) (s saw, yes bool) {
	for i, c := range l.conditions {
		if c.signal == sigAge {
			age, known := e.age(x.Subject)
			if s[i] = age; !known || age >= c.threshold {
				return s, false
			}
			continue
		}
		v := l.tables[i].value(x)
		if c.signal == sigShare {
			all := l.of[i].value(x)
			if all < minShareOf {
				return s, false
			}
			v /= all
		} else if c.signal.distinct() {
			// The bits that two share make an estimate that is off by parts of one; what is asked is a whole number.
			v = float64(int64(v + 0.5))
		}
		if s[i] = v; v <= c.threshold {
			return s, false
		}
	}
	return s, true
}

// text says what was seen.
func (l *lit) text(s *saw) string {
	var b []byte
	for i, c := range l.conditions {
		if i > 0 {
			b = append(b, " and "...)
		}
		b = append(b, c.text(s[i])...)
	}
	return string(b)
}

// plan is what is in force, read without a lock.
type plan struct {
	hasher hasher
	rules  []lit
	tables []*table
	needs  [numBys]bool
	listed []sluice.RiskRule
}

// setRules puts rules in force. Counters go on where a rule still needs them.
func (e *Engine) setRules(ledger []sluice.RiskRule) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.replan(join(e.cfg.File, ledger))
}

// join gives the ledger's rules and those of the file that none of them replaces, in the order of their names.
func join(file, ledger []sluice.RiskRule) []sluice.RiskRule {
	all := slices.Clone(ledger)
	for _, f := range file {
		if !slices.ContainsFunc(ledger, func(l sluice.RiskRule) bool { return l.ID == f.ID }) {
			f.File = true
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b sluice.RiskRule) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// replan makes the plan of rules. The caller holds mu.
func (e *Engine) replan(rules []sluice.RiskRule) {
	p := &plan{hasher: newHasher(e.key), listed: rules}
	// What is blocked is looked up by account and by device, whatever the rules count now.
	p.needs[byAccount], p.needs[byDevice] = true, true
	used, acted := map[tableKey]*table{}, map[actKey]*atomic.Int64{}
	for _, r := range rules {
		if r.Mode == sluice.RiskOff {
			continue
		}
		read, err := parse(r.Rule)
		if err != nil {
			e.log.Error("a risk rule cannot be read and is passed over", "rule", r.ID, "err", err)
			continue
		}
		l := lit{rule: *read, id: r.ID, revision: r.Revision, mode: r.Mode, campaign: r.Campaign, to: read.target()}
		if len(used)+len(keysOf(read, used)) > maxTables {
			e.log.Error("a risk rule would need more tables than there may be and is passed over", "rule", r.ID)
			continue
		}
		k := actKey{r.ID, r.Mode, l.action.deed}
		if l.acted = e.acted[k]; l.acted == nil {
			l.acted = new(atomic.Int64)
		}
		acted[k] = l.acted
		e.light(&l, used, &p.needs)
		p.rules = append(p.rules, l)
	}
	for _, t := range used {
		p.tables = append(p.tables, t)
	}
	e.tables, e.acted = used, acted
	e.plan.Store(p)
	e.holds.retire(p)
}

// acted gives where the acts of a rule are counted.
func (p *plan) acted(id string) *atomic.Int64 {
	for i := range p.rules {
		if p.rules[i].id == id {
			return p.rules[i].acted
		}
	}
	return new(atomic.Int64)
}

// mode gives the mode of a rule; empty where there is none.
func (p *plan) mode(id string) sluice.RiskMode {
	for i := range p.listed {
		if p.listed[i].ID == id {
			return p.listed[i].Mode
		}
	}
	return ""
}

// keysOf gives the tables that a rule needs and that are not there.
func keysOf(r *rule, have map[tableKey]*table) map[tableKey]bool {
	need := map[tableKey]bool{}
	for _, c := range r.conditions {
		if c.signal == sigAge {
			continue
		}
		k := c.key()
		if have[k] == nil {
			need[k] = true
		}
		if k.kind == kindRefused {
			if k.kind = kindClaims; have[k] == nil {
				need[k] = true
			}
		}
	}
	return need
}

func (c *condition) key() tableKey {
	return tableKey{kinds[c.signal], c.by, uint32(c.window / 2 / time.Millisecond)}
}

// light gives a rule its tables: those that are there, or new ones.
func (e *Engine) light(l *lit, used map[tableKey]*table, needs *[numBys]bool) {
	get := func(k tableKey, floor float64) *table {
		t := used[k]
		if t == nil {
			if old := e.tables[k]; old != nil { // a copy, since claims read the old one's floor no more than it
				t = &table{tableKey: k, counts_: old.counts_, distinct: old.distinct, floor: floor}
			} else {
				t = newTable(k)
				t.floor = floor
			}
			used[k] = t
		}
		t.floor = min(t.floor, floor)
		return t
	}
	needs[l.to] = true
	for _, c := range l.conditions {
		needs[c.by] = true
		l.lasts = max(l.lasts, c.window.Milliseconds())
		if c.signal == sigAge {
			l.tables, l.of = append(l.tables, nil), append(l.of, nil)
			continue
		}
		k, all := c.key(), (*table)(nil)
		floor := c.threshold / maxNodesHeard
		if c.signal == sigShare {
			floor = 1
			all = get(tableKey{kindClaims, c.by, k.half}, floor)
		}
		l.tables, l.of = append(l.tables, get(k, floor)), append(l.of, all)
	}
	l.lasts = max(l.lasts, time.Minute.Milliseconds())
}
