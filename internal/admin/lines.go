package admin

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice-sale/sluice"
)

// Bounds of an upload.
const (
	maxLine  = 4096      // bytes of one line
	maxLines = 1_000_000 // grants of one bulk
)

// errLongLine says that a line was longer than maxLine; the rest of it has been skipped.
var errLongLine = fmt.Errorf("the line is longer than %d bytes", maxLine)

// lines reads a body line by line with bounded memory. Blank lines are passed over and counted.
type lines struct {
	in   *bufio.Reader
	n    int64 // number of the line read last
	full int64 // lines that carried something
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, maxLine)} }

// next gives the next line that is not blank, without its end; valid until the next call. io.EOF ends the body,
// errLongLine one line.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.in.ReadSlice('\n')
		if len(line) == 0 && err != nil {
			return nil, err
		}
		l.n++
		if errors.Is(err, bufio.ErrBufferFull) {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = l.in.ReadSlice('\n')
			}
			l.full++
			return nil, errLongLine
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if l.n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // spreadsheets write a byte order mark
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.full++
			return line, nil
		}
	}
}

// cells splits one line of CSV. A quoted cell does not span lines: ids and quantities have none.
func cells(line []byte) ([]string, error) {
	if bytes.IndexByte(line, '"') < 0 {
		return strings.Split(string(line), ","), nil
	}
	r := csv.NewReader(bytes.NewReader(line))
	row, err := r.Read()
	if err != nil {
		return nil, errors.New("the quotes of the line do not match")
	}
	return row, nil
}

// header finds the columns named in want within a CSV's first line, and how many it names; -1 for an optional one that
// is not there. A name that begins with ? is optional.
func header(line []byte, want ...string) (at []int, width int, err error) {
	row, err := cells(line)
	if err != nil {
		return nil, 0, sluice.Invalid(sluice.FieldFault{Field: "body", Detail: "line 1: " + err.Error()})
	}
	var f faults
	at = make([]int, len(want))
	known := map[string]int{}
	for i, name := range row {
		name = strings.ToLower(strings.TrimSpace(name))
		if _, twice := known[name]; twice {
			f.add("body", "the first line names the column %.64q twice", name)
		}
		known[name] = i
	}
	for i, name := range want {
		name, optional := strings.CutPrefix(name, "?")
		col, ok := known[name]
		if delete(known, name); ok {
			at[i] = col
			continue
		}
		if at[i] = -1; !optional {
			f.add("body", "the first line must name the column %s", name)
		}
	}
	for _, name := range sortedKeys(known) {
		f.add("body", "the first line names an unknown column %.64q", name)
	}
	return at, len(row), f.err()
}
