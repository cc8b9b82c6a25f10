package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// KeyDesk makes and revokes API keys. A revoked key is refused as soon as Revoke has answered.
type KeyDesk interface {
	List(ctx context.Context) ([]sluice.APIKey, error)
	Create(ctx context.Context, k sluice.APIKey, a sluice.Actor) (made sluice.APIKey, secret string, err error)
	Revoke(ctx context.Context, id string, a sluice.Actor) (sluice.APIKey, error)
}

type (
	keyBody struct {
		Role       sluice.Role `json:"role,omitempty" doc:"Required: viewer, support, operator, merchant or admin"`
		Name       string      `json:"name,omitempty" doc:"Required: up to 100 bytes, as the audit log will show it"`
		MerchantID string      `json:"merchant_id,omitempty" doc:"Required for role merchant"`
	}
	keyAnswer struct {
		ID         string      `json:"id"`
		Key        string      `json:"key,omitempty" doc:"The secret: shown this once"`
		Name       string      `json:"name"`
		Role       sluice.Role `json:"role" enum:"viewer,support,operator,merchant,admin"`
		MerchantID string      `json:"merchant_id,omitempty"`
		Prefix     string      `json:"prefix" doc:"The first characters, to tell keys apart"`
		CreatedAt  time.Time   `json:"created_at"`
		RevokedAt  *time.Time  `json:"revoked_at,omitempty"`
	}
	keyOutput     struct{ Body keyAnswer }
	keyListOutput struct {
		Body struct {
			Items []keyAnswer `json:"items" nullable:"false"`
		}
	}
)

func keyAnswerOf(k *sluice.APIKey) keyAnswer {
	return keyAnswer{ID: k.ID, Name: k.Name, Role: k.Role, MerchantID: k.MerchantID, Prefix: k.Prefix,
		CreatedAt: k.CreatedAt.Time(), RevokedAt: moment(k.RevokedAt)}
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
			out := &keyListOutput{}
			out.Body.Items = make([]keyAnswer, len(keys))
			for i := range keys {
				out.Body.Items[i] = keyAnswerOf(&keys[i])
			}
			return out, nil
		})
	create := op("POST", "/v1/admin/api-keys", "Make an API key, shown this once", sluice.RoleAdmin)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, func(ctx context.Context, in *struct{ Body keyBody }) (*keyOutput, error) {
		k := sluice.APIKey{Name: in.Body.Name, Role: in.Body.Role, MerchantID: in.Body.MerchantID}
		k, secret, err := desk.Create(ctx, k, actorOf(ctx))
		if err != nil {
			return nil, problemOf(err)
		}
		out := &keyOutput{keyAnswerOf(&k)}
		out.Body.Key = secret
		return out, nil
	})
	huma.Register(api, op("DELETE", "/v1/admin/api-keys/{id}", "Revoke an API key, in force at once", sluice.RoleAdmin),
		func(ctx context.Context, in *struct {
			ID     string `path:"id" maxLength:"64"`
			Reason string `query:"reason" maxLength:"500"`
		}) (*keyOutput, error) {
			k, err := desk.Revoke(ctx, in.ID, actorBecause(ctx, in.Reason))
			if err != nil {
				return nil, problemOf(err)
			}
			return &keyOutput{keyAnswerOf(&k)}, nil
		})
}
