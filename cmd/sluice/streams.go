package main

import (
	"io"
	"sync/atomic"
)

// counter counts what is read through it, for a progress that another goroutine shows.
type counter struct {
	r io.Reader
	n atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func (c *counter) read() int64 { return c.n.Load() }

// nopCloser makes a writer that somebody else closes.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
