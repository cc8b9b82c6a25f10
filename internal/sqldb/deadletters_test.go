package sqldb_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// letterRig is a ledger whose clock a test sets.
type letterRig struct {
	*sqldb.DB
	now    sluice.Millis
	begins atomic.Int64 // transactions of writers
}

func openLetters(t *testing.T, open opener) *letterRig {
	r := &letterRig{now: 10_000}
	r.DB = open(t, sqldb.Config{
		Remote: true, Now: func() time.Time { return time.UnixMilli(int64(r.now)) },
		Around: func(step string, do func() error) error {
			if step == sqldb.StepBegin {
				r.begins.Add(1)
			}
			return do()
		},
	})
	return r
}

// fail counts a failed try of each claim and says which are dead.
func (r *letterRig) fail(t *testing.T, claims ...sluice.Claim) []sluice.ClaimID {
	t.Helper()
	dead, err := r.FailTries(t.Context(), claims, "it does not fit")
	if err != nil {
		t.Fatal(err)
	}
	return dead
}

func (r *letterRig) kept(t *testing.T) []sluice.DeadLetter {
	t.Helper()
	page, err := r.DeadLetters(t.Context(), sluice.DeadLetterQuery{State: sluice.DeadLetterKept})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

// kill makes dead letters of claims.
func (r *letterRig) kill(t *testing.T, claims ...sluice.Claim) {
	t.Helper()
	for range 3 {
		r.fail(t, claims...)
	}
}

func TestTriesAreCountedInTheLedger(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		r := openLetters(t, open)
		c, other := goods("g", "u", "r"), goods("g", "v", "r")
		c.Epoch, c.CouponCodes = 4, []string{"0123456789ABCDEF"}
		for try := 1; try <= 4; try++ {
			r.now++
			dead := r.fail(t, c)
			if want := try >= 3; (len(dead) == 1 && dead[0] == c.ID) != want {
				t.Errorf("after %d tries dead are %v", try, dead)
			}
			if want := max(0, min(1, try-2)); len(r.kept(t)) != want {
				t.Errorf("after %d tries %d are kept", try, len(r.kept(t)))
			}
		}
		if dead := r.fail(t, c, other); !slices.Equal(dead, []sluice.ClaimID{c.ID}) {
			t.Errorf("of a dead one and a new one dead are %v", dead)
		}
		d := r.kept(t)[0]
		if d.Claim.ID != c.ID || d.Claim.User != "u" || d.Claim.RequestID != "r" || d.Claim.Quantity != 1 ||
			d.Claim.Epoch != 4 || d.Claim.At != 5000 || d.Claim.Campaign != "g" || d.Claim.CouponCodes[0] != c.CouponCodes[0] ||
			d.Tries != 3 || d.Error != "it does not fit" || d.FirstAt != 10_001 || d.LastAt != 10_003 {
			t.Errorf("kept is %+v", d)
		}
		if one := must(r.DeadLetter(t.Context(), d.ID)); one.Claim.ID != c.ID {
			t.Errorf("read alone it is %+v", one)
		}
		if _, err := r.DeadLetter(t.Context(), d.ID+100); !errors.Is(err, sluice.ErrNotFound) {
			t.Errorf("one that is not there: %v", err)
		}
		if n, oldest, err := r.DeadLetterCount(t.Context()); n != 1 || oldest != 10_003 || err != nil {
			t.Errorf("%d are kept, the oldest from %d, %v", n, oldest, err)
		}
	})
}

func TestAMessageThatCannotBeReadIsKeptOnce(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		r := openLetters(t, open)
		for range 3 {
			if err := r.KeepDeadLetter(t.Context(), []byte("\xff\x00odd"), "version 9"); err != nil {
				t.Fatal(err)
			}
		}
		list := r.kept(t)
		if len(list) != 1 || string(list[0].Raw) != "\xff\x00odd" || list[0].Error != "version 9" ||
			list[0].Claim.ID != (sluice.ClaimID{}) {
			t.Fatalf("%+v", list)
		}
		for _, want := range []int{1, 0} {
			done, _, err := r.ReplayDeadLetters(t.Context(), sluice.DeadLetterQuery{}, operator, r.now)
			if err != nil || len(done) != want || want == 1 && string(done[0].Raw) != "\xff\x00odd" {
				t.Fatalf("replayed are %+v, %v", done, err)
			}
		}
		if err := r.KeepDeadLetter(t.Context(), []byte("\xff\x00odd"), "version 9"); err != nil {
			t.Fatal(err)
		}
		if list = r.kept(t); len(list) != 1 || list[0].State != sluice.DeadLetterKept {
			t.Errorf("it came again, and kept are %+v", list)
		}
		if _, _, err := r.DiscardDeadLetters(t.Context(), sluice.DeadLetterQuery{}, operator, r.now); err != nil {
			t.Fatal(err)
		}
		if err := r.KeepDeadLetter(t.Context(), []byte("\xff\x00odd"), "version 9"); err != nil || len(r.kept(t)) != 0 {
			t.Errorf("one that was given up came again: %v", err)
		}
	})
}

