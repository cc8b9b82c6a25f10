package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// eventsCmd reads the feed of events.
type eventsCmd struct {
	After  string `default:"0" placeholder:"ID" help:"Begin after this event; 0 is the beginning."`
	Follow bool   `short:"F" help:"Go on as events come, until interrupted."`
	Limit  int64  `placeholder:"N" help:"Stop after this many."`
	Type   string `placeholder:"TYPE" help:"Only this type, such as order.created, or its beginning, such as order."`
	adminFlags
}

// event is one line of the feed.
type event struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	At         time.Time       `json:"at"`
	CampaignID string          `json:"campaign_id,omitempty"`
	Subject    string          `json:"subject,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
}

// followWait is how long the server may hold a reader that waits for news.
const followWait = 20 * time.Second

// retryPause is how long a follower waits before it asks a server again that could not be reached.
const retryPause = time.Second

// Run prints the events, with --json one a line.
func (c *eventsCmd) Run(a *app) error {
	o, err := c.operator(a)
	if err != nil {
		return err
	}
	o.wait += followWait
	after, printed := c.After, int64(0)
	for {
		limit := int64(pageSize)
		if c.Limit > 0 && c.Type == "" {
			limit = min(limit, c.Limit-printed)
		}
		q := []string{"after", after, "limit", strconv.FormatInt(limit, 10)}
		if c.Follow {
			q = append(q, "wait_ms", strconv.FormatInt(followWait.Milliseconds(), 10))
		}
		var page struct {
			Items []event `json:"items"`
			Next  string  `json:"next"`
		}
		err := o.call(a.ctx, "GET", "/v1/admin/events"+query(q...), nil, &page)
		if c.Follow && a.ctx.Err() != nil {
			return nil // interrupted: that is how following ends
		}
		if c.Follow && printed > 0 && unreachable(err) {
			progressf(a, "the server cannot be reached; trying again after %s", after)
			a.pause(retryPause)
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range page.Items {
			if !c.wanted(e.Type) {
				continue
			}
			if err := a.printEvent(e); err != nil {
				return err
			}
			if printed++; c.Limit > 0 && printed >= c.Limit {
				return nil
			}
		}
		if after = page.Next; len(page.Items) == 0 && !c.Follow {
			return nil
		}
	}
}

func (c *eventsCmd) wanted(typ string) bool {
	return c.Type == "" || typ == c.Type || len(typ) > len(c.Type) && typ[:len(c.Type)+1] == c.Type+"."
}

func (a *app) printEvent(e event) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(e)
	}
	_, err := fmt.Fprintf(a.out, "%-10s  %s  %-20s  %-14s  %s  %s\n", e.ID, e.At.Local().Format("2006-01-02 15:04:05.000"),
		e.Type, e.CampaignID, e.Subject, a.paint.dim(string(e.Data)))
	return err
}

func unreachable(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.code == exitUnreachable
}

// pause waits, or returns at once where the user interrupts.
func (a *app) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-a.ctx.Done():
	}
}

// progressf says something about the work itself, on stderr; nothing with --json.
func progressf(a *app, format string, args ...any) {
	if !a.json {
		fmt.Fprintf(a.err, format+"\n", args...)
	}
}
