package redis_test

import (
	"errors"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
)

func row(c sluice.Claim, live, limit int32) sluice.ClaimRow {
	return sluice.ClaimRow{ID: c.ID, Quantity: int32(c.Quantity), LiveUnits: live, LimitUnits: limit}
}

// TestJoin: a claim is in the later of the states that gate and row have, whichever comes first, and the sum is
// exact.
func TestJoin(t *testing.T) {
	a, b, c := "a", "b", "c"
	for _, tt := range []struct {
		name      string
		gate      func(h *house) // what the gate has
		rows      func(h *house) []sluice.ClaimRow
		available int64 // of 10
		queued    int64
		replay    redis.Verdict // of a's claim
	}{
		{"live in the gate only: it is kept, and its message", func(h *house) { h.admit(h.claim(a, "1", 2)) },
			func(*house) []sluice.ClaimRow { return nil }, 8, 2, queued},
		{"live in the ledger only", func(*house) {}, func(h *house) []sluice.ClaimRow {
			return []sluice.ClaimRow{row(h.claim(a, "1", 2), 2, 2)}
		}, 8, 0, live},
		{"in both: it is settled", func(h *house) { h.admit(h.claim(a, "1", 2)) }, func(h *house) []sluice.ClaimRow {
			return []sluice.ClaimRow{row(h.claim(a, "1", 2), 2, 2)}
		}, 8, 0, live},
		{"ended in the ledger", func(h *house) { h.admit(h.claim(a, "1", 2)) }, func(h *house) []sluice.ClaimRow {
			return []sluice.ClaimRow{row(h.claim(a, "1", 2), 0, 0)}
		}, 10, 0, ended},
		{"ended in the gate", func(h *house) {
			h.admit(h.claim(a, "1", 2))
			h.apply(release(h.claim(a, "1", 2), 2, 2))
		}, func(h *house) []sluice.ClaimRow { return []sluice.ClaimRow{row(h.claim(a, "1", 2), 2, 2)} }, 10, 0, ended},
		{"some of both", func(h *house) { h.admit(h.claim(a, "1", 2), h.claim(b, "1", 1)) },
			func(h *house) []sluice.ClaimRow {
				return []sluice.ClaimRow{
					row(h.claim(a, "1", 2), 1, 1), row(h.claim(a, "2", 1), 1, 1), row(h.claim(c, "1", 3), 0, 3),
				}
			}, 7, 1, live},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, _ := single(t, aSale("spring", 5), 10)
			tt.gate(h)
			outbox := h.outbox()
			for epoch := int64(2); epoch < 4; epoch++ { // the second epoch joins the same to the same
				h.arm(epoch, 10, tt.rows(h)...)
				s := h.sums()[0]
				if s.Available != tt.available || s.Queued != tt.queued || s.Epoch != epoch || !s.Open {
					t.Errorf("epoch %d: %+v", epoch, s)
				}
			}
			h.want("replay", h.admit(h.claim(a, "1", 2)), tt.replay)
			if got := h.outbox(); got != outbox {
				t.Errorf("the outbox has %d entries, had %d", got, outbox)
			}
		})
	}
}

