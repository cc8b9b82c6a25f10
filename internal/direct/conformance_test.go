package direct_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/direct"
	"github.com/sluice-sale/sluice/internal/servers"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

func TestMain(m *testing.M) { servers.Main(m) }

var operator = sluice.Actor{KeyID: "k", Name: "op", Role: sluice.RoleOperator}

func now() sluice.Millis { return sluice.MillisOf(time.Now()) }

// node is one server: an admission over its own connections to the database that all share.
type node struct {
	db  *sqldb.DB
	adm *direct.Admission
}

func startNode(t testing.TB, url string, cfg direct.Config) *node {
	t.Helper()
	db, err := sqldb.OpenMySQL(t.Context(), sqldb.MySQLConfig{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{db: db, adm: direct.New(cfg, db, db)}
	db.SetPermit(n.adm)
	all, err := db.Campaigns(t.Context())
	if err == nil {
		err = n.adm.Arm(t.Context(), all, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) stop() {
	n.adm.Close()
	_ = n.db.Close()
}

// fleet are the nodes of a sale. As an Admitter it is whichever node a client happens to reach.
type fleet struct {
	t     *testing.T
	url   string
	nodes []*node
	next  atomic.Int64
}

func (f *fleet) start(n int) {
	f.nodes = nil
	for range n {
		f.nodes = append(f.nodes, startNode(f.t, f.url, direct.Config{}))
	}
}

func (f *fleet) stop() {
	for _, n := range f.nodes {
		n.stop()
	}
}

func (f *fleet) any() *node { return f.nodes[int(f.next.Add(1))%len(f.nodes)] }

func (f *fleet) Admit(ctx context.Context, claim sluice.Claim) sluice.Decision {
	return f.any().adm.Admit(ctx, claim)
}

// Replay asks every node: one that has not heard of a claim yet lets it go on to Admit, which finds it.
func (f *fleet) Replay(
	ctx context.Context, campaign string, id sluice.ClaimID, quantity int,
) (d sluice.Decision, ok bool) {
	for _, n := range f.nodes {
		if d, ok = n.adm.Replay(ctx, campaign, id, quantity); ok {
			return d, ok
		}
	}
	return d, false
}

func (f *fleet) SoldOut(campaign string) bool { return f.any().adm.SoldOut(campaign) }

func (f *fleet) Permit(campaign string) (sluice.Permit, sluice.Millis, bool) {
	return f.any().adm.Permit(campaign)
}

func (f *fleet) Adjust(
	ctx context.Context, a sluice.Adjustment, by sluice.Actor,
) (sluice.Adjustment, error) {
	return f.any().adm.Adjust(ctx, a, by)
}

// put tells every node of a campaign, as the settings' revision does.
func (f *fleet) put(c sluice.Campaign) {
	f.t.Helper()
	for _, n := range f.nodes {
		if err := n.adm.Put(f.t.Context(), c); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fleet) update(t *testing.T, c sluice.Campaign) {
	t.Helper()
	db := f.any().db
	got, err := db.UpdateCampaign(t.Context(), c, nil, operator, now())
	if err == nil && got.Control != c.Control {
		cmd := sluice.CommandResume
		if c.Control == sluice.ControlPaused {
			cmd = sluice.CommandPause
		}
		got, err = db.SetControl(t.Context(), c.ID, cmd, "", operator, now())
	}
	if err != nil {
		t.Fatal(err)
	}
	f.put(got)
}

func TestConformanceOnMariaDB(t *testing.T) { conformance.Admission(t, bench(1)) }

func TestConformanceOnMariaDBWithTwoNodes(t *testing.T) { conformance.Admission(t, bench(2)) }

func bench(nodes int) func(t *testing.T) conformance.AdmissionBench {
	return func(t *testing.T) conformance.AdmissionBench {
		f := &fleet{t: t, url: servers.MariaDB(t).URL}
		f.start(nodes)
		t.Cleanup(func() { f.stop() })
		return conformance.AdmissionBench{
			Queues:    5 * time.Second, // a look, and a lease
			Admission: func() conformance.Admitter { return f },
			Create: func(t *testing.T, c sluice.Campaign) {
				t.Helper()
				made, err := f.any().db.CreateCampaign(t.Context(), c, operator, now())
				if err != nil {
					t.Fatal(err)
				}
				f.put(made)
			},
			Update: f.update,
			CloseOne: func(t *testing.T, id sluice.ClaimID) {
				t.Helper()
				if _, err := f.any().db.CloseOrder(t.Context(), id, sluice.CloseCancelled, operator, now()); err != nil {
					t.Fatal(err)
				}
			},
			Verify: func(t *testing.T, campaign string) sluice.Verification {
				t.Helper()
				n := f.any()
				v, err := n.db.Verify(context.Background(), campaign, func() sluice.Permit {
					p, _, _ := n.adm.Permit(campaign)
					return p
				})
				if err != nil {
					t.Fatal(err)
				}
				return v
			},
			Restart: func(t *testing.T) {
				t.Helper()
				f.stop()
				f.start(nodes)
			},
		}
	}
}
