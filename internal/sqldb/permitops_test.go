package sqldb_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// faultCode gives the code of a Fault, empty for any other error.
func faultCode(err error) string {
	var f *sluice.Fault
	if errors.As(err, &f) {
		return f.Code
	}
	return ""
}

func TestPermitOpsAreKeptUntilDone(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db := open(t, sqldb.Config{Remote: true})
		told := &ops{}
		db.SetPermit(told)
		create(t, db, priced("g"))
		create(t, db, priced("h"))
		claims := []sluice.Claim{goods("g", "u1", "r"), goods("g", "u2", "r"), goods("h", "u1", "r")}
		for i := range claims {
			claims[i].Epoch = 1
		}
		settleAll(t, db, claims...)
		kept := func(campaign string) []sluice.PermitOp {
			t.Helper()
			list, err := db.PermitOps(t.Context(), campaign, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		if list := kept(""); len(list) != 0 {
			t.Fatalf("settled claims of the epoch left %+v", list)
		}
		closeOrder := func(c sluice.Claim) {
			t.Helper()
			if _, err := db.CloseOrder(t.Context(), c.ID, sluice.CloseCancelled, sluice.Actor{}, 2000); err != nil {
				t.Fatal(err)
			}
		}
		closeOrder(claims[0])
		closeOrder(claims[0]) // which gives nothing back
		closeOrder(claims[2])
		if _, err := db.OpenEpoch(t.Context(), "g", 1, sluice.EpochPlanned); err != nil {
			t.Fatal(err)
		}
		closeOrder(claims[1])
		more := sluice.Adjustment{ChangeID: "more", Campaign: "g", Asked: 5, At: 2000}
		if _, err := db.RecordAdjustment(t.Context(), more, sluice.Actor{}); err != nil {
			t.Fatal(err)
		}
		list := kept("")
		want := []sluice.PermitOp{
			{Kind: sluice.PermitRelease, Campaign: "g", Claim: claims[0].ID, Units: 1, LimitUnits: 1, Epoch: 1},
			{Kind: sluice.PermitRelease, Campaign: "h", Claim: claims[2].ID, Units: 1, LimitUnits: 1, Epoch: 1},
			{Kind: sluice.PermitRelease, Campaign: "g", Claim: claims[1].ID, Units: 1, LimitUnits: 1, Epoch: 2},
			{Kind: sluice.PermitAdjust, Campaign: "g", Units: 5, Epoch: 2, Revision: 2},
		}
		for i := range min(len(list), len(want)) {
			if want[i].Seq = list[i].Seq; list[i].Seq == 0 || i > 0 && list[i].Seq <= list[i-1].Seq {
				t.Errorf("op %d has seq %d", i, list[i].Seq)
			}
		}
		if !slices.Equal(list, want) {
			t.Fatalf("kept are\n%+v\nwant\n%+v", list, want)
		}
		heard := slices.DeleteFunc(told.told(), func(op sluice.PermitOp) bool { return op.Kind == sluice.PermitSettled })
		if !slices.Equal(heard, want) {
			t.Errorf("the permit of the node that committed heard\n%+v", heard)
		}
		if got := kept("g"); len(got) != 3 {
			t.Errorf("of g are kept %+v", got)
		}
		if page, err := db.PermitOps(t.Context(), "", want[0].Seq, 2); err != nil || !slices.Equal(page, want[1:3]) {
			t.Errorf("a page: %+v %v", page, err)
		}
		for range 2 {
			if err := db.DonePermitOps(t.Context(), []int64{want[0].Seq, want[3].Seq}); err != nil {
				t.Fatal(err)
			}
		}
		if got := kept(""); !slices.Equal(got, want[1:3]) {
			t.Errorf("after two are done are kept %+v", got)
		}
	})
}

func TestNoPermitOpsWhereThePermitIsInThisProcess(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db := open(t, sqldb.Config{})
		create(t, db, priced("g"))
		c := goods("g", "u1", "r")
		settleAll(t, db, c)
		if _, err := db.CloseOrder(t.Context(), c.ID, sluice.CloseCancelled, sluice.Actor{}, 2000); err != nil {
			t.Fatal(err)
		}
		if list, err := db.PermitOps(t.Context(), "", 0, 100); err != nil || len(list) != 0 {
			t.Errorf("%+v %v", list, err)
		}
	})
}

func TestAnEpochIsOpenedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		a, b := open(t, sqldb.Config{}), open(t, sqldb.Config{})
		create(t, a, sluice.Campaign{ID: "g", Stock: sluice.Stock{Total: 10}})
		var opened atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			db := []*sqldb.DB{a, b}[i%2]
			all.Go(func() {
				did, err := db.OpenEpoch(t.Context(), "g", 1, sluice.EpochLost)
				if err != nil {
					t.Error(err)
				}
				if did {
					opened.Add(1)
				}
			})
		}
		all.Wait()
		if opened.Load() != 1 {
			t.Errorf("opened %d times", opened.Load())
		}
		if did, err := a.OpenEpoch(t.Context(), "nowhere", 1, sluice.EpochLost); did || err != nil {
			t.Errorf("an epoch of no campaign: %v %v", did, err)
		}
		if err := a.EpochArmed(t.Context(), "g", 1); err != nil { // which is over
			t.Fatal(err)
		}
		for range 2 {
			if err := b.EpochArmed(t.Context(), "g", 2); err != nil {
				t.Fatal(err)
			}
		}
		list, err := b.Epochs(t.Context(), "g")
		if err != nil || len(list) != 2 {
			t.Fatalf("%+v %v", list, err)
		}
		if list[0].Cause != sluice.EpochCreated || list[0].ArmedAt != 1000 || list[1].Cause != sluice.EpochLost ||
			list[1].Epoch != 2 || list[1].ArmedAt == 0 {
			t.Errorf("%+v", list)
		}
		if c, err := a.Campaign(t.Context(), "g"); err != nil || c.Epoch != 2 {
			t.Errorf("the campaign is in epoch %d, %v", c.Epoch, err)
		}
	})
}

func TestADecreaseIsDoneInTheEpochOfItsAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db := open(t, sqldb.Config{Remote: true})
		create(t, db, priced("g"))
		settleAll(t, db, goods("g", "u1", "r"), goods("g", "u2", "r"))
		for _, op := range must(db.PermitOps(t.Context(), "g", 0, 10)) { // takes: the claims had no epoch
			if err := db.DonePermitOps(t.Context(), []int64{op.Seq}); err != nil {
				t.Fatal(err)
			}
		}
		less := sluice.Adjustment{ChangeID: "less", Campaign: "g", Asked: -20, At: 5000}
		begin := func(a sluice.Adjustment, code string) sluice.Adjustment {
			t.Helper()
			is, err := db.BeginAdjustment(t.Context(), a, operator)
			if faultCode(err) != code || code == "" && err != nil {
				t.Errorf("begin %+v: %v, want code %q", a, err, code)
			}
			return is
		}
		want := less
		want.Total, want.Revision, want.Pending, want.Epoch = 10, 2, true, 1
		for range 2 {
			if is := begin(less, ""); is != want {
				t.Errorf("it began as %+v, want %+v", is, want)
			}
		}
		other := less
		other.Asked = -3
		begin(other, "CHANGE_ID_REUSED")
		other.ChangeID = "other"
		begin(other, "ADJUSTMENT_PENDING")
		other.Asked = 3
		if _, err := db.RecordAdjustment(t.Context(), other, operator); faultCode(err) != "ADJUSTMENT_PENDING" {
			t.Errorf("an increase meanwhile: %v", err)
		}
		if c := must(db.Campaign(t.Context(), "g")); c.Revision != 1 || c.Stock.Total != 10 {
			t.Errorf("meanwhile the campaign is %+v", c)
		}
		if _, err := db.OpenEpoch(t.Context(), "g", 1, sluice.EpochPlanned); err != nil {
			t.Fatal(err)
		}
		finish := func(epoch, taken int64) (sluice.Adjustment, error) {
			return db.FinishAdjustment(t.Context(), sluice.Adjustment{ChangeID: "less", Epoch: epoch, Applied: -taken})
		}
		if is, err := finish(1, 8); err != nil || !is.Pending || is.Epoch != 2 {
			t.Errorf("finished by an answer of an epoch that is over: %+v %v", is, err)
		}
		if list := must(db.PendingAdjustments(t.Context())); len(list) != 1 || list[0].Epoch != 2 || list[0].Revision != 2 {
			t.Errorf("pending are %+v", list)
		}
		if _, err := finish(2, 9); faultCode(err) != "STOCK_TAKEN" {
			t.Errorf("more than is free: %v", err)
		}
		if _, err := finish(2, 21); !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("more than was asked: %v", err)
		}
		want.Total, want.Applied, want.Pending, want.Epoch = 2, -8, false, 2
		for range 2 {
			if is, err := finish(2, 8); err != nil || is != want {
				t.Errorf("it is done as %+v, want %+v, %v", is, want, err)
			}
		}
		if is := begin(less, ""); is != want {
			t.Errorf("asked again it is %+v", is)
		}
		if c := must(db.Campaign(t.Context(), "g")); c.Revision != 2 || c.Stock.Total != 2 {
			t.Errorf("the campaign is %+v", c)
		}
		if v := must(db.Verify(t.Context(), "g", nil)); !v.OK {
			t.Errorf("%+v", v)
		}
		more := sluice.Adjustment{ChangeID: "more", Campaign: "g", Asked: 5, At: 6000}
		if is, err := db.RecordAdjustment(t.Context(), more, operator); err != nil || is.Revision != 3 {
			t.Errorf("an increase after it: %+v %v", is, err)
		}
		last := sluice.Adjustment{ChangeID: "last", Campaign: "g", Asked: -1, At: 7000}
		begin(last, "ADJUSTMENT_PENDING") // the increase is on its way to the gates
	})
}

