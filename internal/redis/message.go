package redis

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice"
)

// ErrVersion says that a message is of a version that this build does not know. The message is whole: keep its bytes.
var ErrVersion = errors.New("message of an unknown version")

// ErrMessage says that bytes are no message.
var ErrMessage = errors.New("not a message")

// A message is a claim as it stands in pending and on a broker. Those of one call stand one after the other; the
// entry of the outbox names their call, or has them itself where an earlier version wrote it. In every version:
//
//	0     version
//	1-2   length of the whole message, big-endian like every number here
//	3-22  claim id
//
// and in version 1:
//
//	23-24 quantity
//	25-32 when it was admitted, by the clock of the node, in milliseconds
//	33-40 epoch
//	41    source
//	42-   campaign, user, request id: a length byte and the bytes of each
//
// admit.lua looks at length and source, and at nothing else.
const (
	atLength   = 1
	atID       = 3
	atUnits    = 23
	atTime     = 25
	atEpoch    = 33
	atSource   = 41
	atTexts    = 42
	minMessage = atTexts + 3
)

// Bounds of a message, in bytes.
const (
	MaxMessage    = 1024 // of any version
	maxMessageOne = minMessage + sluice.MaxCampaignID + sluice.MaxUserID + sluice.MaxRequestID
)

// checkClaim says whether a claim can be written as a message.
func checkClaim(c *sluice.Claim) error {
	switch {
	case c.Quantity < 1 || c.Quantity > sluice.MaxPerUserLimit:
		return fmt.Errorf("%w: a claim of %d units", sluice.ErrInvalid, c.Quantity)
	case len(c.Campaign) > sluice.MaxCampaignID, len(c.User) > sluice.MaxUserID, len(c.RequestID) > sluice.MaxRequestID:
		return fmt.Errorf("%w: a claim with too long a name", sluice.ErrInvalid)
	case c.Source > sluice.SourceGrant || c.At < 0 || c.Epoch < 0:
		return fmt.Errorf("%w: a claim of source %d at %d in epoch %d", sluice.ErrInvalid, c.Source, c.At, c.Epoch)
	}
	return nil
}

// AppendMessage appends a claim as a message. The claim's parts are within the bounds of the root package; one that
// is not is a mistake of the caller, and its message cannot be read back.
func AppendMessage(b []byte, c *sluice.Claim) []byte { return appendMessage(b, c, c.Epoch) }

func appendMessage(b []byte, c *sluice.Claim, epoch int64) []byte {
	n := sizeOf(c)
	b = append(b, sluice.MessageVersion)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	b = append(b, c.ID[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(c.Quantity))
	b = binary.BigEndian.AppendUint64(b, uint64(c.At))
	b = binary.BigEndian.AppendUint64(b, uint64(epoch))
	b = append(b, byte(c.Source))
	for _, s := range [...]string{c.Campaign, c.User, c.RequestID} {
		b = append(b, byte(len(s)))
		b = append(b, s...)
	}
	return b
}

// sizeOf gives the bytes of a claim's message.
func sizeOf(c *sluice.Claim) int {
	return minMessage + len(c.Campaign) + len(c.User) + len(c.RequestID)
}

// messageSize reads the length of a message of any version, the first of b.
func messageSize(b []byte) int { return int(binary.BigEndian.Uint16(b[atLength:])) }

// epochAndCampaign reads two parts of a message of version 1.
func epochAndCampaign(raw []byte) (epoch int64, campaign []byte) {
	return int64(binary.BigEndian.Uint64(raw[atEpoch:])), raw[atTexts+1 : atTexts+1+int(raw[atTexts])]
}

// idOf reads the claim id of a message of any version.
func idOf(raw []byte) (id sluice.ClaimID) {
	copy(id[:], raw[atID:])
	return id
}

// otherVersion says whether raw is a message that another version wrote.
func otherVersion(raw []byte) bool { return len(raw) >= minMessage && raw[0] != sluice.MessageVersion }

// DecodeMessage reads one message from the front of b. raw is its bytes and rest is what follows it. With ErrVersion
// the message is whole and of a version that this build cannot read; with ErrMessage raw is all of b, since nothing
// that follows can be read either.
func DecodeMessage(b []byte) (c sluice.Claim, raw, rest []byte, err error) {
	if len(b) < minMessage {
		return c, b, nil, fmt.Errorf("%w: %d bytes", ErrMessage, len(b))
	}
	n := messageSize(b)
	if n < minMessage || n > MaxMessage || n > len(b) {
		return c, b, nil, fmt.Errorf("%w: it says it has %d bytes", ErrMessage, n)
	}
	raw, rest = b[:n:n], b[n:]
	if otherVersion(raw) {
		return c, raw, rest, fmt.Errorf("%w: %d", ErrVersion, raw[0])
	}
	if c, ok := decodeOne(raw); ok {
		return c, raw, rest, nil
	}
	return c, b, nil, fmt.Errorf("%w: its parts do not fit", ErrMessage)
}

// decodeOne reads a message of version 1.
func decodeOne(raw []byte) (c sluice.Claim, ok bool) {
	if len(raw) > maxMessageOne {
		return c, false
	}
	c.ID = idOf(raw)
	q := binary.BigEndian.Uint16(raw[atUnits:])
	if q == 0 || q > sluice.MaxPerUserLimit || raw[atSource] > byte(sluice.SourceGrant) {
		return c, false
	}
	at, epoch := binary.BigEndian.Uint64(raw[atTime:]), binary.BigEndian.Uint64(raw[atEpoch:])
	if at > 1<<62 || epoch > 1<<62 {
		return c, false
	}
	var texts [3]string
	b := raw[atTexts:]
	for i, most := range [...]int{sluice.MaxCampaignID, sluice.MaxUserID, sluice.MaxRequestID} {
		if len(b) == 0 || int(b[0]) > most || int(b[0]) >= len(b) {
			return c, false
		}
		texts[i], b = string(b[1:1+int(b[0])]), b[1+int(b[0]):]
	}
	c.Quantity, c.At, c.Epoch = int(q), sluice.Millis(at), int64(epoch)
	c.Source = sluice.Source(raw[atSource])
	c.Campaign, c.User, c.RequestID = texts[0], texts[1], texts[2]
	return c, len(b) == 0
}

// Deliveries reads the messages of an outbox entry. What cannot be read has a Fault and its bytes.
func Deliveries(tag string, entry []byte) (all []sluice.Delivery) {
	for len(entry) > 0 {
		c, raw, rest, err := DecodeMessage(entry)
		d := sluice.Delivery{Claim: c, Tag: tag, Raw: raw}
		if err != nil {
			d.Claim, d.Fault = sluice.Claim{}, err.Error()
		}
		all, entry = append(all, d), rest
	}
	return all
}
