package redis

import (
	"errors"

	"github.com/sluice-sale/sluice"
)

// ErrVersion says that a message is of a version that this build does not know. The message is whole: keep its bytes.
var ErrVersion = errors.New("redis: message of an unknown version")

// ErrMessage says that bytes are no message.
var ErrMessage = errors.New("redis: not a message")

// MaxMessage bounds a message, in bytes.
const MaxMessage = 1024

// AppendMessage appends a claim as it stands in pending, outbox and on a broker.
func AppendMessage(b []byte, c *sluice.Claim) []byte { return b }

// DecodeMessage reads one message from the front of b and gives the rest. With ErrVersion raw is the whole message and
// rest is what follows it; with ErrMessage nothing that follows can be read either.
func DecodeMessage(b []byte) (c sluice.Claim, raw, rest []byte, err error) {
	return c, b, nil, ErrMessage
}
