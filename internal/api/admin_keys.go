package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// KeyDesk makes, rotates and revokes API keys. A revoked key is refused as soon as Revoke has answered.
type KeyDesk interface {
	List(ctx context.Context) ([]sluice.APIKey, error)
	Create(ctx context.Context, k sluice.APIKey, a sluice.Actor) (made sluice.APIKey, secret string, err error)
	// Rotate gives a key a new secret; the one before stays good for grace (ms). rotation names it, so that it may be
	// asked for again: then the new secret takes the place of the one whose answer was lost.
	Rotate(ctx context.Context, id, rotation string, grace sluice.Millis, a sluice.Actor) (
		k sluice.APIKey, secret string, err error)
	Revoke(ctx context.Context, id string, a sluice.Actor) (sluice.APIKey, error)
}

type (
	keyBody struct {
		Role       sluice.Role `json:"role,omitempty" doc:"Required: viewer, support, operator, merchant or admin"`
		Name       string      `json:"name,omitempty" doc:"Required: up to 100 bytes, as the audit log will show it"`
		Areas      []string    `json:"areas,omitempty" nullable:"false" doc:"Tags such as dead-letters; none: all"`
		ReadOnly   bool        `json:"read_only,omitempty" doc:"Only calls that change nothing (GET); not for merchants"`
		MerchantID string      `json:"merchant_id,omitempty" doc:"Required for role merchant"`
	}
	rotateBody struct {
		RotationID string `json:"rotation_id,omitempty" maxLength:"64" doc:"Made by the caller, who may then ask again"`
		GraceS     *int64 `json:"grace_s,omitempty" nullable:"false" doc:"The old one is good so long; default 86400"`
		Reason     string `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
	keyAnswer struct {
		ID         string      `json:"id"`
		Key        string      `json:"key,omitempty" doc:"The secret: shown this once"`
		Name       string      `json:"name"`
		Role       sluice.Role `json:"role" enum:"viewer,support,operator,merchant,admin"`
		Areas      []string    `json:"areas,omitempty" nullable:"false" doc:"All it may; none: what its role may"`
		ReadOnly   bool        `json:"read_only,omitempty" doc:"Only calls that change nothing"`
		MerchantID string      `json:"merchant_id,omitempty"`
		Prefix     string      `json:"prefix" doc:"The first characters, to tell keys apart"`
		CreatedAt  time.Time   `json:"created_at"`
		RotatedAt  *time.Time  `json:"rotated_at,omitempty" doc:"When it was given the secret that it has"`
		OldPrefix  string      `json:"old_prefix,omitempty" doc:"Of the secret before, while that is good"`
		OldUntil   *time.Time  `json:"old_until,omitempty" doc:"Until when the secret before is good"`
		LastUsedAt *time.Time  `json:"last_used_at,omitempty" doc:"To about a minute; absent: never"`
		Unused     bool        `json:"unused,omitempty" doc:"In force, and used by nobody for 90 days"`
		RevokedAt  *time.Time  `json:"revoked_at,omitempty"`
	}
	keyOutput     struct{ Body keyAnswer }
	keyListOutput struct {
		Body struct {
			Items []keyAnswer `json:"items" nullable:"false"`
		}
	}
)

func keyAnswerOf(k *sluice.APIKey, now sluice.Millis) keyAnswer {
	a := keyAnswer{ID: k.ID, Name: k.Name, Role: k.Role, Areas: k.Scope.Areas, ReadOnly: k.Scope.ReadOnly,
		MerchantID: k.MerchantID, Prefix: k.Prefix, CreatedAt: k.CreatedAt.Time(), RotatedAt: moment(k.RotatedAt),
		LastUsedAt: moment(k.LastUsed), RevokedAt: moment(k.RevokedAt)}
	if k.RevokedAt == 0 {
		a.Unused = now-max(k.LastUsed, k.CreatedAt) >= sluice.KeyUnusedAfter
		if now < k.Old.Until {
			a.OldPrefix, a.OldUntil = k.Old.Prefix, moment(k.Old.Until)
		}
	}
	return a
}

// registerKeys adds API keys.
func (a *Admin) registerKeys(api huma.API) {
	desk := a.deps.KeyDesk
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/api-keys", "Every API key, revoked ones too", sluice.RoleAdmin),
		func(ctx context.Context, _ *struct{}) (*keyListOutput, error) {
			keys, err := desk.List(ctx)
			if err != nil {
				return nil, problemOf(err)
			}
			out, now := &keyListOutput{}, sluice.MillisOf(a.cfg.Now())
			out.Body.Items = make([]keyAnswer, len(keys))
			for i := range keys {
				out.Body.Items[i] = keyAnswerOf(&keys[i], now)
			}
			return out, nil
		})
	create := op("POST", "/v1/admin/api-keys", "Make an API key, shown this once", sluice.RoleAdmin)
	create.DefaultStatus = http.StatusCreated
	create.Description += " Areas are tags of this description, in lower case and with dashes. A key makes none that " +
		"may more than itself."
	huma.Register(api, create, func(ctx context.Context, in *struct{ Body keyBody }) (*keyOutput, error) {
		k := sluice.APIKey{Name: in.Body.Name, Role: in.Body.Role, MerchantID: in.Body.MerchantID,
			Scope: sluice.KeyScope{Areas: slices.Clone(in.Body.Areas), ReadOnly: in.Body.ReadOnly}}
		if err := checkAreas(&k, areas(api.OpenAPI())); err != nil {
			return nil, err
		}
		if err := mayGive(ctx, k.Scope); err != nil {
			return nil, err
		}
		return a.secretOf(desk.Create(ctx, k, actorOf(ctx)))
	})
	a.registerRotate(api, desk)
	huma.Register(api, op("DELETE", "/v1/admin/api-keys/{id}", "Revoke an API key, in force at once", sluice.RoleAdmin),
		func(ctx context.Context, in *struct {
			ID     string `path:"id" maxLength:"64"`
			Reason string `query:"reason" maxLength:"500"`
		}) (*keyOutput, error) {
			k, err := desk.Revoke(ctx, in.ID, actorBecause(ctx, in.Reason))
			if err != nil {
				return nil, problemOf(err)
			}
			return &keyOutput{keyAnswerOf(&k, sluice.MillisOf(a.cfg.Now()))}, nil
		})
}

// registerRotate adds giving a key a new secret.
func (a *Admin) registerRotate(api huma.API, desk KeyDesk) {
	rotate := op("POST", "/v1/admin/api-keys/{id}/rotate", "Give an API key a new secret, shown this once",
		sluice.RoleAdmin)
	rotate.Description += " Id, name, role and scope stay. The old secret is good for grace_s more, then dies by itself" +
		"; one that was in its grace already ends at once. Where the answer is lost, rotate again under the same " +
		"rotation_id: the secret that nobody saw is replaced, and the old one keeps its grace. A session goes by the " +
		"secret that it was opened with. A key with a scope rotates none that may more than itself."
	huma.Register(api, rotate, func(ctx context.Context, in *struct {
		ID   string `path:"id" maxLength:"64"`
		Body *rotateBody
	}) (*keyOutput, error) {
		b := in.Body
		if b == nil {
			b = &rotateBody{}
		}
		grace := sluice.DefaultKeyGrace
		if b.GraceS != nil {
			if *b.GraceS < 0 || *b.GraceS > int64(sluice.MaxKeyGrace)/1000 {
				return nil, invalidField("grace_s", "must be from 0 to 604800")
			}
			grace = sluice.Millis(*b.GraceS) * 1000
		}
		if infoOf(ctx).key.Scope.Narrow() { // who has a key's secret has its scope
			all, err := desk.List(ctx)
			if err != nil {
				return nil, problemOf(err)
			}
			for i := range all {
				if all[i].ID != in.ID {
					continue
				}
				if err := mayGive(ctx, all[i].Scope); err != nil {
					return nil, err
				}
			}
		}
		return a.secretOf(desk.Rotate(ctx, in.ID, b.RotationID, grace, actorBecause(ctx, b.Reason)))
	})
}

// secretOf answers with a key's secret, this once.
func (a *Admin) secretOf(k sluice.APIKey, secret string, err error) (*keyOutput, error) {
	if err != nil {
		return nil, problemOf(err)
	}
	out := &keyOutput{keyAnswerOf(&k, sluice.MillisOf(a.cfg.Now()))}
	out.Body.Key = secret
	return out, nil
}

// mayGive refuses to hand out a scope that the key of the call does not have itself.
func mayGive(ctx context.Context, scope sluice.KeyScope) error {
	if own := infoOf(ctx).key.Scope; !scope.Within(own) {
		return outOfScope("a key cannot give more than it may itself, and this would be: "+scope.String(), own)
	}
	return nil
}

// checkAreas sorts the areas of a key to be made, and refuses those that are none.
func checkAreas(k *sluice.APIKey, known []string) error {
	if k.Role == sluice.RoleMerchant {
		known = []string{"coupons"} // all that merchants' calls are about
	}
	for _, area := range k.Scope.Areas {
		if !slices.Contains(known, area) {
			return invalidField("areas", "must be of "+strings.Join(known, ", "))
		}
	}
	slices.Sort(k.Scope.Areas)
	k.Scope.Areas = slices.Compact(k.Scope.Areas)
	return nil
}
