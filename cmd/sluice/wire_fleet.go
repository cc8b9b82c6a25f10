package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/admin"
	"github.com/sluice-sale/sluice/internal/fleet"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// newNode says who this node is. Its id is new with each start: what a node knew ends with its process.
func newNode(s *server) sluice.Node {
	name := s.cfg.Node.Name
	if name == "" {
		name, _ = os.Hostname()
	}
	if name == "" {
		name = "node"
	}
	var tail [4]byte
	_, _ = rand.Read(tail[:]) // crypto/rand.Read never fails
	n := sluice.Node{
		ID: name + "-" + hex.EncodeToString(tail[:]), Name: name, Version: buildInfo().Version,
		StartedAt: sluice.MillisOf(time.Now()),
	}
	if s.adminLn != nil {
		n.Addr = s.adminLn.Addr().String()
	}
	return n
}

// openMySQL opens the ledger that several nodes share. What commits mean for permits is kept in it too, where permits
// are in other processes.
func (p *parts) openMySQL(ctx context.Context, s *server) error {
	c := s.cfg.MySQL
	tlsConfig, err := mysqlTLS(&s.cfg.Config)
	if err != nil {
		return err
	}
	with := sqldb.MySQLConfig{
		URL: s.cfg.Ledger.Reveal(), TLS: tlsConfig, Urgent: c.Urgent, Claims: c.Claims, Background: c.Background,
		Readers: c.Readers, MaxWaiting: c.Waiting, Dial: c.DialTimeout, Write: c.Timeout, Read: c.Timeout,
		LockWait: c.LockWait, Idle: c.Idle, Node: p.node.ID, LostGrace: s.cfg.Settle.LostGrace,
		Remote: s.cfg.Admission.IsURL(), Log: s.log, Doubt: p.doubt(s), OnBatch: p.onBatch(s),
	}
	return s.await(ctx, "MySQL", func(ctx context.Context) (err error) {
		p.ledger, err = sqldb.OpenMySQL(ctx, with)
		return err
	})
}

// shared says whether other nodes may stand on the same ledger.
func (s *server) shared() bool { return s.cfg.Ledger.IsURL() }

// openFleet makes this node one of several, and gives what the desk of switches needs for it. On one machine there is
// nobody to tell.
func (p *parts) openFleet(s *server) (admin.SwitchesConfig, error) {
	if !s.shared() {
		return admin.SwitchesConfig{Ledger: p.ledger}, nil
	}
	apply := func(ctx context.Context) error { return p.switches.Load(ctx) }
	sc := fleet.SwitchesConfig{Ledger: p.ledger, Node: p.node.ID, Log: s.log, Apply: apply}
	fc := fleet.Config{
		Node: p.node, Registry: p.ledger, Log: s.log,
		Fast: []fleet.Loader{
			{What: "switches", Load: apply},
			{What: "campaigns", Load: func(ctx context.Context) error { return p.campaigns.Reload(ctx) }},
			{What: "API keys", Load: func(ctx context.Context) error { return p.keys.Load(ctx) }},
			{What: "pass keys", Load: func(ctx context.Context) error { return p.passKeys.Load(ctx) }},
			{What: "blocklist", Load: func(ctx context.Context) error { return p.blocklist.Load(ctx) }},
			{What: "allowlist", Load: func(ctx context.Context) error { return p.allowlist.Load(ctx) }},
			{What: "risk rules", Load: func(ctx context.Context) error { return p.risk.Load(ctx) }},
		},
		Slow: []fleet.Loader{{What: "audiences", Load: p.loadAudiences}},
	}
	fc.Standing = p.standing
	if r := p.remote; r != nil {
		sc.Control, fc.Control, fc.Nudges, fc.Flushed = r.control, r.control, r.nudges, r.admission.Flushed
	}
	fc.Switches = fleet.NewSwitches(sc)
	p.fleet = fleet.New(fc)
	return admin.SwitchesConfig{Ledger: fc.Switches, Fleet: p.fleet}, nil
}

// standing is what this node does for the campaigns that it sells.
func (p *parts) standing() (s sluice.NodeStanding) {
	if p.remote != nil {
		s = p.remote.admission.Standing()
	}
	s.Passes, s.Pages = map[string]int64{}, p.gate.PagesOpen()
	now := sluice.MillisOf(time.Now())
	for id, n := range p.passes.Issued() {
		if c, ok := p.gate.Campaign(id); ok && now < c.EndsAt { // a heartbeat does not grow with what is over
			s.Passes[id] = n
		}
	}
	return s
}

// join takes part in the fleet: from then on others wait for this node, and it follows what they change.
func (p *parts) join(ctx context.Context, s *server) error {
	if p.fleet == nil {
		return nil
	}
	if err := p.fleet.Join(ctx); err != nil {
		return fmt.Errorf("join the other nodes: %w", err)
	}
	s.onStop("this node's part among the others", func(context.Context) error { p.fleet.Stop(); return nil })
	s.log.Info("joined", "node", p.node.ID)
	return nil
}

// loadAudiences takes over the audiences of campaigns that ask for one and are not over.
func (p *parts) loadAudiences(ctx context.Context) (err error) {
	now := sluice.MillisOf(time.Now())
	for _, c := range p.gate.Campaigns() {
		if !c.Eligibility.Audience || c.EndsAt < now || c.Control == sluice.ControlEnded {
			continue
		}
		if _, e := p.audience.Load(ctx, c.ID); e != nil {
			err = errors.Join(err, e)
		}
	}
	return err
}

// nodeList tells operators of the nodes; on one machine it is this one.
type nodeList struct{ p *parts }

// Nodes lists them.
func (n nodeList) Nodes(ctx context.Context) ([]sluice.Node, error) {
	if n.p.fleet != nil {
		return n.p.fleet.Nodes(ctx)
	}
	return []sluice.Node{n.Self()}, nil
}

// Self is this node as it stands.
func (n nodeList) Self() sluice.Node {
	if n.p.fleet != nil {
		return n.p.fleet.Self()
	}
	self := n.p.node
	self.SeenAt = sluice.MillisOf(time.Now())
	return self
}
