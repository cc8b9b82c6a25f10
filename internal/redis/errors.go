package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/rueidis"
	"github.com/sluice-sale/sluice"
)

// sorted translates an error of the driver, in this one place. what is the operation and its key.
//
// An answer with a code of its own is an answer: the command was refused, and nothing was done, since every script
// checks before it writes, and Redis decides on memory, role and disk as a script starts. So is a connection that
// could not be made. After that a command may have arrived, whatever became of the connection or of our patience:
// that is unknown.
func sorted(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redis: "+format+": %w", append(args, sort(err))...)
}

func sort(err error) error {
	if answer, ok := rueidis.IsRedisErr(err); ok {
		return &fault{kind: kindOf(code(answer)), err: err}
	}
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "dial", errors.Is(err, rueidis.ErrNoSlot), errors.Is(err, rueidis.ErrNoAddr),
		errors.Is(err, errNotSent):
		return &fault{kind: sluice.ErrUnavailable, err: err}
	}
	return &fault{kind: sluice.ErrUncertain, err: err}
}

// errNotSent says that a call was given up before it was sent.
var errNotSent = errors.New("not sent")

// notSent gives an error where there is no time left to send anything.
func notSent(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	return nil
}

// code gives the first word of an answer that is an error: by it Redis names what is wrong.
func code(answer *rueidis.RedisError) string {
	word, _, _ := strings.Cut(answer.Error(), " ")
	return word
}

// kindOf sorts codes.
func kindOf(code string) error {
	switch code {
	case "ARGS", "CROSSSLOT", "WRONGTYPE", "NOPERM", "WRONGPASS", "NOAUTH", "NOPROTO":
		return sluice.ErrInvalid // of this program or its settings: asking again does not help
	case "ERR":
		return sluice.ErrUncertain // anything, a fault in the middle of a script among it
	}
	// BUSY, OOM, LOADING, READONLY, TRYAGAIN, MASTERDOWN, CLUSTERDOWN, NOSCRIPT, MISCONF, NOREPLICAS, MOVED, ASK, …
	return sluice.ErrUnavailable
}

// fault is a driver's error with the sentinel that it was sorted to.
type fault struct {
	kind error
	err  error
}

func (f *fault) Error() string   { return f.kind.Error() + ": " + f.err.Error() }
func (f *fault) Unwrap() []error { return []error{f.kind, f.err} }
