package gate

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

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
	return len(c.subject) >= 1 && len(c.subject) <= sluice.MaxUserID && len(c.device) <= maxDeviceInIdentity
}

// UnmarshalJSON reads the claims. A registered claim of the wrong type is an error: a token that cannot be understood is
// not a good one. Of a claim that is given twice the last one counts.
func (c *claims) UnmarshalJSON(raw []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	for name, value := range all {
		if err := c.read(name, value); err != nil {
			return fmt.Errorf("gate: claim %q: %w", name, err)
		}
	}
	return nil
}

func (c *claims) read(name string, value json.RawMessage) (err error) {
	switch name {
	case "sub":
		return json.Unmarshal(value, &c.subject)
	case "did":
		return json.Unmarshal(value, &c.device)
	case "iss":
		return json.Unmarshal(value, &c.issuer)
	case "aud":
		return json.Unmarshal(value, &c.audience)
	case "exp":
		c.expires, err = numericDate(value)
		return err
	case "nbf":
		c.notBefore, err = numericDate(value)
		return err
	case "iat", "jti":
		return nil
	}
	if texts := textsOf(value); texts != nil {
		if c.other == nil {
			c.other = map[string][]string{}
		}
		c.other[name] = texts
	}
	return nil
}

// maxDate bounds dates, in seconds: the year 5138. Later ones mean "never" all the same.
const maxDate = 100_000_000_000

func numericDate(value json.RawMessage) (*jwt.NumericDate, error) {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return nil, fmt.Errorf("not a number: %w", sluice.ErrInvalid)
	}
	f = math.Max(-maxDate, math.Min(f, maxDate))
	whole, part := math.Modf(f)
	return &jwt.NumericDate{Time: time.Unix(int64(whole), int64(part*1e9))}, nil
}

// textsOf gives the texts of a scalar, or of a list of scalars; nil for anything else.
func textsOf(value json.RawMessage) []string {
	if len(value) > 0 && value[0] == '[' {
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
	if s, ok := textOf(value); ok {
		return []string{s}
	}
	return nil
}

// textOf gives a scalar as text: a number as it is written in the token.
func textOf(value json.RawMessage) (string, bool) {
	if len(value) == 0 {
		return "", false
	}
	switch value[0] {
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
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
