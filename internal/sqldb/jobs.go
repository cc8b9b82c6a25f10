package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/sluice-sale/sluice"
)

const jobColumns = `id, kind, state, object, author, key_id, reason, total, done, failed, node, ask, result, fault,
	cancel, created_ms, beat_ms, ended_ms`

func scanJob(scan func(...any) error) (j sluice.Job, err error) {
	var ask, result string
	err = scan(&j.ID, &j.Kind, &j.State, &j.Object, &j.Author, &j.KeyID, &j.Reason, &j.Total, &j.Done, &j.Failed, &j.Node,
		&ask, &result, &j.Fault, &j.Cancel, &j.CreatedAt, &j.BeatAt, &j.EndedAt)
	j.Code, j.Fault = splitFault(j.Fault)
	j.Ask = json.RawMessage(ask)
	if result != "" {
		j.Result = json.RawMessage(result)
	}
	return j, err
}

// A fault is kept behind its code, as a Fault tells it: earlier versions read and write a text alone.
var faultCode = regexp.MustCompile(`^([A-Z][A-Z_]*[A-Z]): `)

func joinFault(code, text string) string {
	if code == "" {
		return text
	}
	return code + ": " + text
}

func splitFault(kept string) (code, text string) {
	if m := faultCode.FindStringSubmatch(kept); m != nil {
		return m[1], kept[len(m[0]):]
	}
	return "", kept
}

// jobState is a job as the audit log shows it.
type jobState struct {
	Kind   string          `json:"kind"`
	Object string          `json:"object,omitempty"`
	Ask    json.RawMessage `json:"ask,omitempty"`
}

// maxAuditAsk bounds what the audit log repeats of a job's ask.
const maxAuditAsk = 2000

func shownJob(j *sluice.Job) jobState {
	s := jobState{Kind: j.Kind, Object: j.Object}
	if len(j.Ask) <= maxAuditAsk {
		s.Ask = j.Ask
	}
	return s
}

// CreateJob records a running job. Where there is one of this id already, that one is given, and made is false.
func (db *DB) CreateJob(ctx context.Context, j sluice.Job, a sluice.Actor) (is sluice.Job, made bool, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		is, err = t.job(j.ID)
		if !errors.Is(err, sluice.ErrNotFound) {
			return err
		}
		is, made = j, true
		_, err = t.exec(`INSERT INTO jobs (`+jobColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			j.ID, j.Kind, string(j.State), j.Object, j.Author, j.KeyID, j.Reason, j.Total, j.Done, j.Failed, j.Node,
			string(j.Ask), string(j.Result), joinFault(j.Code, j.Fault), 0, j.CreatedAt, j.BeatAt, j.EndedAt)
		if err != nil {
			return err
		}
		return t.audit(j.CreatedAt, a, "job.start", "job/"+j.ID, nil, shownJob(&j))
	})
	return is, made && err == nil, err
}

func (t *tx) job(id string) (j sluice.Job, err error) {
	return scanJob(func(into ...any) error {
		return t.row(`SELECT `+jobColumns+` FROM jobs WHERE id = ?`, []any{id}, into...)
	})
}

func noJob(id string) error {
	return sluice.NewFault(sluice.ErrNotFound, "UNKNOWN_JOB", "there is no job "+id)
}

// Job reads one. ErrNotFound: there is none.
func (db *DB) Job(ctx context.Context, id string) (sluice.Job, error) {
	j, err := scanJob(db.rdb.QueryRowContext(ctx, `SELECT `+jobColumns+` FROM jobs WHERE id = ?`, id).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return j, noJob(id)
	case err != nil:
		return j, translate(err, "read a job")
	}
	return j, nil
}

// Jobs reads jobs, the newest first.
func (db *DB) Jobs(ctx context.Context, q sluice.JobQuery) (all []sluice.Job, err error) {
	var conds []string
	var args []any
	for _, c := range []struct{ column, value string }{
		{"state", string(q.State)}, {"kind", q.Kind}, {"object", q.Object},
	} {
		if c.value != "" {
			conds, args = append(conds, c.column+" = ?"), append(args, c.value)
		}
	}
	if q.Before > 0 {
		conds, args = append(conds, "created_ms < ?"), append(args, q.Before)
	}
	where := ""
	if len(conds) > 0 {
		where = " WHERE " + strings.Join(conds, " AND ")
	}
	rows, err := db.rdb.QueryContext(ctx, `SELECT `+jobColumns+` FROM jobs`+where+
		` ORDER BY created_ms DESC, id DESC LIMIT ?`, append(args, q.Limit)...)
	if err != nil {
		return nil, translate(err, "read the jobs")
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		j, err := scanJob(rows.Scan)
		if err != nil {
			return nil, translate(err, "read the jobs")
		}
		all = append(all, j)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err, "read the jobs")
	}
	return all, nil
}

