package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// Bounds of an audience.
const (
	maxAudience      = 5_000_000 // users of one campaign: the gate keeps them in memory
	audienceChunk    = 1000      // users of one write
	maxAudienceFault = 100       // faulty lines that are shown
	audiencePage     = 10_000    // users of one read
)

// AudienceLedger keeps audiences. Calls are idempotent, and carry at most 2,000 users.
type AudienceLedger interface {
	// PutAudience marks users with upload and says how many are new. ErrNotFound: there is no such campaign.
	PutAudience(ctx context.Context, campaign string, upload int64, users []string) (added int64, err error)
	// TrimAudience takes out some of those that upload did not mark and says how many; 0 when none is left.
	TrimAudience(ctx context.Context, campaign string, upload int64) (removed int64, err error)
	// DropAudience takes users out and says how many were in.
	DropAudience(ctx context.Context, campaign string, users []string) (removed int64, err error)
	// AudiencePage reads users in the order of their ids, after the one given.
	AudiencePage(ctx context.Context, campaign, after string, limit int) ([]string, error)
}

// AudienceGate puts an audience in force: the whole of it each time. It keeps the slice.
type AudienceGate interface {
	SetAudience(campaign string, users []sluice.UserKey)
}

// AudienceConfig puts the desk of audiences together. Ledger, Campaigns, Gate and Noter are required.
type AudienceConfig struct {
	Ledger    AudienceLedger
	Campaigns CampaignReader
	Gate      AudienceGate
	Noter     Noter
	Now       func() time.Time // default time.Now
}

// Audience is the desk of audiences: who may claim on a campaign that asks for one.
type Audience struct {
	cfg AudienceConfig
	mu  sync.Mutex // one upload or removal at a time
}

// NewAudience makes the desk. Load puts a campaign's audience in force at start.
func NewAudience(cfg AudienceConfig) *Audience {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Audience{cfg: cfg}
}

// Load puts a campaign's audience in force, and says how many users are in it.
func (d *Audience) Load(ctx context.Context, campaign string) (int64, error) {
	all := []sluice.UserKey{} // an empty audience is one, and lets nobody in
	for after := ""; ; {
		page, err := d.cfg.Ledger.AudiencePage(ctx, campaign, after, audiencePage)
		if err != nil {
			return 0, fmt.Errorf("admin: load the audience of %s: %w", campaign, err)
		}
		for _, user := range page {
			all = append(all, sluice.UserKeyOf(user))
		}
		if len(page) < audiencePage {
			break
		}
		after = page[len(page)-1]
	}
	d.cfg.Gate.SetAudience(campaign, all)
	return int64(len(all)), nil
}

// Upload reads user ids, one a line (a first line user_id is a heading, and further columns of CSV are passed
// over), adds them, and with replace takes everybody else out. Lines that cannot be a user id are reported and
// passed over. The audience is in force when Upload returns. An upload that breaks off has added what it read and
// taken nobody out: doing it again completes it.
func (d *Audience) Upload(
	ctx context.Context, campaign string, replace bool, body io.Reader, a sluice.Actor,
) (sluice.AudienceResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.cfg.Campaigns.Campaign(ctx, campaign)
	if err != nil {
		return sluice.AudienceResult{}, unknown(err, campaign)
	}
	upload := rand.Int64()
	res, err := d.each(ctx, body, func(users []string) (added, removed int64, err error) {
		added, err = d.cfg.Ledger.PutAudience(ctx, campaign, upload, users)
		return added, 0, err
	})
	for replace && err == nil {
		var n int64
		n, err = d.cfg.Ledger.TrimAudience(ctx, campaign, upload)
		if res.Removed += n; n == 0 {
			break
		}
	}
	action := "audience.add"
	if replace {
		action = "audience.replace"
	}
	return d.finish(ctx, &c, action, res, err, a)
}

// Remove takes the users named by body out of the audience; it reads as Upload does.
func (d *Audience) Remove(
	ctx context.Context, campaign string, body io.Reader, a sluice.Actor,
) (sluice.AudienceResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.cfg.Campaigns.Campaign(ctx, campaign)
	if err != nil {
		return sluice.AudienceResult{}, unknown(err, campaign)
	}
	res, err := d.each(ctx, body, func(users []string) (added, removed int64, err error) {
		removed, err = d.cfg.Ledger.DropAudience(ctx, campaign, users)
		return 0, removed, err
	})
	return d.finish(ctx, &c, "audience.remove", res, err, a)
}

// finish puts in force and into the audit log what was done, whether all of it was or not.
func (d *Audience) finish(
	ctx context.Context, c *sluice.Campaign, action string, res sluice.AudienceResult, err error, a sluice.Actor,
) (sluice.AudienceResult, error) {
	ctx = context.WithoutCancel(ctx)
	total, loaded := d.Load(ctx, c.ID)
	res.Total, res.Asked = total, c.Eligibility.Audience
	noted := d.cfg.Noter.Note(ctx, a, action, "campaign/"+c.ID, nil, map[string]any{"added": res.Added,
		"removed": res.Removed, "total": res.Total, "faulty": res.Faulty, "complete": err == nil},
		sluice.MillisOf(d.cfg.Now()))
	return res, errors.Join(err, loaded, noted)
}

// each reads user ids and hands them to write in chunks.
func (d *Audience) each(
	ctx context.Context, body io.Reader, write func([]string) (added, removed int64, err error),
) (res sluice.AudienceResult, err error) {
	l, chunk := newLines(body), make([]string, 0, audienceChunk)
	flush := func() error {
		if len(chunk) == 0 {
			return nil
		}
		added, removed, err := write(chunk)
		res.Added, res.Removed, chunk = res.Added+added, res.Removed+removed, chunk[:0]
		return err
	}
	for ctx.Err() == nil {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return res, flush()
		}
		if err != nil && !errors.Is(err, errLongLine) {
			return res, fmt.Errorf("admin: read the audience after line %d: %w", l.n, err)
		}
		user, fault := userOf(line)
		if l.full == 1 && strings.EqualFold(user, "user_id") {
			continue
		}
		if res.Lines++; res.Lines > maxAudience {
			return res, bodyFault("must be at most %d users", maxAudience)
		}
		if err != nil || fault != "" {
			if res.Faulty++; res.Faulty <= maxAudienceFault {
				res.Faults = append(res.Faults, sluice.FieldFault{Field: fmt.Sprintf("line %d", l.n), Detail: fault})
			}
			continue
		}
		if chunk = append(chunk, user); len(chunk) == audienceChunk {
			if err := flush(); err != nil {
				return res, err
			}
		}
	}
	return res, fmt.Errorf("admin: read the audience: %w", ctx.Err())
}

// userOf gives the user id that stands first on a line.
func userOf(line []byte) (user, fault string) {
	if line == nil {
		return "", errLongLine.Error()
	}
	row, err := cells(line)
	if err != nil {
		return "", err.Error()
	}
	user = strings.TrimSpace(row[0])
	if user == "" || len(user) > sluice.MaxUserID || !utf8.ValidString(user) || !plain(user) {
		return user, fmt.Sprintf("a user id is 1 to %d bytes of UTF-8 without control characters", sluice.MaxUserID)
	}
	return user, ""
}
