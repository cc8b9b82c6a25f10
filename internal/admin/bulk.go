package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-sale/sluice"
)

// Bulk issues the grants of body, up to a million lines, and calls emit with the result of each in the order of
// the lines, from one goroutine. A line that is wrong or refused does not stop the rest. Memory is bounded by the
// window. Where ctx ends, emit fails or the body breaks off, the lines that were begun are finished and the
// totals so far come with the error; doing it again under the same grant ids answers the same for what was done.
// The audit log has one row before the first grant and one with the totals.
func (d *Grants) Bulk(
	ctx context.Context, campaign string, format sluice.BulkFormat, body io.Reader, a sluice.Actor,
	emit func(sluice.GrantResult) error,
) (sluice.GrantTotals, error) {
	totals := sluice.GrantTotals{Refused: map[sluice.Reason]int64{}}
	c, err := d.open(ctx, campaign)
	if err != nil {
		return totals, err
	}
	r, err := newGrantReader(&c, format, body)
	if err != nil {
		return totals, err
	}
	object := "campaign/" + campaign
	err = d.cfg.Noter.Note(ctx, a, "grants.begin", object, nil, map[string]any{"format": format}, d.now())
	if err != nil {
		return totals, err
	}
	err = d.run(ctx, &c, r, &totals, emit)
	ctx = context.WithoutCancel(ctx)
	noted := d.cfg.Noter.Note(ctx, a, "grants.end", object, nil, shownTotals(&totals, err), d.now())
	return totals, errors.Join(err, noted)
}

func shownTotals(t *sluice.GrantTotals, err error) map[string]any {
	refused := map[string]int64{}
	for r, n := range t.Refused {
		refused[r.String()] = n
	}
	return map[string]any{"lines": t.Lines, "confirmed": t.Confirmed, "replayed": t.Replayed, "units": t.Units,
		"faults": t.Faults, "refused": refused, "complete": err == nil}
}

// run keeps up to a window of grants under way: the channel of places is both the bound and the order.
func (d *Grants) run(
	ctx context.Context, c *sluice.Campaign, r *grantReader, totals *sluice.GrantTotals,
	emit func(sluice.GrantResult) error,
) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	places := make(chan chan sluice.GrantResult, d.cfg.Window)
	var readErr error
	go func() {
		defer close(places)
		readErr = d.begin(ctx, c, r, places)
	}()
	var emitErr error
	for place := range places {
		res := <-place
		count(totals, &res)
		if emitErr == nil {
			if emitErr = emit(res); emitErr != nil {
				stop(emitErr) // what was begun is still counted
			}
		}
	}
	if emitErr != nil {
		return fmt.Errorf("admin: grants of %s: the results could not be handed on: %w", c.ID, emitErr)
	}
	return readErr
}

// begin reads lines and starts each in a place of its own.
func (d *Grants) begin(
	ctx context.Context, c *sluice.Campaign, r *grantReader, places chan<- chan sluice.GrantResult,
) error {
	for {
		res, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && r.lines.full > d.cfg.MaxLines+r.heading {
			err = bodyFault("must be at most %d lines: the rest was not read", d.cfg.MaxLines)
		}
		if err != nil {
			return err
		}
		place := make(chan sluice.GrantResult, 1)
		select {
		case places <- place:
		case <-ctx.Done():
			return fmt.Errorf("admin: grants of %s: %w", c.ID, context.Cause(ctx))
		}
		if res.Fault != "" {
			place <- res
			continue
		}
		go func() {
			// A grant that was begun is finished, whoever went away: its outcome is then known under its id.
			res.Decision = d.insist(context.WithoutCancel(ctx), c, &res.Grant)
			place <- res
		}()
	}
}

// bulkTries is how often a bulk asks for one grant while its outcome is not known.
const bulkTries = 3

// insist admits a grant, and asks again where the store has not answered in time: the grant's id makes that harmless.
// What comes of it is this bulk's own, not a replay.
func (d *Grants) insist(ctx context.Context, c *sluice.Campaign, g *sluice.Grant) sluice.Decision {
	first := d.admit(ctx, c, g)
	for is, try := first, 1; is.Reason == sluice.ReasonUnavailable && try < bulkTries; try++ {
		if is = d.admit(ctx, c, g); is.Reason != sluice.ReasonUnavailable {
			is.Replayed = false
			return is
		}
	}
	return first
}

