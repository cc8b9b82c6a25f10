package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
)

// maxResultLine bounds one line of the answer to an import.
const maxResultLine = 1 << 20

// grantCmd issues one claim by hand.
type grantCmd struct {
	ID       string `arg:"" help:"The campaign's id."`
	User     string `required:"" placeholder:"U" help:"Whom it is for."`
	Quantity int    `default:"1" placeholder:"N" help:"How many units."`
	GrantID  string `placeholder:"ID" help:"Names the grant: a repeated one answers the same. Made where not given."`
	Reason   string `placeholder:"TEXT" help:"Why, for the audit log."`
	adminFlags
}

// grantResult is what a grant came to.
type grantResult struct {
	Line       int64  `json:"line"`
	GrantID    string `json:"grant_id"`
	UserID     string `json:"user_id"`
	Code       string `json:"code"`
	Detail     string `json:"detail"`
	ClaimID    string `json:"claim_id"`
	OrderID    string `json:"order_id"`
	CouponCode string `json:"coupon_code"`
	Replayed   bool   `json:"replayed"`
}

// Run issues it; a refusal is a failure.
func (c *grantCmd) Run(a *app) error {
	if c.GrantID == "" {
		c.GrantID = "cli-" + rand.Text()
	}
	body := map[string]any{"grant_id": c.GrantID, "user_id": c.User, "quantity": c.Quantity, "reason": c.Reason}
	o, err := c.operator(a)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := o.call(a.ctx, "POST", campaignPath(c.ID, "/grants"), body, &raw); err != nil {
		return err
	}
	var r grantResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	if a.json {
		if err := a.printRaw(raw); err != nil {
			return err
		}
	} else {
		what := r.OrderID + r.CouponCode
		if r.Replayed {
			what += " (as before)"
		}
		a.say("%s  %s  %s  %s", r.GrantID, r.UserID, r.Code, what)
	}
	if r.Code != "CONFIRMED" {
		return &failure{code: exitRefused, err: fmt.Errorf("the grant was refused: %s", r.Code)}
	}
	return nil
}

// grantsCmd is the verbs on many grants.
type grantsCmd struct {
	Import grantsImport `cmd:"" help:"Issue a claim for each line of a file: CSV or JSON lines, up to a million."`
}

type grantsImport struct {
	ID      string `arg:"" help:"The campaign's id."`
	File    string `arg:"" help:"The file; - for stdin. CSV has the header user_id,grant_id[,quantity]." predictor:"file"`
	Format  string `enum:"auto,csv,jsonl" default:"auto" help:"csv or jsonl; auto goes by the file's name."`
	Results string `placeholder:"FILE" help:"Write the result of each line here, as JSON lines; - for stdout."`
	adminFlags
}

// importTotals is the last line of the answer.
type importTotals struct {
	Done      *bool            `json:"done"`
	Lines     int64            `json:"lines"`
	Confirmed int64            `json:"confirmed"`
	Replayed  int64            `json:"replayed"`
	Units     int64            `json:"units"`
	Faults    int64            `json:"faults"`
	Refused   map[string]int64 `json:"refused"`
	Error     *problem         `json:"error,omitempty"`
}

// Run sends the file and reads the results as they come.
func (c *grantsImport) Run(a *app) error {
	o, err := c.operator(a)
	if err != nil {
		return err
	}
	in, of, err := c.open(a)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.results(a)
	if err != nil {
		return err
	}
	defer out.Close()
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	resp, err := o.send(ctx, http.MethodPost, campaignPath(c.ID, "/grants/bulk"), c.contentType(), in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	totals, failed, err := c.read(a, resp.Body, out, of)
	if err != nil {
		return err
	}
	return c.conclude(a, totals, failed)
}

// open opens the file and counts its lines, for the progress; 0 where that cannot be known.
func (c *grantsImport) open(a *app) (in io.ReadCloser, lines int64, err error) {
	if c.File == "-" {
		return io.NopCloser(a.in), 0, nil
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, 0, fmt.Errorf("read the grants: %w", err)
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() { // a pipe can be read only once
		return f, 0, nil
	}
	if lines, err = countLines(f); err != nil {
		_ = f.Close()
		return nil, 0, fmt.Errorf("read the grants: %w", err)
	}
	return f, lines, nil
}

// countLines counts the lines of a file and goes back to its beginning.
func countLines(f *os.File) (lines int64, err error) {
	buf := make([]byte, 256<<10)
	for {
		n, err := f.Read(buf)
		lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
		if errors.Is(err, io.EOF) {
			_, err = f.Seek(0, io.SeekStart)
			return lines, err
		}
		if err != nil {
			return 0, err
		}
	}
}

func (c *grantsImport) results(a *app) (io.WriteCloser, error) {
	switch c.Results {
	case "":
		return nopCloser{io.Discard}, nil
	case "-":
		return nopCloser{a.out}, nil
	}
	f, err := os.OpenFile(c.Results, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) // coupon codes are in it
	if err != nil {
		return nil, fmt.Errorf("write the results: %w", err)
	}
	return f, nil
}

func (c *grantsImport) contentType() string {
	if c.Format == "jsonl" || c.Format == "auto" &&
		(strings.HasSuffix(c.File, ".jsonl") || strings.HasSuffix(c.File, ".ndjson") || strings.HasSuffix(c.File, ".json")) {
		return "application/x-ndjson"
	}
	return "text/csv"
}

// read takes the results line by line; failed are the first few that were not confirmed.
func (c *grantsImport) read(
	a *app, body io.Reader, out io.Writer, of int64,
) (totals importTotals, failed []grantResult, err error) {
	p := newProgress(a.err, false)
	defer p.end()
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 64<<10), maxResultLine)
	for n := int64(1); lines.Scan(); n++ {
		if err := json.Unmarshal(lines.Bytes(), &totals); err == nil && totals.Done != nil {
			return totals, failed, nil
		}
		if _, err := out.Write(append(lines.Bytes(), '\n')); err != nil {
			return totals, failed, fmt.Errorf("write the results: %w", err)
		}
		var r grantResult
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return totals, failed, fmt.Errorf("line %d of the results is not JSON: %w", n, err)
		}
		if r.Code != "CONFIRMED" && len(failed) < 10 {
			failed = append(failed, r)
		}
		p.at("grants", n, of)
	}
	if err = lines.Err(); err == nil {
		err = io.ErrUnexpectedEOF
	}
	return totals, failed, &failure{code: exitFailed, next: "the same again: grants that were made answer the same",
		err: fmt.Errorf("the answer broke off: %w", err)}
}

func (c *grantsImport) conclude(a *app, t importTotals, failed []grantResult) error {
	switch {
	case a.json && c.Results != "-":
		if err := a.printJSON(t); err != nil {
			return err
		}
	case c.Results != "-":
		a.say("%s lines: %s confirmed (%s units), %s as before, %s wrong", thousands(t.Lines), thousands(t.Confirmed),
			thousands(t.Units), thousands(t.Replayed), thousands(t.Faults))
		for _, reason := range slices.Sorted(maps.Keys(t.Refused)) {
			a.say("  %s %s", reason, thousands(t.Refused[reason]))
		}
		for _, r := range failed {
			a.say("  line %d, %s: %s %s", r.Line, r.UserID, r.Code, r.Detail)
		}
	}
	if t.Error != nil {
		return &failure{code: exitFailed, err: t.Error, next: "the same again: grants that were made answer the same"}
	}
	if n := t.Lines - t.Confirmed - t.Replayed; n > 0 {
		return &failure{code: exitRefused, err: fmt.Errorf("%s lines were not confirmed", thousands(n))}
	}
	return nil
}
