package front_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/sluice-sale/sluice/test/e2e"
)

// fake is a node that answers every call with its name. mu guards what it saw.
type fake struct {
	*httptest.Server
	addr string
	name string

	mu    sync.Mutex
	calls []*http.Request
}

func node(t *testing.T, name string, more func(http.ResponseWriter, *http.Request) bool) *fake {
	t.Helper()
	f := &fake{name: name}
	// Not a port that the kernel gives away: whoever is gone comes again on it.
	l, err := net.Listen("tcp", e2e.FreeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		f.mu.Lock()
		f.calls = append(f.calls, r)
		f.mu.Unlock()
		if more != nil && more(w, r) {
			return
		}
		w.Header().Set("X-Node", name)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"code":"CONFIRMED"}`)
	})
	f.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
	f.Start()
	f.addr = f.Listener.Addr().String()
	t.Cleanup(f.Close)
	return f
}

// gone ends a node and cuts its connections.
func (f *fake) gone() {
	f.CloseClientConnections()
	f.Close()
}

// again has the node listen where it did.
func again(t *testing.T, f *fake) *fake {
	t.Helper()
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	b := &fake{name: f.name, addr: f.addr}
	b.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: f.Config.Handler}}
	b.Start()
	t.Cleanup(b.Close)
	return b
}

func (f *fake) seen() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

func (f *fake) last() *http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) == 0 {
		return nil
	}
	return f.calls[len(f.calls)-1]
}

// token gives the token that a buyer has: one, for as long as the test lasts.
var token = func() func(string) string {
	var kept sync.Map
	return func(user string) string {
		made, _ := kept.LoadOrStore(user, e2e.Token(user))
		s, _ := made.(string)
		return s
	}
}()

// answer is what came back.
type answer struct {
	status int
	head   http.Header
	body   []byte
	fields map[string]any
}

func (a answer) code() string { s, _ := a.fields["code"].(string); return s }
func (a answer) node() string { return a.head.Get("X-Node") }

func ask(t *testing.T, c *http.Client, method, url, user, body string, headers ...string) (a answer) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Error(err)
		return a
	}
	if user != "" {
		req.Header.Set("Authorization", "Bearer "+token(user))
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Errorf("%s %s: %v", method, url, err)
		return a
	}
	defer resp.Body.Close()
	a.status, a.head = resp.StatusCode, resp.Header
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		t.Errorf("%s %s: %v", method, url, err)
	}
	_ = json.Unmarshal(a.body, &a.fields) // where it is JSON
	return a
}

func (n *nginx) claim(t *testing.T, c *http.Client, campaign, user string) answer {
	t.Helper()
	return ask(t, c, "POST", n.URL+"/v1/campaigns/"+campaign+"/claims", user, `{"request_id":"r"}`)
}
