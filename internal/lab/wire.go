package lab

import (
	"bytes"
	"errors"

	"github.com/sluice-sale/sluice"
)

// errWire means that the bytes are no HTTP/1.1 answer that the lab reads.
var errWire = errors.New("not an HTTP/1.1 answer")

// answer is one parsed response. body points into the buffer that was parsed.
type answer struct {
	status int
	size   int // of the whole response, in bytes
	close  bool
	body   []byte
}

var (
	crlf2      = []byte("\r\n\r\n")
	lastChunk  = []byte("0\r\n\r\n")
	keyLength  = []byte("content-length:")
	keyCoding  = []byte("transfer-encoding:")
	keyConn    = []byte("connection:")
	valChunked = []byte("chunked")
	valClose   = []byte("close")
)

// parseAnswer reads one response from the start of b. more says that b does not hold all of it yet. It allocates
// nothing.
func parseAnswer(b []byte) (a answer, more bool, err error) {
	end := bytes.Index(b, crlf2)
	if end < 0 {
		if len(b) > maxResponse || (len(b) >= 5 && string(b[:5]) != "HTTP/") {
			return a, false, errWire
		}
		return a, true, nil
	}
	if end < 12 || string(b[:7]) != "HTTP/1." || b[8] != ' ' {
		return a, false, errWire
	}
	for _, d := range b[9:12] {
		if d < '0' || d > '9' {
			return a, false, errWire
		}
		a.status = a.status*10 + int(d-'0')
	}
	length, chunked := 0, false
	for head := b[:end+2]; len(head) > 0; {
		line := head[:bytes.IndexByte(head, '\n')+1]
		head = head[len(line):]
		switch {
		case foldPrefix(line, keyLength):
			if length = parseLength(line[len(keyLength):]); length < 0 {
				return a, false, errWire
			}
		case foldPrefix(line, keyCoding):
			chunked = bytes.Contains(line, valChunked)
		case foldPrefix(line, keyConn):
			a.close = bytes.Contains(line, valClose)
		}
	}
	rest := b[end+4:]
	if chunked {
		// Answers are small: the chunks are not joined, their framing is just more bytes around the JSON.
		n := bytes.Index(rest, lastChunk)
		if n < 0 {
			return a, len(b) <= maxResponse, errIf(len(b) > maxResponse)
		}
		length = n + len(lastChunk)
	}
	if length > maxResponse {
		return a, false, errWire
	}
	if len(rest) < length {
		return a, true, nil
	}
	a.body, a.size = rest[:length], end+4+length
	return a, false, nil
}

func errIf(bad bool) error {
	if bad {
		return errWire
	}
	return nil
}

// foldPrefix says whether line starts with key, which is in lower case.
func foldPrefix(line, key []byte) bool {
	if len(line) < len(key) {
		return false
	}
	for i, k := range key {
		c := line[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != k {
			return false
		}
	}
	return true
}

func parseLength(b []byte) int {
	n, seen := 0, false
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9' && n < 1<<30:
			n, seen = n*10+int(c-'0'), true
		case c == ' ' || c == '\r' || c == '\n' || c == '\t':
		default:
			return -1
		}
	}
	if !seen {
		return -1
	}
	return n
}

var (
	fieldCode     = []byte(`"code":`)
	fieldClaim    = []byte(`"claim_id":`)
	fieldReplayed = []byte(`"replayed":true`)
)

// readDecision takes what the audit needs from the body of an answer: no JSON decoder, since the client must not be
// what is measured. A body without a known code gives codeOther.
func readDecision(body []byte, r *record) {
	r.code = codeOther
	if v := field(body, fieldCode); v != nil {
		if reason, ok := sluice.ParseReason(string(v)); ok {
			r.code = uint8(reason)
		}
	}
	if sluice.Reason(r.code) == sluice.ReasonSoldOut {
		return // the great majority: nothing else to see
	}
	if v := field(body, fieldClaim); len(v) == 36 {
		if id, ok := sluice.ParseClaimID(string(v)); ok {
			r.claim, r.flags = id, r.flags|flagClaim
		}
	}
	if bytes.Contains(body, fieldReplayed) {
		r.flags |= flagReplayed
	}
}

// field gives the string value that follows key, without its quotes; nil where there is none.
func field(body, key []byte) []byte {
	i := bytes.Index(body, key)
	if i < 0 {
		return nil
	}
	v := bytes.TrimLeft(body[i+len(key):], " ")
	if len(v) == 0 || v[0] != '"' {
		return nil
	}
	v = v[1:]
	if i = bytes.IndexByte(v, '"'); i < 0 {
		return nil
	}
	return v[:i]
}
