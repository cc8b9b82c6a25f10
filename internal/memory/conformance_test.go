package memory_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/conformance"
	"github.com/sluice-sale/sluice/internal/memory"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// node is an admission over a real ledger in a folder of its own.
type node struct {
	path string
	db   *sqldb.DB
	adm  *memory.Admission
}

func (n *node) start(t *testing.T) {
	t.Helper()
	var err error
	if n.db, err = sqldb.Open(t.Context(), sqldb.Config{Path: n.path}); err != nil {
		t.Fatal(err)
	}
	n.adm = memory.New(memory.Config{Doubt: func(c, note string) { t.Errorf("%s is in doubt: %s", c, note) }}, n.db)
	n.db.SetPermit(n.adm)
	all, err := n.db.Campaigns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := n.adm.Arm(t.Context(), all, nil); err != nil {
		t.Fatal(err)
	}
}

func (n *node) stop() {
	n.adm.Close()
	_ = n.db.Close()
}

func TestConformance(t *testing.T) {
	conformance.Admission(t, func(t *testing.T) conformance.AdmissionBench {
		n := &node{path: filepath.Join(t.TempDir(), "sluice.db")}
		n.start(t)
		t.Cleanup(func() { n.stop() })
		return conformance.AdmissionBench{
			Admission: func() conformance.Admitter { return n.adm },
			Create: func(t *testing.T, c sluice.Campaign) {
				t.Helper()
				made, err := n.db.CreateCampaign(t.Context(), c, operator, now())
				if err == nil {
					err = n.adm.Put(t.Context(), made)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			Update: func(t *testing.T, c sluice.Campaign) {
				t.Helper()
				got, err := n.db.UpdateCampaign(t.Context(), c, nil, operator, now())
				if err == nil && got.Control != c.Control {
					cmd := sluice.CommandResume
					if c.Control == sluice.ControlPaused {
						cmd = sluice.CommandPause
					}
					got, err = n.db.SetControl(t.Context(), c.ID, cmd, "", operator, now())
				}
				if err == nil {
					err = n.adm.Put(t.Context(), got)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			CloseOne: func(t *testing.T, id sluice.ClaimID) {
				t.Helper()
				if _, err := n.db.CloseOrder(t.Context(), id, sluice.CloseCancelled, operator, now()); err != nil {
					t.Fatal(err)
				}
			},
			Verify: func(t *testing.T, campaign string) sluice.Verification {
				t.Helper()
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
				n.stop()
				n.start(t)
			},
		}
	})
}