func TestDiscardGivesBackOnlyWithARow(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		r := openLetters(t, open)
		create(t, r.DB, priced("g"))
		create(t, r.DB, sluice.Campaign{ID: "k", Kind: sluice.KindCoupon, Stock: sluice.Stock{Total: 10}})
		gone, settled, coupon := goods("g", "u", "r"), goods("g", "v", "r"), goods("k", "w", "r")
		nowhere := goods("nowhere", "x", "r")
		settled.Epoch, gone.Epoch, coupon.Epoch = 1, 1, 1
		r.kill(t, gone, settled, coupon, nowhere)
		settleAll(t, r.DB, settled) // it got through after all
		done, more, err := r.DiscardDeadLetters(t.Context(), sluice.DeadLetterQuery{}, operator, r.now)
		if err != nil || more || len(done) != 4 {
			t.Fatalf("%+v %v %v", done, more, err)
		}
		var back []sluice.ClaimID
		for _, op := range must(r.PermitOps(t.Context(), "", 0, 100)) {
			back = append(back, op.Claim)
			if op.Kind != sluice.PermitRelease || op.Units != 1 || op.LimitUnits != 1 || op.Epoch != 1 {
				t.Errorf("%+v", op)
			}
		}
		if !slices.Equal(back, []sluice.ClaimID{gone.ID, coupon.ID}) {
			t.Errorf("given back are %v", back)
		}
		for _, c := range []sluice.Claim{gone, coupon} {
			rec := must(r.ClaimRecord(t.Context(), c.ID))
			if rec.State != sluice.ClaimRejected || rec.Code != sluice.ReasonDiscarded || rec.User != c.User {
				t.Errorf("%+v", rec)
			}
		}
		if rec := must(r.ClaimRecord(t.Context(), settled.ID)); rec.State != sluice.ClaimConfirmed {
			t.Errorf("%+v", rec)
		}
		// A settler that comes late finds the row, and the next claims have rows of their own.
		late, next := gone, goods("g", "z", "r")
		out := settleAll(t, r.DB, late, next)
		if out[0].Reason != sluice.ReasonDiscarded || !out[0].Replayed || out[1].Reason != sluice.ReasonConfirmed {
			t.Errorf("%+v", out)
		}
		for _, id := range []string{"g", "k"} {
			if v := must(r.Verify(t.Context(), id, nil)); !v.OK {
				t.Errorf("%s: %+v", id, v)
			}
		}
		if dead := r.fail(t, gone); len(dead) != 1 || len(r.kept(t)) != 0 {
			t.Errorf("one that was given up fails again: %v", dead)
		}
		log := must(r.Audit(t.Context(), sluice.AuditQuery{Action: "dead_letter.discard", Limit: 10}))
		if len(log) != 4 || log[3].Actor.Name != operator.Name {
			t.Errorf("the audit log has %+v", log)
		}
	})
}

