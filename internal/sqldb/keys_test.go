package sqldb_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/sqldb"
)

// madeKey makes a key of a server that is new.
func madeKey(t *testing.T, db *sqldb.DB, n byte, scope sluice.KeyScope) sluice.APIKey {
	t.Helper()
	k := sluice.APIKey{ID: fmt.Sprintf("key_%d", n), Name: "ops", Role: sluice.RoleOperator, Scope: scope, Prefix: "slk_a",
		Hash: [32]byte{n, 1}, CreatedAt: 1000 + sluice.Millis(n)}
	if err := db.CreateAPIKey(t.Context(), k, operator); err != nil {
		t.Fatal(err)
	}
	return k
}

// wantKey holds that the ledger has a key as it is wanted, on this server.
func wantKey(t *testing.T, what string, db *sqldb.DB, want sluice.APIKey) {
	t.Helper()
	all, err := db.APIKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		if k.ID == want.ID {
			if !reflect.DeepEqual(k, want) {
				t.Errorf("%s:\n%+v, want\n%+v", what, k, want)
			}
			return
		}
	}
	t.Errorf("%s: there is no %s", what, want.ID)
}

func TestKeysHaveScopesAndRotate(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		a, b, ctx := open(t, sqldb.Config{}), open(t, sqldb.Config{}), t.Context()
		wide := madeKey(t, a, 1, sluice.KeyScope{})
		narrow := madeKey(t, a, 2, sluice.KeyScope{Areas: []string{"coupons", "dead-letters"}, ReadOnly: true})
		wantKey(t, "no scope", b, wide)
		wantKey(t, "a scope", b, narrow)
		wantJSON(t, "after", lastAudit(t, a).After, `{"name":"ops","role":"operator","areas":["coupons","dead-letters"],
			"read_only":true,"prefix":"slk_a"}`)
		for n, k := range []sluice.APIKey{wide, narrow} {
			first := sluice.KeyRotation{ID: "r1", Hash: [32]byte{byte(n), 2}, Prefix: "slk_b", At: 2000, Grace: 500}
			got, err := b.RotateAPIKey(ctx, k.ID, first, operator)
			if k = k.Rotated(first); err != nil || !reflect.DeepEqual(got, k) {
				t.Fatalf("rotated: %+v, want %+v, %v", got, k, err)
			}
			wantKey(t, "rotated", a, k)
			e := lastAudit(t, a)
			if e.Action != "api_key.rotate" || e.Object != "api_key/"+k.ID || !strings.Contains(string(e.Before), "slk_a") ||
				!strings.Contains(string(e.After), `"old_until_ms":2500`) {
				t.Errorf("audit row %+v", e)
			}
			second := sluice.KeyRotation{ID: "r1", Hash: [32]byte{byte(n), 3}, Prefix: "slk_c", At: 2100, Grace: 500}
			if k = k.Rotated(second); must(a.RotateAPIKey(ctx, k.ID, second, operator)).Hash != k.Hash {
				t.Error("another secret than was given")
			}
			wantKey(t, "rotated again", b, k)
			third := sluice.KeyRotation{Hash: [32]byte{byte(n), 4}, Prefix: "slk_d", At: 2200}
			if k = k.Rotated(third); must(a.RotateAPIKey(ctx, k.ID, third, operator)).Old != (sluice.KeySecret{}) {
				t.Error("without grace there is an old secret")
			}
			wantKey(t, "rotated without grace", b, k)
			k.RevokedAt = 3000
			if got := must(b.RevokeAPIKey(ctx, k.ID, operator, 3000)); !reflect.DeepEqual(got, k) {
				t.Errorf("revoked: %+v, want %+v", got, k)
			}
			wantKey(t, "revoked", a, k)
			if _, err := a.RotateAPIKey(ctx, k.ID, first, operator); !errors.Is(err, sluice.ErrConflict) {
				t.Errorf("a revoked key is rotated: %v", err)
			}
			wantKey(t, "not rotated", a, k)
		}
		if _, err := a.RotateAPIKey(ctx, "key_none", sluice.KeyRotation{}, operator); !errors.Is(err, sluice.ErrNotFound) {
			t.Errorf("a key that is not there is rotated: %v", err)
		}
	})
}