func count(t *sluice.GrantTotals, r *sluice.GrantResult) {
	t.Lines++
	switch {
	case r.Fault != "":
		t.Faults++
	case !r.Decision.Reason.Admitted():
		t.Refused[r.Decision.Reason]++
	case r.Decision.Replayed:
		t.Replayed++
	default:
		t.Confirmed++
		t.Units += int64(r.Quantity)
	}
}

// grantReader reads grants line by line.
type grantReader struct {
	c       *sluice.Campaign
	lines   *lines
	csv     bool
	columns []int // of user_id, grant_id, quantity
	width   int   // how many columns the first line names
	heading int64
}

func newGrantReader(c *sluice.Campaign, format sluice.BulkFormat, body io.Reader) (*grantReader, error) {
	r := &grantReader{c: c, lines: newLines(body)}
	switch format {
	case sluice.FormatJSONLines:
		return r, nil
	case sluice.FormatCSV:
		r.csv, r.heading = true, 1
		line, err := r.lines.next()
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLongLine) {
			return nil, fmt.Errorf("admin: read the grants: %w", err)
		}
		r.columns, r.width, err = header(line, "user_id", "grant_id", "?quantity")
		return r, err
	}
	return nil, sluice.Invalid(sluice.FieldFault{Field: "format", Detail: "must be csv or jsonl"})
}

// next gives the next line's grant; what is wrong with it stands in Fault. io.EOF ends the body.
func (r *grantReader) next() (res sluice.GrantResult, err error) {
	line, err := r.lines.next()
	if res.Line = r.lines.n; errors.Is(err, errLongLine) {
		res.Fault = err.Error()
		return res, nil
	}
	if errors.Is(err, io.EOF) {
		return res, io.EOF
	}
	if err != nil {
		return res, fmt.Errorf("admin: read the grants after line %d: %w", r.lines.n, err)
	}
	if r.csv {
		res.Grant, err = r.fromCSV(line)
	} else {
		res.Grant, err = fromJSON(line)
	}
	if err != nil {
		res.Fault = err.Error()
		return res, nil
	}
	for i, f := range checkGrant(r.c, &res.Grant) {
		if i > 0 {
			res.Fault += "; "
		}
		res.Fault += f.Field + ": " + f.Detail
	}
	return res, nil
}

func (r *grantReader) fromCSV(line []byte) (g sluice.Grant, err error) {
	row, err := cells(line)
	if err != nil {
		return g, err
	}
	if len(row) > r.width { // an id with a comma and no quotes would be somebody else's
		return g, fmt.Errorf("the line has %d cells, and the first line names %d", len(row), r.width)
	}
	cell := func(i int) string {
		if at := r.columns[i]; at >= 0 && at < len(row) {
			return strings.TrimSpace(row[at])
		}
		return ""
	}
	g = sluice.Grant{User: cell(0), ID: cell(1), Quantity: 1}
	if q := cell(2); q != "" {
		if g.Quantity, err = strconv.Atoi(q); err != nil {
			return g, errors.New("quantity: must be a whole number")
		}
	}
	return g, nil
}

func fromJSON(line []byte) (g sluice.Grant, err error) {
	body := struct {
		User     string `json:"user_id"`
		ID       string `json:"grant_id"`
		Quantity *int   `json:"quantity"`
	}{}
	if err := plainObject(line); err != nil {
		return g, err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err = d.Decode(&body)
	if _, rest := d.Token(); err != nil || !errors.Is(rest, io.EOF) {
		return g, errors.New(`must be one JSON object: {"user_id":"…","grant_id":"…","quantity":1}`)
	}
	g = sluice.Grant{User: body.User, ID: body.ID, Quantity: 1}
	if body.Quantity != nil {
		g.Quantity = *body.Quantity
	}
	return g, nil
}

// plainObject finds what decoding would pass over: a field that is there twice, in whatever case, and one that is null.
// What is no object is left to decoding.
func plainObject(line []byte) error {
	d := json.NewDecoder(bytes.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var seen [8]string // there are three fields; decoding refuses any other
	for n := 0; n < len(seen) && d.More(); n++ {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		key := strings.ToLower(name.(string))
		if slices.Contains(seen[:n], key) {
			return fmt.Errorf("%s: is there twice", key)
		}
		if seen[n] = key; string(value) == "null" {
			return fmt.Errorf("%s: must not be null", key)
		}
	}
	return nil
}
