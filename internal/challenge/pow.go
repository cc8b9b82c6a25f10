package challenge

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sluice-sale/sluice"
)

// Defaults and bounds of proof of work.
const (
	DefaultPoWMax     = 50_000
	DefaultPoWCeiling = 1_000_000
	MinPoWMax         = 1000
	MaxPoWCeiling     = 50_000_000
	DefaultPoWRate    = 200
	// easyTimes is how many times above normal somebody is who is asked at all: up to it the work is the least.
	easyTimes = 5
)

// PoWConfig says how much work is asked for. The number to be found lies anywhere up to a limit, so that half the limit
// is tried in the mean.
type PoWConfig struct {
	Max     int // the limit for who is little above normal, on a node that is asked little; MinPoWMax or more
	Ceiling int // the limit of limits, up to MaxPoWCeiling
	// Rate is how many challenges of this kind a second a node gives out before they become harder, from 1: at twice the
	// rate they are twice as hard.
	Rate float64
}

func (c *PoWConfig) complete() error {
	if c.Max == 0 {
		c.Max = DefaultPoWMax
	}
	if c.Ceiling == 0 {
		c.Ceiling = max(DefaultPoWCeiling, c.Max)
	}
	if c.Rate == 0 {
		c.Rate = DefaultPoWRate
	}
	if c.Max < MinPoWMax || c.Ceiling < c.Max || c.Ceiling > MaxPoWCeiling {
		return fmt.Errorf("challenge: %w: proof of work: %d ≤ max (%d) ≤ ceiling (%d) ≤ %d does not hold",
			sluice.ErrInvalid, MinPoWMax, c.Max, c.Ceiling, MaxPoWCeiling)
	}
	if !(c.Rate >= 1) {
		return fmt.Errorf("challenge: %w: proof of work: a rate of %v is below 1", sluice.ErrInvalid, c.Rate)
	}
	return nil
}

// pow is the flat challenge of ALTCHA: find the number for which SHA-256(salt + number) is the given hash.
type pow struct {
	cfg  PoWConfig
	load *load
}

func newPoW(cfg PoWConfig, now func() time.Time) *pow {
	return &pow{cfg: cfg, load: &load{now: now}}
}

// powData is what the client is sent; the names are ALTCHA's.
type powData struct {
	Algorithm string `json:"algorithm"`
	Challenge string `json:"challenge"`
	Salt      string `json:"salt"`
	MaxNumber uint32 `json:"maxnumber"`
	Signature string `json:"signature"`
}

const powAlgorithm = "SHA-256"

func (p *pow) issue(
	_ context.Context, keys [][]byte, id *ident, difficulty float64,
) (json.RawMessage, []byte, error) {
	key := keys[0]
	id.nonce = newNonce()
	id.limit = p.limit(difficulty, p.load.add())
	number := powNumber(key, id)
	data, err := json.Marshal(powOf(key, id, number))
	return data, key, err
}

// limit says how hard a challenge is for somebody so many times above normal, at so many challenges a second.
func (p *pow) limit(difficulty, rate float64) uint32 {
	times := max(rate/p.cfg.Rate, 1)
	if difficulty > easyTimes { // and is a number
		times *= difficulty / easyTimes
	}
	return uint32(math.Min(float64(p.cfg.Max)*times, float64(p.cfg.Ceiling)))
}

// powNumber is the answer.
func powNumber(key []byte, id *ident) uint32 {
	return uint32(newLots(key, kindPoW, id.nonce).below(uint64(id.limit) + 1))
}

// powOf is the challenge whose answer is number. The salt ends with a mark, so that no digit of the number can be
// taken for one of the salt.
func powOf(key []byte, id *ident, number uint32) powData {
	salt := hex.EncodeToString(id.nonce[:]) + "?expires=" + strconv.FormatInt(int64(id.ends)/1000, 10) + "&"
	sum := sha256.Sum256(strconv.AppendUint([]byte(salt), uint64(number), 10))
	d := powData{Algorithm: powAlgorithm, Challenge: hex.EncodeToString(sum[:]), Salt: salt, MaxNumber: id.limit}
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(domainPoW))
	_, _ = h.Write([]byte(d.Challenge))
	d.Signature = hex.EncodeToString(h.Sum(nil))
	return d
}

// powSolution is the payload of ALTCHA's widget.
type powSolution struct {
	Algorithm string  `json:"algorithm"`
	Challenge string  `json:"challenge"`
	Number    uint32  `json:"number"`
	Salt      string  `json:"salt"`
	Signature string  `json:"signature"`
	Took      float64 `json:"took"` // ms that the widget took, by its own word; passed over
	Test      bool    `json:"test"` // the widget's test mode; passed over, and the rest has to be right all the same
}

// read reads base64 of JSON.
func (p *pow) read(raw json.RawMessage) (solution, error) {
	var text string
	if err := strictly(raw, &text); err != nil {
		return nil, errPayload()
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, solutionFault("must be base64")
	}
	s := &powSolution{}
	if err := strictly(b, s); err != nil {
		return nil, errPayload()
	}
	return s, nil
}

func errPayload() error {
	return solutionFault("must be base64 of a JSON object with algorithm, challenge, number, salt, signature")
}

// right compares with what was asked and what the answer is: both are known, so nothing is searched.
func (s *powSolution) right(_ context.Context, key []byte, id *ident, _ *sluice.ChallengeAnswer) (bool, error) {
	number := powNumber(key, id)
	want := powOf(key, id, number)
	same := func(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }
	return s.Number == number && same(s.Algorithm, want.Algorithm) && same(s.Challenge, want.Challenge) &&
		same(s.Salt, want.Salt) && same(s.Signature, want.Signature), nil
}

// strictly reads one JSON value and nothing after it, with no field that v has not.
func strictly(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() || len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		return sluice.ErrInvalid
	}
	return nil
}
