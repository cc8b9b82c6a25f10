package sluice

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"
)

// PassMode says when a claim needs a pass.
type PassMode string

// The pass modes.
const (
	PassOff      PassMode = "off"      // none is asked for, unless a switch or a risk rule asks
	PassAdaptive PassMode = "adaptive" // only of a buyer whose address, subnet or device is far above normal
	PassAlways   PassMode = "always"   // of everybody
)

// ChallengeType is the kind of a challenge. Empty in a campaign: none is asked of a buyer who looks normal, and proof
// of work of one who does not.
type ChallengeType string

// The kinds of challenge. Proof of work is the way that is always open, to people who can neither drag nor see.
const (
	ChallengePoW        ChallengeType = "pow"
	ChallengeSlider     ChallengeType = "slider"
	ChallengeImage      ChallengeType = "image"
	ChallengeSiteverify ChallengeType = "siteverify"
)

// ChallengeTypes lists every kind of challenge.
func ChallengeTypes() []ChallengeType {
	return []ChallengeType{ChallengePoW, ChallengeSlider, ChallengeImage, ChallengeSiteverify}
}

// Bounds of passes, signatures and smoothing.
const (
	MaxPass          = 512 // bytes of a pass
	MaxReceipt       = 160 // bytes of a queued claim's receipt
	MaxSpreadSec     = 60
	SignatureSkewMS  = 60_000 // how far a signed request's timestamp may be from the server's clock, either way
	MinNonce         = 16     // bytes of a signed request's nonce, A-Z a-z 0-9 - _
	MaxNonce         = 64
	PassEarlyMS      = 600_000 // passes are given from so long before the start
	MaxChallengeBody = 16 << 10
)

// Protection holds the settings of the funnel for one campaign. Zero values mean the default.
type Protection struct {
	Pass        PassMode
	PerUserRate float64 // claims a second per user and per device; default 3
	MaxRate     float64 // claims a second to admission; 0 means no bound of its own
	Challenge   ChallengeType
	Signature   bool // claims are signed with the key that came with the pass
	SpreadSec   int  // the opening is spread over so many seconds, 0 to MaxSpreadSec; 0 means it is not
	// SpreadSeed is what the slots of the opening are drawn from: 32 random bytes in hex, made by the server and told to
	// nobody before the spread is over. Empty while SpreadSec was never set.
	SpreadSeed string
}

// Seed is what the slots of a spread opening are drawn from.
type Seed [32]byte

// ParseSeed reads 64 hex digits; false for anything else.
func ParseSeed(s string) (seed Seed, ok bool) {
	if len(s) != 2*len(seed) {
		return seed, false
	}
	_, err := hex.Decode(seed[:], []byte(s))
	return seed, err == nil
}

// Hash gives the SHA-256 of the seed in hex: what is published before the opening.
func (s Seed) Hash() string {
	sum := sha256.Sum256(s[:])
	return hex.EncodeToString(sum[:])
}

// Draw gives the user's lot: the first 32 bits of HMAC-SHA256(seed, user), which are the same on every node, after a
// restart, and for everybody who computes them once the seed is out. It does not allocate.
func (s Seed) Draw(user string) uint32 {
	var inner [64 + MaxUserID]byte
	var outer [64 + sha256.Size]byte
	for i := range 64 {
		var k byte
		if i < len(s) {
			k = s[i]
		}
		inner[i], outer[i] = k^0x36, k^0x5c
	}
	n := copy(inner[64:], user)
	sum := sha256.Sum256(inner[:64+n])
	copy(outer[64:], sum[:])
	sum = sha256.Sum256(outer[:])
	return binary.BigEndian.Uint32(sum[:])
}

// SpreadMS gives the slot of a lot: how long after the start its buyer may claim, from 0 to below spreadSec seconds, in
// milliseconds.
func SpreadMS(draw uint32, spreadSec int) int64 {
	return int64(uint64(draw) * uint64(spreadSec) * 1000 >> 32)
}

// SpreadEnds gives the moment from which the campaign's spread is over and its seed is told.
func (c *Campaign) SpreadEnds() Millis { return c.StartsAt + Millis(c.Protection.SpreadSec)*1000 }

// Pass is what a verified pass says.
type Pass struct {
	From   Millis
	Until  Millis
	Draw   uint32 // the lot, where the campaign spreads its opening
	Solved bool   // a challenge was solved for it
}

