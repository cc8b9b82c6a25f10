package analysis

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-sale/sluice"
)

// Bounds of reading.
const (
	maxLine  = 64 << 10 // longer ones are no decision
	MaxFiles = 10_000
	tellEach = 4 << 20 // bytes between two words of progress
)

// Progress is told how many bytes of how many were read; of is 0 where that is not known. It must not block.
type Progress func(done, of int64)

// Read takes in a log, compressed with gzip or not. It stops, with its error, when ctx ends.
func (a *Analyzer) Read(ctx context.Context, r io.Reader) error {
	br := bufio.NewReaderSize(r, maxLine)
	if magic, err := br.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(br)
		if err != nil {
			return fmt.Errorf("analysis: gzip: %w", err)
		}
		defer func() { _ = z.Close() }()
		br = bufio.NewReaderSize(z, maxLine)
	}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b, err := br.ReadSlice('\n')
		for long := false; errors.Is(err, bufio.ErrBufferFull); long = true {
			if !long {
				a.unread++
			}
			b, err = br.ReadSlice('\n')
			if !errors.Is(err, bufio.ErrBufferFull) {
				b = nil
			}
		}
		if len(b) > 1 {
			a.Line(b)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("analysis: read: %w", err)
		}
	}
}

// Files analyses logs, one after the other; "-" is in. A file that was rotated away meanwhile is looked for under its
// new name by whoever lists them; here it is an error.
func Files(ctx context.Context, cfg Config, paths []string, in io.Reader, tell Progress) (sluice.Analysis, error) {
	if tell == nil {
		tell = func(int64, int64) {}
	}
	c := &counting{tell: tell}
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			c.of += info.Size()
		}
	}
	a := New(cfg)
	for _, p := range paths {
		if err := a.file(ctx, p, in, c); err != nil {
			return sluice.Analysis{}, err
		}
	}
	tell(c.done, c.of)
	return a.Result(), nil
}

func (a *Analyzer) file(ctx context.Context, path string, in io.Reader, c *counting) (err error) {
	c.r = in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("analysis: %w", err)
		}
		defer func() { _ = f.Close() }()
		c.r = f
	}
	if err := a.Read(ctx, c); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// counting tells of the bytes that pass.
type counting struct {
	r        io.Reader
	done, of int64
	told     int64
	tell     Progress
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	if c.done-c.told >= tellEach {
		c.told = c.done
		c.tell(c.done, c.of)
	}
	return n, err
}

// Logs lists a decision log and what was rotated away from it, the oldest first. For a folder: those of every log in
// it. None is no error.
func Logs(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return listed(filepath.Join(path, "*.log"), filepath.Join(path, "*.log.gz"))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("analysis: %w", err)
	}
	ext := filepath.Ext(path)
	stem := strings.TrimSuffix(path, ext)
	all, listErr := listed(stem+"-[0-9]*"+ext, stem+"-[0-9]*"+ext+".gz")
	if err == nil {
		all = append(all, path)
	}
	return all, listErr
}

func listed(patterns ...string) (all []string, err error) {
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, fmt.Errorf("analysis: %s: %w", p, err)
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	if len(all) > MaxFiles {
		return nil, sluice.Invalid(sluice.FieldFault{Field: "decisions", Detail: "must be at most 10,000 files"})
	}
	return all, nil
}
