package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of the client.
const (
	// DefaultPatience is how long one Claim may take, tries, waits and questions together.
	DefaultPatience = time.Minute
	// DefaultTryTimeout is how long one HTTP request may take; a long poll may take its wait longer.
	DefaultTryTimeout = 10 * time.Second

	maxClaimSteps = 30 // sends and questions of one claim
	maxReadTries  = 4  // tries of a call that may be repeated
	maxBody       = 8 << 20
	pageSize      = 100

	maxAsked     = time.Hour // the longest wait that a server is believed to ask for
	firstBackoff = 250 * time.Millisecond
	lastBackoff  = 8 * time.Second
)

// TokenSource gives the bearer token of the next request: a buyer's JWT or a merchant's API key. It is called for each
// request, so that it may renew a token that is about to run out.
type TokenSource func(ctx context.Context) (string, error)

// StaticToken is a TokenSource that always gives token.
func StaticToken(token string) TokenSource {
	return func(context.Context) (string, error) { return token, nil }
}

// Client talks to the public listener of one Sluice. Only BaseURL is needed; the fields are set before the first
// call and not changed afterwards. A Client is safe for concurrent use.
type Client struct {
	BaseURL    string        // such as https://sale.example.com
	Token      TokenSource   // nil: calls are made without a token
	HTTPClient *http.Client  // nil: http.DefaultClient
	Device     string        // sent as X-Device-Id where it is set; New draws one, see also LastingDevice
	Language   string        // of the messages, as in Accept-Language; empty: the server's default, English
	Patience   time.Duration // of one Claim; 0: DefaultPatience
	TryTimeout time.Duration // of one HTTP request; 0: DefaultTryTimeout

	// Solver solves challenges that only a person can solve; nil: proof of work is asked for in their place.
	Solver Solver

	// Rand gives the jitter, in [0, 1). nil: math/rand/v2. It must be safe for concurrent use.
	Rand func() float64
}

// New makes a Client for the server at baseURL and the bearer that token stands for, with a device id of its own.
func New(baseURL string, token TokenSource) *Client {
	return &Client{BaseURL: baseURL, Token: token, Device: NewDevice()}
}

// NewRequestID draws a request id: 26 letters and digits, 130 random bits.
func NewRequestID() string { return rand.Text() }

// reply is one answer of the server, read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// call is one HTTP request to be made.
type call struct {
	method  string
	path    string
	query   url.Values
	body    any               // marshalled to JSON; nil for none; json.RawMessage goes out as it is
	sign    func(http.Header) // adds what is signed at the moment of a try; nil: nothing
	timeout time.Duration     // 0: the client's TryTimeout
}

// send makes one HTTP request and reads its answer. An error means that no whole answer came: wrapped as ErrUnavailable
// where the request cannot have left this machine, as ErrUncertain where it may have.
func (c *Client) send(ctx context.Context, k call) (*reply, error) {
	timeout := k.timeout
	if timeout == 0 {
		timeout = orDefault(c.TryTimeout, DefaultTryTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := c.request(ctx, k)
	if err != nil {
		return nil, err
	}
	hc := c.HTTPClient
	if hc == nil {
		hc = http.DefaultClient
	}
	resp, err := hc.Do(req)
	if err != nil {
		if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
			return nil, fmt.Errorf("client: %w: %w", sluice.ErrUnavailable, err)
		}
		return nil, fmt.Errorf("client: %w: %w", sluice.ErrUncertain, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("client: %s %s: the answer broke off: %w: %w", k.method, k.path, sluice.ErrUncertain, err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("client: %s %s: more than %d bytes: %w", k.method, k.path, maxBody, sluice.ErrUncertain)
	}
	return &reply{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

// request builds the HTTP request. A claim's request id goes into its body and never into an Idempotency-Key
// header: with that header net/http sends a POST again by itself when a kept connection breaks.
func (c *Client) request(ctx context.Context, k call) (*http.Request, error) {
	u := strings.TrimSuffix(c.BaseURL, "/") + k.path
	if len(k.query) > 0 {
		u += "?" + k.query.Encode()
	}
	var body io.Reader
	if k.body != nil {
		b, err := json.Marshal(k.body)
		if err != nil {
			return nil, fmt.Errorf("client: %s %s: %w: %w", k.method, k.path, sluice.ErrInvalid, err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, k.method, u, body)
	if err != nil {
		return nil, fmt.Errorf("client: %w: %w", sluice.ErrInvalid, err)
	}
	if k.sign != nil {
		k.sign(req.Header)
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	setIf(req.Header, "Accept-Language", c.Language)
	setIf(req.Header, "X-Device-Id", c.Device)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != nil {
		token, err := c.Token(ctx)
		if err != nil {
			return nil, fmt.Errorf("client: token: %w", err)
		}
		setIf(req.Header, "Authorization", prefixed("Bearer ", token))
	}
	return req, nil
}

// repeat makes a call that may be made again (a read, or a write that its reference makes idempotent) until it has an
// answer, and decodes that into v.
func (c *Client) repeat(ctx context.Context, k call, v any) error {
	for try := 0; ; try++ {
		wait, err := c.once(ctx, k, v)
		if err == nil || !transient(err) || ctx.Err() != nil || try+1 == maxReadTries {
			return err
		}
		if werr := c.pause(ctx, wait+c.backoff(try)); werr != nil {
			return fmt.Errorf("%w: %w", err, werr)
		}
	}
}

// once makes a call one time. wait is what the server asks to wait before the next try.
func (c *Client) once(ctx context.Context, k call, v any) (wait time.Duration, err error) {
	r, err := c.send(ctx, k)
	if err != nil {
		return 0, err
	}
	if r.status < 200 || r.status > 299 {
		p := problemOf(r)
		return p.RetryAfter, p
	}
	if !r.is("application/json") {
		return 0, fmt.Errorf("client: %s %s: %w: the answer is not JSON", k.method, k.path, sluice.ErrUncertain)
	}
	if err := json.Unmarshal(r.body, v); err != nil {
		return 0, fmt.Errorf("client: %s %s: %w: %w", k.method, k.path, sluice.ErrUncertain, err)
	}
	return 0, nil
}

// is says whether the body is of that media type.
func (r *reply) is(mediaType string) bool {
	t, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	return err == nil && t == mediaType
}

// transient says whether the same call may bring another answer later.
func transient(err error) bool {
	return errors.Is(err, sluice.ErrUnavailable) || errors.Is(err, sluice.ErrUncertain)
}

// backoff draws the pause before try+1: anything up to 250 ms, doubled with each try, 8 s at most. Full jitter: those
// who were refused together do not come back together.
func (c *Client) backoff(try int) time.Duration {
	most := min(lastBackoff, firstBackoff<<min(try, 16))
	return time.Duration(c.random() * float64(most))
}

func (c *Client) random() float64 {
	if c.Rand != nil {
		return c.Rand()
	}
	return mrand.Float64()
}

// pause waits for d, or for the end of ctx.
func (c *Client) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func orDefault(d, or time.Duration) time.Duration {
	if d == 0 {
		return or
	}
	return d
}

func setIf(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// prefixed gives prefix+s, or nothing where s is empty.
func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
