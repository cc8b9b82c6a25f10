package gate

import (
	"hash/maphash"
	"net/netip"
	"sync"

	"github.com/sluice-sale/sluice"
)

// Bounds of the crowd that is remembered.
const (
	crowdShards                = 16
	crowdOfShard               = 4096 // people; the newest stay. All of them take about 6 MB
	crowdKept    sluice.Millis = 60 * 60 * 1000
)

// crowd remembers who came in the last hour, so that an operator sees whom a block would hit before it is in force: who
// asked for a pass, and who was admitted. Whom the sold-out marker refuses is not noted: that path stays as cheap as
// it is. Names are kept as hashes only.
type crowd struct{ shards [crowdShards]crowdShard }

type crowdShard struct {
	mu   sync.Mutex
	at   map[uint64]int // by user, into all
	all  []person
	next int // where the oldest stands, once all is full
}

// person is a user, with where they were seen last.
type person struct {
	user, device uint64 // hashes; device 0: none
	addr         netip.Addr
	seen         sluice.Millis
	won          bool // was admitted
}

// note remembers p. A user who is known moves to where they are now.
func (c *crowd) note(p person) {
	s := &c.shards[p.user%crowdShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.at[p.user]; ok {
		p.won = p.won || s.all[i].won
		s.all[i] = p
		return
	}
	if s.at == nil {
		s.at = map[uint64]int{}
	}
	if len(s.all) < crowdOfShard {
		s.at[p.user] = len(s.all)
		s.all = append(s.all, p)
		return
	}
	delete(s.at, s.all[s.next].user)
	s.all[s.next], s.at[p.user] = p, s.next
	s.next = (s.next + 1) % crowdOfShard
}

// count gives how many of the last hour's people hits is true of, how many of them were admitted, and how many there
// are; full says that people of the last hour were forgotten for want of room.
func (c *crowd) count(now sluice.Millis, hits func(*person) bool) (n sluice.CrowdCount) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		recent := 0
		for k := range s.all {
			p := &s.all[k]
			if p.seen <= now-crowdKept {
				continue
			}
			recent++
			if hits(p) {
				n.People++
				if p.won {
					n.Admitted++
				}
			}
		}
		n.Known += recent
		n.Full = n.Full || recent == crowdOfShard
		s.mu.Unlock()
	}
	return n
}

// hashOf is the hash of a name; never 0, which stands for none.
func (g *Gate) hashOf(name string) uint64 {
	if name == "" {
		return 0
	}
	return max(1, maphash.String(g.seed, name))
}

// came notes who asks for a pass, or was admitted.
func (g *Gate) came(user, device string, addr netip.Addr, now sluice.Millis, won bool) {
	g.crowd.note(person{g.hashOf(user), g.hashOf(device), addr.Unmap().WithZone(""), now, won})
}

// Crowd says how many of those who came to this node in the last hour, by the place where each was seen last, a block
// of this scope and value would hit. A value that cannot be read hits nobody. The allowlist is not looked at.
func (g *Gate) Crowd(scope sluice.BlockScope, value string) sluice.CrowdCount {
	hits := func(*person) bool { return false }
	switch hash := g.hashOf(value); scope {
	case sluice.BlockUser:
		hits = func(p *person) bool { return p.user == hash }
	case sluice.BlockDevice:
		hits = func(p *person) bool { return p.device == hash }
	case sluice.BlockAddress:
		if net, ok := parsePrefix(value); ok {
			hits = func(p *person) bool { return net.Contains(p.addr) }
		}
	}
	return g.crowd.count(sluice.MillisOf(g.cfg.Now()), hits)
}
