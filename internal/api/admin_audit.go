package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// AuditLog reads the audit log, newest first.
type AuditLog interface {
	Audit(ctx context.Context, q sluice.AuditQuery) ([]sluice.AuditEntry, error)
}

type (
	auditActor struct {
		KeyID string      `json:"key_id"`
		Name  string      `json:"name"`
		Role  sluice.Role `json:"role"`
		Addr  string      `json:"addr,omitempty"`
	}
	auditEntry struct {
		Seq       int64           `json:"seq"`
		At        time.Time       `json:"at"`
		Actor     auditActor      `json:"actor"`
		Action    string          `json:"action" doc:"Such as campaign.pause"`
		Object    string          `json:"object" doc:"Such as campaign/spring"`
		Before    json.RawMessage `json:"before,omitempty"`
		After     json.RawMessage `json:"after,omitempty"`
		Reason    string          `json:"reason,omitempty"`
		RequestID string          `json:"request_id,omitempty"`
	}
	auditInput struct {
		PageInput
		Actor  string    `query:"actor" maxLength:"128" doc:"The id or the name of a key"`
		Action string    `query:"action" maxLength:"64" doc:"An action, or the beginning of some: campaign.*"`
		Object string    `query:"object" maxLength:"128" doc:"An object, or the beginning of some: switch/*"`
		From   time.Time `query:"from" doc:"Not before this moment"`
		Until  time.Time `query:"until" doc:"Before this moment"`
	}
	auditPageOutput struct {
		Body struct {
			Items      []auditEntry `json:"items" nullable:"false"`
			NextCursor string       `json:"next_cursor,omitempty"`
		}
	}
)

// registerAudit adds the audit log, which nobody can change.
func (a *Admin) registerAudit(api huma.API) {
	desk := a.deps.Audit
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/audit-log",
		"Who changed what from what to what, newest first", sluice.RoleSupport),
		func(ctx context.Context, in *auditInput) (*auditPageOutput, error) {
			before, err := cursorNumber(in.Cursor)
			if err != nil {
				return nil, problemOf(err)
			}
			rows, err := desk.Audit(ctx, sluice.AuditQuery{Actor: in.Actor, Action: in.Action, Object: in.Object,
				From: sluice.MillisOf(in.From), Until: sluice.MillisOf(in.Until), Before: before, Limit: in.Limit + 1})
			if err != nil {
				return nil, problemOf(err)
			}
			out := &auditPageOutput{}
			if len(rows) > in.Limit {
				rows = rows[:in.Limit]
				out.Body.NextCursor = cursorText(rows[in.Limit-1].Seq)
			}
			out.Body.Items = make([]auditEntry, len(rows))
			for i, e := range rows {
				out.Body.Items[i] = auditEntry{Seq: e.Seq, At: e.At.Time(), Action: e.Action, Object: e.Object,
					Before: e.Before, After: e.After, Reason: e.Actor.Reason, RequestID: e.Actor.RequestID,
					Actor: auditActor{e.Actor.KeyID, e.Actor.Name, e.Actor.Role, e.Actor.Addr}}
			}
			return out, nil
		})
}
