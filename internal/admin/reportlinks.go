package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// How long a report that was read through a link is shown to others with a link to the same campaign, and how many
// campaigns' reports are remembered: a report may read millions of rows, and links go to people whom nobody counts.
const (
	linkedFresh   = 5 * time.Second
	maxLinkedMemo = 16
)

// linkSecretLen is the length of a secret: the prefix, and 32 bytes in base64 without padding.
const linkSecretLen = len(sluice.LinkSecretPrefix) + (sluice.LinkSecretBytes*8+5)/6

// LinkLedger keeps links to reports; writes leave their audit row in the same transaction.
type LinkLedger interface {
	// CreateReportLink: ErrNotFound: there is no such campaign. ErrConflict: it has as many as may be.
	CreateReportLink(ctx context.Context, l sluice.ReportLink, a sluice.Actor) error
	// ReportLink gives the one whose secret has this SHA-256, expired or not. ErrNotFound: there is none.
	ReportLink(ctx context.Context, hash [32]byte) (sluice.ReportLink, error)
	ReportLinks(ctx context.Context, campaign string, now sluice.Millis) ([]sluice.ReportLink, error)
	// DeleteReportLink gives the link as it was. ErrNotFound: there is none, or no more.
	DeleteReportLink(
		ctx context.Context, campaign, id string, a sluice.Actor, now sluice.Millis) (sluice.ReportLink, error)
}

// Reporter makes the report of a campaign.
type Reporter interface {
	Report(ctx context.Context, id string) (sluice.CampaignReport, error)
}

// LinksConfig puts the desk of links to reports together. Ledger, Campaigns and Reports are required.
type LinksConfig struct {
	Ledger    LinkLedger
	Campaigns CampaignReader
	Reports   Reporter
	Now       func() time.Time // default time.Now
}

// Links is the desk of links to reports: each shows one campaign's report to whoever has it, until it ends or is taken
// back.
type Links struct {
	cfg LinksConfig

	mu   sync.Mutex // guards memo
	memo map[string]*linked
}

// linked is a report that is being made, or was: done is closed then.
type linked struct {
	done   chan struct{}
	report sluice.CampaignReport
	err    error
	at     time.Time
}

// NewLinks makes the desk.
func NewLinks(cfg LinksConfig) *Links {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Links{cfg: cfg, memo: map[string]*linked{}}
}

// Make makes a link to a campaign's report that ends after life, and gives its secret, which is shown this once and
// kept nowhere. life 0 is a week.
func (d *Links) Make(
	ctx context.Context, campaign, note string, life time.Duration, a sluice.Actor,
) (secret string, l sluice.ReportLink, err error) {
	ms := sluice.Millis(life.Milliseconds())
	if life == 0 {
		ms = sluice.DefaultLinkLife
	}
	var f faults
	if ms < sluice.MinLinkLife || ms > sluice.MaxLinkLife {
		f.add("life_s", "must be from %d (an hour) to %d (90 days)", sluice.MinLinkLife/1000, sluice.MaxLinkLife/1000)
	}
	f.text("note", note, 0, sluice.MaxLinkNote)
	if err := f.err(); err != nil {
		return "", l, err
	}
	var raw [sluice.LinkSecretBytes]byte
	_, _ = rand.Read(raw[:]) // crypto/rand.Read never fails
	secret = sluice.LinkSecretPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	now := sluice.MillisOf(d.cfg.Now())
	l = sluice.ReportLink{ID: newID("lnk"), Campaign: campaign, Hash: sha256.Sum256([]byte(secret)), Note: note,
		KeyID: a.KeyID, Author: a.Name, CreatedAt: now, ExpiresAt: now + ms}
	if err := d.cfg.Ledger.CreateReportLink(ctx, l, a); err != nil {
		return "", l, unknown(err, campaign)
	}
	return secret, l, nil
}

// List gives the links to a campaign's report that are in force, newest first.
func (d *Links) List(ctx context.Context, campaign string) ([]sluice.ReportLink, error) {
	if _, err := d.cfg.Campaigns.Campaign(ctx, campaign); err != nil {
		return nil, unknown(err, campaign)
	}
	return d.cfg.Ledger.ReportLinks(ctx, campaign, sluice.MillisOf(d.cfg.Now()))
}

// TakeBack ends a link: it shows nothing from then on, on any node.
func (d *Links) TakeBack(ctx context.Context, campaign, id string, a sluice.Actor) (sluice.ReportLink, error) {
	return d.cfg.Ledger.DeleteReportLink(ctx, campaign, id, a, sluice.MillisOf(d.cfg.Now()))
}

// Open gives the report that a secret stands for, at most a few seconds old. ErrNotFound: the secret is wrong, the link
// has ended or was taken back; which of these is not told. The link is looked up in the ledger each time.
func (d *Links) Open(ctx context.Context, secret string) (l sluice.ReportLink, r sluice.CampaignReport, err error) {
	over := fmt.Errorf("admin: a link to a report is not in force: %w", sluice.ErrNotFound)
	if len(secret) != linkSecretLen || !strings.HasPrefix(secret, sluice.LinkSecretPrefix) {
		return l, r, over
	}
	hash := sha256.Sum256([]byte(secret))
	l, err = d.cfg.Ledger.ReportLink(ctx, hash)
	switch {
	case errors.Is(err, sluice.ErrNotFound):
		return sluice.ReportLink{}, r, over
	case err != nil:
		return sluice.ReportLink{}, r, err
	case subtle.ConstantTimeCompare(hash[:], l.Hash[:]) != 1, l.ExpiresAt <= sluice.MillisOf(d.cfg.Now()):
		return sluice.ReportLink{}, r, over
	}
	r, err = d.report(ctx, l.Campaign)
	if errors.Is(err, sluice.ErrNotFound) { // the campaign is no more
		err = over
	}
	return l, r, err
}

// report makes a campaign's report once for all who ask within a few seconds. Who waits for another's may go away; who
// makes it makes it to its end.
func (d *Links) report(ctx context.Context, campaign string) (sluice.CampaignReport, error) {
	now := d.cfg.Now()
	d.mu.Lock()
	m := d.memo[campaign]
	mine := m == nil || m.over(now)
	if mine {
		if len(d.memo) >= maxLinkedMemo {
			for id, other := range d.memo {
				if other.over(now) {
					delete(d.memo, id)
				}
			}
		}
		m = &linked{done: make(chan struct{})}
		if len(d.memo) < maxLinkedMemo || d.memo[campaign] != nil {
			d.memo[campaign] = m
		}
	}
	d.mu.Unlock()
	if mine {
		d.make(context.WithoutCancel(ctx), campaign, m)
	}
	select {
	case <-m.done:
		return m.report, m.err
	case <-ctx.Done():
		return sluice.CampaignReport{}, errors.Join(sluice.ErrUnavailable, ctx.Err())
	}
}

func (d *Links) make(ctx context.Context, campaign string, m *linked) {
	m.err = sluice.ErrUnavailable // what others hear if this panics
	defer close(m.done)
	m.report, m.err = d.cfg.Reports.Report(ctx, campaign)
	m.at = d.cfg.Now()
}

// over says whether a report is made and too old, or failed. One that is being made is not over.
func (m *linked) over(now time.Time) bool {
	select {
	case <-m.done:
		age := now.Sub(m.at)
		return m.err != nil || age < 0 || age >= linkedFresh
	default:
		return false
	}
}
