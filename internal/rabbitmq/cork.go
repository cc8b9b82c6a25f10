package rabbitmq

import (
	"net"
	"os"
	"sync"
	"time"
)

// cork is a connection whose writes gather while the last one is under way. The driver writes once per message; here a
// batch of messages becomes one system call, and nobody waits for a timer. A failed write shows at the next one, and as
// a confirmation that does not come.
type cork struct {
	net.Conn

	mu    sync.Mutex
	ready sync.Cond // something to write, room again, or the end
	buf   []byte    // gathered
	err   error     // why nothing is written any more
	done  chan struct{}
}

func newCork(c net.Conn) *cork {
	k := &cork{Conn: c, done: make(chan struct{})}
	k.ready.L = &k.mu
	go k.run()
	return k
}

// Write gathers; it waits only where writeBuffer bytes wait already.
func (k *cork) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.err == nil && len(k.buf) > 0 && len(k.buf)+len(b) > writeBuffer {
		k.ready.Wait()
	}
	if k.err != nil {
		return 0, k.err
	}
	k.buf = append(k.buf, b...)
	k.ready.Broadcast()
	return len(b), nil
}

func (k *cork) run() {
	defer close(k.done)
	var out []byte
	for {
		k.mu.Lock()
		for len(k.buf) == 0 && k.err == nil {
			k.ready.Wait()
		}
		if len(k.buf) == 0 {
			k.mu.Unlock()
			return
		}
		out, k.buf = k.buf, out[:0]
		k.ready.Broadcast()
		k.mu.Unlock()
		err := k.Conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if err == nil {
			_, err = k.Conn.Write(out)
		}
		if err != nil {
			k.fail(err)
			_ = k.Conn.Close() // the reader has to hear of it
			return
		}
	}
}

func (k *cork) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = err
	}
	k.ready.Broadcast()
}

// Close writes what was gathered, for closeTimeout at most, and closes.
func (k *cork) Close() error {
	k.fail(os.ErrClosed)
	t := time.NewTimer(closeTimeout)
	defer t.Stop()
	select {
	case <-k.done:
	case <-t.C:
	}
	return k.Conn.Close()
}

// abort closes at once: what was gathered is lost.
func (k *cork) abort() {
	k.fail(os.ErrClosed)
	_ = k.Conn.Close()
}

// SetDeadline bounds reading. Each write has a deadline of its own.
func (k *cork) SetDeadline(t time.Time) error { return k.Conn.SetReadDeadline(t) }
