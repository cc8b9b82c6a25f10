package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// loop is the client on Linux: one thread, one epoll, a share of the connections and of the arrivals. One request
// costs it one write, one read and a part of an epoll_wait; nothing is allocated and no goroutine is switched, since
// the client has to share the processors with the server that it measures.
type loop struct {
	s     *shift
	t     *tally
	who   int
	ep    int
	timer int
	sa    unix.Sockaddr
	conns []conn
	idle  ring // connections without a request
	next  int  // the worker's next arrival
	step  int
	open  int // requests sent and not finished
	buf   []byte
	now   uint32
}

// conn is one keep-alive connection.
type conn struct {
	fd    int
	at    int    // the attempt under way; -1 while idle
	page  bool   // the request under way is for the page
	out   []byte // what could not be written yet
	in    []byte // the start of an answer whose rest has not come
	free  uint32 // since when it is idle, µs after the opening
	since uint32 // when the request under way was sent
	up    bool   // connected
	gen   int32  // how often it was dialled: an event of a descriptor before this one is not its own
}

const (
	timerEvent  = -1
	loopEvents  = 256
	connEvents  = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
	connectWait = 15 * time.Second
	checkEvery  = 250_000 // µs between looks at timeouts and at the context
)

func newPump(s *shift, who int) pump {
	if s.crowd.target.tls {
		return newNetPump(s, who)
	}
	return &loop{
		s: s, t: &s.tallies[who], who: who, ep: -1, timer: -1, next: who, step: len(s.tallies),
		buf: make([]byte, maxResponse),
	}
}

// connect opens the worker's connections side by side and waits for all of them.
func (l *loop) connect(ctx context.Context) error {
	addr, err := net.ResolveTCPAddr("tcp", l.s.crowd.target.addr)
	if err != nil {
		return fmt.Errorf("lab: resolve %s: %w", l.s.crowd.target.addr, err)
	}
	l.sa = sockaddr(addr)
	if l.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("lab: epoll: %w", err)
	}
	if l.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return fmt.Errorf("lab: timer: %w", err)
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: timerEvent}
	if err = unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, l.timer, &ev); err != nil {
		return fmt.Errorf("lab: timer: %w", err)
	}
	l.conns = make([]conn, share(l.s.cfg.Connections, l.who, l.step))
	l.idle = newRing(len(l.conns))
	for i := range l.conns {
		l.conns[i] = conn{fd: -1, at: -1}
		if err := l.dial(i); err != nil {
			return fmt.Errorf("lab: connection %d to %s: %w", i+1, addr, err)
		}
	}
	deadline := time.Now().Add(connectWait)
	events := make([]unix.EpollEvent, loopEvents)
	for left := len(l.conns); left > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("lab: %d of %d connections to %s did not open in %v", left, len(l.conns), addr, connectWait)
		}
		n, err := unix.EpollWait(l.ep, events, 100)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lab: epoll: %w", err)
		}
		for _, e := range events[:max(n, 0)] {
			c := &l.conns[e.Fd]
			if e.Events&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
				code, _ := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
				return fmt.Errorf("lab: connect to %s: %w", addr, unix.Errno(code))
			}
			if e.Events&unix.EPOLLOUT != 0 && !c.up {
				c.up = true
				left--
				l.idle.push(int(e.Fd))
			}
		}
	}
	return nil
}

// dial starts connection i anew, without waiting for it.
func (l *loop) dial(i int) error {
	c := &l.conns[i]
	family := unix.AF_INET6
	if _, ok := l.sa.(*unix.SockaddrInet4); ok {
		family = unix.AF_INET
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c.fd, c.in, c.out, c.up = fd, c.in[:0], nil, false
	c.gen++
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if err := unix.Connect(fd, l.sa); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	return unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: connEvents, Fd: int32(i), Pad: c.gen})
}

// run works through the schedule. It returns when every attempt of its share is finished, or when ctx ends.
func (l *loop) run(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, cpu := time.Now(), threadCPU()
	defer func() { l.s.busy[l.who] = (threadCPU() - cpu) / max(time.Since(began).Seconds(), 1e-9) }()
	events := make([]unix.EpollEvent, loopEvents)
	var checked uint32
	for l.next < len(l.s.records) || l.open > 0 {
		l.now = l.s.now()
		for l.due() && l.idle.n > 0 {
			l.send(l.idle.pop())
		}
		if l.now-checked >= checkEvery {
			checked = l.now
			if l.check(ctx) {
				return
			}
		}
		n, err := unix.EpollWait(l.ep, events, l.patience())
		if err != nil && !errors.Is(err, unix.EINTR) {
			return // cannot be: the descriptor is ours
		}
		for _, e := range events[:max(n, 0)] {
			if e.Fd != timerEvent {
				l.handle(int(e.Fd), e.Pad, e.Events)
			}
		}
	}
}

func (l *loop) due() bool {
	return l.next < len(l.s.records) && l.s.crowd.arrivals[l.next].at <= l.now
}

// patience arms the timer for the next arrival and says how long epoll may wait, in ms.
func (l *loop) patience() int {
	if l.next >= len(l.s.records) || l.idle.n == 0 {
		return checkEvery / 1000
	}
	gap := int64(l.s.crowd.arrivals[l.next].at) - int64(l.s.now())
	if gap <= 0 {
		return 0
	}
	if gap < checkEvery {
		at := unix.NsecToTimespec(max(gap, 50) * 1000)
		_ = unix.TimerfdSettime(l.timer, 0, &unix.ItimerSpec{Value: at}, nil)
	}
	return checkEvery / 1000
}

