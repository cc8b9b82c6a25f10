package gate

import (
	"cmp"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluice-sale/sluice"
)

// blocks is a snapshot of the blocklist. Networks lie in one sorted table a prefix length: an address is looked up once
// for each length that occurs, the longest first.
type blocks struct {
	tables  []prefixTable // longest prefixes first; both families
	users   map[string]block
	devices map[string]block
}

// block is what a check needs of a sluice.Block.
type block struct {
	reference string
	expires   sluice.Millis // zero: until lifted
}

func (b block) holds(now sluice.Millis) bool { return b.expires == 0 || now < b.expires }

// outlasts says whether b holds for longer than o.
func (b block) outlasts(o block) bool {
	return b.expires == 0 || o.expires != 0 && b.expires > o.expires
}

type prefixTable struct {
	bits  int
	is4   bool
	items []prefixItem // sorted by address
}

type prefixItem struct {
	addr netip.Addr // the network's
	block
}

// SetBlocks replaces the blocklist. A block whose address cannot be read is left out and logged. Expired blocks may
// be in the list: they hold nobody up.
func (g *Gate) SetBlocks(list []sluice.Block) {
	g.hits.forget(sluice.MillisOf(g.cfg.Now()))
	g.blocks.Store(newBlocks(list, g.cfg.Logger))
}

func newBlocks(list []sluice.Block, logger *slog.Logger) *blocks {
	b := &blocks{users: map[string]block{}, devices: map[string]block{}}
	nets := map[netip.Prefix]block{}
	for _, x := range list {
		entry := block{strings.Clone(x.ID), x.ExpiresAt}
		switch x.Scope {
		case sluice.BlockUser:
			keepLonger(b.users, strings.Clone(x.Value), entry)
		case sluice.BlockDevice:
			keepLonger(b.devices, strings.Clone(x.Value), entry)
		case sluice.BlockAddress:
			p, ok := parsePrefix(x.Value)
			if !ok {
				logger.Warn("gate: a block's address cannot be read", "block", x.ID)
				continue
			}
			keepLonger(nets, p, entry)
		default:
			logger.Warn("gate: a block's scope is not known", "block", x.ID, "scope", string(x.Scope))
		}
	}
	b.tables = tablesOf(nets)
	return b
}

func keepLonger[K comparable](m map[K]block, key K, b block) {
	if old, ok := m[key]; !ok || b.outlasts(old) {
		m[key] = b
	}
}

// parsePrefix reads an address or a network. An IPv4 address written as IPv6 is an IPv4 address; zones are dropped.
func parsePrefix(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, false
	}
	a = a.Unmap().WithZone("")
	return netip.PrefixFrom(a, a.BitLen()), true
}

func tablesOf(nets map[netip.Prefix]block) []prefixTable {
	type shape struct {
		bits int
		is4  bool
	}
	byShape := map[shape][]prefixItem{}
	for p, b := range nets {
		s := shape{p.Bits(), p.Addr().Is4()}
		byShape[s] = append(byShape[s], prefixItem{p.Addr(), b})
	}
	tables := make([]prefixTable, 0, len(byShape))
	for s, items := range byShape {
		slices.SortFunc(items, func(a, b prefixItem) int { return a.addr.Compare(b.addr) })
		tables = append(tables, prefixTable{s.bits, s.is4, items})
	}
	slices.SortFunc(tables, func(a, b prefixTable) int { return cmp.Compare(b.bits, a.bits) })
	return tables
}

// address gives the block in force that covers a, the most specific one.
func (b *blocks) address(a netip.Addr, now sluice.Millis) (block, bool) {
	if len(b.tables) == 0 || !a.IsValid() {
		return block{}, false
	}
	a = a.Unmap().WithZone("")
	for i := range b.tables {
		t := &b.tables[i]
		if t.is4 != a.Is4() {
			continue
		}
		net, err := a.Prefix(t.bits)
		if err != nil {
			continue
		}
		at, ok := slices.BinarySearchFunc(t.items, net.Addr(), func(x prefixItem, want netip.Addr) int {
			return x.addr.Compare(want)
		})
		if ok && t.items[at].holds(now) {
			return t.items[at].block, true
		}
	}
	return block{}, false
}

func (b *blocks) user(user string, now sluice.Millis) (block, bool) {
	x, ok := b.users[user]
	return x, ok && x.holds(now)
}

func (b *blocks) device(device string, now sluice.Millis) (block, bool) {
	x, ok := b.devices[device]
	return x, ok && x.holds(now)
}

// blocked refuses where a block of the blocklist was found, and counts that.
func (g *Gate) blocked(w *walk, b block, found bool) bool {
	if found {
		g.hits.add(b.reference, w.now)
	}
	return w.block(b, found)
}

// block refuses where a block was found, with its id as what the buyer can give to support.
func (w *walk) block(b block, found bool) bool {
	if !found {
		return false
	}
	w.decision.Reference = b.reference
	return w.refuse(sluice.ReasonBlocked)
}
