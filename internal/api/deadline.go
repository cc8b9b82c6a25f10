package api

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// The server moves three deadlines for each request: for the first byte, for the whole request, for the answer. Each
// costs a timer, and nearly always the next one is later. A lazyConn keeps the deadline it was told and sets the
// connection's own only where that is later than the one told; when the connection's own passes first, it looks whether
// the time has come at all.
type lazyConn struct {
	net.Conn
	read, write lazyLimit
}

// lazyLimit is one deadline: as it was told, and as it is set. UTC ns; zero means none.
type lazyLimit struct{ told, set atomic.Int64 }

// tell notes the deadline t and says whether it has to be set now.
func (l *lazyLimit) tell(t time.Time) bool {
	var at int64
	if !t.IsZero() {
		at = t.UnixNano()
	}
	l.told.Store(at)
	set := l.set.Load()
	if at == set || at != 0 && set != 0 && set < at {
		return false
	}
	l.set.Store(at)
	return true
}

// passed says, of an error that the connection gave, whether it is a deadline that has not come, and then sets the one
// that was told.
func (l *lazyLimit) passed(err error, set func(time.Time) error) (goOn bool) {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	at := l.told.Load()
	if at == 0 {
		l.set.Store(0)
		return set(time.Time{}) == nil
	}
	t := time.Unix(0, at)
	if !time.Now().Before(t) {
		return false
	}
	l.set.Store(at)
	return set(t) == nil
}

// SetReadDeadline, SetWriteDeadline and SetDeadline take effect as those of a net.Conn do.
func (c *lazyConn) SetReadDeadline(t time.Time) error {
	if !c.read.tell(t) {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline is as SetReadDeadline.
func (c *lazyConn) SetWriteDeadline(t time.Time) error {
	if !c.write.tell(t) {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline sets both.
func (c *lazyConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Read reads until the deadline that was told.
func (c *lazyConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err == nil || n > 0 || !c.read.passed(err, c.Conn.SetReadDeadline) {
			return n, err
		}
	}
}

// Write writes until the deadline that was told.
func (c *lazyConn) Write(b []byte) (n int, err error) {
	for {
		var m int
		m, err = c.Conn.Write(b[n:])
		n += m
		if err == nil || !c.write.passed(err, c.Conn.SetWriteDeadline) {
			return n, err
		}
	}
}

// lazyListener gives such connections.
type lazyListener struct{ net.Listener }

// Accept waits for a connection.
func (l lazyListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lazyConn{Conn: c}, nil
}
