package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// pump is one worker of the client: it connects, then works through its share of the schedule.
type pump interface {
	// connect opens every connection before the clock runs.
	connect(ctx context.Context) error
	// run returns when every attempt of the worker is finished or abandoned.
	run(ctx context.Context)
	close()
}

// share gives how many of n things worker who of parts gets.
func share(n, who, parts int) int { return n*(who+1)/parts - n*who/parts }

// ring is a queue of connections with a fixed capacity: the one that is idle longest goes first, so that all are used.
type ring struct {
	list []int
	head int
	n    int
}

func newRing(size int) ring { return ring{list: make([]int, size)} }

func (r *ring) push(i int) {
	r.list[(r.head+r.n)%len(r.list)] = i
	r.n++
}

func (r *ring) pop() int {
	i := r.list[r.head]
	r.head = (r.head + 1) % len(r.list)
	r.n--
	return i
}

// netPump is the client where epoll or plain TCP is not to be had: one goroutine a connection. It costs about twice
// as much CPU a request.
type netPump struct {
	s     *shift
	t     *tally
	who   int
	conns []net.Conn
	next  atomic.Int64
}

func newNetPump(s *shift, who int) *netPump { return &netPump{s: s, t: &s.tallies[who], who: who} }

func (p *netPump) connect(ctx context.Context) error {
	p.conns = make([]net.Conn, share(p.s.cfg.Connections, p.who, len(p.s.tallies)))
	errs := make(chan error, len(p.conns))
	for i := range p.conns {
		go func() {
			var err error
			p.conns[i], err = p.s.dial(ctx)
			errs <- err
		}()
	}
	var first error
	for range p.conns {
		if err := <-errs; err != nil && first == nil {
			first = fmt.Errorf("lab: connect to %s: %w", p.s.crowd.target.addr, err)
		}
	}
	return first
}

func (p *netPump) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		for _, c := range p.conns {
			if c != nil {
				_ = c.SetDeadline(time.Unix(1, 0))
			}
		}
	})
	defer stop()
	var wg sync.WaitGroup
	for i := range p.conns {
		wg.Go(func() { p.serve(ctx, i) })
	}
	wg.Wait()
}

// serve sends the attempts of this worker one after the other on connection i, each at its time.
func (p *netPump) serve(ctx context.Context, i int) {
	br := bufio.NewReaderSize(p.conns[i], 4096)
	free := uint32(0)
	for ctx.Err() == nil {
		k := p.who + int(p.next.Add(1)-1)*len(p.s.tallies)
		if k >= len(p.s.records) {
			return
		}
		a := p.s.crowd.arrivals[k]
		wait := time.NewTimer(time.Until(p.s.opening.Add(time.Duration(a.at) * time.Microsecond)))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		r := &p.s.records[k]
		r.sent = p.s.now()
		r.lag = r.sent - min(r.sent, max(a.at, free))
		r.flags |= flagSent
		p.t.sent.Add(1)
		ans, err := p.visit(ctx, i, br, k)
		free = p.s.now()
		if err != nil {
			code := uint8(codeLost)
			var ne net.Error
			switch {
			case ctx.Err() != nil:
				code = codeCut
			case errors.As(err, &ne) && ne.Timeout():
				code = codeTimeout
			}
			p.s.fail(k, code, free, p.t)
		} else {
			p.s.finish(k, ans, free, p.t)
		}
		if err != nil || ans.close {
			_ = p.again(ctx, i, br) // where it fails, the next attempt says so
		}
	}
}

// again connects anew in place of connection i.
func (p *netPump) again(ctx context.Context, i int, br *bufio.Reader) error {
	_ = p.conns[i].Close()
	c, err := p.s.dial(ctx)
	if err == nil {
		p.conns[i] = c
		br.Reset(c)
	}
	return err
}

// visit is one attempt: the page where wanted, then the claim.
func (p *netPump) visit(ctx context.Context, i int, br *bufio.Reader, k int) (answer, error) {
	if p.s.crowd.page != nil {
		a, err := p.trip(i, br, p.s.crowd.page)
		if err != nil || a.status != 200 {
			return a, err
		}
		p.s.records[k].paged = p.s.now()
		if a.close {
			if err := p.again(ctx, i, br); err != nil {
				return a, err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	return p.trip(i, br, p.s.crowd.request(p.s.crowd.arrivals[k].buyer))
}

func (p *netPump) trip(i int, br *bufio.Reader, request []byte) (answer, error) {
	c := p.conns[i]
	_ = c.SetDeadline(time.Now().Add(p.s.cfg.Timeout))
	if _, err := c.Write(request); err != nil {
		return answer{}, err
	}
	var b []byte
	for {
		if _, err := br.Peek(1); err != nil {
			return answer{}, err
		}
		part, _ := br.Peek(br.Buffered())
		b = append(b, part...)
		_, _ = br.Discard(len(part))
		a, more, err := parseAnswer(b)
		if !more {
			return a, err
		}
	}
}

func (p *netPump) close() {
	for _, c := range p.conns {
		if c != nil {
			_ = c.Close()
		}
	}
}
