package analysis

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"net/netip"
	"slices"

	"github.com/sluice-sale/sluice"
)

// Bounds of an analysis: what it keeps, whatever the log holds. All together are below 64 MB.
const (
	DefaultTop   = 10
	MaxTop       = 100
	refusedKeys  = 2048  // counters for each refusal and kind: errors up to the refusals / 2,048
	holderKeys   = 16384 // counters of who got units, for each kind
	crowdKeys    = 8192  // devices, subnets, and moments of subnets, whose accounts are counted
	maxRules     = 1000  // rules counted by name; more are counted together
	maxRows      = 7200  // rows of the funnel by time; where more are needed, each becomes twice as wide
	secondMS     = sluice.Millis(1000)
	slotMS       = sluice.Millis(10) // claims of one subnet within it came at the same moment
	maxClusters  = 50
	otherRules   = "(other rules)"
	deviceCrowd  = 3   // accounts on one device: more than a household's tablet
	subnetCrowd  = 20  // accounts of one subnet, before anything is said of it
	timingCrowd  = 10  // accounts of one subnet at the same moment
	timingShare  = 0.3 // of the subnet's accounts
	perDevice    = 3.0 // accounts a device of a subnet
	perAccount   = 4.0 // claims an account, as a multiple of the campaign's mean
	subnetBitsV4 = 24
	subnetBitsV6 = 64
)

// Kinds of whom an analysis tells.
const (
	kindUser = iota
	kindDevice
	kindAddress
	kindSubnet
	kinds
)

var kindNames = [kinds]string{"user", "device", "address", "subnet"}

// Config says what is analysed. Zero values mean the defaults given.
type Config struct {
	Campaign string // required: lines on others are counted and passed over
	Top      int    // length of each list; default DefaultTop, at most MaxTop
}

// Analyzer takes in decisions one by one. It belongs to one goroutine.
type Analyzer struct {
	cfg  Config
	seed maphash.Seed
	now  line // being read
	text []byte

	lines, others, unread int64
	starts                sluice.Millis
	reasons               [sluice.NumReasons]sluice.ReasonTotal
	rows                  map[sluice.Millis]*[sluice.NumReasons]int64 // by start; ReasonNone: given again
	width                 sluice.Millis
	seen                  [kinds]distinct
	refused               [sluice.NumReasons][kinds]*saving // made when first needed
	holders               [kinds]*saving
	devices               *saving // claims, accounts and units by device
	subnets               *saving
	moments               *saving // by subnet and slot
	rules                 map[string]*sluice.RuleTotal
	units                 sluice.UnitShares
}

// New makes an Analyzer for one campaign.
func New(cfg Config) *Analyzer {
	if cfg.Top <= 0 {
		cfg.Top = DefaultTop
	}
	cfg.Top = min(cfg.Top, MaxTop)
	a := &Analyzer{
		cfg: cfg, seed: maphash.MakeSeed(), rows: map[sluice.Millis]*[sluice.NumReasons]int64{}, width: secondMS,
		devices: newSaving(crowdKeys), subnets: newSaving(crowdKeys), moments: newSaving(crowdKeys),
		rules: map[string]*sluice.RuleTotal{},
	}
	for k := range a.holders {
		a.holders[k] = newSaving(holderKeys)
	}
	return a
}

// key is one of a decision's user, device, address and subnet; hash is 0 where it is not known.
type key struct {
	hash  uint64
	label []byte
}

// Line takes in one line of the log. The bytes are not kept.
func (a *Analyzer) Line(b []byte) {
	l := &a.now
	switch {
	case !l.parse(b):
		a.unread++
		return
	case string(l.campaign) != a.cfg.Campaign:
		a.others++
		return
	}
	a.lines++
	if l.hasAfter {
		a.starts = l.at - l.after
	}
	who := a.who(l)
	for k := range who {
		if who[k].hash != 0 {
			a.seen[k].add(who[k].hash)
		}
	}
	a.count(l)
	a.crowd(l, &who)
	admitted := l.reason.Admitted() && !l.replayed
	a.rule(l, admitted)
	switch {
	case admitted:
		a.give(l, &who)
	case !l.reason.Admitted():
		a.refuse(l, &who)
	}
}

