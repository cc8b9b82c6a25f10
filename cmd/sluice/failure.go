package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sluice-sale/sluice/internal/config"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitVerify      = 4
	exitRefused     = 5
	exitInterrupted = 130
)

// exitCodes is the line of them in the help.
const exitCodes = "0 done, 1 failed, 2 wrong usage or configuration, 3 the server cannot be reached, " +
	"4 verification failed, 5 refused (no such thing, not allowed, or not in its state), 130 interrupted."

// failure is an error with its exit code and what to run next.
type failure struct {
	code int
	err  error
	next string // a command, or empty
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage makes a failure of the command line.
func usage(format string, args ...any) error {
	return &failure{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// report prints err, if any, and gives the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	f := &failure{code: exitFailed, err: err}
	var faults config.Faults
	switch {
	case errors.As(err, &f):
	case errors.As(err, &faults):
		f = &failure{code: exitUsage, err: err, next: "sluice serve --help"}
	case errors.Is(err, context.Canceled) && a.ctx.Err() != nil:
		f = &failure{code: exitInterrupted, err: errors.New("interrupted")}
	}
	if a.json {
		_ = json.NewEncoder(a.err).Encode(map[string]any{"error": f.err.Error(), "exit_code": f.code, "next": f.next})
		return f.code
	}
	fmt.Fprintln(a.err, "sluice:", f.err)
	if f.next != "" {
		fmt.Fprintln(a.err, "  next:", f.next)
	}
	return f.code
}
