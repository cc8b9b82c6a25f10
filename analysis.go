package sluice

// Analysis is what the decisions on one campaign say once its sale is over: whom it went to, whom it refused, and who
// looks like a crowd of scripts. Its JSON is what the API and the command line give. Lists are never nil.
type Analysis struct {
	Campaign string         `json:"campaign_id"`
	Source   AnalysisSource `json:"source" doc:"The decision log, or the ledger, which knows less"`
	Missing  []string       `json:"missing" doc:"What the source does not tell"`
	Lines    int64          `json:"lines" doc:"Lines of the log on this campaign; from the database: decisions"`
	Others   int64          `json:"other_lines" doc:"Lines on other campaigns"`
	Unread   int64          `json:"unread_lines" doc:"Lines that are no decision"`
	StartsMS int64          `json:"starts_ms,omitempty" doc:"The start, where it is known, UTC ms"`

	Reasons  []ReasonTotal   `json:"reasons" doc:"In the order of the funnel; exact"`
	WidthMS  int64           `json:"width_ms" doc:"Of a row of seconds: 1,000, more where the log spans over two hours"`
	Seconds  []SecondTotals  `json:"seconds" doc:"Exact"`
	Distinct []DistinctTotal `json:"distinct" doc:"How many of each kind claimed"`
	Refusals []RefusalTops   `json:"refusals" doc:"Who had most of each refusal"`
	Rules    []RuleTotal     `json:"rules" doc:"Risk rules that spoke; exact"`
	Units    UnitShares      `json:"units" doc:"Whom the units went to; exact"`
	Holders  []TopList       `json:"holders" doc:"Who got most units"`
	Clusters []Cluster       `json:"clusters" doc:"Groups that look like one hand, the largest first"`
}

// AnalysisSource says what an analysis was made from.
type AnalysisSource string

// The sources.
const (
	SourceDecisions AnalysisSource = "decisions"
	SourceDatabase  AnalysisSource = "database"
)

// ReasonTotal counts the decisions with one reason; Replayed of them were recorded answers given again.
type ReasonTotal struct {
	Reason   string  `json:"reason"`
	Count    int64   `json:"count"`
	Replayed int64   `json:"replayed,omitempty"`
	Share    float64 `json:"share" doc:"0 to 1"`
}

// SecondTotals counts the decisions of one second by reason, each claim once.
type SecondTotals struct {
	StartMS  int64            `json:"start_ms" doc:"UTC ms"`
	Counts   map[string]int64 `json:"counts"`
	Replayed int64            `json:"replayed,omitempty"`
}

// DistinctTotal is how many different users, devices, addresses or subnets claimed.
type DistinctTotal struct {
	Kind  string  `json:"kind" enum:"user,device,address,subnet"`
	Count int64   `json:"count"`
	Error float64 `json:"error" doc:"Standard error as a share of the count; 0: exact"`
}

// TopList is who had most of something. Everybody with more than Error is in the full list that it was cut from.
type TopList struct {
	Kind  string    `json:"kind" enum:"user,device,address,subnet"`
	Error int64     `json:"error" doc:"No count is too high by more; 0: all are exact"`
	Items []TopItem `json:"items" nullable:"false"`
}

// TopItem is one of a TopList: its true count is from Count-Error to Count.
type TopItem struct {
	Key   string `json:"key"`
	Count int64  `json:"count"`
	Error int64  `json:"error,omitempty" doc:"The count is too high by at most this"`
}

// RefusalTops is who had most of one refusal.
type RefusalTops struct {
	Reason string    `json:"reason"`
	Tops   []TopList `json:"tops" nullable:"false"`
}

// RuleTotal counts what one risk rule did.
type RuleTotal struct {
	Rule       string `json:"rule"`
	Decisions  int64  `json:"decisions" doc:"On which it spoke"`
	Blocked    int64  `json:"blocked"`
	Challenged int64  `json:"challenged"`
	Slowed     int64  `json:"slowed"`
	Units      int64  `json:"units" doc:"That went to buyers of whom it spoke"`
}

// UnitShares splits the units that were given out by what was asked of their buyers. Who was both challenged and slowed
// counts as challenged.
type UnitShares struct {
	Total      int64 `json:"total" doc:"Promised or confirmed by the gate, each claim once"`
	Normal     int64 `json:"normal"`
	Challenged int64 `json:"challenged" doc:"To buyers who had to solve a challenge"`
	Slowed     int64 `json:"slowed" doc:"To buyers whom a rule slowed down"`
}

// Cluster is a group of accounts that looks like one hand.
type Cluster struct {
	Kind     string `json:"kind" enum:"device,subnet,timing"`
	Key      string `json:"key" doc:"The device, the subnet, or the subnet with its moment"`
	Accounts int64  `json:"accounts" doc:"Different users; about, above 64"`
	Devices  int64  `json:"devices,omitempty"`
	Claims   int64  `json:"claims" doc:"At most"`
	Units    int64  `json:"units"`
	Why      string `json:"why"`
}

// AnalysisJob is how the making of an analysis stands.
type AnalysisJob struct {
	State     string    `json:"state" enum:"waiting,running,done,failed"`
	AskedAtMS int64     `json:"asked_at_ms"`
	DoneAtMS  int64     `json:"done_at_ms,omitempty"`
	Read      int64     `json:"read_bytes"`
	Of        int64     `json:"of_bytes"`
	Error     string    `json:"error,omitempty"`
	Analysis  *Analysis `json:"analysis,omitempty"`
}
