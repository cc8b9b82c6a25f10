package sluice

// ReportLink lets whoever has its secret read the report of one campaign, and nothing else. The secret is with those
// whom the link was given to, and nowhere else.
type ReportLink struct {
	ID        string
	Campaign  string
	Hash      [32]byte // SHA-256 of the secret
	Note      string   // for whom it was made; at most MaxLinkNote bytes
	KeyID     string   // the key that made it
	Author    string   // of that key, at the time
	CreatedAt Millis
	ExpiresAt Millis
}

// Bounds of links to reports.
const (
	LinkSecretBytes         = 32
	MaxReportLinks          = 50 // in force for one campaign
	MaxLinkNote             = 100
	MinLinkLife      Millis = 60 * 60 * 1000           // an hour
	DefaultLinkLife  Millis = 7 * 24 * 60 * 60 * 1000  // a week
	MaxLinkLife      Millis = 90 * 24 * 60 * 60 * 1000 // a quarter
	LinkSecretPrefix        = "slr_"
)
