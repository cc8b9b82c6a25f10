package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// defaultAdminURL is where a bare serve listens for operators.
const defaultAdminURL = "http://127.0.0.1:8081"

// maxAnswer bounds an answer that is read whole.
const maxAnswer = 64 << 20

// adminFlags are the flags of the verbs that talk to a running server.
type adminFlags struct {
	AdminURL string        `placeholder:"URL" help:"The operators' listener (SLUICE_ADMIN_URL). Default: ${admin_url}."`
	AdminCA  string        `name:"admin-ca" placeholder:"FILE" help:"PEM of who signed its certificate." predictor:"file"`
	Timeout  time.Duration `default:"30s" help:"How long to wait for an answer."`
	dataFlags
}

// operator calls the admin API.
type operator struct {
	base string
	key  string
	http *http.Client
	wait time.Duration
	dir  string
}

// operator makes a client: the key comes from SLUICE_ADMIN_KEY or the data folder's secrets, never from a flag.
func (f adminFlags) operator(a *app) (*operator, error) {
	cfg, err := f.load(a)
	if err != nil {
		return nil, err
	}
	if err := cfg.ReadSecrets(); err != nil {
		return nil, err
	}
	if len(cfg.Admin.Key) == 0 {
		return nil, &failure{code: exitUsage, next: "export SLUICE_ADMIN_KEY=…, or --data with the server's data folder",
			err: fmt.Errorf("there is no operator's key: SLUICE_ADMIN_KEY is not set, and %s has none", cfg.SecretsPath())}
	}
	base := f.AdminURL
	if base == "" {
		base = a.getenv("SLUICE_ADMIN_URL")
	}
	if base == "" {
		base = defaultAdminURL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, usage("--admin-url %q is not a URL: write http://host:port or https://host:port", base)
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	if f.AdminCA != "" {
		pem, err := os.ReadFile(f.AdminCA)
		if err != nil {
			return nil, fmt.Errorf("--admin-ca: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, usage("--admin-ca %s holds no certificate", f.AdminCA)
		}
		tr.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &operator{
		base: strings.TrimRight(base, "/"), key: cfg.Admin.Key[0].Reveal(), http: &http.Client{Transport: tr},
		wait: f.Timeout, dir: cfg.Data,
	}, nil
}

// problem is the server's refusal.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Errors []struct {
		Field  string `json:"field"`
		Detail string `json:"detail"`
	} `json:"errors"`
	RequestID string `json:"request_id"`
}

// Error tells it to a person.
func (p *problem) Error() string {
	s := p.Code
	if p.Detail != "" {
		s += ": " + p.Detail
	} else if p.Title != "" {
		s += ": " + p.Title
	}
	for _, e := range p.Errors {
		s += "\n  " + e.Field + ": " + e.Detail
	}
	if p.RequestID != "" && p.Status >= http.StatusInternalServerError {
		s += "\n  request id: " + p.RequestID
	}
	return s
}

// call makes one call and reads its answer into out, which may be nil or *[]byte for the answer as it came.
func (o *operator) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, ok := in.([]byte)
		if !ok {
			var err error
			if raw, err = json.Marshal(in); err != nil {
				return err
			}
		}
		body = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	resp, err := o.send(ctx, method, path, "application/json", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*out = raw
		return nil
	case *[]byte:
		*out = raw
		return nil
	default:
		if err := json.Unmarshal(raw, out); err != nil {
			return fmt.Errorf("the answer of %s is not what this version expects: %w", path, err)
		}
		return nil
	}
}

// send makes a request; an answer that is a refusal becomes an error. The caller closes the body.
func (o *operator) send(ctx context.Context, method, path, contentType string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, o.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+o.key)
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := o.http.Do(req)
	if err != nil {
		return nil, o.unreachable(ctx, err)
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return nil, o.refused(resp.StatusCode, raw)
}

// unreachable says why no answer came.
func (o *operator) unreachable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	why := err
	var op *net.OpError
	if errors.As(err, &op) {
		why = op
	}
	if errors.Is(err, context.DeadlineExceeded) {
		why = fmt.Errorf("no answer within %s", o.wait)
	}
	return &failure{code: exitUnreachable, next: "sluice serve --data " + o.dir + ", or --admin-url with where it listens",
		err: fmt.Errorf("the server at %s cannot be reached: %w", o.base, why)}
}

// nextOf says what helps where a thing is not there, or not as it has to be.
func nextOf(code string) string {
	switch code {
	case "UNKNOWN_CAMPAIGN":
		return "sluice campaign list"
	case "CAMPAIGN_EXISTS":
		return "another id, or sluice campaign edit"
	case "CHANGE_ID_REUSED":
		return "another --change-id, or none to have one made"
	case "REQUEST_ID_REUSED":
		return "another --grant-id, or none to have one made"
	case "UNKNOWN_SWITCH":
		return "sluice switch list"
	case "UNKNOWN_BLOCK":
		return "sluice blocklist list"
	case "NO_SETTLER":
		return "--admin-url with a node that settles claims from a queue"
	case "UNKNOWN_DEAD_LETTER":
		return "sluice deadletter list"
	case "UNKNOWN_RUN":
		return "sluice reconcile list"
	case "UNKNOWN_KEY":
		return "sluice key list"
	}
	return ""
}

// refused turns an answer of 400 and above into an error.
func (o *operator) refused(status int, raw []byte) error {
	p := &problem{}
	if err := json.Unmarshal(raw, p); err != nil || p.Code == "" {
		p = &problem{Status: status, Code: http.StatusText(status), Detail: "from " + o.base +
			", which may not be Sluice's operators' listener"}
	}
	f := &failure{code: exitRefused, err: p}
	switch status {
	case http.StatusUnauthorized:
		f.next = "the key of that server: SLUICE_ADMIN_KEY, or --data with its data folder"
	case http.StatusForbidden:
		f.next = "a key with the role that is named, from sluice key create"
	case http.StatusTooManyRequests:
		f.next = "wait ten seconds, and use the key of that server: SLUICE_ADMIN_KEY, or --data with its data folder"
	case http.StatusNotFound, http.StatusConflict:
		if f.next = nextOf(p.Code); p.Code == "NOT_FOUND" {
			f.next = "--admin-url with the operators' listener, if " + o.base + " is another"
		}
	case http.StatusServiceUnavailable:
		f.code, f.next = exitUnreachable, "try again in a moment; curl "+o.base+"/readyz tells what it waits for"
	default:
		if status >= http.StatusInternalServerError {
			f.code = exitFailed
		}
	}
	return f
}

// esc makes s safe in a path.
func esc(s string) string { return url.PathEscape(s) }
