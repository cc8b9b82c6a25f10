package client

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of passes.
const (
	maxPassSteps = 3          // passes of one claim
	maxSolutions = 3          // challenges that are solved for one pass
	maxWork      = 50_000_000 // hashes of one proof of work that the client is willing to do
)

// Pass is a permission to claim, for one buyer on one campaign with one device.
type Pass struct {
	Text       string        // sent with the claim
	ValidUntil sluice.Millis // by the server's clock
	StartsIn   time.Duration // until the buyer may claim: the start, or the buyer's own slot
	SigningKey string        // claims are signed with it; empty: they are not signed
}

// Challenge is a puzzle that comes before a pass. Data is as in docs/challenges.md.
type Challenge struct {
	ID          string               `json:"id"`
	Type        sluice.ChallengeType `json:"type"`
	Data        json.RawMessage      `json:"data"`
	ExpiresAtMS sluice.Millis        `json:"expires_at_ms"`
}

// Solver solves a challenge for a person, such as by showing it. What it gives is sent as the solution.
type Solver func(ctx context.Context, ch Challenge) (any, error)

// passReply is the answer to a call for a pass.
type passReply struct {
	Pass         string        `json:"pass"`
	ValidUntilMS sluice.Millis `json:"valid_until_ms"`
	StartsInMS   int64         `json:"starts_in_ms"`
	SigningKey   string        `json:"signing_key"`
	Challenge    *Challenge    `json:"challenge"`
}

// passCall is the body of a call for a pass.
type passCall struct {
	Challenge   sluice.ChallengeType `json:"challenge,omitempty"`
	ChallengeID string               `json:"challenge_id,omitempty"`
	Solution    any                  `json:"solution,omitempty"`
}

// Pass gets a pass for campaign, from ten minutes before its start. A challenge that comes before it is solved:
// proof of work by the client itself, other kinds by [Client.Solver], and where there is none by proof of work in its
// place. [Client.Claim] gets passes by itself where it needs them: call Pass ahead of the start, so that nobody solves
// puzzles while the stock goes, and hand the pass to Claim.
//
// Errors: a [Problem] where there is none to be had; its Code says why.
func (c *Client) Pass(ctx context.Context, campaign string) (*Pass, error) {
	return c.pass(ctx, campaign, "")
}

