package lab

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice"
)

// What an attempt came to, beside the reasons: no reason has these numbers.
const (
	codeOther   = 200 // an answer that the lab does not understand
	codeLost    = 201 // the connection failed before the answer came
	codeTimeout = 202 // no answer within the timeout
	codeCut     = 203 // the run was stopped first
)

// codeName gives the word for a code as the funnel shows it.
func codeName(code uint8) string {
	switch code {
	case codeOther:
		return "OTHER"
	case codeLost:
		return "NO_ANSWER"
	case codeTimeout:
		return "TIMEOUT"
	case codeCut, 0:
		return "NOT_SENT"
	}
	return sluice.Reason(code).String()
}

const (
	flagClaim    = 1 << iota // claim is set
	flagReplayed             // the server said so
	flagSent
)

// record is what the client saw of one attempt. Times are µs after the opening. Each is written by one worker only.
type record struct {
	claim  sluice.ClaimID
	status uint16
	code   uint8
	flags  uint8
	sent   uint32
	done   uint32
	paged  uint32 // when the page was answered; 0 without one
	lag    uint32 // how late the client sent it although a connection was free
}

// replay says whether the answer gave a claim again that came to be before.
func (r *record) replay() bool { return sluice.Reason(r.code).Admitted() && r.flags&flagReplayed != 0 }

// tally counts while the run goes on, for the progress line. One worker writes it, others read.
type tally struct {
	sent     atomic.Int64
	answered atomic.Int64
	reasons  [sluice.NumReasons]atomic.Int64
	replayed atomic.Int64
	trouble  atomic.Int64
	_        [64]byte // keeps neighbours off this one's cache line
}

func (t *tally) count(r *record) {
	switch {
	case r.replay():
		t.replayed.Add(1)
	case int(r.code) < sluice.NumReasons:
		t.reasons[r.code].Add(1)
	default:
		t.trouble.Add(1)
	}
	t.answered.Add(1)
}

// samples keeps the first few answers that the lab does not understand: without them a wrong set-up is a riddle.
type samples struct {
	mu   sync.Mutex
	list []string
}

func (s *samples) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) < maxSamples {
		s.list = append(s.list, text[:min(len(text), 300)])
	}
}

// shift is one run of the crowd: what all workers share.
type shift struct {
	cfg     Config
	crowd   *crowd
	opening time.Time
	records []record // one per arrival
	tallies []tally  // one per worker
	busy    []float64
	samples samples
	watch   *watch
}

// now gives µs after the opening.
func (s *shift) now() uint32 { return uint32(max(0, time.Since(s.opening).Microseconds())) }

// finish writes what attempt i came to.
func (s *shift) finish(i int, a answer, now uint32, t *tally) {
	r := &s.records[i]
	r.status, r.done = uint16(a.status), now
	readDecision(a.body, r)
	if r.code == codeOther {
		s.samples.add("HTTP " + strconv.Itoa(a.status) + " " + string(a.body))
	}
	t.count(r)
	if s.queued(i) {
		s.watch.begin(i)
	}
}

// fail writes that attempt i ended without an answer.
func (s *shift) fail(i int, code uint8, now uint32, t *tally) {
	s.records[i].code, s.records[i].done = code, now
	t.count(&s.records[i])
}

func (s *shift) progress(done bool) Progress {
	p := Progress{Elapsed: time.Since(s.opening), Of: int64(len(s.records)), Done: done}
	for w := range s.tallies {
		t := &s.tallies[w]
		p.Sent += t.sent.Load()
		p.Answered += t.answered.Load()
		p.Trouble += t.trouble.Load()
		p.Replayed += t.replayed.Load()
		for i := range p.Reasons {
			p.Reasons[i] += t.reasons[i].Load()
		}
	}
	return p
}