// who finds the keys of a decision.
func (a *Analyzer) who(l *line) (who [kinds]key) {
	for k, text := range [...][]byte{l.user, l.device, l.addr} {
		if len(text) > 0 {
			who[k] = key{maphash.Bytes(a.seed, text) | 1, text}
		}
	}
	if len(l.addr) == 0 {
		return who
	}
	addr, err := netip.ParseAddr(string(l.addr))
	if err != nil {
		return who
	}
	addr = addr.Unmap().WithZone("")
	bits := subnetBitsV6
	if addr.Is4() {
		bits = subnetBitsV4
	}
	if p, err := addr.Prefix(bits); err == nil {
		a.text = p.AppendTo(a.text[:0])
		who[kindSubnet] = key{maphash.Bytes(a.seed, a.text) | 1, a.text}
	}
	return who
}

// count adds the decision to the funnel, by reason and by time.
func (a *Analyzer) count(l *line) {
	r := &a.reasons[l.reason]
	r.Count++
	column := l.reason
	if l.replayed {
		r.Replayed++
		column = sluice.ReasonNone
	}
	at := l.at - l.at%a.width
	row, ok := a.rows[at]
	if !ok {
		for len(a.rows) >= maxRows {
			a.widen()
		}
		at = l.at - l.at%a.width
		if row = a.rows[at]; row == nil {
			row = new([sluice.NumReasons]int64)
			a.rows[at] = row
		}
	}
	row[column]++
}

// widen makes each row of the funnel twice as wide.
func (a *Analyzer) widen() {
	a.width *= 2
	wide := make(map[sluice.Millis]*[sluice.NumReasons]int64, len(a.rows)/2+1)
	for at, row := range a.rows {
		at -= at % a.width
		into := wide[at]
		if into == nil {
			wide[at] = row
			continue
		}
		for i, n := range row {
			into[i] += n
		}
	}
	a.rows = wide
}

// crowd counts the accounts behind a device and a subnet, and those that came at one moment.
func (a *Analyzer) crowd(l *line, who *[kinds]key) {
	user := who[kindUser].hash
	if user == 0 {
		return
	}
	if d := who[kindDevice]; d.hash != 0 {
		a.devices.add(d.hash, d.label, 1).users.add(user)
	}
	n := who[kindSubnet]
	if n.hash == 0 {
		return
	}
	c := a.subnets.add(n.hash, n.label, 1)
	c.users.add(user)
	if who[kindDevice].hash != 0 {
		c.other.add(who[kindDevice].hash)
	}
	slot := l.at - l.at%slotMS
	var at [16]byte
	binary.LittleEndian.PutUint64(at[:8], n.hash)
	binary.LittleEndian.PutUint64(at[8:], uint64(slot))
	a.moments.add(maphash.Bytes(a.seed, at[:])|1, at[:], 1).users.add(user)
}

// rule counts what the risk rule of the decision did.
func (a *Analyzer) rule(l *line, admitted bool) {
	if len(l.rule) == 0 {
		return
	}
	r, ok := a.rules[string(l.rule)]
	if !ok {
		name := string(l.rule)
		if len(a.rules) >= maxRules {
			name = otherRules
		}
		if r = a.rules[name]; r == nil {
			r = &sluice.RuleTotal{Rule: name}
			a.rules[name] = r
		}
	}
	r.Decisions++
	one := func(n *int64, is bool) {
		if is {
			*n++
		}
	}
	one(&r.Blocked, l.reason == sluice.ReasonBlocked)
	one(&r.Challenged, l.challenged)
	one(&r.Slowed, l.slowed)
	if admitted {
		r.Units += l.quantity
	}
}