// must gives v; an error of a read in a test is a panic, which names it.
func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("%+v", err))
	}
	return v
}

func TestOneLeads(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		a, b := open(t, sqldb.Config{}), open(t, sqldb.Config{})
		lead := func(db *sqldb.DB, node string, term time.Duration) (int64, bool) {
			t.Helper()
			token, leads, err := db.Lead(t.Context(), "sweep", node, term)
			if err != nil {
				t.Fatal(err)
			}
			return token, leads
		}
		for range 2 {
			if token, leads := lead(a, "a", time.Hour); token != 1 || !leads {
				t.Fatalf("a leads %v under %d", leads, token)
			}
		}
		if token, leads := lead(b, "b", time.Hour); token != 0 || leads {
			t.Fatalf("b leads %v under %d beside a", leads, token)
		}
		under := sluice.WithFence(t.Context(), sluice.Fence{Job: "sweep", Token: 1})
		if _, err := a.RecordRun(under, sluice.ReconcileRun{Campaign: "g"}); err != nil {
			t.Errorf("the leader writes: %v", err)
		}
		if err := b.Resign(t.Context(), "sweep", "b"); err != nil { // which is not its to give
			t.Fatal(err)
		}
		if err := a.Resign(t.Context(), "sweep", "a"); err != nil {
			t.Fatal(err)
		}
		if token, leads := lead(b, "b", time.Millisecond); token != 2 || !leads {
			t.Fatalf("after a has resigned b leads %v under %d", leads, token)
		}
		eventually(t, "the term of b is over", func() bool {
			token, leads := lead(a, "a", time.Hour)
			return leads && token == 3
		})
		if _, err := b.RecordRun(under, sluice.ReconcileRun{Campaign: "g"}); faultCode(err) != "DEPOSED" {
			t.Errorf("one who was deposed writes: %v", err)
		}
		if page := must(b.Runs(t.Context(), "", "", 0)); len(page.Items) != 1 {
			t.Errorf("%d runs are on record", len(page.Items))
		}
		var leaders atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				_, leads, err := []*sqldb.DB{a, b}[i%2].Lead(t.Context(), "new", fmt.Sprint("n", i), time.Hour)
				if err != nil {
					t.Error(err)
				}
				if leads {
					leaders.Add(1)
				}
			})
		}
		all.Wait()
		if leaders.Load() != 1 {
			t.Errorf("%d lead a job at once", leaders.Load())
		}
	})
}