// pass asks for a pass; with a kind, for a challenge of that kind first.
func (c *Client) pass(ctx context.Context, campaign string, kind sluice.ChallengeType) (*Pass, error) {
	ask := passCall{Challenge: kind}
	var last error
	for range 2 * maxSolutions {
		var r passReply
		err := c.repeat(ctx, call{
			method: http.MethodPost, path: "/v1/campaigns/" + url.PathEscape(campaign) + "/passes", body: ask,
		}, &r)
		if p := (*Problem)(nil); errors.As(err, &p) {
			last = err
			switch p.Code {
			case "CHALLENGE_FAILED", "CHALLENGE_GONE":
				ask = passCall{Challenge: kind}
				continue
			case sluice.ReasonTooFrequent.String():
				if err := c.pause(ctx, p.RetryAfter+c.backoff(0)); err != nil {
					return nil, fmt.Errorf("client: pass: %w", err)
				}
				continue
			}
		}
		switch {
		case err != nil:
			return nil, err
		case r.Pass != "":
			return &Pass{r.Pass, r.ValidUntilMS, millis(r.StartsInMS), r.SigningKey}, nil
		case r.Challenge == nil:
			return nil, fmt.Errorf("client: neither pass nor challenge: %w", sluice.ErrUncertain)
		}
		if ask, err = c.solve(ctx, *r.Challenge); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("client: no pass of %s after %d challenges: %w", campaign, maxSolutions, last)
}

// solve gives what to send next: the solution, or the wish for another kind.
func (c *Client) solve(ctx context.Context, ch Challenge) (passCall, error) {
	if ch.Type == sluice.ChallengePoW {
		text, err := Work(ctx, ch.Data)
		return passCall{ChallengeID: ch.ID, Solution: text}, err
	}
	if c.Solver == nil {
		return passCall{Challenge: sluice.ChallengePoW}, nil
	}
	solution, err := c.Solver(ctx, ch)
	return passCall{ChallengeID: ch.ID, Solution: solution}, err
}

// Work solves a proof of work: the number whose hash with the salt is the one that is asked for. ErrInvalid: there is
// none within its bounds.
func Work(ctx context.Context, data json.RawMessage) (string, error) {
	var d struct {
		Algorithm string `json:"algorithm"`
		Challenge string `json:"challenge"`
		Number    int64  `json:"number"`
		Salt      string `json:"salt"`
		Signature string `json:"signature"`
		MaxNumber int64  `json:"maxnumber,omitempty"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return "", fmt.Errorf("client: proof of work: %w: %w", sluice.ErrInvalid, err)
	}
	var want [sha256.Size]byte
	if n, err := hex.Decode(want[:], []byte(d.Challenge)); err != nil || n != len(want) || d.Algorithm != "SHA-256" {
		return "", fmt.Errorf("client: a proof of work by %q: %w", d.Algorithm, sluice.ErrInvalid)
	}
	text := []byte(d.Salt)
	for n := int64(0); n <= min(d.MaxNumber, maxWork); n++ {
		if n&0xffff == 0 && ctx.Err() != nil {
			return "", fmt.Errorf("client: proof of work: %w", ctx.Err())
		}
		text = strconv.AppendInt(text[:len(d.Salt)], n, 10)
		if sha256.Sum256(text) == want {
			d.Number, d.MaxNumber = n, 0
			b, err := json.Marshal(&d)
			return base64.StdEncoding.EncodeToString(b), err
		}
	}
	return "", fmt.Errorf("client: a proof of work without solution up to %d: %w", d.MaxNumber, sluice.ErrInvalid)
}

// sign adds the signature of one try of a claim, made at the server's time.
func sign(h http.Header, key, path string, body []byte, now sluice.Millis) {
	at, nonce, sum := strconv.FormatInt(int64(now), 10), rand.Text(), sha256.Sum256(body)
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = mac.Write([]byte(strings.Join([]string{
		http.MethodPost, path, hex.EncodeToString(sum[:]), at, nonce,
	}, "\n")))
	h.Set("Sluice-Timestamp", at)
	h.Set("Sluice-Nonce", nonce)
	h.Set("Sluice-Request-Signature", hex.EncodeToString(mac.Sum(nil)))
}

// NewDevice draws a device id: 26 letters and digits, 130 random bits.
func NewDevice() string { return rand.Text() }

// LastingDevice gives the device id that the file at path holds, and draws and writes one where there is none: for
// programs of one buyer, whose device stays the same from one start to the next.
func LastingDevice(path string) (string, error) {
	b, err := os.ReadFile(path)
	if id := strings.TrimSpace(string(b)); err == nil && id != "" && len(id) <= sluice.MaxDeviceID {
		return id, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("client: the device id: %w", err)
	}
	id := NewDevice()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("client: the device id: %w", err)
	}
	if err := os.WriteFile(path, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("client: the device id: %w", err)
	}
	return id, nil
}

// takePass gets the pass that a refusal asks for. The first may come without a challenge; where it was not enough, the
// next is asked for with one. Nil: the refusal stands.
func (t *attempt) takePass(ctx context.Context, refusal *Claim) (*Pass, error) {
	if t.passes >= maxPassSteps {
		return nil, nil
	}
	kind := sluice.ChallengeType("")
	if t.passes > 0 && refusal.Reason() == sluice.ReasonPassRequired {
		kind = sluice.ChallengePoW
	}
	t.passes++
	return t.c.pass(ctx, t.campaign, kind)
}

// needsPass says whether a pass may help against a refusal.
func (t *attempt) needsPass(c *Claim) bool {
	switch c.Reason() {
	case sluice.ReasonPassRequired, sluice.ReasonPassInvalid:
		return true
	case sluice.ReasonSignatureInvalid:
		return t.opts.SigningKey == ""
	}
	return false
}

// ownSlot says whether a NOT_STARTED is about the buyer's own slot of a spread opening that is under way.
func (t *attempt) ownSlot(ctx context.Context, c *Claim) bool {
	if c.Reason() != sluice.ReasonNotStarted || c.StartsInMS <= 0 || c.StartsInMS > sluice.MaxSpreadSec*1000 {
		return false
	}
	if t.sale == nil {
		found, err := t.c.Campaign(ctx, t.campaign)
		if err != nil {
			return false
		}
		t.sale = found
	}
	opens := sluice.MillisOf(t.sale.StartsAt)
	return t.sale.Protection.SpreadSec > 0 && c.ServerTimeMS+sluice.Millis(soon.Milliseconds()) >= opens
}
