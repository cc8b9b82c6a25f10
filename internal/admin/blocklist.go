package admin

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// maxBlocks bounds the blocklist: the gate keeps all of it in memory.
const maxBlocks = 200_000

// The widest networks that may be blocked, in bits of the prefix: a slip of the pen must not shut out the world.
const (
	minBits4 = 8
	minBits6 = 16
)

// BlockLedger keeps the blocklist; writes leave their audit row in the same transaction.
type BlockLedger interface {
	// Blocks reads what is in force at now.
	Blocks(ctx context.Context, now sluice.Millis) ([]sluice.Block, error)
	// AddBlock gives what is recorded: a known scope and value keep their id.
	AddBlock(ctx context.Context, b sluice.Block, a sluice.Actor) (sluice.Block, error)
	RemoveBlock(ctx context.Context, id string, a sluice.Actor, now sluice.Millis) (sluice.Block, error)
	Block(ctx context.Context, id string) (sluice.Block, error)
	BlocksPage(ctx context.Context, scope sluice.BlockScope, value, after string, now sluice.Millis,
		limit int) ([]sluice.Block, error)
}

// Blocker puts blocks in force. It is given all of them each time, heeds their expiry itself, and has taken them
// over when it returns.
type Blocker interface {
	SetBlocks(all []sluice.Block)
}

// BlockLooks knows whom blocks hit, on this node.
type BlockLooks interface {
	// BlockHits gives the refusals of a block in the last hour.
	BlockHits(id string) int64
	// Crowd gives how many of those who came in the last hour a block would hit.
	Crowd(scope sluice.BlockScope, value string) sluice.CrowdCount
}

// BlocklistConfig puts the desk of the blocklist together. Ledger and Gate are required.
type BlocklistConfig struct {
	Ledger BlockLedger
	Bulk   BlockBulk // nil: nothing can be imported
	Gate   Blocker
	Looks  BlockLooks       // nil: nobody knows whom a block hits
	Now    func() time.Time // default time.Now
	// Allows: this is the allowlist, which has the same form.
	Allows bool
}

// name is how the list is called, with the beginning of its ids.
func (c *BlocklistConfig) name() (list, code, prefix string) {
	if c.Allows {
		return "allowlist", "ALLOWLIST_FULL", "alw"
	}
	return "blocklist", "BLOCKLIST_FULL", "blk"
}

// Blocklist is the desk of the blocklist, or of the allowlist.
type Blocklist struct {
	cfg    BlocklistConfig
	began  sluice.Millis // since when hits and crowd are counted
	staged staged        // imports that wait for their job

	mu  sync.Mutex              // held over ledger and gate, so that the gate sees changes in the ledger's order
	all map[string]sluice.Block // by id, guarded by mu
}

// NewBlocklist makes the desk. Load puts in force what the ledger has.
func NewBlocklist(cfg BlocklistConfig) *Blocklist {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Blocklist{cfg: cfg, began: sluice.MillisOf(cfg.Now()), all: map[string]sluice.Block{}}
}

// Hits says how many claims and asks for a pass a block has refused on this node since a moment at most an hour ago.
// ok is false where nobody counts.
func (d *Blocklist) Hits(id string) (n int64, since sluice.Millis, ok bool) {
	if d.cfg.Looks == nil {
		return 0, 0, false
	}
	return d.cfg.Looks.BlockHits(id), max(d.began, d.now().Add(-time.Hour)), true
}

