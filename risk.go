package sluice

// RiskMode says what a risk rule does with what it finds.
type RiskMode string

// The modes of a rule. A new rule begins as a dry run.
const (
	RiskOff    RiskMode = "off"
	RiskDryRun RiskMode = "dry_run" // counts and records what it would have done
	RiskOn     RiskMode = "on"
)

// RiskModes lists every mode.
func RiskModes() []RiskMode { return []RiskMode{RiskOff, RiskDryRun, RiskOn} }

// Bounds of risk rules.
const (
	MaxRiskRules    = 64  // of the file and the API together
	MaxRiskRuleText = 400 // bytes
)

// RiskRule is one risk rule: under a name, a line such as "accounts per device > 5 in 10m -> block 15m".
type RiskRule struct {
	ID        string
	Rule      string
	Mode      RiskMode
	Campaign  string // empty: all campaigns
	Note      string
	Author    string
	Revision  int64 // grows with each change of this rule, from 1
	CreatedAt Millis
	UpdatedAt Millis
	File      bool // it stands in the configuration file, and is changed there
}

// RiskScope is what a rule's action applies to.
type RiskScope string

// The scopes.
const (
	RiskAccount RiskScope = "account"
	RiskDevice  RiskScope = "device"
	RiskAddress RiskScope = "address"
	RiskSubnet  RiskScope = "subnet" // the /24 of an IPv4 address, the /64 of an IPv6 one
)

// RiskFired is what one rule did about one subject, or in a dry run would have done, from the first time until it held
// no more.
type RiskFired struct {
	ID       string // the reference that a blocked buyer is shown
	Rule     string
	Revision int64
	Mode     RiskMode
	Action   string // as the rule says it, such as "block 15m"
	Scope    RiskScope
	Value    string // the user, device, address or network
	Campaign string // of the claim that made it fire
	// CampaignOnly: the rule is one of that campaign, and so is what it does.
	CampaignOnly bool
	Saw          string // each condition with what was counted, such as "accounts per device 7 > 5 in 10m"
	Node         string
	At           Millis
	Until        Millis // when a block ends; of other actions, until when this record stands for what follows
	Count        int64  // claims it applied to, as counted by Node
	LiftedAt     Millis // zero: not lifted
	LiftedBy     string
}

// RiskFiredQuery selects what fired, newest first; fields that are zero do not narrow it. Limit is 1 to MaxPage, 0
// means DefaultPage.
type RiskFiredQuery struct {
	ID     string // the reference
	Rule   string
	Scope  RiskScope
	Value  string
	Cursor string
	Limit  int
}

// ListImport is what importing a list from a CSV came to, or in a dry run would come to. Where a line has a fault
// nothing is imported.
type ListImport struct {
	DryRun  bool
	Applied bool
	Rows    int
	Added   int
	Changed int
	Same    int
	Faults  int // lines that have one; Errors tells of the first 100
	Errors  []ListError
	Changes []ListChange // the first 1,000
}

// ListError is what is wrong with one line of a list.
type ListError struct {
	Line   int
	Field  string
	Detail string
}

// ListChange is one entry that an import adds, or changes.
type ListChange struct {
	Line   int
	Entry  Block
	Before *Block // nil where it is new
}

// Held is one unpaid claim of a holder. Until is when its unpaid window ends at the earliest.
type Held struct {
	ID    ClaimID
	Until Millis
}

// MaxHeld bounds how many unpaid orders one holder may be allowed to have.
const MaxHeld = 1000
