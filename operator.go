package sluice

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Role is what an API key may do. Each role of viewer, support, operator, admin includes those before it; a merchant
// may only lock, unlock, redeem and reverse coupons.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"
	RoleSupport  Role = "support"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
	RoleMerchant Role = "merchant"
)

var roleRank = map[Role]int{RoleViewer: 1, RoleSupport: 2, RoleOperator: 3, RoleAdmin: 4}

// Valid says whether r is a role.
func (r Role) Valid() bool { return r == RoleMerchant || roleRank[r] > 0 }

// Covers says whether r includes need.
func (r Role) Covers(need Role) bool {
	if r == RoleMerchant || need == RoleMerchant {
		return r == need
	}
	return roleRank[r] >= roleRank[need] && roleRank[need] > 0
}

// Actor is who does something, for the audit log.
type Actor struct {
	KeyID     string
	Name      string
	Role      Role
	Addr      string
	RequestID string
	Reason    string
}

// APIKey is an operator's or merchant's key. Hash is the SHA-256 of its secret; the secret itself is shown once and
// kept nowhere.
type APIKey struct {
	ID         string
	Name       string
	Role       Role
	Scope      KeyScope // what of its role it may; zero: all
	MerchantID string
	Prefix     string // the first characters of the secret, to tell keys apart
	Hash       [32]byte
	CreatedAt  Millis
	RevokedAt  Millis    // zero: it is in force
	Old        KeySecret // what Hash was before the last rotation; zero: there was none, or it ended at once
	RotatedAt  Millis    // when Hash was given; zero: with the key
	RotationID string    // of the rotation that gave Hash, where its caller named it
	LastUsed   Millis    // exact to about a minute; zero: never
}

// KeySecret is a secret of a key, and until when it is good.
type KeySecret struct {
	Hash   [32]byte
	Prefix string
	Until  Millis // from then on it opens nothing
}

// Bounds of rotations and scopes of keys.
const (
	MaxKeyGrace     Millis = 7 * 24 * 60 * 60 * 1000
	DefaultKeyGrace Millis = 24 * 60 * 60 * 1000
	KeyUnusedAfter  Millis = 90 * 24 * 60 * 60 * 1000 // a key that nobody has used for so long is marked
	MaxRotationID          = 64                       // bytes
	MaxKeyAreas            = 40
)

// KeyRotation gives a key a new secret.
type KeyRotation struct {
	ID     string // names the rotation: the same one again takes the place of what it gave, see APIKey.Rotated
	Hash   [32]byte
	Prefix string
	At     Millis
	Grace  Millis // how long the secret before stays good, 0 to MaxKeyGrace
}

// Rotated is k with the secret that r gives it. What was the secret is good for r.Grace more; one that was in its grace
// already ends at once. Where r is named and is the rotation that gave the secret of now, its answer was lost: nobody
// has that secret, so the new one takes its place, and the one before keeps its grace.
func (k APIKey) Rotated(r KeyRotation) APIKey {
	if again := r.ID != "" && r.ID == k.RotationID; !again {
		k.Old = KeySecret{}
		if r.Grace > 0 {
			k.Old = KeySecret{Hash: k.Hash, Prefix: k.Prefix, Until: r.At + r.Grace}
		}
	}
	k.Hash, k.Prefix, k.RotatedAt, k.RotationID = r.Hash, r.Prefix, r.At, r.ID
	return k
}

// KeyUse says when a key was last used.
type KeyUse struct {
	ID string
	At Millis
}

// KeyScope narrows a key below its role. The zero value narrows nothing.
type KeyScope struct {
	Areas    []string // of the operators' API, such as dead-letters; none: all
	ReadOnly bool     // only calls that change nothing
}

// Narrow says whether s narrows at all.
func (s KeyScope) Narrow() bool { return len(s.Areas) > 0 || s.ReadOnly }

// Within says whether everything that s allows is allowed by wider too.
func (s KeyScope) Within(wider KeyScope) bool {
	if wider.ReadOnly && !s.ReadOnly {
		return false
	}
	if len(wider.Areas) == 0 {
		return true
	}
	for _, area := range s.Areas {
		if !slices.Contains(wider.Areas, area) {
			return false
		}
	}
	return len(s.Areas) > 0
}

// Allows says whether a call of an area that changes something, or only reads, is in the scope.
func (s KeyScope) Allows(area string, changes bool) bool {
	return !(changes && s.ReadOnly) && (len(s.Areas) == 0 || slices.Contains(s.Areas, area))
}

// String tells the scope as people read it: "all" where it narrows nothing.
func (s KeyScope) String() string {
	text := strings.Join(s.Areas, ", ")
	if text == "" {
		text = "all"
	}
	if s.ReadOnly {
		text += ", read only"
	}
	return text
}

// AuditEntry is one row of the append-only audit log: who changed what from what to what.
type AuditEntry struct {
	Seq    int64
	At     Millis
	Actor  Actor
	Action string // such as campaign.pause
	Object string // such as campaign/spring
	Before json.RawMessage
	After  json.RawMessage
}

// BlockScope is what a block applies to.
type BlockScope string

// The block scopes.
const (
	BlockAddress BlockScope = "address" // an IP or a CIDR
	BlockUser    BlockScope = "user"
	BlockDevice  BlockScope = "device"
)

