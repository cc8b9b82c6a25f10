package api

import (
	"context"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// SwitchDesk sets switches. What it answers is committed and in force.
type SwitchDesk interface {
	Settings(ctx context.Context) ([]sluice.SwitchSetting, error)
	Set(ctx context.Context, s sluice.SwitchSetting, a sluice.Actor) (sluice.SwitchResult, error)
}

func typeFor[T any]() reflect.Type { return reflect.TypeFor[T]() }

type (
	switchSetting struct {
		CampaignID string    `json:"campaign_id,omitempty" doc:"Absent: for the whole server"`
		Value      float64   `json:"value" doc:"On/off switches: 0 or 1"`
		Reason     string    `json:"reason,omitempty"`
		Author     string    `json:"author,omitempty"`
		At         time.Time `json:"at"`
	}
	switchEntry struct {
		Name     string            `json:"name"`
		Kind     sluice.SwitchKind `json:"kind" enum:"on_off,value"`
		Means    string            `json:"means"`
		Global   bool              `json:"global" doc:"May be set for the whole server"`
		Campaign bool              `json:"campaign" doc:"May be set for one campaign"`
		Min      float64           `json:"min"`
		Max      float64           `json:"max"`
		Settings []switchSetting   `json:"settings" nullable:"false" doc:"Where it is set"`
	}
	switchListOutput struct {
		Body struct {
			Items []switchEntry `json:"items" nullable:"false"`
		}
	}
	switchBody struct {
		Value      *float64 `json:"value,omitempty" nullable:"false" doc:"Required: on/off switches take 0 or 1"`
		CampaignID string   `json:"campaign_id,omitempty" maxLength:"64" doc:"Absent: for the whole server"`
		Reason     string   `json:"reason,omitempty" maxLength:"500" doc:"Why: for the audit log"`
	}
	switchOutput struct {
		Body struct {
			Name       string   `json:"name"`
			CampaignID string   `json:"campaign_id,omitempty"`
			Set        bool     `json:"set"`
			Value      float64  `json:"value"`
			Before     *float64 `json:"before,omitempty" doc:"The value before; absent where it was not set"`
			Nodes      int      `json:"nodes"`
			InForce    int      `json:"in_force" doc:"On how many of the nodes it is in force"`
			TookMS     int64    `json:"took_ms"`
		}
	}
)

// registerSwitches adds the catalogue of switches, and setting and clearing them.
func (a *Admin) registerSwitches(api huma.API) {
	desk := a.deps.Switches
	if desk == nil {
		return
	}
	huma.Register(api, op("GET", "/v1/admin/switches", "Every switch and where it is set", sluice.RoleViewer),
		func(ctx context.Context, _ *struct{}) (*switchListOutput, error) {
			settings, err := desk.Settings(ctx)
			if err != nil {
				return nil, problemOf(err)
			}
			return switchList(settings), nil
		})
	huma.Register(api, op("PUT", "/v1/admin/switches/{name}", "Set a switch", sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			Name string `path:"name" maxLength:"64"`
			Body switchBody
		}) (*switchOutput, error) {
			if in.Body.Value == nil {
				return nil, invalidField("value", "is required")
			}
			s := sluice.SwitchSetting{Name: in.Name, Campaign: in.Body.CampaignID, Value: *in.Body.Value, Set: true}
			return answerSwitch(desk.Set(ctx, s, actorBecause(ctx, in.Body.Reason)))
		})
	huma.Register(api, op("DELETE", "/v1/admin/switches/{name}",
		"Clear a switch: back to the default", sluice.RoleOperator),
		func(ctx context.Context, in *struct {
			Name       string `path:"name" maxLength:"64"`
			CampaignID string `query:"campaign_id" maxLength:"64"`
			Reason     string `query:"reason" maxLength:"500"`
		}) (*switchOutput, error) {
			s := sluice.SwitchSetting{Name: in.Name, Campaign: in.CampaignID}
			return answerSwitch(desk.Set(ctx, s, actorBecause(ctx, in.Reason)))
		})
}

func switchList(settings []sluice.SwitchSetting) *switchListOutput {
	out := &switchListOutput{}
	for _, spec := range sluice.Switches() {
		e := switchEntry{Name: spec.Name, Kind: spec.Kind, Means: spec.Means, Global: spec.Global, Campaign: spec.Campaign,
			Min: spec.Min, Max: spec.Max, Settings: []switchSetting{}}
		for _, s := range settings {
			if s.Name == spec.Name {
				e.Settings = append(e.Settings, switchSetting{s.Campaign, s.Value, s.Reason, s.Author, s.At.Time()})
			}
		}
		out.Body.Items = append(out.Body.Items, e)
	}
	return out
}

func answerSwitch(r sluice.SwitchResult, err error) (*switchOutput, error) {
	if err != nil {
		return nil, problemOf(err)
	}
	out := &switchOutput{}
	b := &out.Body
	b.Name, b.CampaignID, b.Set, b.Value = r.Setting.Name, r.Setting.Campaign, r.Setting.Set, r.Setting.Value
	b.Nodes, b.InForce, b.TookMS = r.Nodes, r.InForce, r.TookMS
	if r.Before.Set {
		b.Before = &r.Before.Value
	}
	return out, nil
}
