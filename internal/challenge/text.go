package challenge

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/sluice-sale/sluice"
)

// The letters and digits of a text image: none that looks like another one when it leans, and none that a font draws
// like another. Small and large are the same.
const (
	alphabet   = "ACDEFHJKMNPRTUWXY34679"
	textLength = 5
	maxText    = 64 // bytes of an answer
)

// textImage is a picture of a few letters and digits.
type textImage struct{ pool *pool }

type textData struct {
	Image string `json:"image"`
}

func textOf(l *lots) string {
	var b [textLength]byte
	for i := range b {
		b[i] = alphabet[l.below(uint64(len(alphabet)))]
	}
	return string(b[:])
}

func (x *textImage) issue(
	ctx context.Context, keys [][]byte, id *ident, _ float64,
) (json.RawMessage, []byte, error) {
	return x.pool.fill(ctx, keys, id)
}

// textSolution is what was read in the picture.
type textSolution struct {
	Text string `json:"text"`
}

func (x *textImage) read(raw json.RawMessage) (solution, error) {
	s := &textSolution{}
	if err := strictly(raw, s); err != nil {
		return nil, solutionFault("must be an object with text")
	}
	if s.Text == "" || len(s.Text) > maxText || !utf8.ValidString(s.Text) {
		return nil, solutionFault("text must have 1 to %d bytes", maxText)
	}
	return s, nil
}

func (s *textSolution) right(_ context.Context, key []byte, id *ident, _ *sluice.ChallengeAnswer) (bool, error) {
	want := textOf(newLots(key, kindImage, id.nonce))
	return hmac.Equal([]byte(plain(s.Text)), []byte(want)), nil
}

// plain drops spaces, and makes letters large and of one width: keyboards for Chinese give wide ones.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0xff01 && r <= 0xff5e {
			r -= 0xff01 - '!'
		}
		switch {
		case r == ' ', r == '\u3000', r == '\t':
			return -1
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return r
	}, s)
}