// BeatJob tells how far a running job has come, and says whether it is to stop: somebody has asked for that, or it does
// not count as running any more.
func (db *DB) BeatJob(ctx context.Context, id string, p sluice.JobProgress, now sluice.Millis) (stop bool, err error) {
	err = db.write(ctx, laneBackground, func(t *tx) error {
		if _, err := t.exec(`UPDATE jobs SET total = ?, done = ?, failed = ?, beat_ms = ? WHERE id = ? AND state = 'running'`,
			p.Total, p.Done, p.Failed, now, id); err != nil {
			return err
		}
		j, err := t.job(id)
		stop = j.Cancel || j.State != sluice.JobRunning
		return err
	})
	return stop, err
}

// EndJob records what a running job came to: State, Result, Fault and the figures of j. One that has ended stays as it
// is.
func (db *DB) EndJob(ctx context.Context, j sluice.Job) error {
	return db.write(ctx, laneUrgent, func(t *tx) error {
		_, err := t.exec(`UPDATE jobs SET state = ?, result = ?, fault = ?, total = ?, done = ?, failed = ?, beat_ms = ?,
			ended_ms = ? WHERE id = ? AND state = 'running'`, string(j.State), string(j.Result), joinFault(j.Code, j.Fault),
			j.Total, j.Done, j.Failed, j.EndedAt, j.EndedAt, j.ID)
		return err
	})
}

// CancelJob asks a running job to stop; one that has ended is given as it is.
func (db *DB) CancelJob(ctx context.Context, id string, a sluice.Actor, now sluice.Millis) (j sluice.Job, err error) {
	err = db.write(ctx, laneUrgent, func(t *tx) error {
		if j, err = t.job(id); err != nil {
			if errors.Is(err, sluice.ErrNotFound) {
				return noJob(id)
			}
			return err
		}
		if j.Cancel || j.State != sluice.JobRunning {
			return nil
		}
		j.Cancel = true
		if _, err := t.exec(`UPDATE jobs SET cancel = 1 WHERE id = ?`, id); err != nil {
			return err
		}
		return t.audit(now, a, "job.cancel", "job/"+id, shownJob(&j), nil)
	})
	return j, err
}

// LoseJobs ends running jobs whose node has not told of them since before, and forgets those that ended long ago. The
// fault says how far a job had come by what its node told last; it may have done a little more.
func (db *DB) LoseJobs(ctx context.Context, before, forget, now sluice.Millis) error {
	err := db.write(ctx, laneBackground, func(t *tx) error {
		lost, err := t.silentJobs(before)
		if err != nil {
			return err
		}
		for i := range lost {
			j := &lost[i]
			_, err := t.exec(`UPDATE jobs SET state = 'failed', fault = ?, ended_ms = ? WHERE id = ? AND state = 'running' AND
				beat_ms = ?`, joinFault("INTERRUPTED", interrupted(j)), now, j.ID, j.BeatAt)
			if err != nil {
				return err
			}
		}
		_, err = t.exec(`DELETE FROM jobs WHERE created_ms < ? AND state <> 'running'`, forget)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqldb: jobs of nodes that stopped: %w", err)
	}
	return nil
}

func interrupted(j *sluice.Job) string {
	of := ""
	if j.Total >= 0 {
		of = fmt.Sprintf(" of %d", j.Total)
	}
	return fmt.Sprintf("interrupted at %d%s: its node stopped; what was done stays done, and the same again does the rest",
		j.Done, of)
}

// silentJobs are running jobs that nobody has told of since before.
func (t *tx) silentJobs(before sluice.Millis) (all []sluice.Job, err error) {
	rows, err := t.query(`SELECT `+jobColumns+` FROM jobs WHERE state = 'running' AND beat_ms < ?`, before)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		j, err := scanJob(rows.Scan)
		if err != nil {
			return nil, err
		}
		all = append(all, j)
	}
	return all, rows.Err()
}