func TestDeadLettersInBulkAreThoseThatWereSeen(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		r := openLetters(t, open)
		first, second, third := goods("g", "u1", "r"), goods("h", "u2", "r"), goods("g", "u3", "r")
		r.kill(t, first, second)
		asOf := r.now
		r.now += 10
		r.kill(t, third)
		q := sluice.DeadLetterQuery{AsOf: asOf, Limit: 1}
		var ids []sluice.ClaimID
		for i := range 3 {
			done, more, err := r.ReplayDeadLetters(t.Context(), q, operator, r.now)
			if err != nil || more != (i == 0) {
				t.Fatalf("piece %d: %+v %v %v", i, done, more, err)
			}
			for _, d := range done {
				ids = append(ids, d.Claim.ID)
			}
		}
		if !slices.Equal(ids, []sluice.ClaimID{first.ID, second.ID}) {
			t.Errorf("replayed are %v", ids)
		}
		if list := r.kept(t); len(list) != 1 || list[0].Claim.ID != third.ID {
			t.Errorf("kept are %+v", list)
		}
		// A letter that was replayed has its tries anew.
		for try := 1; try <= 3; try++ {
			if dead := r.fail(t, first); (len(dead) == 1) != (try == 3) {
				t.Errorf("try %d after the replay: dead are %v", try, dead)
			}
		}
		for _, tc := range []struct {
			name string
			q    sluice.DeadLetterQuery
			want int
		}{
			{"all", sluice.DeadLetterQuery{}, 3},
			{"kept", sluice.DeadLetterQuery{State: sluice.DeadLetterKept}, 2},
			{"replayed", sluice.DeadLetterQuery{State: sluice.DeadLetterReplayed}, 1},
			{"of g", sluice.DeadLetterQuery{Campaign: "g"}, 2},
			{"of u2", sluice.DeadLetterQuery{User: "u2"}, 1},
			{"as of then", sluice.DeadLetterQuery{AsOf: asOf}, 1},
		} {
			if page := must(r.DeadLetters(t.Context(), tc.q)); len(page.Items) != tc.want || page.Next != "" {
				t.Errorf("%s: %+v", tc.name, page)
			}
		}
		var seen []int64
		for cursor := ""; ; {
			page := must(r.DeadLetters(t.Context(), sluice.DeadLetterQuery{Limit: 2, Cursor: cursor}))
			for _, d := range page.Items {
				seen = append(seen, d.ID)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if len(seen) != 3 || seen[0] < seen[1] || seen[1] < seen[2] {
			t.Errorf("paged are %v", seen)
		}
		byID := sluice.DeadLetterQuery{IDs: seen[:1]}
		if done, _, err := r.DiscardDeadLetters(t.Context(), byID, operator, r.now); err != nil || len(done) != 1 {
			t.Errorf("by id: %+v %v", done, err)
		}
		r.now += 10
		if n, err := r.DropDeadLetters(t.Context(), r.now, 100); err != nil || n != 2 {
			t.Errorf("dropped are %d, %v", n, err)
		}
		if list := r.kept(t); len(list) != 1 {
			t.Errorf("kept are %+v", list)
		}
	})
}

func TestLostOnlyWhereItIs(t *testing.T) {
	const minute = 60_000
	for _, tc := range []struct {
		name   string
		epoch  int64 // of the claim
		causes []sluice.EpochCause
		armed  bool
		wait   sluice.Millis // since then
		lost   bool
	}{
		{"no epoch since", 1, nil, true, minute, false},
		{"a planned one took it along", 1, []sluice.EpochCause{sluice.EpochPlanned}, true, minute, false},
		{"lost, and the later one is not armed", 1, []sluice.EpochCause{sluice.EpochLost}, false, minute, false},
		{"lost, within the grace", 1, []sluice.EpochCause{sluice.EpochLost}, true, minute - 1, false},
		{"lost, after the grace", 1, []sluice.EpochCause{sluice.EpochLost}, true, minute, true},
		{"lost after a planned one", 1, []sluice.EpochCause{sluice.EpochPlanned, sluice.EpochLost}, true, minute, true},
		{"lost before it came", 2, []sluice.EpochCause{sluice.EpochLost}, true, minute, false},
		{"it has no epoch", 0, []sluice.EpochCause{sluice.EpochLost}, true, minute, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, open opener) {
				r := openLetters(t, open)
				create(t, r.DB, priced("g"))
				for i, cause := range tc.causes {
					if did, err := r.OpenEpoch(t.Context(), "g", int64(i+1), cause); err != nil || !did {
						t.Fatal(did, err)
					}
				}
				if last := int64(len(tc.causes) + 1); tc.armed {
					if err := r.EpochArmed(t.Context(), "g", last); err != nil {
						t.Fatal(err)
					}
				}
				r.now += tc.wait
				c, known := goods("g", "u", "r"), goods("g", "v", "r")
				if _, err := r.Lost(t.Context(), c, int64(len(tc.causes))); faultCode(err) != "NOT_LOST" {
					t.Errorf("the gates were looked at in an epoch that is over: %v", err)
				}
				c.Epoch, known.Epoch = tc.epoch, int64(len(tc.causes)+1)
				settleAll(t, r.DB, known)
				if known.Epoch = tc.epoch; tc.lost {
					out, err := r.Lost(t.Context(), known, int64(len(tc.causes)+1))
					if err != nil || out.Reason != sluice.ReasonConfirmed || !out.Replayed {
						t.Errorf("one that the ledger knows: %+v %v", out, err)
					}
				}
				for range 2 {
					out, err := r.Lost(t.Context(), c, int64(len(tc.causes)+1))
					switch {
					case !tc.lost && faultCode(err) != "NOT_LOST":
						t.Errorf("%+v %v", out, err)
					case tc.lost && (err != nil || out.Reason != sluice.ReasonLost || out.State != sluice.ClaimRejected):
						t.Errorf("%+v %v", out, err)
					}
				}
				if tc.lost { // the message comes after all
					for _, out := range settleAll(t, r.DB, c) {
						if out.Reason != sluice.ReasonLost || out.State != sluice.ClaimRejected || !out.Replayed {
							t.Errorf("settled late: %+v", out)
						}
					}
				}
				var back int
				for _, op := range must(r.PermitOps(t.Context(), "g", 0, 10)) {
					if op.Kind == sluice.PermitRelease && op.Claim == c.ID && op.Epoch == int64(len(tc.causes)+1) {
						back++
					}
				}
				if (back == 1) != tc.lost || back > 1 {
					t.Errorf("given back %d times", back)
				}
			})
		})
	}
}

