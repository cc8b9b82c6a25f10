package sluice

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
)

// Bounds on what names a claim, in bytes.
const (
	MaxUserID     = 64
	MaxRequestID  = 128
	MaxDeviceID   = 128
	MaxCampaignID = 64
)

// ClaimID identifies a claim. Its first half is a hash of the user, its second a hash of campaign, user and request
// id (random where none was given): a replay has the same id without a lookup table, and all claims of one
// user lie side by side in an index on the id. 80 bits each, cut from SHA-256.
type ClaimID [20]byte

// UserKey is the first half of a ClaimID: the same for all claims of one user. Different users share one with a
// chance of about n²/2⁸¹ among n users, so that whoever decides on a row compares the user id as well.
type UserKey [10]byte

var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// The prefixes of ids as they stand in answers. An order has the id of its claim: they are one row.
const (
	claimPrefix = "clm_"
	orderPrefix = "ord_"
)

// Source says how a claim came in; the two have separate request ids.
type Source uint8

// The sources of a claim.
const (
	SourceClaim Source = iota // a buyer's own
	SourceGrant               // issued by an operator
)

// String gives the word that the ledger keeps.
func (s Source) String() string {
	if s == SourceGrant {
		return "grant"
	}
	return "claim"
}

// UserKeyOf hashes a user id.
func UserKeyOf(user string) (k UserKey) {
	var buf [8 + MaxUserID]byte
	sum := sha256.Sum256(append(append(buf[:0], "user\x00"...), user...))
	copy(k[:], sum[:])
	return k
}

// NewClaimID gives the id of the claim that user makes on campaign under requestID. An empty requestID gives a random
// one.
func NewClaimID(campaign, user string, source Source, requestID string) (id ClaimID) {
	k := UserKeyOf(user)
	copy(id[:10], k[:])
	if requestID == "" {
		_, _ = rand.Read(id[10:]) // crypto/rand.Read never fails
		return id
	}
	var room [16 + MaxCampaignID + MaxUserID + MaxRequestID]byte
	buf := append(room[:0], source.String()...)
	for _, s := range [...]string{campaign, user, requestID} {
		buf = binary.BigEndian.AppendUint16(buf, uint16(len(s)))
		buf = append(buf, s...)
	}
	sum := sha256.Sum256(buf)
	copy(id[10:], sum[:])
	return id
}

// User gives the user's half.
func (id ClaimID) User() (k UserKey) { copy(k[:], id[:10]); return k }

// String gives the claim id as it stands in answers, 36 bytes.
func (id ClaimID) String() string { return claimPrefix + idEncoding.EncodeToString(id[:]) }

// OrderID gives the id of the claim's order, 36 bytes.
func (id ClaimID) OrderID() string { return orderPrefix + idEncoding.EncodeToString(id[:]) }

// AppendTo appends String to b without allocating.
func (id ClaimID) AppendTo(b []byte) []byte {
	return idEncoding.AppendEncode(append(b, claimPrefix...), id[:])
}

// AppendOrderTo appends OrderID to b without allocating.
func (id ClaimID) AppendOrderTo(b []byte) []byte {
	return idEncoding.AppendEncode(append(b, orderPrefix...), id[:])
}

// ParseClaimID reads what String wrote; false for anything else.
func ParseClaimID(s string) (ClaimID, bool) { return parseID(s, claimPrefix) }

// ParseOrderID reads what OrderID wrote; false for anything else.
func ParseOrderID(s string) (ClaimID, bool) { return parseID(s, orderPrefix) }

func parseID(s, prefix string) (id ClaimID, ok bool) {
	s, ok = strings.CutPrefix(s, prefix)
	if !ok || len(s) != 32 {
		return id, false
	}
	n, err := idEncoding.Decode(id[:], []byte(s))
	return id, err == nil && n == len(id)
}

// Claim is one user's attempt, as admission and the ledger see it.
type Claim struct {
	ID        ClaimID
	Campaign  string
	User      string
	RequestID string // empty where none was given
	Quantity  int
	Source    Source
	At        Millis // when the gate took it
	// Epoch is that of the permit under which the claim was admitted; 0 where the ledger itself decides: one machine, a
	// grant written straight to it, degraded mode.
	Epoch int64
	// CouponCodes are the codes that settling will issue: one a unit, coupons only.
	CouponCodes []string
}

// ClaimState is what a claim has become.
type ClaimState uint8

// The states of a claim; None means that no claim came to be.
const (
	ClaimNone ClaimState = iota
	ClaimQueued
	ClaimConfirmed
	ClaimRejected
	ClaimReleased
)

// String gives the word of the API.
func (s ClaimState) String() string {
	return [...]string{"", "queued", "confirmed", "rejected", "released"}[s]
}

// Outcome is what settling a claim came to. Reason is ReasonConfirmed, ReasonLimitReached or ReasonSoldOut (both
// recorded as rejected), or ReasonRequestIDReused (the id is in the ledger with another quantity or user; nothing
// written).
type Outcome struct {
	Reason      Reason
	State       ClaimState
	Replayed    bool     // it was there before
	CouponCodes []string // of its rows
}

// ClaimRow is what admission needs to know of a settled claim to rebuild its state (coupons: summed over its rows).
// LiveUnits are the units it still takes from the stock, LimitUnits those it takes of the user's limit.
type ClaimRow struct {
	ID         ClaimID
	Quantity   int32
	LiveUnits  int32
	LimitUnits int32
	At         Millis
	Rejected   Reason // why, for a rejected claim; else ReasonNone
}

// ClaimRecord is one claim as people look it up: the row of the ledger, whatever its kind.
type ClaimRecord struct {
	Claim
	State      ClaimState
	Code       Reason // ReasonConfirmed, or why it was rejected
	OrderState OrderState
	Closed     CloseReason // of a closed order
	Coupon     CouponState
}