func TestNodesBeat(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		a, b := open(t, sqldb.Config{}), open(t, sqldb.Config{})
		n := sluice.Node{ID: "n1", Name: "host", Version: "1.0", Addr: "127.0.0.1:1", StartedAt: 5, Settings: 7, SkewMS: -3,
			Flushed:  map[string]int64{"g": 2},
			Standing: sluice.NodeStanding{Epochs: map[string]int64{"g": 3}, Cut: []string{"g"}}}
		for i := range int64(3) {
			n.Settings = 7 + i
			if err := a.Beat(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Beat(t.Context(), sluice.Node{ID: "n0"}); err != nil {
			t.Fatal(err)
		}
		list := must(b.Nodes(t.Context()))
		if len(list) != 2 || list[0].ID != "n0" || !list[0].Alive() {
			t.Fatalf("%+v", list)
		}
		got := list[1]
		if got.SeenAt == 0 || !got.Alive() || got.AgeMS > 3000 || got.Flushed["g"] != 2 || got.Settings != 9 ||
			got.Name != "host" || got.SkewMS != -3 || got.StartedAt != 5 {
			t.Errorf("%+v", got)
		}
		if got.Standing.Epochs["g"] != 3 || !slices.Equal(got.Standing.Cut, []string{"g"}) || list[0].Standing.Known() {
			t.Errorf("standings: %+v", list)
		}
		eventually(t, "the clock goes on", func() bool { return must(a.Nodes(t.Context()))[0].AgeMS > 0 })
		if err := a.Leave(t.Context(), "n0"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "silent nodes are forgotten", func() bool {
			_, err := a.DropNodes(t.Context(), time.Millisecond)
			return err == nil && len(must(b.Nodes(t.Context()))) == 0
		})
	})
}

func TestEveryWriteOfSettingsMovesTheirRevision(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db := open(t, sqldb.Config{})
		ctx := t.Context()
		set := create(t, db, priced("g"))
		block := sluice.Block{ID: "blk_1", Scope: sluice.BlockUser, Value: "u", CreatedAt: 1}
		key := sluice.APIKey{ID: "k1", Name: "n", Role: sluice.RoleViewer, Prefix: "p", CreatedAt: 1}
		on := sluice.SwitchSetting{Name: sluice.SwitchPaymentsDown, Set: true, Value: 1, At: 5}
		claim := goods("g", "u", "r")
		for _, tc := range []struct {
			name  string
			moves bool
			do    func() error
		}{
			{"create", true, func() error { create(t, db, sluice.Campaign{ID: "h"}); return nil }},
			{"update", true, func() error { _, err := db.UpdateCampaign(ctx, set, nil, operator, 5); return err }},
			{"pause", true, func() error {
				_, err := db.SetControl(ctx, "g", sluice.CommandPause, "", operator, 5)
				return err
			}},
			{"pause again", false, func() error {
				_, err := db.SetControl(ctx, "g", sluice.CommandPause, "", operator, 5)
				return err
			}},
			{"adjust", true, func() error {
				_, err := db.RecordAdjustment(ctx, sluice.Adjustment{ChangeID: "c", Campaign: "g", Asked: 1}, operator)
				return err
			}},
			{"epoch", true, func() error { _, err := db.OpenEpoch(ctx, "g", 1, sluice.EpochPlanned); return err }},
			{"switch", true, func() error { _, err := db.SetSwitch(ctx, on, operator); return err }},
			{"block", true, func() error { _, err := db.AddBlock(ctx, block, operator); return err }},
			{"unblock", true, func() error { _, err := db.RemoveBlock(ctx, "blk_1", operator, 5); return err }},
			{"audience", true, func() error { _, err := db.PutAudience(ctx, "g", 1, []string{"u", "v"}); return err }},
			{"fewer", true, func() error { _, err := db.DropAudience(ctx, "g", []string{"u"}); return err }},
			{"trim", true, func() error { _, err := db.TrimAudience(ctx, "g", 2); return err }},
			{"key", true, func() error { return db.CreateAPIKey(ctx, key, operator) }},
			{"rotate", true, func() error {
				_, err := db.RotateAPIKey(ctx, "k1", sluice.KeyRotation{Hash: [32]byte{1}, At: 4, Grace: 9}, operator)
				return err
			}},
			{"a key's use", false, func() error { return db.UseAPIKeys(ctx, []sluice.KeyUse{{ID: "k1", At: 4}}) }},
			{"revoke", true, func() error { _, err := db.RevokeAPIKey(ctx, "k1", operator, 5); return err }},
			{"a claim", false, func() error { settleAll(t, db, claim); return nil }},
			{"a heartbeat", false, func() error { return db.Beat(ctx, sluice.Node{ID: "n"}) }},
		} {
			before := must(db.SettingsRev(ctx))
			if err := tc.do(); err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			if moved := must(db.SettingsRev(ctx)) > before; moved != tc.moves {
				t.Errorf("%s: the revision moves %v, want %v", tc.name, moved, tc.moves)
			}
		}
	})
}
