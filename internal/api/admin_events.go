package api

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// EventFeed reads events in order, after the one given.
type EventFeed interface {
	Events(ctx context.Context, after sluice.EventID, limit int) ([]sluice.Event, error)
}

// Bounds of waiting for events.
const (
	eventPoll   = 100 * time.Millisecond
	maxFollower = 64 // readers that wait at once; more are answered at once
)

type (
	eventAnswer struct {
		ID         string          `json:"id" doc:"Stable; ask for what comes after it"`
		Type       string          `json:"type" doc:"Such as order.created"`
		At         time.Time       `json:"at"`
		CampaignID string          `json:"campaign_id,omitempty"`
		Subject    string          `json:"subject,omitempty" doc:"The id of what changed"`
		Data       json.RawMessage `json:"data,omitempty"`
	}
	eventInput struct {
		After  string `query:"after" maxLength:"40" doc:"The id of the last event you have; absent or 0: from the beginning"`
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		WaitMS int64  `query:"wait_ms" minimum:"0" maximum:"30000" doc:"How long to wait where there is none yet"`
	}
	eventPageOutput struct {
		Body struct {
			Items []eventAnswer `json:"items" nullable:"false"`
			Next  string        `json:"next" doc:"What to give as after next time"`
		}
	}
)

// registerEvents adds the feed of events.
func (a *Admin) registerEvents(api huma.API) {
	feed := a.deps.Events
	if feed == nil {
		return
	}
	var followers atomic.Int64
	o := op("GET", "/v1/admin/events",
		"Every change of a campaign, order, coupon and switch, in order", sluice.RoleSupport)
	o.Description += " Each event is given at least once, under an id that stays the same."
	huma.Register(api, o, func(ctx context.Context, in *eventInput) (*eventPageOutput, error) {
		after, ok := sluice.ParseEventID(in.After)
		if !ok {
			return nil, invalidField("after", "must be the id of an event, or 0")
		}
		wait := min(time.Duration(in.WaitMS)*time.Millisecond, maxWait)
		defer followers.Add(-1)
		if followers.Add(1) > maxFollower {
			wait = 0
		}
		events, err := followEvents(ctx, feed, after, in.Limit, wait)
		if err != nil {
			return nil, problemOf(err)
		}
		out := &eventPageOutput{}
		out.Body.Next, out.Body.Items = in.After, make([]eventAnswer, len(events))
		if in.After == "" {
			out.Body.Next = "0"
		}
		for i, e := range events {
			out.Body.Items[i] = eventAnswer{e.ID.String(), e.Type, e.At.Time(), e.Campaign, e.Subject, e.Data}
			out.Body.Next = e.ID.String()
		}
		return out, nil
	})
}

// followEvents reads the feed, and where nothing is there yet reads again until something is or the wait is over.
func followEvents(
	ctx context.Context, feed EventFeed, after sluice.EventID, limit int, wait time.Duration,
) ([]sluice.Event, error) {
	events, err := feed.Events(ctx, after, limit)
	if err != nil || len(events) > 0 || wait <= 0 {
		return events, err
	}
	over, tick := time.NewTimer(wait), time.NewTicker(eventPoll)
	defer over.Stop()
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case <-over.C:
			return feed.Events(ctx, after, limit)
		case <-tick.C:
			if events, err := feed.Events(ctx, after, limit); err != nil || len(events) > 0 {
				return events, err
			}
		}
	}
}
