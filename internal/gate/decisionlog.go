package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// Bounds of the decision log.
const (
	maxLogLine  = 4 << 10 // room that is kept for the next line; longer ones get room of their own
	maxLogWrite = 64 << 10
)

// decisionLog writes one JSON line a decision: never a token, a pass, a coupon code or a request id. Claims do not
// wait for it: lines queue in a channel, and those that find it full are dropped and counted.
type decisionLog struct {
	out     io.Writer // owned by run
	logger  *slog.Logger
	lines   chan *[]byte
	free    sync.Pool
	dropped atomic.Int64

	mu     sync.RWMutex // closed is never set while a line is being handed in
	closed bool
	done   chan struct{}
}

func newDecisionLog(out io.Writer, queue int, logger *slog.Logger) *decisionLog {
	l := &decisionLog{out: out, logger: logger, lines: make(chan *[]byte, queue), done: make(chan struct{})}
	l.free.New = func() any { b := make([]byte, 0, 512); return &b }
	go l.run()
	return l
}

// write queues the line of a decision that the check named by has made at `at` after took.
func (l *decisionLog) write(w *walk, by string, at sluice.Millis, took time.Duration) {
	line := l.free.Get().(*[]byte)
	*line = appendDecision((*line)[:0], w, by, at, took)
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.closed {
		select {
		case l.lines <- line:
			return
		default:
		}
	}
	l.dropped.Add(1)
	l.recycle(line)
}

func (l *decisionLog) recycle(line *[]byte) {
	if cap(*line) <= maxLogLine {
		l.free.Put(line)
	}
}

// run writes what has gathered, in one piece.
func (l *decisionLog) run() {
	defer close(l.done)
	buf := make([]byte, 0, maxLogWrite)
	n := int64(0)
	for line := range l.lines {
		buf, n = append(buf, *line...), n+1
		l.recycle(line)
		if len(l.lines) > 0 && len(buf) < maxLogWrite-maxLogLine {
			continue
		}
		if _, err := l.out.Write(buf); err != nil {
			l.dropped.Add(n)
			l.logger.Warn("gate: decision log", "error", err, "lines", n)
		}
		buf, n = buf[:0], 0
	}
}

func (l *decisionLog) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.lines)
	}
	l.mu.Unlock()
	<-l.done
}

func appendDecision(b []byte, w *walk, by string, at sluice.Millis, took time.Duration) []byte {
	d := &w.decision
	b = append(b, `{"time":"`...)
	b = at.Time().AppendFormat(b, "2006-01-02T15:04:05.000Z07:00")
	b = appendText(append(b, '"'), "campaign", w.req.Campaign)
	b = appendText(b, "reason", d.Reason.String())
	b = appendText(b, "check", by)
	if w.entry != nil {
		b = strconv.AppendInt(append(b, `,"after_ms":`...), int64(at-w.entry.campaign.StartsAt), 10)
	}
	if w.token != nil {
		b = appendText(b, "user", w.token.identity.User)
	}
	device := w.device
	if device == "" {
		device = w.req.Device
	}
	b = appendText(b, "device", device)
	if w.req.Addr.IsValid() {
		b = w.req.Addr.AppendTo(append(b, `,"addr":"`...))
		b = append(b, '"')
	}
	if w.req.RequestID != "" {
		sum := sha256.Sum256([]byte(w.req.RequestID))
		b = hex.AppendEncode(append(b, `,"request":"`...), sum[:8])
		b = append(b, '"')
	}
	if d.HasID {
		b = d.ID.AppendTo(append(b, `,"claim_id":"`...))
		b = append(b, '"')
	}
	if d.Replayed {
		b = append(b, `,"replayed":true`...)
	}
	b = appendText(b, "reference", d.Reference)
	b = appendText(b, "rule", w.verdict.Rule)
	if w.verdict.Slow > 1 {
		b = append(b, `,"slowed":true`...)
	}
	if w.verdict.Challenge || w.solved {
		b = append(b, `,"challenged":true`...)
	}
	b = strconv.AppendInt(append(b, `,"quantity":`...), int64(w.quantity), 10)
	b = strconv.AppendInt(append(b, `,"took_us":`...), took.Microseconds(), 10)
	return append(b, "}\n"...)
}

// appendText appends a member, none where the text is empty.
func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":"`...)
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < 0x20 || r == '\u2028' || r == '\u2029':
			const digits = "0123456789abcdef"
			b = append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
		default:
			b = utf8.AppendRune(b, r) // an invalid byte has become U+FFFD
		}
	}
	return append(b, '"')
}