// Block is one entry of the blocklist.
type Block struct {
	ID        string // the reference a blocked buyer can give to support
	Scope     BlockScope
	Value     string
	Reason    string
	Author    string
	CreatedAt Millis
	ExpiresAt Millis // zero: until lifted
}

// CrowdCount is how many of those who came to a node in the last hour something is true of: who asked for a pass, or
// was admitted. Full says that some of them were forgotten, so that there may be more.
type CrowdCount struct {
	People   int // it is true of
	Admitted int // of those, who were admitted
	Known    int // who came
	Full     bool
}

// BlockPreview is what a block would do, before it is made.
type BlockPreview struct {
	Scope BlockScope
	Value string // in the one form that is kept
	Crowd CrowdCount
	Since Millis // since when this node has been counting, at most an hour ago
	Block *Block // what is in force on exactly this already; nil: nothing
}

// Event is one change of a campaign, order, coupon or switch, as the feed gives it.
type Event struct {
	ID       EventID
	Type     string // such as order.created
	At       Millis
	Campaign string
	Subject  string // the id of what changed
	Data     json.RawMessage
}

// EventID orders the feed. Seq is the ledger's row; one row may stand for many events (a batch), told apart by Index.
type EventID struct {
	Seq   int64
	Index int
}

// String gives "seq-index".
func (e EventID) String() string {
	return strconv.FormatInt(e.Seq, 10) + "-" + strconv.Itoa(e.Index)
}

// ParseEventID reads what String wrote; "" and "0" are the start of the feed.
func ParseEventID(s string) (EventID, bool) {
	if s == "" || s == "0" {
		return EventID{Index: -1}, true
	}
	a, b, ok := strings.Cut(s, "-")
	if !ok {
		return EventID{}, false
	}
	seq, err1 := strconv.ParseInt(a, 10, 64)
	index, err2 := strconv.Atoi(b)
	id := EventID{Seq: seq, Index: index}
	if err1 != nil || err2 != nil || seq < 0 || index < 0 || id.String() != s {
		return EventID{}, false
	}
	return id, true
}

// SwitchKind tells on/off switches from valued ones.
type SwitchKind string

// The switch kinds.
const (
	SwitchOnOff SwitchKind = "on_off"
	SwitchValue SwitchKind = "value"
)

// SwitchSpec describes one switch of the catalogue.
type SwitchSpec struct {
	Name     string
	Kind     SwitchKind
	Global   bool // may be set for the server
	Campaign bool // may be set for one campaign
	Min, Max float64
	Means    string
}

// The switches. An on/off switch is 0 or 1; an unset one is off, or leaves the configured value.
const (
	SwitchClosed       = "closed"
	SwitchReadOnly     = "read_only"
	SwitchPaymentsDown = "payments_down"
	SwitchMaxRate      = "max_rate"
	SwitchPerUserRate  = "per_user_rate"
	SwitchDecisionLog  = "decision_log"
	SwitchBypassBroker = "bypass_broker"
	SwitchSettlers     = "settlers"
	SwitchPaused       = "paused"
	SwitchDegraded     = "degraded"
	SwitchChallengeAll = "challenge_all"
)

// Switches is the catalogue, in the order in which it is listed.
func Switches() []SwitchSpec {
	return []SwitchSpec{
		{SwitchClosed, SwitchOnOff, true, true, 0, 1, "claims are refused with CLOSED; everything else goes on"},
		{SwitchPaused, SwitchOnOff, true, true, 0, 1, "claims are refused with PAUSED; who holds a claim gets its answer"},
		{SwitchReadOnly, SwitchOnOff, true, false, 0, 1,
			"claims, payments by buyers, cancels and redemptions are refused; signed payment notifications are still taken"},
		{SwitchPaymentsDown, SwitchOnOff, true, false, 0, 1, "the clock of unpaid windows stands still: no order expires"},
		{SwitchMaxRate, SwitchValue, true, true, 0, 10_000_000, "claims a second to admission; 0 means no bound"},
		{SwitchPerUserRate, SwitchValue, true, true, 0, 1000,
			"claims a second of one user or device; 0 means the campaign's own rate"},
		{SwitchDecisionLog, SwitchOnOff, true, false, 0, 1, "every decision of the gate is written to the decision log"},
		{SwitchBypassBroker, SwitchOnOff, true, false, 0, 1,
			"claims go from Redis to the ledger without the broker; nothing changes where there is none"},
		{SwitchSettlers, SwitchValue, true, false, 0, 16,
			"settling transactions that each server has under way at once; 0 means its own setting"},
		{SwitchDegraded, SwitchOnOff, true, false, 0, 1, "claims are admitted in SQL and not in Redis, at a bounded rate; " +
			"refused where stock is not taken in Redis"},
		{SwitchChallengeAll, SwitchOnOff, true, true, 0, 1,
			"every claim needs a pass for which a challenge was solved, whatever the campaign says"},
	}
}

// PendingSwitch is a switch that was set while the ledger was away, who set it, and what it was before.
type PendingSwitch struct {
	Setting SwitchSetting
	Actor   Actor
	Before  SwitchSetting `json:",omitzero"`
	Noted   bool          `json:",omitzero"` // the audit log has the act already
}

// SwitchSetting is a switch as it is set. Campaign is empty for the server.
type SwitchSetting struct {
	Name     string
	Campaign string
	Value    float64
	Set      bool // false: cleared, back to the default
	Reason   string
	Author   string
	At       Millis
}