// Preview says what a block of this scope and value would hit, and changes nothing. ErrInvalid: Add would refuse it.
func (d *Blocklist) Preview(_ context.Context, scope sluice.BlockScope, value string) (sluice.BlockPreview, error) {
	b := sluice.Block{Scope: scope, Value: value, CreatedAt: d.now()}
	if err := checkBlock(&b); err != nil {
		return sluice.BlockPreview{}, err
	}
	p := sluice.BlockPreview{Scope: b.Scope, Value: b.Value, Since: max(d.began, d.now().Add(-time.Hour))}
	if d.cfg.Looks != nil {
		p.Crowd = d.cfg.Looks.Crowd(b.Scope, b.Value)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, old := range d.all {
		if old.Scope == b.Scope && old.Value == b.Value && (old.ExpiresAt == 0 || old.ExpiresAt > b.CreatedAt) {
			p.Block = &old
			break
		}
	}
	return p, nil
}

func (d *Blocklist) now() sluice.Millis { return sluice.MillisOf(d.cfg.Now()) }

// Load puts in force what the ledger has: at start, before the first claim.
func (d *Blocklist) Load(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	list, err := d.cfg.Ledger.Blocks(ctx, d.now())
	if err != nil {
		name, _, _ := d.cfg.name()
		return fmt.Errorf("admin: load the %s: %w", name, err)
	}
	clear(d.all)
	for _, b := range list {
		d.all[b.ID] = b
	}
	d.push()
	return nil
}

// push gives the gate what is in force and forgets what has expired.
func (d *Blocklist) push() {
	now, list := d.now(), make([]sluice.Block, 0, len(d.all))
	for id, b := range d.all {
		if b.ExpiresAt != 0 && b.ExpiresAt <= now {
			delete(d.all, id)
			continue
		}
		list = append(list, b)
	}
	d.cfg.Gate.SetBlocks(list)
}

// Add blocks an address, a network, a user or a device, and returns once that is in force. Blocking what is
// blocked changes its reason and expiry and keeps its id.
func (d *Blocklist) Add(ctx context.Context, b sluice.Block, a sluice.Actor) (sluice.Block, error) {
	b.CreatedAt = d.now()
	if err := checkBlock(&b); err != nil {
		return b, err
	}
	_, code, prefix := d.cfg.name()
	b.ID, b.Author = newID(prefix), a.Name
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) >= maxBlocks {
		return b, full(code, "entries", maxBlocks)
	}
	b, err := d.cfg.Ledger.AddBlock(ctx, b, a)
	if err != nil {
		return b, err
	}
	d.all[b.ID] = b
	d.push()
	return b, nil
}

// Remove lifts a block and returns once that is in force.
func (d *Blocklist) Remove(ctx context.Context, id string, a sluice.Actor) (sluice.Block, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, err := d.cfg.Ledger.RemoveBlock(ctx, id, a, d.now())
	if err != nil {
		return b, err
	}
	delete(d.all, id)
	d.push()
	return b, nil
}

// Get gives one block by the reference that a blocked buyer was shown.
func (d *Blocklist) Get(ctx context.Context, id string) (sluice.Block, error) {
	return d.cfg.Ledger.Block(ctx, id)
}

// List gives a page of what is in force. value is normalised as Add does it.
func (d *Blocklist) List(
	ctx context.Context, scope sluice.BlockScope, value, after string, limit int,
) ([]sluice.Block, error) {
	if scope == sluice.BlockAddress && value != "" {
		if p, err := prefixOf(value); err == nil {
			value = p
		}
	}
	return d.cfg.Ledger.BlocksPage(ctx, scope, value, after, d.now(), limit)
}

func checkBlock(b *sluice.Block) error {
	var f faults
	switch b.Scope {
	case sluice.BlockAddress:
		value, err := prefixOf(b.Value)
		if err != nil {
			f.add("value", "%s", err)
		} else {
			b.Value = value
		}
	case sluice.BlockUser:
		f.text("value", b.Value, 1, sluice.MaxUserID)
	case sluice.BlockDevice:
		f.text("value", b.Value, 1, sluice.MaxDeviceID)
	default:
		f.add("scope", "must be address, user or device")
	}
	f.text("reason", b.Reason, 0, sluice.MaxNote)
	if b.ExpiresAt != 0 && (b.ExpiresAt <= b.CreatedAt || b.ExpiresAt > latest) {
		f.add("expires_at", "must be in the future, or absent for a block without end")
	}
	return f.err()
}

// prefixOf writes an address or a network in the one form that the ledger keeps: an IPv4 address in IPv6 clothes
// as IPv4, a network with its host bits zero, a network of one address as that address.
func prefixOf(s string) (string, error) {
	if !strings.Contains(s, "/") {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return "", fmt.Errorf("must be an IP address or a network such as 192.0.2.0/24")
		}
		return addr.Unmap().String(), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return "", fmt.Errorf("must be an IP address or a network such as 192.0.2.0/24")
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	low := minBits6
	if p.Addr().Is4() {
		low = minBits4
	}
	switch {
	case p.Bits() < low:
		return "", fmt.Errorf("must not be wider than /%d", low)
	case p.IsSingleIP():
		return p.Addr().String(), nil
	}
	return p.Masked().String(), nil
}
