package api

import (
	"net/http"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// claimBody is the body of a claim, read by hand: this is the one decoder that every buyer passes in the same
// second. The strings point into the body, or into room where they were escaped.
type claimBody struct {
	requestID, pass       []byte
	hasRequestID, hasPass bool
	quantity              int // 0 where none was sent
	hasQuantity           bool

	faults []FieldProblem
	room   []byte
	data   []byte
	pos    int
}

// parse reads data: one JSON object with request_id, quantity (1 to limit) and pass, each optional and there once.
// Malformed JSON is a 400, a field at fault a 422. A body that is right costs no allocation.
func (b *claimBody) parse(data []byte, limit int) *Problem {
	*b = claimBody{data: data, room: b.room[:0], faults: b.faults[:0]}
	b.space()
	ok := false
	if b.peek() == '{' {
		ok = b.object(limit)
	} else if ok = b.skip(0); ok {
		b.fault("", "must be an object")
	}
	b.space()
	if !ok || b.pos != len(data) {
		return newProblem(http.StatusBadRequest, codeMalformed, "the body is not one JSON value")
	}
	return b.refused()
}

// refused gives the 422 of the faults found so far, nil where there are none.
func (b *claimBody) refused() *Problem {
	if len(b.faults) == 0 {
		return nil
	}
	p := newProblem(http.StatusUnprocessableEntity, codeValidation, "the request cannot be carried out as it stands")
	p.Errors = append(p.Errors, b.faults...)
	return p
}

func (b *claimBody) fault(field, detail string) {
	if len(b.faults) < maxErrors {
		b.faults = append(b.faults, FieldProblem{Field: field, Detail: detail})
	}
}

// object reads the members; false where the JSON is malformed.
func (b *claimBody) object(limit int) bool {
	b.pos++
	b.space()
	if b.take('}') {
		return true
	}
	for {
		b.space()
		key, ok := b.text()
		if !ok {
			return false
		}
		b.space()
		if !b.take(':') {
			return false
		}
		b.space()
		if !b.member(key, limit) {
			return false
		}
		b.space()
		if b.take('}') {
			return true
		}
		if !b.take(',') {
			return false
		}
	}
}

func (b *claimBody) member(key []byte, limit int) bool {
	switch string(key) {
	case "request_id":
		b.once(&b.hasRequestID, "request_id")
		return b.stringMember("request_id", &b.requestID, sluice.MaxRequestID)
	case "pass":
		b.once(&b.hasPass, "pass")
		return b.stringMember("pass", &b.pass, sluice.MaxPass)
	case "quantity":
		b.once(&b.hasQuantity, "quantity")
		return b.number(limit)
	}
	b.fault(string(key), "is not a field of a claim")
	return b.skip(1)
}

func (b *claimBody) once(seen *bool, name string) {
	if *seen {
		b.fault(name, "is there twice")
	}
	*seen = true
}

func (b *claimBody) stringMember(name string, into *[]byte, most int) bool {
	if b.peek() != '"' {
		b.fault(name, "must be a string")
		return b.skip(1)
	}
	s, ok := b.text()
	if !ok {
		return false
	}
	if detail := wrongName(s, most); detail != "" {
		b.fault(name, detail)
	}
	*into = s
	return true
}

// header takes the request id from the lines of the header Idempotency-Key. An empty one is a fault: a client that
// believes it has named its request would get another claim with every retry.
func (b *claimBody) header(lines [][]byte) {
	if len(lines) == 0 {
		return
	}
	key := lines[0]
	if len(lines) > 1 {
		b.fault("Idempotency-Key", "is there twice")
	}
	if detail := wrongName(key, sluice.MaxRequestID); detail != "" {
		b.fault("Idempotency-Key", detail)
	}
	if b.hasRequestID && string(b.requestID) != string(key) {
		b.fault("request_id", "must be the same as the header Idempotency-Key")
	}
	b.requestID = key
}

// wrongName says what is wrong with a name from outside; empty where nothing is.
func wrongName(s []byte, most int) string {
	if len(s) < 1 || len(s) > most {
		return "must be 1 to " + strconv.Itoa(most) + " bytes long"
	}
	if !utf8.Valid(s) {
		return "must be UTF-8"
	}
	for _, x := range s {
		if x < ' ' || x == 0x7f {
			return "must not contain control characters"
		}
	}
	return ""
}

func (b *claimBody) number(limit int) bool {
	if c := b.peek(); c != '-' && (c < '0' || c > '9') {
		b.fault("quantity", "must be a whole number")
		return b.skip(1)
	}
	start := b.pos
	whole, ok := b.numeral()
	if !ok {
		return false
	}
	if !whole {
		b.fault("quantity", "must be a whole number")
		return true
	}
	n, err := strconv.Atoi(unsafeString(b.data[start:b.pos]))
	switch {
	case err == nil && n >= 1 && n <= limit:
		b.quantity = n
	case b.data[start] == '-' || err == nil && n < 1:
		b.fault("quantity", "must be at least 1")
	default:
		b.fault("quantity", "must be at most "+strconv.Itoa(limit))
	}
	return true
}

// numeral passes over a JSON number; whole says that it has neither fraction nor exponent.
func (b *claimBody) numeral() (whole, ok bool) {
	b.take('-')
	if !b.take('0') && b.digits() == 0 {
		return false, false
	}
	whole = true
	if b.take('.') {
		if whole = false; b.digits() == 0 {
			return false, false
		}
	}
	if b.take('e') || b.take('E') {
		whole = false
		if !b.take('+') {
			b.take('-')
		}
		if b.digits() == 0 {
			return false, false
		}
	}
	return whole, true
}

func (b *claimBody) digits() int {
	start := b.pos
	for c := b.peek(); c >= '0' && c <= '9'; c = b.peek() {
		b.pos++
	}
	return b.pos - start
}

// peek gives the next byte, 0 at the end.
func (b *claimBody) peek() byte {
	if b.pos < len(b.data) {
		return b.data[b.pos]
	}
	return 0
}

func (b *claimBody) take(c byte) bool {
	if b.pos < len(b.data) && b.data[b.pos] == c {
		b.pos++
		return true
	}
	return false
}

func (b *claimBody) space() {
	for b.pos < len(b.data) {
		switch b.data[b.pos] {
		case ' ', '\t', '\n', '\r':
			b.pos++
		default:
			return
		}
	}
}

// skip passes over any value at the given depth; false where it is malformed or nested too deeply.
func (b *claimBody) skip(depth int) bool {
	if depth > maxNesting {
		return false
	}
	switch c := b.peek(); c {
	case '"':
		_, ok := b.text()
		return ok
	case '{':
		return b.skipAll('}', true, depth)
	case '[':
		return b.skipAll(']', false, depth)
	case 't':
		return b.word("true")
	case 'f':
		return b.word("false")
	case 'n':
		return b.word("null")
	}
	_, ok := b.numeral()
	return ok
}

func (b *claimBody) word(w string) bool {
	if len(b.data)-b.pos < len(w) || string(b.data[b.pos:b.pos+len(w)]) != w {
		return false
	}
	b.pos += len(w)
	return true
}

func (b *claimBody) skipAll(end byte, keys bool, depth int) bool {
	b.pos++
	b.space()
	if b.take(end) {
		return true
	}
	for {
		b.space()
		if keys {
			if _, ok := b.text(); !ok {
				return false
			}
			b.space()
			if !b.take(':') {
				return false
			}
			b.space()
		}
		if !b.skip(depth + 1) {
			return false
		}
		b.space()
		if b.take(end) {
			return true
		}
		if !b.take(',') {
			return false
		}
	}
}

// text reads a string. Invalid UTF-8 and half surrogate pairs are malformed: two ids must not become one by repair.
func (b *claimBody) text() ([]byte, bool) {
	if !b.take('"') {
		return nil, false
	}
	start := b.pos
	for b.pos < len(b.data) {
		switch c := b.data[b.pos]; {
		case c == '"':
			s := b.data[start:b.pos]
			b.pos++
			return s, utf8.Valid(s)
		case c == '\\':
			return b.escaped(start)
		case c < ' ':
			return nil, false
		}
		b.pos++
	}
	return nil, false
}

// escaped goes on with a string at its first escape.
func (b *claimBody) escaped(start int) ([]byte, bool) {
	from := len(b.room)
	b.room = append(b.room, b.data[start:b.pos]...)
	for b.pos < len(b.data) {
		c := b.data[b.pos]
		b.pos++
		switch {
		case c == '"':
			s := b.room[from:len(b.room):len(b.room)]
			return s, utf8.Valid(s)
		case c == '\\':
			if !b.escape() {
				return nil, false
			}
		case c < ' ':
			return nil, false
		default:
			b.room = append(b.room, c)
		}
	}
	return nil, false
}

func (b *claimBody) escape() bool {
	c := b.peek()
	b.pos++
	switch c {
	case '"', '\\', '/':
		b.room = append(b.room, c)
	case 'b':
		b.room = append(b.room, '\b')
	case 'f':
		b.room = append(b.room, '\f')
	case 'n':
		b.room = append(b.room, '\n')
	case 'r':
		b.room = append(b.room, '\r')
	case 't':
		b.room = append(b.room, '\t')
	case 'u':
		r, ok := b.hex4()
		if ok && utf16.IsSurrogate(r) {
			low, two := rune(0), b.take('\\') && b.take('u')
			if two {
				low, two = b.hex4()
			}
			if r = utf16.DecodeRune(r, low); !two || r == utf8.RuneError {
				return false
			}
		}
		b.room = utf8.AppendRune(b.room, r)
		return ok
	default:
		return false
	}
	return true
}

func (b *claimBody) hex4() (rune, bool) {
	if len(b.data)-b.pos < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b.data[b.pos : b.pos+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	b.pos += 4
	return r, true
}
