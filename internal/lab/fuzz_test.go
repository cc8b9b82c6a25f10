package lab_test

import (
	"testing"

	"github.com/sluice-sale/sluice/internal/lab"
)

// FuzzAnswer: an answer is found where it ends, whatever follows it; one that is cut short is never taken for
// whole.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.0 502 x\r\nConnection: close\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", "<html>", "",
		"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "HTTP/1.1 200\r\n\r\nHTTP/1.1 200\r\n\r\n", "HTTP/1.1 200 OK\n\n{}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		size, more, err := lab.ParseAnswer(b)
		if more && err != nil || !more && err == nil && (size <= 0 || size > len(b)) {
			t.Fatalf("%q: size %d, more %v, %v", b, size, more, err)
		}
		if more || err != nil {
			return
		}
		if again, more, err := lab.ParseAnswer(b[:size]); again != size || more || err != nil {
			t.Fatalf("%q: without what follows: %d, %v, %v", b[:size], again, more, err)
		}
		if _, more, err := lab.ParseAnswer(b[:size-1]); !more && err == nil {
			t.Fatalf("%q: cut short, and taken for whole", b[:size-1])
		}
	})
}
