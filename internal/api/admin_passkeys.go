package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// PassKeyDesk keeps the keys that passes are signed with. It never gives a secret.
type PassKeyDesk interface {
	// List gives the keys in force on this node, the newest first.
	List() []sluice.PassKey
	// Rotate makes a new key, which signs as soon as every node has it. With revoke those before it are forgotten.
	Rotate(ctx context.Context, revoke bool, a sluice.Actor) (sluice.PassKey, error)
}

type (
	passKeyAnswer struct {
		Seq       int64     `json:"seq" doc:"1 is the first; it stands in base 36 in each pass"`
		CreatedAt time.Time `json:"created_at"`
		ActiveAt  time.Time `json:"active_at" doc:"From when on it signs"`
	}
	passKeyOutput     struct{ Body passKeyAnswer }
	passKeyListOutput struct {
		Body struct {
			Items []passKeyAnswer `json:"items" nullable:"false"`
		}
	}
	passKeyBody struct {
		Revoke bool   `json:"revoke,omitempty" doc:"Believe no older key any more: every pass is void, buyers get new ones"`
		Reason string `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
)

func passKeyAnswerOf(k sluice.PassKey) passKeyAnswer {
	return passKeyAnswer{k.Seq, k.CreatedAt.Time(), k.ActiveAt.Time()}
}

// registerPassKeys adds the keys of passes.
func (a *Admin) registerPassKeys(api huma.API) {
	desk := a.deps.PassKeys
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/pass-keys", "The keys that passes are signed with", sluice.RoleAdmin),
		func(context.Context, *struct{}) (*passKeyListOutput, error) {
			out, keys := &passKeyListOutput{}, desk.List()
			out.Body.Items = make([]passKeyAnswer, len(keys))
			for i, k := range keys {
				out.Body.Items[i] = passKeyAnswerOf(k)
			}
			return out, nil
		})
	rotate := op("POST", "/v1/admin/pass-keys", "Make a new key for passes; those of before hold", sluice.RoleAdmin)
	rotate.DefaultStatus = http.StatusCreated
	huma.Register(api, rotate, func(ctx context.Context, in *struct{ Body *passKeyBody }) (*passKeyOutput, error) {
		b := valueOr(in.Body, passKeyBody{})
		k, err := desk.Rotate(ctx, b.Revoke, actorBecause(ctx, b.Reason))
		if err != nil {
			return nil, problemOf(err)
		}
		return &passKeyOutput{passKeyAnswerOf(k)}, nil
	})
}
