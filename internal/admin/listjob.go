package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/sluice-sale/sluice"
)

// maxStaged bounds the imports that wait for their job on this node, MaxListBody each.
const maxStaged = 4

// staged keeps the CSV of imports until their job takes it: an hour-long list is no part of a job's row.
type staged struct {
	mu  sync.Mutex
	all map[string][]byte // by key
}

// listAsk is what a job is asked for: the CSV that was staged under the key, on the node that works on it.
type listAsk struct {
	Staged string `json:"staged"`
	Bytes  int    `json:"bytes"`
}

// Stage keeps the CSV of an import for the job of this list's kind that is asked for what it gives. drop forgets it
// where the job has not taken it.
func (d *Blocklist) Stage(body []byte) (kind string, ask json.RawMessage, drop func(), err error) {
	if len(body) > MaxListBody {
		return "", nil, nil, bodyFault("must be at most %d bytes", MaxListBody)
	}
	s, key := &d.staged, newID("csv")
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= maxStaged {
		return "", nil, nil, full("TOO_MANY_IMPORTS", "imports under way", maxStaged)
	}
	if s.all == nil {
		s.all = map[string][]byte{}
	}
	s.all[key] = body
	ask, err = json.Marshal(listAsk{key, len(body)})
	name, _, _ := d.cfg.name()
	return name + ".import", ask, func() { s.take(key) }, err
}

func (s *staged) take(key string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.all[key]
	delete(s.all, key)
	return body, ok
}

// ImportWork imports what was staged, as a job. Its result counts what was added and changed; a CSV with a faulty line
// imports nothing, and is a job that failed.
func (d *Blocklist) ImportWork(
	ctx context.Context, j sluice.Job, a sluice.Actor, told func(sluice.JobProgress),
) (any, error) {
	var ask listAsk
	if err := json.Unmarshal(j.Ask, &ask); err != nil {
		return nil, fmt.Errorf("admin: what the job was asked for: %w", err)
	}
	body, ok := d.staged.take(ask.Staged)
	if !ok {
		return nil, sluice.NewFault(sluice.ErrConflict, "LIST_GONE", "the list of this job is gone: import it again")
	}
	res, err := d.importList(ctx, bytes.NewReader(body), false, a, told)
	if err != nil {
		return nil, err
	}
	result := map[string]int{"rows": res.Rows, "added": res.Added, "changed": res.Changed, "same": res.Same,
		"faults": res.Faults}
	if res.Faults > 0 {
		first := res.Errors[0]
		return result, sluice.Invalid(sluice.FieldFault{Field: fmt.Sprintf("line %d.%s", first.Line, first.Field),
			Detail: fmt.Sprintf("%s (%d lines have a fault: nothing was imported)", first.Detail, res.Faults)})
	}
	return result, nil
}
