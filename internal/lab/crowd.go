package lab

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-sale/sluice"
)

// arrival is one click: who, and when it was meant, in µs after the opening.
type arrival struct {
	at    uint32
	buyer uint32
}

// crowd is everything that is decided before the start: the schedule, and every byte that will be sent. All requests
// have one length, so that a buyer's is found without an index.
type crowd struct {
	arrivals []arrival // in order of at
	requests []byte    // stride bytes a buyer
	stride   int
	page     []byte // the request for the campaign; nil where nobody looks at it
	prefix   string // of the user ids
	target   target
}

// target is where requests go.
type target struct {
	addr string // host:port
	host string // the Host header
	tls  bool
	base string // path before /v1
}

func parseTarget(raw string) (target, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return target{}, sluice.Invalid(sluice.FieldFault{Field: "url", Detail: "must be like http://host:port"})
	}
	t := target{addr: u.Host, host: u.Host, tls: u.Scheme == "https", base: strings.TrimSuffix(u.Path, "/")}
	if u.Port() == "" {
		t.addr = u.Hostname() + map[bool]string{false: ":80", true: ":443"}[t.tls]
	}
	return t, nil
}

// idWidth is the number of digits of a buyer's number: fixed, so that all requests are equally long.
const idWidth = 7

// newCrowd draws the schedule and builds the requests for campaign.
func newCrowd(cfg Config, campaign string, now time.Time) (*crowd, error) {
	t, err := parseTarget(cfg.URL)
	if err != nil {
		return nil, err
	}
	c := &crowd{target: t, prefix: "lab-" + strconv.FormatUint(cfg.Seed, 36) + "-"}
	c.draw(cfg)
	c.build(cfg, campaign, now)
	if cfg.Page {
		c.page = []byte("GET " + t.base + "/v1/campaigns/" + campaign + " HTTP/1.1\r\nHost: " + t.host + "\r\n\r\n")
	}
	return c, nil
}

// draw fills the schedule. A second click follows its first by up to a second (and no longer than the schedule), like
// an impatient thumb, so that it may meet the first one still under way.
func (c *crowd) draw(cfg Config) {
	rng := rand.New(rand.NewPCG(cfg.Seed, 0x51c1ce))
	span := cfg.Seconds * 1e6
	c.arrivals = make([]arrival, 0, cfg.Buyers+int(float64(cfg.Buyers)*cfg.Retry)+1)
	for b := range cfg.Buyers {
		u := rng.Float64()
		switch cfg.Shape {
		case ShapeBurst:
			u = u * u * u
		case ShapeRamp:
			u = math.Sqrt(u)
		case ShapeFlat:
		}
		at := uint32(u * span)
		c.arrivals = append(c.arrivals, arrival{at, uint32(b)})
		if cfg.Retry > 0 && rng.Float64() < cfg.Retry {
			c.arrivals = append(c.arrivals, arrival{at + uint32(rng.Float64()*min(1e6, span)), uint32(b)})
		}
	}
	slices.SortFunc(c.arrivals, func(a, b arrival) int {
		if a.at != b.at {
			return int(int64(a.at) - int64(b.at))
		}
		return int(int64(a.buyer) - int64(b.buyer))
	})
}

// build writes every buyer's request, with a token that outlives the run and a request id chosen here, before the
// first try.
func (c *crowd) build(cfg Config, campaign string, now time.Time) {
	head := "POST " + c.target.base + "/v1/campaigns/" + campaign + "/claims HTTP/1.1\r\nHost: " + c.target.host +
		"\r\nContent-Type: application/json\r\nAuthorization: Bearer "
	// The hour is rounded, so that the same seed makes the same tokens again: a server that keeps what it has verified
	// is measured with and without.
	exp := now.Truncate(time.Hour).Add(time.Duration(cfg.Seconds)*time.Second + 25*time.Hour).Unix()
	one := func(dst []byte, s *signer, b int) []byte {
		user := c.user(b)
		body := `{"request_id":"` + c.requestID(b) + `"}`
		if cfg.Quantity > 1 {
			body = fmt.Sprintf(`{"request_id":"%s","quantity":%d}`, c.requestID(b), cfg.Quantity)
		}
		dst = append(dst, head...)
		dst = s.append(dst, user, exp)
		dst = append(dst, "\r\nContent-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(body)), 10)
		dst = append(dst, "\r\n\r\n"...)
		return append(dst, body...)
	}
	c.stride = len(one(nil, newSigner(cfg.JWTSecret), 0))
	c.requests = make([]byte, cfg.Buyers*c.stride)
	var wg sync.WaitGroup
	parts := runtime.NumCPU()
	for p := range parts {
		wg.Go(func() {
			s := newSigner(cfg.JWTSecret)
			for b := cfg.Buyers * p / parts; b < cfg.Buyers*(p+1)/parts; b++ {
				one(c.requests[b*c.stride:b*c.stride], s, b)
			}
		})
	}
	wg.Wait()
}

func (c *crowd) request(b uint32) []byte {
	return c.requests[int(b)*c.stride : int(b+1)*c.stride]
}

func (c *crowd) user(b int) string      { return c.prefix + pad(b) }
func (c *crowd) requestID(b int) string { return "try-" + c.prefix + pad(b) }

// buyer is the inverse of user; false for the user of another crowd.
func (c *crowd) buyer(user string) (int, bool) {
	digits, ok := strings.CutPrefix(user, c.prefix)
	if !ok || len(digits) != idWidth {
		return 0, false
	}
	b, err := strconv.Atoi(digits)
	return b, err == nil && b >= 0 && b < len(c.requests)/c.stride
}

func pad(b int) string {
	s := strconv.Itoa(b)
	return "0000000"[:idWidth-len(s)] + s
}

// signer makes HS256 tokens.
type signer struct {
	secret []byte
	sum    []byte
	text   []byte
}

func newSigner(secret string) *signer { return &signer{secret: []byte(secret)} }

var tokenHead = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))

// append adds the token of user, valid until exp (Unix seconds), to dst. user must not need JSON escapes.
func (s *signer) append(dst []byte, user string, exp int64) []byte {
	s.text = append(append(append(s.text[:0], `{"sub":"`...), user...), `","exp":`...)
	s.text = append(strconv.AppendInt(s.text, exp, 10), '}')
	start := len(dst)
	dst = append(append(dst, tokenHead...), '.')
	dst = base64.RawURLEncoding.AppendEncode(dst, s.text)
	mac := hmac.New(sha256.New, s.secret)
	mac.Write(dst[start:])
	s.sum = mac.Sum(s.sum[:0])
	return base64.RawURLEncoding.AppendEncode(append(dst, '.'), s.sum)
}

// Token makes an HS256 token for user that is valid for ttl from now. user must not need JSON escapes.
func Token(secret, user string, now time.Time, ttl time.Duration) string {
	return string(newSigner(secret).append(nil, user, now.Add(ttl).Unix()))
}

// deviceToken makes an HS256 token for user with a device claim, none where device is empty. Neither must need JSON
// escapes.
func deviceToken(secret, user, device string, until time.Time) string {
	s := newSigner(secret)
	if device == "" {
		return string(s.append(nil, user, until.Unix()))
	}
	return string(s.append(nil, user+`","did":"`+device, until.Unix()))
}
