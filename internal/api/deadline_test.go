package api

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// counted counts how often a deadline is really set.
type counted struct {
	net.Conn
	sets int
}

func (c *counted) SetReadDeadline(t time.Time) error {
	c.sets++
	return c.Conn.SetReadDeadline(t)
}

// TestLazyDeadlines: each deadline is kept to the moment, be it later or earlier than the last, and one that moves on
// with each request is hardly ever set.
func TestLazyDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		under := &counted{Conn: ours}
		c := &lazyConn{Conn: under}
		began := time.Now()
		after := func(d time.Duration) time.Time { return time.Now().Add(d) }
		ends := func(what string, want time.Duration) {
			t.Helper()
			start := time.Now()
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("%s: %v", what, err)
			}
			if got := time.Since(start); got != want {
				t.Errorf("%s: ended after %v, want %v", what, got, want)
			}
		}
		for range 1000 { // requests, 10 ms apart
			_ = c.SetReadDeadline(after(time.Minute))
			_ = c.SetReadDeadline(after(10 * time.Second))
			go func() { _, _ = theirs.Write([]byte("x")) }()
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				t.Fatalf("after %v: %v", time.Since(began), err)
			}
			<-time.After(10 * time.Millisecond)
		}
		if under.sets > 10 {
			t.Errorf("set %d times for 1000 requests", under.sets)
		}
		_ = c.SetReadDeadline(after(10 * time.Second))
		ends("the same", 10*time.Second)
		_ = c.SetReadDeadline(after(time.Minute))
		ends("a later one", time.Minute)
		_ = c.SetReadDeadline(after(time.Second))
		ends("an earlier one", time.Second)
		_ = c.SetReadDeadline(after(time.Hour))
		_ = c.SetReadDeadline(after(time.Second))
		ends("an earlier one, before the later was waited for", time.Second)
		_ = c.SetReadDeadline(after(time.Second))
		_ = c.SetReadDeadline(time.Time{})
		go func() { <-time.After(time.Hour); _, _ = theirs.Write([]byte("x")) }()
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Errorf("none: %v", err)
		}
		_ = c.SetDeadline(after(time.Second))
		if n, err := c.Write([]byte("nobody reads")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write: %d, %v", n, err)
		}
		_ = theirs.Close()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the end: %v", err)
		}
	})
}
