package analysis

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// line is one decision of the log. The slices point into the buffer it was read from, or into scratch.
type line struct {
	at         sluice.Millis
	after      sluice.Millis // since the campaign's start
	hasAfter   bool
	reason     sluice.Reason
	campaign   []byte
	user       []byte
	device     []byte
	addr       []byte
	rule       []byte
	quantity   int64
	replayed   bool
	challenged bool
	slowed     bool

	scratch []byte // of texts with escapes
}

// parse reads one line: a flat JSON object as the gate writes it, in any order, unknown members passed over. False for
// anything else, and where time, campaign or reason is missing or no such thing. It allocates only for escapes.
func (l *line) parse(b []byte) bool {
	*l = line{scratch: l.scratch[:0], quantity: 1}
	s := scanner{b: b, l: l}
	return s.object() && l.at != 0 && l.campaign != nil && l.reason != sluice.ReasonNone
}

type scanner struct {
	b []byte
	i int
	l *line
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\r' || s.b[s.i] == '\n') {
		s.i++
	}
}

// next says whether c comes next, and passes it.
func (s *scanner) next(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) object() bool {
	if !s.next('{') {
		return false
	}
	for first := true; !s.next('}'); first = false {
		if !first && !s.next(',') {
			return false
		}
		key, ok := s.text()
		if !ok || !s.next(':') || !s.member(key) {
			return false
		}
	}
	s.space()
	return s.i == len(s.b)
}

// member reads one value; nested ones are not of this log.
func (s *scanner) member(key []byte) bool {
	s.space()
	if s.i >= len(s.b) {
		return false
	}
	switch c := s.b[s.i]; {
	case c == '"':
		v, ok := s.text()
		return ok && s.l.setText(key, v)
	case c == '-' || c >= '0' && c <= '9':
		return s.number(key)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if len(s.b)-s.i >= len(word) && string(s.b[s.i:s.i+len(word)]) == word {
			s.i += len(word)
			s.l.setBool(key, word == "true")
			return true
		}
	}
	return false
}

// number reads an integer; one with a fraction or an exponent is passed over.
func (s *scanner) number(key []byte) bool {
	from, whole := s.i, true
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c >= '0' && c <= '9' || c == '-' && s.i == from:
			continue
		case c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-':
			whole = false
			continue
		}
		break
	}
	digits := bytes.TrimPrefix(s.b[from:s.i], []byte("-"))
	if !whole || len(digits) > 1 && digits[0] == '0' {
		return json.Valid(s.b[from:s.i])
	}
	n, err := strconv.ParseInt(string(s.b[from:s.i]), 10, 64)
	if err != nil {
		return false
	}
	switch string(key) {
	case "quantity":
		s.l.quantity = n
		return n >= 0 && n <= sluice.MaxTotal
	case "after_ms":
		s.l.after, s.l.hasAfter = sluice.Millis(n), true
	}
	return true
}

// text reads a string; without escapes it is the bytes themselves.
func (s *scanner) text() ([]byte, bool) {
	if !s.next('"') {
		return nil, false
	}
	for from := s.i; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[from : s.i-1], true
		case c == '\\':
			return s.escaped(from)
		case c < 0x20:
			return nil, false
		}
	}
	return nil, false
}

// escaped goes on with a string that has an escape, from its begin on.
func (s *scanner) escaped(from int) ([]byte, bool) {
	at := len(s.l.scratch)
	out := append(s.l.scratch, s.b[from:s.i]...)
	for s.i < len(s.b) {
		c := s.b[s.i]
		s.i++
		switch {
		case c == '"':
			s.l.scratch = out
			return out[at:len(out):len(out)], true
		case c < 0x20:
			return nil, false
		case c != '\\':
			out = append(out, c)
			continue
		}
		if s.i >= len(s.b) {
			return nil, false
		}
		c = s.b[s.i]
		s.i++
		switch c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, ok := s.unicode()
			if !ok {
				return nil, false
			}
			out = utf8.AppendRune(out, r)
		default:
			return nil, false
		}
	}
	return nil, false
}

// unicode reads the four digits after \u, and the second half of a pair.
func (s *scanner) unicode() (rune, bool) {
	r, ok := s.hex()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if s.i+2 <= len(s.b) && s.b[s.i] == '\\' && s.b[s.i+1] == 'u' {
		back := s.i
		s.i += 2
		low, ok := s.hex()
		if !ok {
			return 0, false
		}
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, true
		}
		s.i = back
	}
	return utf8.RuneError, true
}

func (s *scanner) hex() (rune, bool) {
	if s.i+4 > len(s.b) {
		return 0, false
	}
	r, err := strconv.ParseUint(string(s.b[s.i:s.i+4]), 16, 32)
	s.i += 4
	return rune(r), err == nil
}

func (l *line) setText(key, v []byte) bool {
	switch string(key) {
	case "time":
		at, ok := parseTime(v)
		l.at = at
		return ok
	case "campaign":
		l.campaign = v
	case "reason":
		reason, ok := sluice.ParseReason(string(v))
		l.reason = reason
		return ok
	case "user":
		l.user = v
	case "device":
		l.device = v
	case "addr":
		l.addr = v
	case "rule":
		l.rule = v
	}
	return true
}

func (l *line) setBool(key []byte, v bool) {
	switch string(key) {
	case "replayed":
		l.replayed = v
	case "challenged":
		l.challenged = v
	case "slowed":
		l.slowed = v
	}
}

// parseTime reads RFC 3339. What the gate writes, UTC with three digits, is read by hand.
func parseTime(b []byte) (sluice.Millis, bool) {
	if len(b) != len("2006-01-02T15:04:05.000Z") || b[23] != 'Z' {
		t, err := time.Parse(time.RFC3339Nano, string(b))
		return sluice.MillisOf(t), err == nil && t.Year() > 1970
	}
	var n [7]int
	at := 0
	for k, width := range [...]int{4, 2, 2, 2, 2, 2, 3} {
		for range width {
			c := b[at]
			if c < '0' || c > '9' {
				return 0, false
			}
			n[k] = n[k]*10 + int(c-'0')
			at++
		}
		if b[at] != "--T::.Z"[k] {
			return 0, false
		}
		at++
	}
	if n[0] < 1971 || n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > 31 || n[3] > 23 || n[4] > 59 || n[5] > 60 {
		return 0, false
	}
	days := daysOf(n[0], n[1], n[2])
	return sluice.Millis(((int64(days)*24+int64(n[3]))*60+int64(n[4]))*60+int64(n[5]))*1000 + sluice.Millis(n[6]), true
}

// daysOf gives the days from 1970-01-01 to a date of the Gregorian calendar, years counted from March.
func daysOf(y, m, d int) int {
	if m <= 2 {
		y--
		m += 12
	}
	return 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 719469
}
