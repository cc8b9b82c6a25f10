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
	name string // before each line, where several runs share a screen

	mu    sync.Mutex
	last  time.Duration // of the last plain line
	drawn bool          // a line without its newline stands on the terminal
}

// NewScreen makes a Screen on w. name may be empty.
func NewScreen(w io.Writer, tty bool, name string) *Screen {
	return &Screen{w: w, tty: tty, name: name}
}

// Stage says what is about to happen.
func (s *Screen) Stage(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tty {
		_, _ = fmt.Fprintf(s.w, "%s%s\n", s.prefix(), what)
		return
	}
	_, _ = fmt.Fprintf(s.w, "\r\x1b[K%s%s…", s.prefix(), what)
	s.drawn = true
}

// Clear takes the line off the terminal, before something else is printed.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn {
		_, _ = io.WriteString(s.w, "\r\x1b[K")
		s.drawn = false
	}
}

// Progress shows p.
func (s *Screen) Progress(p Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tty {
		end := ""
		if p.Done {
			end = "\n"
		}
		_, _ = io.WriteString(s.w, "\r\x1b[K"+s.prefix()+p.line(true)+end)
		s.drawn = !p.Done
		return
	}
	if p.Done || p.Elapsed-s.last >= time.Second || s.last == 0 {
		s.last = p.Elapsed
		_, _ = io.WriteString(s.w, s.prefix()+p.line(false)+"\n")
	}
}

func (s *Screen) prefix() string {
	if s.name == "" {
		return "  "
	}
	return fmt.Sprintf("  %-7s", s.name)
}

// line is p in one line of at most 100 columns.
func (p Progress) line(bar bool) string {
	const width = 20
	var b strings.Builder
	fmt.Fprintf(&b, "%5.1f s  ", p.Elapsed.Seconds())
	if bar && p.Of > 0 {
		full := int(p.Answered * width / p.Of)
		b.WriteString(strings.Repeat("█", full) + strings.Repeat("░", width-full) + "  ")
	}
	fmt.Fprintf(&b, "%s/%s answered", Thousands(p.Answered), Thousands(p.Of))
	shown := int64(0)
	part := func(n int64, words string) {
		if n > 0 {
			fmt.Fprintf(&b, "  %s %s", Thousands(n), words)
		}
		shown += n
	}
	part(p.Reasons[sluice.ReasonConfirmed]+p.Reasons[sluice.ReasonQueued], "confirmed")
	part(p.Reasons[sluice.ReasonSoldOut], "sold out")
	part(p.Trouble, "without answer")
	part(p.Answered-shown, "refused")
	return b.String()
}
