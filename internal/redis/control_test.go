package redis_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
	"github.com/sluice-sale/sluice/internal/servers"
)

// TestControl meets, keeps and drops on one Redis and on a Cluster.
func TestControl(t *testing.T) {
	for name, url := range map[string]func() string{
		"one Redis": func() string { return servers.Redis(t).URL() },
		"a Cluster": func() string { return servers.RedisCluster(t).URL() },
	} {
		t.Run(name, func(t *testing.T) { control(t, url()) })
	}
}

func control(t *testing.T, url string) {
	c, err := redis.Open(t.Context(), redis.Config{URL: url, Prefix: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	k, err := redis.NewControl(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if nodes, rev, err := k.Meet(ctx, sluice.Node{}); err != nil || len(nodes) != 0 || rev != 0 {
		t.Fatalf("at first: %v, %d, %v", nodes, rev, err)
	}
	for _, id := range []string{"a", "b"} {
		n := sluice.Node{ID: id, Name: id, Settings: 7, Flushed: map[string]int64{"spring": 3}}
		if _, _, err := k.Meet(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	nodes, _, err := k.Meet(ctx, sluice.Node{})
	if err != nil || len(nodes) != 2 || nodes[0].Settings != 7 || nodes[0].Flushed["spring"] != 3 ||
		!nodes[0].Alive() || time.Since(nodes[0].SeenAt.Time()) > time.Minute {
		t.Errorf("met: %+v, %v", nodes, err)
	}
	if err := k.Part(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if nodes, _, _ = k.Meet(ctx, sluice.Node{}); len(nodes) != 1 || nodes[0].ID != "b" {
		t.Errorf("after one parted: %+v", nodes)
	}
	pendingSwitches(t, k)
}

// pendingSwitches keeps and drops switches, and looks after the acts that are replaced.
func pendingSwitches(t *testing.T, k *redis.Control) {
	ctx := t.Context()
	first := sluice.PendingSwitch{
		Setting: sluice.SwitchSetting{Name: "closed", Campaign: "spring", Value: 1, Set: true, At: 5},
		Actor:   sluice.Actor{Name: "ann", Role: sluice.RoleOperator},
	}
	second := first
	second.Setting.At, second.Setting.Value = 6, 0
	revs := []int64{0}
	for _, p := range []sluice.PendingSwitch{first, second} {
		rev, err := k.Keep(ctx, p)
		if err != nil || rev <= revs[len(revs)-1] {
			t.Fatalf("revision %d after %v, %v", rev, revs, err)
		}
		revs = append(revs, rev)
	}
	all, rev, err := k.Pending(ctx)
	if err != nil || len(all) != 1 || all[0] != second || rev != revs[2] {
		t.Errorf("pending: %+v at %d, %v", all, rev, err)
	}
	acts := func(want ...sluice.PendingSwitch) {
		t.Helper()
		if got, err := k.Acts(ctx); err != nil || !slices.Equal(got, want) {
			t.Errorf("acts: %+v, %v, want %+v", got, err, want)
		}
	}
	acts(first)
	if _, err := k.Keep(ctx, second); err != nil { // a repeated call is no second act
		t.Fatal(err)
	}
	acts(first)
	for _, take := range []func(context.Context, sluice.PendingSwitch) error{k.Drop, k.Shift} {
		if err := take(ctx, first); err != nil { // it was set anew since
			t.Fatal(err)
		}
	}
	if rev, err = k.Keep(ctx, second); err != nil {
		t.Fatal(err)
	}
	if all, again, _ := k.Pending(ctx); len(all) != 1 || again != rev {
		t.Errorf("a drop of what was replaced: %+v at %d", all, again)
	}
	if err := k.Drop(ctx, second); err != nil {
		t.Fatal(err)
	}
	if all, after, err := k.Pending(ctx); len(all) != 0 || after <= rev || err != nil {
		t.Errorf("in the end: %+v at %d, %v", all, after, err)
	}
	noted := second
	noted.Noted, noted.Before = true, first.Setting
	for _, p := range []sluice.PendingSwitch{noted, second} { // the first of them needs no more
		if _, err := k.Keep(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Shift(ctx, second); err != nil {
		t.Fatal(err)
	}
	acts(first, second)
	if all, _, _ := k.Pending(ctx); len(all) != 0 {
		t.Errorf("shifted, and still there: %+v", all)
	}
	for _, p := range []sluice.PendingSwitch{first, first, second} {
		if err := k.Noted(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	acts()
}
