package lab

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// Screen shows how a run stands: one line that is drawn anew on a terminal, one line a second elsewhere.
type Screen struct {
	w    io.Writer
	tty  bool
	tall bool // a block with a line per reason instead of one line

	mu    sync.Mutex
	last  time.Duration // of the last plain line
	lines int           // that stand on the terminal and are to be drawn over
}

// NewScreen makes a Screen on w. A tall one shows the funnel by reason on a terminal, and leaves it standing at the
// end.
func NewScreen(w io.Writer, tty, tall bool) *Screen { return &Screen{w: w, tty: tty, tall: tall} }

// Stage says what is about to happen.
func (s *Screen) Stage(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tty {
		_, _ = fmt.Fprintf(s.w, "  %s\n", what)
		return
	}
	s.draw("  " + what + "…")
}

// Clear takes what is drawn off the terminal, before something else is printed.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines > 0 {
		_, _ = io.WriteString(s.w, s.over())
		s.lines = 0
	}
}

// Progress shows p.
func (s *Screen) Progress(p Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.tty && s.tall:
		s.draw(p.block())
	case s.tty:
		s.draw("  " + p.line(true))
	case p.Done || p.Elapsed-s.last >= time.Second || s.last == 0:
		s.last = p.Elapsed
		_, _ = io.WriteString(s.w, "  "+p.line(false)+"\n")
	}
	if p.Done && s.lines > 0 {
		_, _ = io.WriteString(s.w, "\n")
		s.lines = 0
	}
}

// draw puts text over what was drawn last. The cursor stays at the end of its last line.
func (s *Screen) draw(text string) {
	_, _ = io.WriteString(s.w, s.over()+text)
	s.lines = strings.Count(text, "\n") + 1
}

// over moves to the start of what is drawn and wipes it.
func (s *Screen) over() string {
	if s.lines > 1 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", s.lines-1)
	}
	return "\r\x1b[K"
}

// line is p in one line of at most 100 columns.
func (p Progress) line(bar bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%5.1f s  ", p.Elapsed.Seconds())
	if bar {
		b.WriteString(gauge(p.Answered, p.Of, 20) + "  ")
	}
	fmt.Fprintf(&b, "%s/%s answered", Thousands(p.Answered), Thousands(p.Of))
	shown := int64(0)
	part := func(n int64, words string) {
		if n > 0 {
			fmt.Fprintf(&b, "  %s %s", Thousands(n), words)
		}
		shown += n
	}
	part(p.Reasons[sluice.ReasonConfirmed], "confirmed")
	part(p.Reasons[sluice.ReasonQueued], "promised")
	part(p.Replayed, "again")
	part(p.Reasons[sluice.ReasonSoldOut], "sold out")
	part(p.Trouble, "without answer")
	part(p.Answered-shown, "refused")
	return b.String()
}

// block is p as a funnel: a line of the whole, and one for each reason that occurred.
func (p Progress) block() string {
	const width = 40
	var b strings.Builder
	fmt.Fprintf(&b, "  %5.1f s  %s  %s/%s answered", p.Elapsed.Seconds(), gauge(p.Answered, p.Of, 20),
		Thousands(p.Answered), Thousands(p.Of))
	row := func(name string, n int64) {
		if n > 0 {
			fmt.Fprintf(&b, "\n    %-18s %11s  %s", name, Thousands(n), strings.Repeat("█", max(1, int(n*width/max(p.Of, 1)))))
		}
	}
	for _, r := range sluice.Reasons() {
		row(r.String(), p.Reasons[r])
	}
	row(replayed, p.Replayed)
	row("NO_ANSWER", p.Trouble)
	return b.String()
}

func gauge(n, of int64, width int) string {
	full := int(n * int64(width) / max(of, 1))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}
