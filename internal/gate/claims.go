package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
)

// claims are a token's claims, in the shape that jwt.Validator asks for.
type claims struct {
	subject, device, issuer string
	audience                jwt.ClaimStrings
	expires, notBefore      *jwt.NumericDate
	other                   map[string][]string // strings, numbers, booleans and lists of them, as text
}

// sound says whether the claims can name a buyer.
func (c *claims) sound() bool {
	return len(c.subject) >= 1 && len(c.subject) <= sluice.MaxUserID && len(c.device) <= sluice.MaxDeviceID &&
		plain(c.subject) && plain(c.device)
}

// plain says whether a name can be told from every other one and be written in a blocklist or a file: no control
// characters, and none that may stand for broken text, which would make one buyer of two.
func plain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) })
}

// parse reads the claims. A registered claim of the wrong type is an error: a token that cannot be understood is not a
// good one. Of a claim that is given twice the last one counts. Walking by hand over what was found to be valid JSON
// takes a third of the time of decoding it into a map, and a sale opens with as many new tokens as buyers.
func (c *claims) parse(raw []byte) error {
	if !json.Valid(raw) {
		return fmt.Errorf("gate: claims that are no JSON: %w", sluice.ErrInvalid)
	}
	raw = bytes.TrimLeft(raw, space)
	if raw[0] != '{' {
		return fmt.Errorf("gate: claims that are no object: %w", sluice.ErrInvalid)
	}
	for rest := raw[1:]; ; {
		rest = bytes.TrimLeft(rest, space+",")
		if rest[0] == '}' {
			return nil
		}
		var name, value []byte
		name, rest = cutValue(rest)
		value, rest = cutValue(bytes.TrimLeft(rest, space+":"))
		key := name[1 : len(name)-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			s, err := stringOf(name)
			if err != nil {
				return err
			}
			key = []byte(s)
		}
		if err := c.read(key, value); err != nil {
			return fmt.Errorf("gate: claim %q: %w", key, err)
		}
	}
}

// space is the white space of JSON.
const space = " \t\r\n"

// cutValue cuts the value that b begins with. b is a part of valid JSON.
func cutValue(b []byte) (value, rest []byte) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return b[:i+1], b[i+1:]
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return b[:i], b[i:]
			}
			if depth--; depth == 0 {
				return b[:i+1], b[i+1:]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return b[:i], b[i:]
			}
		}
	}
	return b, nil
}

func (c *claims) read(name, value []byte) (err error) {
	switch string(name) {
	case "sub":
		c.subject, err = stringOf(value)
	case "did":
		c.device, err = stringOf(value)
	case "iss":
		c.issuer, err = stringOf(value)
	case "aud":
		err = json.Unmarshal(value, &c.audience)
	case "exp":
		c.expires, err = numericDate(value)
	case "nbf":
		c.notBefore, err = numericDate(value)
	case "iat", "jti":
	default:
		if texts := textsOf(value); texts != nil {
			if c.other == nil {
				c.other = map[string][]string{}
			}
			c.other[string(name)] = texts
		}
	}
	return err
}

// stringOf reads a JSON string as encoding/json does.
func stringOf(value []byte) (string, error) {
	if len(value) < 2 || value[0] != '"' {
		return "", fmt.Errorf("not a string: %w", sluice.ErrInvalid)
	}
	if plain := value[1 : len(value)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return string(plain), nil
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err
}

// maxDate bounds dates, in seconds: the year 5138. Later ones mean "never" all the same.
const maxDate = 100_000_000_000

func numericDate(value []byte) (*jwt.NumericDate, error) {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return nil, fmt.Errorf("not a number: %w", sluice.ErrInvalid)
	}
	whole, part := math.Modf(math.Max(-maxDate, math.Min(f, maxDate)))
	return &jwt.NumericDate{Time: time.Unix(int64(whole), int64(part*1e9))}, nil
}

// textsOf gives the texts of a scalar, or of a list of scalars; nil for anything else.
func textsOf(value []byte) []string {
	if value[0] != '[' {
		if s, ok := textOf(value); ok {
			return []string{s}
		}
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		return nil
	}
	texts := make([]string, 0, len(list))
	for _, item := range list {
		if s, ok := textOf(item); ok {
			texts = append(texts, s)
		}
	}
	return texts
}

// textOf gives a scalar as text: a number as it is written in the token.
func textOf(value []byte) (string, bool) {
	switch value[0] {
	case '"':
		s, err := stringOf(value)
		return s, err == nil
	case '{', '[', 'n':
		return "", false
	}
	return string(value), true
}

// GetExpirationTime gives exp; nil where the token has none.
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return c.expires, nil }

// GetNotBefore gives nbf; nil where the token has none.
func (c *claims) GetNotBefore() (*jwt.NumericDate, error) { return c.notBefore, nil }

// GetIssuedAt gives nothing: iat decides nothing here.
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) { return nil, nil }

// GetIssuer gives iss.
func (c *claims) GetIssuer() (string, error) { return c.issuer, nil }

// GetSubject gives sub.
func (c *claims) GetSubject() (string, error) { return c.subject, nil }

// GetAudience gives aud.
func (c *claims) GetAudience() (jwt.ClaimStrings, error) { return c.audience, nil }
