package rabbitmq

import (
	"fmt"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sluice-sale/sluice"
)

// The headers of a message. The body alone counts; they are for people, for routing by others and for the version.
const (
	headVersion  = "version"
	headClaim    = "claim_id"
	headCampaign = "campaign"
	headUser     = "user"
	headQuantity = "quantity"
	headEpoch    = "epoch"
)

const (
	claimType   = "sluice.claim"
	contentType = "application/vnd.sluice.claim"
)

// messageOf makes the message of a claim: its body is what the outbox holds, byte by byte.
func (c *Config) messageOf(claim *sluice.Claim) amqp.Publishing {
	id := claim.ID.String()
	return amqp.Publishing{
		Headers: amqp.Table{
			headVersion:  int32(sluice.MessageVersion),
			headClaim:    id,
			headCampaign: claim.Campaign,
			headUser:     claim.User,
			headQuantity: int32(claim.Quantity),
			headEpoch:    claim.Epoch,
		},
		ContentType:   contentType,
		DeliveryMode:  amqp.Persistent,
		CorrelationId: id,
		MessageId:     id,
		Timestamp:     time.UnixMilli(int64(claim.At)),
		Type:          claimType,
		AppId:         "sluice",
		Body:          c.Encode(nil, claim),
	}
}

// read makes a delivery of a message, with a fault where it cannot be read or is not to be settled from here.
func (c *Config) read(m *amqp.Delivery, session uint64, dead bool) sluice.Delivery {
	d := sluice.Delivery{Tag: tagOf(session, m.DeliveryTag), Raw: m.Body}
	if d.Fault = faultOf(m, dead); d.Fault != "" {
		return d
	}
	claim, err := c.Decode(m.Body)
	switch id := claim.ID.String(); {
	case err != nil:
		d.Fault = "the message cannot be read: " + err.Error()
	case m.CorrelationId != "" && m.CorrelationId != id:
		d.Fault = "the message is of claim " + id + " and its correlation id is of another"
	default:
		d.Claim = claim
	}
	return d
}

// faultOf says what its headers have against a message.
func faultOf(m *amqp.Delivery, dead bool) string {
	if dead {
		reason, _ := m.Headers["x-first-death-reason"].(string)
		queue, _ := m.Headers["x-first-death-queue"].(string)
		return fmt.Sprintf("RabbitMQ gave the message up (%s in %s)", reason, queue)
	}
	v, ok := integer(m.Headers[headVersion])
	if ok && (v < 1 || v > sluice.MessageVersion) {
		return fmt.Sprintf("the message is of version %d; this node knows versions up to %d", v, sluice.MessageVersion)
	}
	return ""
}

// integer reads a number in whichever size a broker or another library gave it.
func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case byte:
		return int64(n), true
	case int8:
		return int64(n), true
	case int16:
		return int64(n), true
	case uint16:
		return int64(n), true
	case int32:
		return int64(n), true
	case uint32:
		return int64(n), true
	case int64:
		return n, true
	}
	return 0, false
}

// A delivery's tag names the session it came by: the broker counts anew in each.
func tagOf(session, tag uint64) string {
	return strconv.FormatUint(session, 10) + "." + strconv.FormatUint(tag, 10)
}

func parseTag(s string) (session, tag uint64, ok bool) {
	for i := range len(s) {
		if s[i] == '.' {
			a, err1 := strconv.ParseUint(s[:i], 10, 64)
			b, err2 := strconv.ParseUint(s[i+1:], 10, 64)
			return a, b, err1 == nil && err2 == nil
		}
	}
	return 0, 0, false
}
