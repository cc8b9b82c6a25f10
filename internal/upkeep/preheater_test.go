package upkeep_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/upkeep"
)

// shop is campaigns in memory, and whoever arms and verifies them.
type shop struct {
	all      []sluice.Campaign
	armed    map[string]int64 // epoch
	armErr   error
	wrong    int64 // drift
	verErr   error
	verified []time.Duration // before the start
}

func (s *shop) Campaigns(context.Context) ([]sluice.Campaign, error) { return s.all, nil }

func (s *shop) Campaign(_ context.Context, id string) (sluice.Campaign, error) {
	for _, c := range s.all {
		if c.ID == id {
			return c, nil
		}
	}
	return sluice.Campaign{}, sluice.ErrNotFound
}

func (s *shop) Armed(_ context.Context, c sluice.Campaign) (bool, error) {
	return s.armed[c.ID] == c.Epoch, nil
}

func (s *shop) Rearm(_ context.Context, id string, from int64, _ sluice.EpochCause) (int64, error) {
	if s.armErr != nil {
		return 0, s.armErr
	}
	s.armed[id] = from + 1
	for i := range s.all {
		if s.all[i].ID == id {
			s.all[i].Epoch = from + 1
		}
	}
	return from + 1, nil
}

func (s *shop) Verify(_ context.Context, id string, _ func() sluice.Permit) (v sluice.Verification, err error) {
	c, _ := s.Campaign(context.Background(), id)
	s.verified = append(s.verified, time.Until(c.StartsAt.Time()).Round(time.Second))
	return sluice.Verification{OK: s.wrong == 0, Drift: s.wrong, Total: 10}, s.verErr
}

// TestPreheater: armed and verified half an hour ahead, verified again a minute ahead; what is wrong does not open.
func TestPreheater(t *testing.T) {
	tests := []struct {
		name     string
		startsIn time.Duration
		control  sluice.Control
		with     func(*shop)
		passes   time.Duration
		armed    bool
		verified []time.Duration
		frozen   string
	}{
		{"too early", time.Hour, sluice.ControlOpen, nil, 29 * time.Minute, false, nil, ""},
		{"a draft", time.Minute, sluice.ControlDraft, nil, time.Minute, false, nil, ""},
		{"in time", time.Hour, sluice.ControlOpen, nil, 2 * time.Hour, true,
			[]time.Duration{30 * time.Minute, time.Minute}, ""},
		{"created into its window", -time.Minute, sluice.ControlOpen, nil, time.Second, true,
			[]time.Duration{-time.Minute}, ""},
		{"wrong from the first", 40 * time.Minute, sluice.ControlOpen, func(s *shop) { s.wrong = 3 }, 11 * time.Minute, true,
			[]time.Duration{30 * time.Minute}, "differ by 3 units"},
		{"cannot be armed", 40 * time.Minute, sluice.ControlOpen, func(s *shop) { s.armErr = sluice.ErrUnavailable },
			50 * time.Minute, false, nil, ""},
		{"another node arms it", 40 * time.Minute, sluice.ControlOpen, func(s *shop) { s.armErr = sluice.ErrConflict },
			50 * time.Minute, false, nil, ""},
		{"on sale and armed before", -time.Minute, sluice.ControlOpen,
			func(s *shop) { s.wrong, s.armed["spring"], s.all[0].Epoch = 3, 2, 2 }, time.Second, true, nil, ""},
		{"paused", 10 * time.Minute, sluice.ControlPaused, nil, time.Second, true, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f := &shop{armed: map[string]int64{}}, &frozen{}
				s.all = []sluice.Campaign{{
					ID: "spring", Control: tt.control, StartsAt: at(tt.startsIn), EndsAt: at(tt.startsIn + 5*time.Hour), Epoch: 1,
				}}
				if tt.with != nil {
					tt.with(s)
				}
				p := upkeep.NewPreheater(upkeep.PreheaterConfig{}, s, s, s, f)
				p.Start()
				pass(tt.passes)
				p.Stop()
				if (s.armed["spring"] > 1) != tt.armed {
					t.Errorf("armed for epoch %d", s.armed["spring"])
				}
				if len(s.verified) != len(tt.verified) {
					t.Fatalf("verified %v ahead, want %v", s.verified, tt.verified)
				}
				for i, ahead := range tt.verified {
					if s.verified[i] != ahead {
						t.Errorf("verified %v ahead, want %v", s.verified, tt.verified)
					}
				}
				if why := f.all(); (len(why) > 0) != (tt.frozen != "") || len(why) > 0 && !strings.Contains(why[0], tt.frozen) {
					t.Errorf("frozen: %v", why)
				}
			})
		})
	}
}

// TestPreheaterThatCannotCompare refuses to open what was never verified, and opens what was.
func TestPreheaterThatCannotCompare(t *testing.T) {
	for _, before := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, f := &shop{armed: map[string]int64{}}, &frozen{}
			s.all = []sluice.Campaign{{
				ID: "spring", Control: sluice.ControlOpen, StartsAt: at(20 * time.Minute), EndsAt: at(time.Hour), Epoch: 1,
			}}
			p := upkeep.NewPreheater(upkeep.PreheaterConfig{}, s, s, s, f)
			if before {
				if _, err := p.RunOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			s.verErr = sluice.ErrUnavailable
			p.Start()
			pass(20*time.Minute - 3*time.Second)
			if len(f.all()) > 0 {
				t.Errorf("frozen while there is time: %v", f.all())
			}
			pass(2 * time.Second)
			p.Stop()
			if why := f.all(); (len(why) > 0) == before {
				t.Errorf("verified before: %t; frozen: %v", before, why)
			}
		})
	}
}

// TestACampaignCreatedOnSaleIsNotFrozenByAnOutage: it opens as it is armed; that nobody could compare it in that moment
// is no difference.
func TestACampaignCreatedOnSaleIsNotFrozenByAnOutage(t *testing.T) {
	s, f := &shop{armed: map[string]int64{}, verErr: sluice.ErrUnavailable}, &frozen{}
	s.all = []sluice.Campaign{{
		ID: "spring", Control: sluice.ControlOpen, StartsAt: at(-time.Second), EndsAt: at(time.Hour), Epoch: 1,
	}}
	p := upkeep.NewPreheater(upkeep.PreheaterConfig{}, s, s, s, f)
	if _, err := p.RunOnce(t.Context()); !errors.Is(err, sluice.ErrUnavailable) || len(s.armed) != 1 {
		t.Errorf("armed %v, %v", s.armed, err)
	}
	if len(f.all()) > 0 {
		t.Errorf("frozen: %v", f.all())
	}
}

// TestPreheaterArmsWhatWasLost: a campaign on sale whose gate is gone is armed, and not judged by a first look.
func TestPreheaterArmsWhatWasLost(t *testing.T) {
	w := newWorld(t, sluice.Campaign{}, memoryGates)
	w.buy("a")
	w.gate.flushAll()
	p := upkeep.NewPreheater(upkeep.PreheaterConfig{}, w.db, w.rearmer, w.reconciler, &w.frozen)
	if _, err := p.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.exact()
	w.causeIs(sluice.EpochLost)
	if len(w.frozen.all()) > 0 {
		t.Errorf("frozen: %v", w.frozen.all())
	}
}