// give counts units that were given out.
func (a *Analyzer) give(l *line, who *[kinds]key) {
	a.units.Total += l.quantity
	switch {
	case l.challenged:
		a.units.Challenged += l.quantity
	case l.slowed:
		a.units.Slowed += l.quantity
	default:
		a.units.Normal += l.quantity
	}
	for k, w := range who {
		if w.hash != 0 {
			a.holders[k].add(w.hash, w.label, l.quantity)
		}
	}
	for k, in := range map[int]*saving{kindDevice: a.devices, kindSubnet: a.subnets} {
		if c := in.find(who[k].hash); c != nil {
			c.units += l.quantity
		}
	}
}

func (a *Analyzer) refuse(l *line, who *[kinds]key) {
	lists := &a.refused[l.reason]
	for _, k := range [...]int{kindDevice, kindAddress, kindSubnet} {
		if who[k].hash == 0 {
			continue
		}
		if lists[k] == nil {
			lists[k] = newSaving(refusedKeys)
		}
		lists[k].add(who[k].hash, who[k].label, 1)
	}
}

// Result tells what was found so far.
func (a *Analyzer) Result() sluice.Analysis {
	r := sluice.Analysis{
		Campaign: a.cfg.Campaign, Source: sluice.SourceDecisions, Missing: []string{}, Lines: a.lines, Others: a.others,
		Unread: a.unread, StartsMS: int64(a.starts), WidthMS: int64(a.width), Units: a.units,
		Reasons: []sluice.ReasonTotal{}, Seconds: []sluice.SecondTotals{}, Distinct: []sluice.DistinctTotal{},
		Refusals: []sluice.RefusalTops{}, Rules: []sluice.RuleTotal{}, Holders: []sluice.TopList{},
	}
	for _, reason := range sluice.Reasons() {
		if t := a.reasons[reason]; t.Count > 0 {
			t.Reason, t.Share = reason.String(), float64(t.Count)/float64(a.lines)
			r.Reasons = append(r.Reasons, t)
		}
		if tops := a.tops(a.refused[reason][:], kindDevice, kindAddress, kindSubnet); len(tops) > 0 {
			r.Refusals = append(r.Refusals, sluice.RefusalTops{Reason: reason.String(), Tops: tops})
		}
	}
	for _, at := range slices.Sorted(maps.Keys(a.rows)) {
		r.Seconds = append(r.Seconds, secondTotals(at, a.rows[at]))
	}
	for k := range a.seen {
		if n := a.seen[k].count(); n > 0 {
			r.Distinct = append(r.Distinct, sluice.DistinctTotal{Kind: kindNames[k], Count: n, Error: distinctError})
		}
	}
	for _, rule := range a.rules {
		r.Rules = append(r.Rules, *rule)
	}
	slices.SortFunc(r.Rules, func(x, y sluice.RuleTotal) int {
		return cmp.Or(cmp.Compare(y.Decisions, x.Decisions), cmp.Compare(x.Rule, y.Rule))
	})
	r.Holders = append(r.Holders, a.tops(a.holders[:], kindUser, kindDevice, kindAddress, kindSubnet)...)
	r.Clusters = a.clusters()
	return r
}

func secondTotals(at sluice.Millis, row *[sluice.NumReasons]int64) sluice.SecondTotals {
	s := sluice.SecondTotals{StartMS: int64(at), Counts: map[string]int64{}, Replayed: row[sluice.ReasonNone]}
	for _, reason := range sluice.Reasons() {
		if n := row[reason]; n > 0 {
			s.Counts[reason.String()] = n
		}
	}
	return s
}

// tops cuts the lists of the given kinds to their heads.
func (a *Analyzer) tops(lists []*saving, which ...int) []sluice.TopList {
	var out []sluice.TopList
	for _, k := range which {
		s := lists[k]
		if s == nil || s.total == 0 {
			continue
		}
		top := sluice.TopList{Kind: kindNames[k], Error: s.bound(), Items: []sluice.TopItem{}}
		for i, c := range s.sorted() {
			if i == a.cfg.Top {
				break
			}
			top.Items = append(top.Items, sluice.TopItem{Key: c.label, Count: c.count, Error: c.over})
		}
		out = append(out, top)
	}
	return out
}
