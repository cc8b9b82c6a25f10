package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// shelf is where the servers of one run stand: what internal/servers asks of a test, without one.
type shelf struct {
	testing.TB // nil: what is not below is not asked for

	ctx   context.Context
	temp  string
	after []func()
	fault error
}

// errShelf ends the goroutine's work on a shelf; what went wrong is in shelf.fault.
var errShelf = errors.New("a server failed")

// onShelf runs work, which may start servers, and stops them.
func (b *bench) onShelf(ctx context.Context, work func(*shelf) error) (err error) {
	s := &shelf{ctx: ctx, temp: b.temp}
	defer s.clear()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			if !errors.Is(r, errShelf) {
				panic(r)
			}
			err = s.fault
		default:
			panic(r)
		}
	}()
	return work(s)
}

func (s *shelf) clear() {
	for i := len(s.after) - 1; i >= 0; i-- {
		s.after[i]()
	}
}

func (s *shelf) Helper()                  {}
func (s *shelf) Cleanup(f func())         { s.after = append(s.after, f) }
func (s *shelf) Context() context.Context { return s.ctx }
func (s *shelf) Name() string             { return "bench" }
func (s *shelf) Fatal(args ...any)        { s.fail(fmt.Sprint(args...)) }

// Logf and Fatalf are as a test has them.
func (s *shelf) Logf(format string, args ...any)   { fmt.Fprintf(os.Stderr, format+"\n", args...) }
func (s *shelf) Fatalf(format string, args ...any) { s.fail(fmt.Sprintf(format, args...)) }

func (s *shelf) fail(words string) {
	if _, file, line, ok := runtime.Caller(2); ok {
		words = fmt.Sprintf("%s:%d: %s", file, line, words)
	}
	s.fault = errors.New(words)
	panic(errShelf)
}

// TempDir gives a folder that is removed at the end.
func (s *shelf) TempDir() string {
	dir, err := os.MkdirTemp(s.temp, "shelf-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
