package sluice

// DefaultUnpaidWindowSec is the unpaid window of goods where none is given.
const DefaultUnpaidWindowSec = 900

// Bounds of what operators write, in bytes where nothing else is said.
const (
	MaxSKU              = 128
	MaxLimitGroup       = 64
	MaxNote             = 500
	MaxEligibilityKeys  = 16  // token claims that are looked at
	MaxEligibilityWords = 100 // values of one of them
	MaxWord             = 256 // one name or value
	MaxValidDays        = 3660
	MaxRate             = 10_000_000 // claims a second
	MaxPerUserRate      = 1000       // claims a second
)

// CampaignSpec is what an operator says of a new campaign, nothing of it checked yet. Exactly one of Goods and
// Coupon has to be there, by Kind.
type CampaignSpec struct {
	ID           string // empty: one is made
	Kind         Kind
	Title        string
	ImageURL     string
	Total        int64
	PerUserLimit int64
	StartsAt     Millis
	EndsAt       Millis
	Goods        *Goods
	Coupon       *CouponTerms
	Protection   Protection
	LimitGroup   string
	Eligibility  Eligibility
	Shards       int64 // of its gate; 0 means one
	LoadTest     bool
	Draft        bool
}

// CampaignPatch is what an operator wants changed. Nil leaves a thing as it is. IfUpdatedAt and IfRevision, where
// they are not zero, refuse the change of a campaign that somebody else has changed since.
type CampaignPatch struct {
	IfUpdatedAt  Millis
	IfRevision   int64
	Title        *string
	ImageURL     *string
	Total        *int64 // always refused: adjustments are the one door
	PerUserLimit *int64
	StartsAt     *Millis
	EndsAt       *Millis
	Goods        *GoodsPatch
	Coupon       *CouponTerms
	Pass         *PassMode
	PerUserRate  *float64
	MaxRate      *float64
	Challenge    *ChallengeType // empty: none, to buyers who look normal
	Signature    *bool
	SpreadSec    *int64
	Eligibility  *Eligibility
	LoadTest     *bool
	Shards       *int64 // builds the gates anew
}

// GoodsPatch is the part of a CampaignPatch about goods.
type GoodsPatch struct {
	SKU              *string
	PriceMinor       *int64
	Currency         *string
	UnpaidWindowSec  *int64
	LimitBackOnClose *bool
}

// CloneSpec says how a copy, which is a draft, differs from its original. Nil keeps; without StartsAt the copy
// starts an hour from now.
type CloneSpec struct {
	ID       string // empty: one is made
	Title    *string
	Total    *int64
	StartsAt *Millis
	EndsAt   *Millis // without it the window keeps its length
}

// CampaignQuery chooses campaigns for operators. Empty fields choose everything.
type CampaignQuery struct {
	State        CampaignState
	Kind         Kind
	LimitGroup   string
	LoadTest     *bool
	NoEndedTests bool  // leaves load tests out that have ended
	After        int64 // the cursor: campaigns with a greater No
	Limit        int
}

// Preheat is what arming a campaign in advance came to.
type Preheat struct {
	Armed        bool
	Verification Verification
	Took         Millis
}

// Grant is a claim that an operator issues by hand. ID names it for good.
type Grant struct {
	ID       string
	User     string
	Quantity int
}

// GrantResult is what one line of a bulk of grants came to: a Decision, or a Fault where the line cannot be
// right.
type GrantResult struct {
	Line int64 // 1 is the first of the file, with a header counted
	Grant
	Decision Decision
	Fault    string
}

// GrantTotals sums a bulk of grants.
type GrantTotals struct {
	Lines     int64 // that carried a grant, right or wrong
	Confirmed int64 // new ones
	Replayed  int64 // known from before
	Units     int64 // of the new ones
	Faults    int64 // lines that could not be right
	Refused   map[Reason]int64
}

// BulkFormat is how the lines of an upload are written.
type BulkFormat string

// The formats of an upload.
const (
	FormatCSV       BulkFormat = "csv"
	FormatJSONLines BulkFormat = "jsonl"
)

// AudienceResult is what an upload or a removal came to.
type AudienceResult struct {
	Lines   int64
	Added   int64
	Removed int64
	Total   int64 // in the audience now
	Asked   bool  // the campaign asks for it: where it does not, an audience keeps nobody out
	Faults  []FieldFault
	Faulty  int64 // lines that could not be right; Faults shows the first of them
}

// SwitchResult is what setting a switch came to: on how many of the live nodes it is in force, and how long that
// took.
type SwitchResult struct {
	Setting SwitchSetting
	Before  SwitchSetting
	Nodes   int
	InForce int
	TookMS  int64
}

// CampaignReport is everything about one campaign once it ran, or while it runs.
type CampaignReport struct {
	Campaign     CampaignView
	Decisions    [NumReasons]int64 // by reason, over all buckets
	Buckets      []Bucket
	Latency      Histogram
	Rows         Tallies
	Verification Verification
	At           Millis
}

// Summary is the sums over campaigns, load tests left out.
type Summary struct {
	Campaigns int64
	ByState   map[CampaignState]int64
	Total     int64
	Held      int64
	Sold      int64
	LoadTests int64 // campaigns that were left out
	At        Millis
}