// TestOldVersionsRefuseWhatTheyCannotKeepTo: a server that knows no scopes looks at the key's own row only. There it
// must not find the secret of a key with a scope, which it would let do all that the role may, nor one that was rotated
// away.
func TestOldVersionsRefuseWhatTheyCannotKeepTo(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		db, ctx := open(t, sqldb.Config{}), t.Context()
		wide := madeKey(t, db, 1, sluice.KeyScope{})
		for n, scope := range []sluice.KeyScope{{Areas: []string{"orders"}}, {ReadOnly: true}} {
			k := madeKey(t, db, byte(n+2), scope)
			seen := [][]byte{k.Hash[:], must(db.HashForAll(ctx, k.ID))}
			r := sluice.KeyRotation{Hash: [32]byte{byte(n), 9}, Prefix: "slk_b", At: 2000, Grace: 500}
			must(db.RotateAPIKey(ctx, k.ID, r, operator))
			seen = append(seen, r.Hash[:], must(db.HashForAll(ctx, k.ID)))
			for i, x := range seen {
				for _, y := range seen[:i] {
					if len(x) != 32 || bytes.Equal(x, y) {
						t.Errorf("%s: an old version finds %x, the secrets are %x", scope, x, seen)
					}
				}
			}
		}
		if got := must(db.HashForAll(ctx, wide.ID)); !bytes.Equal(got, wide.Hash[:]) {
			t.Errorf("an old version does not know a key of its own kind: %x", got)
		}
		r := sluice.KeyRotation{Hash: [32]byte{7, 7}, Prefix: "slk_b", At: 2000, Grace: 500}
		must(db.RotateAPIKey(ctx, wide.ID, r, operator))
		if got := must(db.HashForAll(ctx, wide.ID)); !bytes.Equal(got, r.Hash[:]) {
			t.Errorf("an old version does not know the new secret: %x", got)
		}
	})
}

// TestUsesOnlyGrow: several servers tell of one key, in any order and at once.
func TestUsesOnlyGrow(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		a, b, ctx := open(t, sqldb.Config{}), open(t, sqldb.Config{}), t.Context()
		k, other := madeKey(t, a, 1, sluice.KeyScope{}), madeKey(t, a, 2, sluice.KeyScope{ReadOnly: true})
		rows := len(must(a.Audit(ctx, sluice.AuditQuery{Limit: 9})))
		for _, step := range []struct {
			db       *sqldb.DB
			at, want sluice.Millis
		}{{a, 5000, 5000}, {b, 7000, 7000}, {a, 6000, 7000}, {a, 7000, 7000}, {b, 7001, 7001}} {
			if err := step.db.UseAPIKeys(ctx, []sluice.KeyUse{{ID: k.ID, At: step.at}}); err != nil {
				t.Fatal(err)
			}
			k.LastUsed = step.want
			wantKey(t, fmt.Sprintf("told of %d", step.at), a, k)
		}
		var both sync.WaitGroup
		for n, db := range []*sqldb.DB{a, b} {
			both.Go(func() {
				for i := range 20 {
					at := sluice.Millis(8000 + 2*i + n)
					uses := []sluice.KeyUse{{ID: k.ID, At: at}, {ID: other.ID, At: at}}
					if n == 1 {
						uses[0], uses[1] = uses[1], uses[0]
					}
					if err := db.UseAPIKeys(ctx, uses); err != nil {
						t.Error(err)
					}
				}
			})
		}
		both.Wait()
		k.LastUsed, other.LastUsed = 8039, 8039
		wantKey(t, "both at once", a, k)
		wantKey(t, "both at once", b, other)
		if err := a.UseAPIKeys(ctx, nil); err != nil {
			t.Error(err)
		}
		if got := len(must(a.Audit(ctx, sluice.AuditQuery{Limit: 9}))); got != rows {
			t.Errorf("a use leaves %d audit rows", got-rows)
		}
	})
}
