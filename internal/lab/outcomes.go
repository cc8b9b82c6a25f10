package lab

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of waiting for outcomes.
const (
	maxWatchers = 16_384          // buyers who wait at once, each on a connection of its own
	watchPoll   = "5000"          // ms of one long poll
	watchPause  = time.Second / 5 // after a poll that failed
)

// What a queued claim came to.
const (
	outcomeOpen      = iota
	outcomeConfirmed // or released since
	outcomeRejected
)

// Outcomes is what became of the claims that were answered QUEUED: each of their buyers waits for it, by a long poll on
// a connection of its own.
type Outcomes struct {
	Queued    int64     `json:"queued"`
	Confirmed int64     `json:"confirmed"`
	Rejected  int64     `json:"rejected"`
	Open      int64     `json:"open"`                 // never heard what became of them
	Wait      Quantiles `json:"wait"`                 // from the answer QUEUED until the outcome was read
	LastAfter float64   `json:"last_outcome_after_s"` // after the last answer of the crowd; 0: before it
}

// watch is the buyers who wait. Each record's fields here are written by its own watcher only.
type watch struct {
	s     *shift
	queue chan int // attempts that were answered QUEUED; room for all of them
	at    []uint32 // by attempt: when its outcome was read, µs after the opening
	what  []uint8

	waiting atomic.Int64 // buyers without an outcome

	once   sync.Once
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
}

func newWatch(s *shift) *watch {
	n := len(s.records)
	return &watch{s: s, queue: make(chan int, n), at: make([]uint32, n), what: make([]uint8, n)}
}

// begin has the buyer of attempt i wait. The first call starts the watchers: nobody waits where nothing is queued.
func (w *watch) begin(i int) {
	w.once.Do(func() {
		w.ctx, w.cancel = context.WithCancel(context.Background())
		w.all.Go(w.run)
	})
	w.waiting.Add(1)
	w.queue <- i
}

// run starts a watcher for each attempt that comes, as many at once as there may be.
func (w *watch) run() {
	room := make(chan struct{}, maxWatchers)
	for i := range w.queue {
		room <- struct{}{}
		w.all.Go(func() {
			defer func() { w.waiting.Add(-1); <-room }()
			w.follow(i)
		})
	}
}

// end waits until every queued claim has its outcome, and gives up at last.
func (w *watch) end(ctx context.Context) {
	close(w.queue)
	if w.cancel == nil {
		return
	}
	defer w.cancel()
	give := time.AfterFunc(w.s.cfg.Patience, w.cancel)
	defer give.Stop()
	stop := context.AfterFunc(ctx, w.cancel)
	defer stop()
	w.all.Wait()
}

// follow asks for the claim of attempt i until it has an outcome.
func (w *watch) follow(i int) {
	var conn net.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	request := w.request(i)
	for w.ctx.Err() == nil {
		var err error
		if conn == nil {
			if conn, err = w.s.dial(w.ctx); err != nil {
				w.pause()
				continue
			}
		}
		state, err := w.ask(conn, request)
		switch {
		case err != nil:
			_ = conn.Close()
			conn = nil
			w.pause()
		case state == sluice.ClaimConfirmed.String() || state == sluice.ClaimReleased.String():
			w.at[i], w.what[i] = w.s.now(), outcomeConfirmed
			return
		case state == sluice.ClaimRejected.String():
			w.at[i], w.what[i] = w.s.now(), outcomeRejected
			return
		case state != sluice.ClaimQueued.String():
			w.pause()
		}
	}
}

func (w *watch) pause() {
	t := time.NewTimer(watchPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.ctx.Done():
	}
}

var (
	authorization = []byte("Authorization: Bearer ")
	newline       = []byte("\r\n")
)

// request is the long poll for the claim of attempt i, with the token of its buyer.
func (w *watch) request(i int) []byte {
	c := w.s.crowd
	_, rest, _ := bytes.Cut(c.request(c.arrivals[i].buyer), authorization)
	token, _, _ := bytes.Cut(rest, newline)
	b := append([]byte("GET "), c.target.base+"/v1/claims/"...)
	b = w.s.records[i].claim.AppendTo(b)
	b = append(b, "?wait_ms="+watchPoll+" HTTP/1.1\r\nHost: "+c.target.host+"\r\n"...)
	b = append(append(b, authorization...), token...)
	return append(b, "\r\n\r\n"...)
}

// ask makes one call; the state is empty where the answer is no claim.
func (w *watch) ask(conn net.Conn, request []byte) (state string, err error) {
	stop := context.AfterFunc(w.ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(request); err != nil {
		return "", err
	}
	br := bufio.NewReaderSize(conn, 1024)
	var in []byte
	buf := make([]byte, 1024)
	for {
		n, err := br.Read(buf)
		in = append(in, buf[:n]...)
		a, more, bad := parseAnswer(in)
		switch {
		case bad != nil:
			return "", bad
		case !more:
			var said struct{ State string }
			if json.Unmarshal(a.body, &said) != nil && a.status == 200 {
				return "", errWire
			}
			if a.close {
				err = io.EOF
			}
			return said.State, errUnless(said.State != "", err)
		case err != nil:
			return "", err
		}
	}
}

// errUnless drops an error that no longer matters.
func errUnless(done bool, err error) error {
	if done {
		return nil
	}
	return err
}

// dial opens one connection to the target.
func (s *shift) dial(ctx context.Context) (net.Conn, error) {
	d := &net.Dialer{Timeout: s.cfg.Timeout}
	if !s.crowd.target.tls {
		return d.DialContext(ctx, "tcp", s.crowd.target.addr)
	}
	td := &tls.Dialer{NetDialer: d, Config: &tls.Config{NextProtos: []string{"http/1.1"}, RootCAs: s.cfg.RootCAs}}
	return td.DialContext(ctx, "tcp", s.crowd.target.addr)
}

// outcomes reckons what the watchers saw; nil where nothing was queued.
func (s *shift) outcomes() *Outcomes {
	o, wait := &Outcomes{}, newHistogram()
	var answered, last uint32
	for i := range s.records {
		r := &s.records[i]
		answered = max(answered, r.done)
		if !s.queued(i) {
			continue
		}
		o.Queued++
		switch s.watch.what[i] {
		case outcomeConfirmed:
			o.Confirmed++
		case outcomeRejected:
			o.Rejected++
		default:
			o.Open++
			continue
		}
		last = max(last, s.watch.at[i])
		_ = wait.RecordValue(int64(max(s.watch.at[i], r.done+1) - r.done))
	}
	if o.Queued == 0 {
		return nil
	}
	o.Wait = quantiles(wait)
	o.LastAfter = round(math.Max(0, float64(last)-float64(answered))/1e6, 4)
	return o
}

// queued says whether attempt i was promised a unit that was not settled yet.
func (s *shift) queued(i int) bool {
	r := &s.records[i]
	return sluice.Reason(r.code) == sluice.ReasonQueued && r.flags&flagClaim != 0
}
