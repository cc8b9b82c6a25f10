package sluice_test

import (
	"reflect"
	"testing"

	"github.com/sluice-sale/sluice"
)

func TestScopesNarrow(t *testing.T) {
	all, orders := sluice.KeyScope{}, sluice.KeyScope{Areas: []string{"orders"}}
	two := sluice.KeyScope{Areas: []string{"coupons", "orders"}}
	reads, readsOrders := sluice.KeyScope{ReadOnly: true}, sluice.KeyScope{Areas: []string{"orders"}, ReadOnly: true}
	for _, tt := range []struct {
		s, wider sluice.KeyScope
		within   bool
	}{
		{all, all, true}, {orders, all, true}, {reads, all, true}, {readsOrders, all, true},
		{all, orders, false}, {orders, orders, true}, {two, orders, false}, {orders, two, true},
		{readsOrders, orders, true}, {reads, orders, false}, {all, reads, false}, {orders, reads, false},
		{readsOrders, reads, true}, {orders, readsOrders, false}, {readsOrders, readsOrders, true},
	} {
		if got := tt.s.Within(tt.wider); got != tt.within {
			t.Errorf("%s within %s: %v", tt.s, tt.wider, got)
		}
	}
	for _, tt := range []struct {
		s       sluice.KeyScope
		area    string
		changes bool
		allows  bool
	}{
		{all, "orders", true, true}, {orders, "orders", true, true}, {orders, "coupons", false, false},
		{orders, "order", false, false}, {reads, "coupons", false, true}, {reads, "coupons", true, false},
		{readsOrders, "orders", false, true}, {readsOrders, "orders", true, false},
	} {
		if got := tt.s.Allows(tt.area, tt.changes); got != tt.allows {
			t.Errorf("%s allows %s, changes %v: %v", tt.s, tt.area, tt.changes, got)
		}
	}
}

func TestRotations(t *testing.T) {
	a, b, c, d := [32]byte{1}, [32]byte{2}, [32]byte{3}, [32]byte{4}
	made := sluice.APIKey{ID: "k", Name: "n", Role: sluice.RoleViewer, Prefix: "a", Hash: a, CreatedAt: 1}
	turn := func(id string, hash [32]byte, prefix string, at, grace sluice.Millis) sluice.KeyRotation {
		return sluice.KeyRotation{ID: id, Hash: hash, Prefix: prefix, At: at, Grace: grace}
	}
	is := func(what string, got sluice.APIKey, hash [32]byte, old sluice.KeySecret, at sluice.Millis) {
		t.Helper()
		if got.Hash != hash || got.Old != old || got.RotatedAt != at {
			t.Errorf("%s: %+v", what, got)
		}
		got.Hash, got.Prefix, got.Old, got.RotatedAt, got.RotationID = made.Hash, made.Prefix, made.Old, 0, ""
		if !reflect.DeepEqual(got, made) {
			t.Errorf("%s changes more than the secret: %+v", what, got)
		}
	}
	first := made.Rotated(turn("r1", b, "b", 1000, 500))
	is("once", first, b, sluice.KeySecret{Hash: a, Prefix: "a", Until: 1500}, 1000)
	is("again, under the same id", first.Rotated(turn("r1", c, "c", 1200, 500)), c,
		sluice.KeySecret{Hash: a, Prefix: "a", Until: 1500}, 1200)
	is("again, under another", first.Rotated(turn("r2", c, "c", 1200, 500)), c,
		sluice.KeySecret{Hash: b, Prefix: "b", Until: 1700}, 1200)
	is("without grace", first.Rotated(turn("r2", c, "c", 1200, 0)), c, sluice.KeySecret{}, 1200)
	unnamed := made.Rotated(turn("", b, "b", 1000, 500)).Rotated(turn("", d, "d", 1100, 500))
	is("twice without a name", unnamed, d, sluice.KeySecret{Hash: b, Prefix: "b", Until: 1600}, 1100)
	if first.Prefix != "b" || unnamed.Prefix != "d" {
		t.Errorf("the prefixes are %s and %s", first.Prefix, unnamed.Prefix)
	}
}
