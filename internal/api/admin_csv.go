package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluice-sale/sluice"
)

// maxCSVRows bounds what an export of the audit log has.
const maxCSVRows = 10_000

// csvOutput is an answer that a spreadsheet opens. The mark at its beginning says UTF-8.
type csvOutput struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Cut         string `header:"Sluice-Cut" doc:"Present where more matched: how many rows the file has, the newest"`
	Body        []byte
}

// cutAt gives the rows of an export, which was asked for one row more than it may have, and how many these are where
// that one was there; empty where nothing was left out.
func cutAt(all []sluice.AuditEntry) (rows []sluice.AuditEntry, cut string) {
	if len(all) <= maxCSVRows {
		return all, ""
	}
	return all[:maxCSVRows], strconv.Itoa(maxCSVRows)
}

// csvOf writes rows as CSV under a file name made of safe characters.
func csvOf(name string, rows [][]string) (*csvOutput, error) {
	var b bytes.Buffer
	b.WriteString("\ufeff")
	w := csv.NewWriter(&b)
	for _, row := range rows {
		safe := make([]string, len(row))
		for i, cell := range row {
			safe[i] = safeCell(cell)
		}
		if err := w.Write(safe); err != nil {
			return nil, problemOf(err)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return nil, problemOf(err)
	}
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	return &csvOutput{ContentType: "text/csv; charset=utf-8", Disposition: fmt.Sprintf("attachment; filename=%q", name),
		Body: b.Bytes()}, nil
}

// safeCell keeps a spreadsheet from taking a cell for a formula: titles, names and reasons are what people wrote.
// Numbers stay numbers.
func safeCell(s string) string {
	if s == "" {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil && !strings.HasPrefix(s, "+") {
		return s
	}
	if strings.ContainsRune("=+-@\t\r\n|%", rune(s[0])) || strings.HasPrefix(strings.TrimLeft(s, " \u00a0\u3000"), "=") ||
		strings.HasPrefix(s, "＝") || strings.HasPrefix(s, "＋") || strings.HasPrefix(s, "－") || strings.HasPrefix(s, "＠") {
		return "'" + s
	}
	return s
}

// csvResponse documents an answer that is CSV.
func csvResponse(o *huma.Operation) {
	o.Responses["200"] = &huma.Response{Description: "CSV with a header, UTF-8, safe to open in a spreadsheet",
		Content: map[string]*huma.MediaType{"text/csv": {Schema: &huma.Schema{Type: "string"}}}}
}

// registerCSV adds what a spreadsheet opens.
func (a *Admin) registerCSV(api huma.API) {
	if desk := a.deps.Reports; desk != nil {
		o := op("GET", "/v1/admin/campaigns/{id}/report.csv", "The report for a spreadsheet", sluice.RoleViewer)
		csvResponse(&o)
		huma.Register(api, o, func(ctx context.Context, in *struct {
			CampaignPath
			Part string `query:"part" enum:"summary,seconds" default:"summary" doc:"The figures, or the sale by time"`
		}) (*csvOutput, error) {
			r, err := desk.Report(ctx, in.ID)
			if err != nil {
				return nil, problemOf(err)
			}
			return reportCSV(&r, in.Part)
		})
	}
	if desk := a.deps.Audit; desk != nil {
		o := op("GET", "/v1/admin/audit-log.csv", "The audit log for a spreadsheet, at most 10000 rows, newest first",
			sluice.RoleSupport)
		o.Description += " Where more matched, header Sluice-Cut says how many it has."
		csvResponse(&o)
		huma.Register(api, o, func(ctx context.Context, in *AuditFilter) (*csvOutput, error) {
			all, err := desk.Audit(ctx, in.query(maxCSVRows+1))
			if err != nil {
				return nil, problemOf(err)
			}
			all, cut := cutAt(all)
			out, err := csvOf("audit-log.csv", auditRows(all))
			if err == nil {
				out.Cut = cut
			}
			return out, err
		})
	}
}

// reportCSV writes a part of a report. There is no personal data in either.
func reportCSV(r *sluice.CampaignReport, part string) (*csvOutput, error) {
	if part == "seconds" {
		return csvOf(r.Campaign.ID+"-seconds.csv", secondRows(r))
	}
	return csvOf(r.Campaign.ID+"-report.csv", summaryRows(r))
}

func auditRows(all []sluice.AuditEntry) [][]string {
	rows := [][]string{{"seq", "at", "actor", "role", "key_id", "addr", "action", "object", "before", "after", "reason",
		"request_id"}}
	for _, e := range all {
		rows = append(rows, []string{num(e.Seq), stamp(e.At), e.Actor.Name, string(e.Actor.Role), e.Actor.KeyID, e.Actor.Addr,
			e.Action, e.Object, string(e.Before), string(e.After), e.Actor.Reason, e.Actor.RequestID})
	}
	return rows
}

func num(n int64) string { return strconv.FormatInt(n, 10) }

func stamp(at sluice.Millis) string { return at.Time().Format("2006-01-02T15:04:05.000Z07:00") }

// summaryRows are the figures of a report, one a line.
func summaryRows(r *sluice.CampaignReport) [][]string {
	a, v, c := reportAnswerOf(r), &r.Verification, &r.Campaign
	rows := [][]string{
		{"figure", "value"}, {"as_of", stamp(r.At)}, {"campaign", c.ID}, {"title", c.Title}, {"kind", string(c.Kind)},
		{"state", string(c.State)}, {"starts_at", stamp(c.StartsAt)}, {"ends_at", stamp(c.EndsAt)},
		{"verified", strconv.FormatBool(v.OK)}, {"total", num(v.Total)}, {"available", num(v.Available)},
		{"queued", num(v.Queued)}, {"held", num(v.Held)}, {"sold", num(v.Sold)}, {"drift", num(v.Drift)},
		{"users_over_limit", num(v.UsersOverLimit)}, {"units_over_total", num(v.UnitsOverTotal)},
		{"sell_out_ms", num(a.SellOutMS)}, {"p50_us", num(a.P50US)}, {"p99_us", num(a.P99US)},
		{"claims", num(r.Rows.Claims)}, {"grants", num(r.Rows.Grants)}, {"rejected", num(r.Rows.Rejected)},
		{"currency", a.Money.Currency}, {"paid", num(a.Money.Paid)}, {"paid_minor", num(a.Money.PaidMinor)},
		{"refund_due", num(a.Money.RefundDue)}, {"refunded", num(a.Money.Refunded)},
		{"refunded_minor", num(a.Money.RefundedMinor)},
	}
	for _, reason := range sluice.Reasons() {
		if n := r.Decisions[reason]; n > 0 {
			rows = append(rows, []string{"decisions." + reason.String(), num(n)})
		}
	}
	return append(rows, []string{"decisions.replayed", num(a.Replayed)})
}

// secondRows are the buckets of a report, with a column for each reason that occurred.
func secondRows(r *sluice.CampaignReport) [][]string {
	head := []string{"start", "width_ms", "decisions", "p50_us", "p99_us", "replayed"}
	var columns []sluice.Reason
	for _, reason := range sluice.Reasons() {
		if r.Decisions[reason] > 0 {
			columns, head = append(columns, reason), append(head, reason.String())
		}
	}
	rows := [][]string{head}
	for i := range r.Buckets {
		b := &r.Buckets[i]
		row := []string{stamp(b.Start), num(int64(b.Width)), num(b.Total() - b.Counts[sluice.ReasonNone]),
			num(b.Latency.Quantile(0.5).Microseconds()), num(b.Latency.Quantile(0.99).Microseconds()),
			num(b.Counts[sluice.ReasonNone])}
		for _, reason := range columns {
			row = append(row, num(b.Counts[reason]))
		}
		rows = append(rows, row)
	}
	return rows
}
