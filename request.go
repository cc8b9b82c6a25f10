package sluice

import "net/netip"

// ClaimRequest is one claim as it came in, decoded and bounded, nothing of it trusted yet. The byte slices and
// strings may point into the connection's buffers: whoever keeps one beyond the call copies it.
type ClaimRequest struct {
	Campaign  string
	Token     []byte     // the bearer token, empty where none was sent
	Addr      netip.Addr // of the client, by way of trusted proxies only
	Device    string     // header X-Device-Id; the token's did claim beats it
	RequestID string     // empty where none was sent
	Quantity  int        // 0 where none was sent: one
	Pass      string
	Signature RequestSignature
	At        Millis // when it arrived, by the gate's clock
}

// Identity is whom a token speaks for.
type Identity struct {
	User   string
	Device string              // the token's did claim, empty where it has none
	Claims map[string][]string // the token's other claims that are strings, numbers, booleans or lists of them, as text
}

// CampaignView is a campaign with what admission says of it, for people to see.
type CampaignView struct {
	Campaign
	State         CampaignState
	Available     int64
	Queued        int64
	SoldOutAt     Millis // when the last unit went; zero while there are units
	MayReturn     int64  // units held by unpaid orders
	NextReleaseAt Millis // when the first of them falls due; zero where none does
}
