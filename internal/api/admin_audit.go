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
		AuditFilter
	}
	// AuditFilter says which entries are meant.
	AuditFilter struct {
		Actor  string    `query:"actor" maxLength:"128" doc:"The id or the name of a key"`
		Action string    `query:"action" maxLength:"64" doc:"An action, or the beginning of some: campaign.*"`
		Object string    `query:"object" maxLength:"128" doc:"An object, or the beginning of some: switch/*"`
		From   time.Time `query:"from" doc:"Not before this moment"`
		Until  time.Time `query:"until" doc:"Before this moment"`
	}
	auditFileOutput struct {
		Disposition string       `header:"Content-Disposition"`
		Cut         string       `header:"Sluice-Cut" doc:"Present where more matched: how many rows the file has"`
		Body        []auditEntry `nullable:"false"`
	}
	auditPageOutput struct {
		Body struct {
			Items      []auditEntry `json:"items" nullable:"false"`
			NextCursor string       `json:"next_cursor,omitempty"`
		}
	}
)

func (f *AuditFilter) query(limit int) sluice.AuditQuery {
	return sluice.AuditQuery{Actor: f.Actor, Action: f.Action, Object: f.Object,
		From: sluice.MillisOf(f.From), Until: sluice.MillisOf(f.Until), Limit: limit}
}

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
			q := in.query(in.Limit + 1)
			q.Before = before
			rows, err := desk.Audit(ctx, q)
			if err != nil {
				return nil, problemOf(err)
			}
			out := &auditPageOutput{}
			if len(rows) > in.Limit {
				rows = rows[:in.Limit]
				out.Body.NextCursor = cursorText(rows[in.Limit-1].Seq)
			}
			out.Body.Items = auditEntries(rows)
			return out, nil
		})
	huma.Register(api, op("GET", "/v1/admin/audit-log.json",
		"The audit log as a file, at most 10000 rows, newest first", sluice.RoleSupport),
		func(ctx context.Context, in *AuditFilter) (*auditFileOutput, error) {
			rows, err := desk.Audit(ctx, in.query(maxCSVRows+1))
			if err != nil {
				return nil, problemOf(err)
			}
			rows, cut := cutAt(rows)
			return &auditFileOutput{`attachment; filename="audit-log.json"`, cut, auditEntries(rows)}, nil
		})
}

func auditEntries(rows []sluice.AuditEntry) []auditEntry {
	all := make([]auditEntry, len(rows))
	for i, e := range rows {
		all[i] = auditEntry{Seq: e.Seq, At: e.At.Time(), Action: e.Action, Object: e.Object,
			Before: e.Before, After: e.After, Reason: e.Actor.Reason, RequestID: e.Actor.RequestID,
			Actor: auditActor{e.Actor.KeyID, e.Actor.Name, e.Actor.Role, e.Actor.Addr}}
	}
	return all
}
