package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progress shows how far long work has come, on stderr: one line that is written over at a terminal, else a line
// every few seconds. It belongs to one goroutine.
type progress struct {
	out      io.Writer
	terminal bool
	every    time.Duration
	now      func() time.Time
	began    time.Time
	last     time.Time
	width    int // of the line that stands there
}

// newProgress makes one; quiet gives one that shows nothing.
func newProgress(out io.Writer, quiet bool) *progress {
	if quiet {
		out = io.Discard
	}
	p := &progress{out: out, terminal: isTerminal(out), every: 5 * time.Second, now: time.Now}
	if p.terminal {
		p.every = 100 * time.Millisecond
	}
	p.began = p.now()
	return p
}

// at shows that done of of are done; of may be 0 where it is not known. It writes only when it is time again.
func (p *progress) at(what string, done, of int64) {
	now := p.now()
	if now.Sub(p.last) < p.every && now.Sub(p.began) >= p.every || !p.terminal && now.Sub(p.began) < p.every {
		return
	}
	p.last = now
	text := what + " " + thousands(done)
	if of > 0 {
		text = fmt.Sprintf("%s %s of %s (%d%%)", what, thousands(done), thousands(of), min(100, done*100/of))
		if elapsed := now.Sub(p.began); done > 0 && done < of && elapsed > time.Second {
			left := time.Duration(float64(elapsed) * float64(of-done) / float64(done))
			text += ", about " + left.Round(time.Second).String() + " left"
		}
	}
	p.write(text)
}

func (p *progress) write(text string) {
	if !p.terminal {
		fmt.Fprintln(p.out, text)
		return
	}
	pad := strings.Repeat(" ", max(0, p.width-len(text)))
	fmt.Fprint(p.out, "\r"+text+pad)
	p.width = len(text)
}

// end leaves the line.
func (p *progress) end() {
	if p.terminal && p.width > 0 {
		fmt.Fprint(p.out, "\r"+strings.Repeat(" ", p.width)+"\r")
		p.width = 0
	}
}

// thousands writes 1234567 as 1,234,567.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// some writes a number with its noun: 1 order, 2,000 orders. The noun takes an s.
func some(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}
