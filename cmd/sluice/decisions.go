package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of one look into the decision log.
const (
	maxDecisionBytes = 64 << 20 // from the end of the file
	maxDecisionLines = 200
)

// decisionReader finds a person's decisions in this node's log: there are refusals in it, which the ledger has not.
type decisionReader struct{ path string }

// decisionLine is what is looked at of a line.
type decisionLine struct {
	Time     time.Time `json:"time"`
	Campaign string    `json:"campaign"`
	Reason   string    `json:"reason"`
	User     string    `json:"user"`
	Device   string    `json:"device"`
	Addr     string    `json:"addr"`
	Request  string    `json:"request"`
	ClaimID  string    `json:"claim_id"`
	Refers   string    `json:"reference"`
}

// Decisions gives the newest lines about q, which is a user, device, address, request, claim or reference of a block,
// the oldest of them first. Without a file there are none.
func (r decisionReader) Decisions(ctx context.Context, q string) ([]sluice.TimelineEntry, error) {
	f, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the decision log: %w: %w", sluice.ErrUnavailable, err)
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err == nil && st.Size() > maxDecisionBytes {
		if _, err := f.Seek(-maxDecisionBytes, io.SeekEnd); err != nil {
			return nil, fmt.Errorf("the decision log: %w: %w", sluice.ErrUnavailable, err)
		}
	}
	sum := sha256.Sum256([]byte(q))
	return decisionsIn(ctx, f, q, hex.EncodeToString(sum[:8]))
}

// decisionsIn reads lines. One that cannot be read, such as the rest of one that was cut, is passed over.
func decisionsIn(ctx context.Context, from io.Reader, q, request string) (all []sluice.TimelineEntry, err error) {
	quoted, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	needle, hashed := quoted[1:len(quoted)-1], []byte(request)
	lines := bufio.NewReaderSize(from, 1<<20)
	for n := 0; ; n++ {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break // the end, or the disk's trouble: what was found is told
		}
		if n%10_000 == 0 && ctx.Err() != nil {
			return all, fmt.Errorf("the decision log: %w: %w", sluice.ErrUnavailable, ctx.Err())
		}
		if !bytes.Contains(line, needle) && !bytes.Contains(line, hashed) {
			continue
		}
		var d decisionLine
		if json.Unmarshal(line, &d) != nil || d.User != q && d.Device != q && d.Addr != q && d.ClaimID != q &&
			d.Refers != q && d.Request != request {
			continue
		}
		subject := d.ClaimID
		if subject == "" {
			subject = d.User
		}
		if len(all) == maxDecisionLines {
			all = all[1:]
		}
		all = append(all, sluice.TimelineEntry{At: sluice.MillisOf(d.Time), Type: "decision", Campaign: d.Campaign,
			Subject: subject, Data: bytes.Clone(bytes.TrimSpace(line))})
	}
	return all, nil
}
