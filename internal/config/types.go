package config

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
)

// masked stands for a secret wherever one is printed.
const masked = "********"

// Secret is a text that no formatting, logging or encoding shows. Reveal gives it.
type Secret struct{ text string }

// NewSecret hides text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal gives the text, for whoever signs or compares with it.
func (s Secret) Reveal() string { return s.text }

// String, GoString, LogValue and MarshalText hide the text.
func (s Secret) String() string { return masked }

// GoString hides the text.
func (s Secret) GoString() string { return masked }

// LogValue hides the text.
func (s Secret) LogValue() slog.Value { return slog.StringValue(masked) }

// MarshalText hides the text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// Secrets are several secrets in force at once: the first signs, all verify.
type Secrets []Secret

// Bytes reveals all of them.
func (s Secrets) Bytes() [][]byte {
	var all [][]byte
	for _, x := range s {
		all = append(all, []byte(x.text))
	}
	return all
}

// Size is a number of bytes.
type Size int64

var sizeUnits = []struct {
	name string
	size int64
}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"B", 1}}

// String gives the size in the largest unit that is exact.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if int64(s)%u.size == 0 && (int64(s) != 0 || u.size == 1) {
			return strconv.FormatInt(int64(s)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// ParseSize reads 512B, 16KB, 100MB or 4GB; the units are powers of 1024.
func ParseSize(text string) (Size, error) {
	t := strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	t = strings.Replace(t, "IB", "B", 1)
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(t, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > (1<<62)/u.size {
			break
		}
		return Size(n * u.size), nil
	}
	return 0, fmt.Errorf("not a size: write a whole number and a unit, such as 16KB, 100MB or 4GB")
}