// outbox counts the entries of the first shard's outbox.
func (h *house) outbox() int64 {
	h.t.Helper()
	n, err := h.client.Count(h.t.Context(), h.client.OutboxKey(&h.c, 0))
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// TestEpochRules: what a gate that is missing, older or newer says to seal, join and arm.
func TestEpochRules(t *testing.T) {
	h, server := single(t, aSale("spring", 5), 10)
	ctx := t.Context()
	at := func(epoch int64) sluice.Campaign {
		c := h.c
		c.Epoch = epoch
		return c
	}
	conflict := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, sluice.ErrConflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
	rows := []sluice.ClaimRow{row(h.claim("a", "1", 1), 1, 1)}
	conflict("join without a seal", h.Join(ctx, at(2), 0, rows))
	conflict("arm without a seal", h.Arm(ctx, at(2), 0, 10))
	if _, err := h.Seal(ctx, h.c, 1); err != nil { // late: it is armed for 1
		t.Fatal(err)
	}
	h.want("a late seal closes nothing", h.admit(h.claim("z", "1", 1)), welcome)
	if _, err := h.Seal(ctx, h.c, 3); err != nil {
		t.Fatal(err)
	}
	conflict("join for an epoch before the seal's", h.Join(ctx, at(2), 0, rows))
	conflict("arm for an epoch before the seal's", h.Arm(ctx, at(2), 0, 10))
	if err := errors.Join(h.Join(ctx, at(3), 0, rows), h.Arm(ctx, at(3), 0, 10), h.Arm(ctx, at(3), 0, 10)); err != nil {
		t.Error(err)
	}
	conflict("join after arm", h.Join(ctx, at(3), 0, rows))
	conflict("arm for an epoch that is over", h.Arm(ctx, at(2), 0, 10))
	if s := h.sums()[0]; s.Epoch != 3 || s.Available != 8 {
		t.Errorf("%+v", s)
	}
	server.FlushAll()
	conflict("join without a gate", h.Join(ctx, at(4), 0, rows))
	if _, err := h.Seal(ctx, h.c, 4); err != nil {
		t.Fatal(err)
	}
	conflict("an empty one is sealed too", h.Arm(ctx, at(3), 0, 10))
	h.arm(4, 10, rows...)
	if s := h.sums()[0]; s.Epoch != 4 || s.Available != 9 {
		t.Errorf("%+v", s)
	}
}

// TestArmMissesLostPieces: a Redis that forgets between join and arm is not armed with too much.
func TestArmMissesLostPieces(t *testing.T) {
	for name, lose := range map[string]func(h *house, server interface{ FlushAll() }){
		"everything, and sealed anew by somebody": func(h *house, server interface{ FlushAll() }) {
			server.FlushAll()
			if err := h.client.Do(h.t.Context(), "HSET", h.client.GateKey(&h.c, 0), "sealed_for", "2", "open", "0"); err != nil {
				h.t.Fatal(err)
			}
		},
		"the last piece": func(h *house, _ interface{ FlushAll() }) {
			if err := h.client.Do(h.t.Context(), "HSET", h.client.GateKey(&h.c, 0), "pieces", "0"); err != nil {
				h.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, server := single(t, aSale("spring", 5), 10)
			ctx := t.Context()
			c := h.c
			if _, err := h.Seal(ctx, c, 2); err != nil {
				t.Fatal(err)
			}
			c.Epoch = 2
			if err := h.Join(ctx, c, 0, []sluice.ClaimRow{row(h.claim("a", "1", 1), 1, 1)}); err != nil {
				t.Fatal(err)
			}
			lose(h, server)
			if err := h.Arm(ctx, c, 0, 10); !errors.Is(err, sluice.ErrConflict) {
				t.Errorf("armed: %v", err)
			}
			h.arm(2, 10, row(h.claim("a", "1", 1), 1, 1)) // from the start
			if s := h.sums()[0]; s.Available != 9 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestTwoLoads: of two who load the same shard for the same epoch, one arms, and nothing is counted twice.
func TestTwoLoads(t *testing.T) {
	h, server := single(t, aSale("spring", 5), 10)
	other := on(t, server.URL(), h.c)
	ctx := t.Context()
	c := h.c
	rows := []sluice.ClaimRow{row(h.claim("a", "1", 1), 1, 1)}
	if _, err := h.Seal(ctx, c, 2); err != nil {
		t.Fatal(err)
	}
	c.Epoch = 2
	if err := errors.Join(h.Join(ctx, c, 0, rows), other.Join(ctx, c, 0, rows)); err != nil {
		t.Fatal(err)
	}
	if err := h.Arm(ctx, c, 0, 10); !errors.Is(err, sluice.ErrConflict) {
		t.Errorf("the first: %v", err)
	}
	if err := other.Arm(ctx, c, 0, 10); err != nil {
		t.Error(err)
	}
	h.c = c
	if s := h.sums()[0]; s.Available != 9 {
		t.Errorf("%+v", s)
	}
}

// sharded opens gates of n shards with all the stock on shard 0.
func sharded(t *testing.T, n int, total int64) *house {
	c := aSale("spring", 5)
	c.Shards = n
	h, _ := single(t, c, 0)
	if _, err := h.Seal(t.Context(), h.c, 2); err != nil {
		t.Fatal(err)
	}
	h.c.Epoch = 2
	for i := range n {
		share := total
		if i > 0 {
			share = 0
		}
		if err := h.Arm(t.Context(), h.c, i, share); err != nil {
			t.Fatal(err)
		}
	}
	h.all[h.c.ID] = h.c
	return h
}

func (h *house) available() (all []int64) {
	h.t.Helper()
	for _, s := range h.sums() {
		all = append(all, s.Available)
	}
	return all
}