// send takes the next arrival on the idle connection i.
func (l *loop) send(i int) {
	c, k := &l.conns[i], l.next
	l.next += l.step
	l.now = l.s.now()
	r := &l.s.records[k]
	a := l.s.crowd.arrivals[k]
	r.sent, r.lag = l.now, l.now-max(a.at, c.free)
	r.flags |= flagSent
	l.t.sent.Add(1)
	l.open++
	c.at, c.since = k, l.now
	if c.fd < 0 {
		if l.dial(i) != nil {
			l.lose(i, codeLost)
			return
		}
	}
	c.page = l.s.crowd.page != nil
	if c.page {
		l.write(i, l.s.crowd.page)
	} else {
		l.write(i, l.s.crowd.request(a.buyer))
	}
}

func (l *loop) write(i int, b []byte) {
	c := &l.conns[i]
	n, err := unix.Write(c.fd, b)
	switch {
	case err == nil && n == len(b):
		c.out = nil
	case err == nil, errors.Is(err, unix.EAGAIN):
		c.out = b[max(n, 0):] // goes on when epoll says there is room, or that it is connected
	default:
		l.lose(i, codeLost)
	}
}

// handle carries on with connection i after an event. Each step may have replaced the connection.
func (l *loop) handle(i int, gen int32, ev uint32) {
	c := &l.conns[i]
	if c.gen == gen && ev&unix.EPOLLOUT != 0 && len(c.out) > 0 {
		l.write(i, c.out)
	}
	if c.gen == gen && ev&unix.EPOLLIN != 0 {
		l.read(i)
	}
	if c.gen == gen && c.fd >= 0 && ev&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		l.lose(i, codeLost)
	}
}

func (l *loop) read(i int) {
	c := &l.conns[i]
	if c.fd < 0 {
		return
	}
	n, err := unix.Read(c.fd, l.buf)
	if errors.Is(err, unix.EAGAIN) {
		return
	}
	if err != nil || n == 0 {
		l.lose(i, codeLost)
		return
	}
	b := l.buf[:n]
	if len(c.in) > 0 {
		c.in = append(c.in, b...)
		b = c.in
	}
	if c.at < 0 {
		l.lose(i, codeLost) // bytes that nobody asked for
		return
	}
	a, more, err := parseAnswer(b)
	switch {
	case err != nil || (!more && a.size != len(b)):
		l.s.samples.add("no HTTP/1.1 answer: " + string(b[:min(len(b), 200)]))
		l.lose(i, codeLost)
		return
	case more:
		if len(c.in) == 0 {
			c.in = append(c.in, b...)
		}
		return
	}
	l.answered(i, a)
}

// answered takes the whole answer of connection i and gives the connection its next work.
func (l *loop) answered(i int, a answer) {
	c := &l.conns[i]
	l.now = l.s.now()
	if c.page && a.status == 200 {
		c.page, c.since, c.in = false, l.now, c.in[:0]
		l.s.records[c.at].paged = l.now
		if a.close {
			l.shut(c)
			if l.dial(i) != nil {
				l.lose(i, codeLost)
				return
			}
		}
		l.write(i, l.s.crowd.request(l.s.crowd.arrivals[c.at].buyer))
		return
	}
	l.s.finish(c.at, a, l.now, l.t)
	l.open--
	c.at, c.free, c.in = -1, l.now, c.in[:0]
	if a.close {
		l.shut(c)
	}
	if l.due() && l.idle.n == 0 {
		l.send(i)
		return
	}
	l.idle.push(i)
}

// lose ends connection i, and the attempt under way on it as code. The next request on it connects anew.
func (l *loop) lose(i int, code uint8) {
	c := &l.conns[i]
	l.shut(c)
	if c.at < 0 {
		return // it is among the idle ones already
	}
	l.now = l.s.now()
	l.s.fail(c.at, code, l.now, l.t)
	l.open--
	c.at, c.free = -1, l.now
	l.idle.push(i)
}

func (l *loop) shut(c *conn) {
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
	}
	c.fd, c.out, c.in, c.up = -1, nil, c.in[:0], false
}

// check ends attempts that waited too long; true when ctx has ended and everything is abandoned.
func (l *loop) check(ctx context.Context) bool {
	cut := ctx.Err() != nil
	limit := uint32(min(l.s.cfg.Timeout.Microseconds(), 1<<31))
	for i := range l.conns {
		if c := &l.conns[i]; c.at >= 0 && cut {
			l.lose(i, codeCut)
		} else if c.at >= 0 && l.now-c.since > limit {
			l.lose(i, codeTimeout)
		}
	}
	return cut
}

func (l *loop) close() {
	for i := range l.conns {
		l.shut(&l.conns[i])
	}
	for _, fd := range []int{l.timer, l.ep} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

func sockaddr(a *net.TCPAddr) unix.Sockaddr {
	if ip := a.IP.To4(); ip != nil {
		return &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(ip)}
	}
	if a.IP == nil {
		return &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte{127, 0, 0, 1}}
	}
	return &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP.To16())}
}

// threadCPU gives the seconds of CPU that the calling thread has used.
func threadCPU() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return seconds(u.Utime) + seconds(u.Stime)
}

func seconds(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