// TestLostAgainHasItsGraceAgain: what outlived one loss and not the next may turn up for as long once more.
func TestLostAgainHasItsGraceAgain(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		r := openLetters(t, open)
		create(t, r.DB, priced("g"))
		c := goods("g", "u", "r")
		c.Epoch = 1
		for epoch := int64(1); epoch <= 2; epoch++ {
			if did, err := r.OpenEpoch(t.Context(), "g", epoch, sluice.EpochLost); err != nil || !did {
				t.Fatal(did, err)
			}
			if err := r.EpochArmed(t.Context(), "g", epoch+1); err != nil {
				t.Fatal(err)
			}
			before := r.begins.Load()
			if out, err := r.Lost(t.Context(), c, epoch+1); faultCode(err) != "NOT_LOST" {
				t.Errorf("loss %d: %+v %v", epoch, out, err)
			}
			if n := r.begins.Load() - before; n != 0 {
				t.Errorf("loss %d: whoever waits for the grace has %d transactions begun", epoch, n)
			}
			r.now += 60_000
		}
		if out, err := r.Lost(t.Context(), c, 3); err != nil || out.Reason != sluice.ReasonLost {
			t.Errorf("after both: %+v %v", out, err)
		}
	})
}

func TestRunsAreOnRecord(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db := open(t, sqldb.Config{})
		for i, campaign := range []string{"g", "h", "g"} {
			r := sluice.ReconcileRun{Campaign: campaign, Epoch: 2, StartedAt: sluice.Millis(100 + i), TookMS: 3, Total: 10,
				Available: 4, InTransfer: 1, Queued: 1, Held: 2, Sold: 2, Claims: 5, Drift: 1, Error: "e",
				Found: []sluice.Drift{{Kind: sluice.DriftUnknownClaim, Claim: "c", Units: 1, Detail: "d", Repair: "settled"}}}
			if _, err := db.RecordRun(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		page := must(db.Runs(t.Context(), "g", "", 1))
		if len(page.Items) != 1 || page.Items[0].StartedAt != 102 || page.Next == "" {
			t.Fatalf("%+v", page)
		}
		got := page.Items[0]
		if got.Available != 4 || got.Found[0].Repair != "settled" || got.Drift != 1 || got.OK || got.Error != "e" {
			t.Errorf("%+v", got)
		}
		page = must(db.Runs(t.Context(), "g", page.Next, 1))
		if len(page.Items) != 1 || page.Items[0].StartedAt != 100 || page.Next != "" {
			t.Errorf("the second page: %+v", page)
		}
		dry := sluice.ReconcileRun{Campaign: "g", StartedAt: 101, Mode: sluice.RunDry}
		if id, err := db.RecordRun(t.Context(), dry); err != nil || id != 4 {
			t.Errorf("the fourth is %d, %v", id, err)
		}
		if page = must(db.Runs(t.Context(), "g", "", 2)); page.Items[0].Mode != sluice.RunDry || page.Items[1].Mode != "" {
			t.Errorf("modes: %+v", page.Items)
		}
		if n, err := db.DropRuns(t.Context(), 102, 10); err != nil || n != 3 {
			t.Errorf("dropped are %d, %v", n, err)
		}
		if page = must(db.Runs(t.Context(), "", "", 0)); len(page.Items) != 1 {
			t.Errorf("left are %+v", page)
		}
	})
}