// Standing is how the gate sees somebody who asks for a pass. The campaign is shared and must not be changed.
type Standing struct {
	Campaign  *Campaign
	Seed      Seed
	HasSeed   bool
	Closed    bool    // a switch refuses claims
	Blocked   bool    // by the blocklist or a risk rule
	Reference string  // with Blocked: what the buyer can give to support
	Challenge bool    // a challenge has to be solved: the source is far above normal, or a rule or switch says so
	Times     float64 // how many times above normal the source is; above 5 is suspicious
	WaitMS    int64   // above 0: it has asked too often, and may ask again after so long
}

// PassKey is a key that passes are signed with. The newest one that is active signs; older ones are believed until
// they are forgotten.
type PassKey struct {
	Seq       int64 // 1 is the first
	Secret    [32]byte
	CreatedAt Millis
	ActiveAt  Millis // by then every node has it
}

// PassAsk asks for a pass, or for a challenge of a kind, or hands in the solution of one.
type PassAsk struct {
	Subject
	Challenge   ChallengeType // empty: what the campaign has, and none for a buyer who looks normal
	ChallengeID string        // with Solution
	Solution    json.RawMessage
}

// PassAnswer is a pass, a challenge, or why there is neither.
type PassAnswer struct {
	Reason       Reason // ReasonNone where there is a pass or a challenge
	RetryAfterMS int64  // with ReasonTooFrequent and ReasonNotStarted
	Reference    string // with ReasonBlocked
	Pass         string
	ValidUntil   Millis
	StartsInMS   int64     // until the buyer may claim: the start, or the own slot; 0 where that is now
	SigningKey   string    // where the campaign wants signed claims
	Challenge    Challenge // where Pass is empty
}

// RequestSignature is what a claim's signature is made of and over, nothing of it checked yet. The slices point into
// the connection's buffers.
type RequestSignature struct {
	Timestamp []byte // header Sluice-Timestamp: Unix ms
	Nonce     []byte // header Sluice-Nonce
	MAC       []byte // header Sluice-Request-Signature: hex
	Method    []byte
	Path      []byte // as it was sent, without the query
	Body      []byte
}

// Subject is who a request speaks for, as risk rules see it. The strings may point into the connection's buffers:
// whoever keeps one beyond the call copies it.
type Subject struct {
	Campaign string
	User     string
	Device   string     // empty where none is known
	Vouched  bool       // the device is the token's claim, not a header that anybody can make up
	Addr     netip.Addr // of the client, by way of trusted proxies only
	Claims   map[string][]string
	Now      Millis
	SoldOut  bool // the claim is refused in any case: what is in force holds, and no rule need speak
}

// Verdict is what risk rules want done about a subject. The zero value is nothing; several may apply at once.
type Verdict struct {
	Block     bool
	Challenge bool
	Slow      float64 // the rate of user and device is divided by it; up to 1 means nothing
	Reference string  // with Block: what the buyer can give to support
	Rule      string  // which rule says so
}

// ChallengeAsk asks for a challenge. Difficulty is how many times above normal the asker is, at least 1; kinds that
// cannot be made harder pass over it.
type ChallengeAsk struct {
	Campaign   string
	User       string
	Device     string
	Addr       netip.Addr
	Type       ChallengeType
	Difficulty float64
}

// Challenge is one puzzle. Data is what the client needs to show or solve it, never the answer.
type Challenge struct {
	ID        string
	Type      ChallengeType
	Data      json.RawMessage
	ExpiresAt Millis
}

// ChallengeAnswer is a try at a challenge by whom it was made for.
type ChallengeAnswer struct {
	ID       string
	Campaign string
	User     string
	Device   string
	Addr     netip.Addr
	Solution json.RawMessage
}

// MaxOnceTTL is the longest time for which a Once remembers.
const MaxOnceTTL = time.Hour

// Once is state that nodes share for a short time: it remembers what was there once. Every key has a time to live, and
// is remembered for at least that long: a store that is full refuses new keys, it forgets none before its time.
type Once interface {
	// First says whether the key (1 byte or more) comes for the first time within ttl, on any node; of many who ask at
	// once, one hears true. Up to MaxOnceTTL, else ErrInvalid. Any other error means that it is not known: whoever
	// asks refuses then, and does not ask again, since the key may have been remembered.
	First(ctx context.Context, key string, ttl time.Duration) (bool, error)
}

// CheckOnceTTL gives ErrInvalid for a time to live that no Once takes.
func CheckOnceTTL(ttl time.Duration) error {
	if ttl < time.Millisecond || ttl > MaxOnceTTL {
		return fmt.Errorf("%w: a time to live of %v is not within 1ms and %v", ErrInvalid, ttl, MaxOnceTTL)
	}
	return nil
}
