package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/test/e2e"
)

const demoWait = 2 * time.Minute // for each step of the demo, on a machine that is busy with others

// screen keeps what the demo prints, line by line, for whoever waits for a line.
type screen struct {
	mu    sync.Mutex
	lines []string
	news  chan struct{}
}

func (s *screen) read(from io.Reader) {
	for in := bufio.NewScanner(from); in.Scan(); {
		s.mu.Lock()
		s.lines = append(s.lines, in.Text())
		s.mu.Unlock()
		select {
		case s.news <- struct{}{}:
		default:
		}
	}
	close(s.news)
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n") + "\n"
}

// wait returns when a line has what; it fails the test when the demo ends before, or takes too long.
func (s *screen) wait(t *testing.T, what string) {
	t.Helper()
	late := time.NewTimer(demoWait)
	defer late.Stop()
	for !strings.Contains(s.text(), what) {
		select {
		case _, more := <-s.news:
			if !more && !strings.Contains(s.text(), what) {
				t.Fatalf("the demo ended before %q:\n%s", what, s.text())
			}
		case <-late.C:
			t.Fatalf("no %q:\n%s", what, s.text())
		}
	}
}

// TestDemo: the demo says once where its pages are and with which key; its crowds get their verdicts; the evening's
// sale goes on, is paid for and moves on the live screen; Ctrl-C ends it and leaves nothing.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(e2e.Binary(t), "demo", "--buyers", "3000", "--stock", "300")
	cmd.Env = append(e2e.Environment(), "TMPDIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &screen{news: make(chan struct{}, 1)}
	var reading sync.WaitGroup
	reading.Go(func() { s.read(out) })
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = cmd.Process.Kill()
			reading.Wait()
			_ = cmd.Wait()
		}
	})
	s.wait(t, "Ctrl-C stops the server")

	text := s.text()
	public := only(t, text, `(?m)^  sale page  (http://\S+)`)
	admin := only(t, text, `(?m)^  console    (http://\S+)`)
	key := only(t, text, `(?m)^  key        (\S+)$`)
	if n := strings.Count(text, key); n != 1 {
		t.Errorf("the key stands %d times in\n%s", n, text)
	}
	if n := strings.Count(text, "PASS  "); n != 2 {
		t.Errorf("%d verdicts in\n%s", n, text)
	}
	for _, url := range []string{public + "/c/evening-sale", admin + "/live/evening-sale", public + "/c/try-it"} {
		if !strings.Contains(text, url) || get(t, url, "") == "" {
			t.Errorf("%s is not there:\n%s", url, text)
		}
	}
	watchEvening(t, admin+"/v1/admin/campaigns/evening-sale/live", key)

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	reading.Wait()
	ended = true
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v\n%s", err, s.text())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// watchEvening looks at the live screen's answer until units have gone and some are paid for; each answer adds up.
func watchEvening(t *testing.T, url, key string) {
	t.Helper()
	late := time.NewTimer(demoWait)
	defer late.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	type split struct{ Total, Available, Queued, Held, Sold int64 }
	var first, last split
	for n := 0; ; n++ {
		last = split{}
		if err := json.Unmarshal([]byte(get(t, url, key)), &last); err != nil {
			t.Fatal(err)
		}
		if last.Total != 300 || last.Available+last.Queued+last.Held+last.Sold != last.Total {
			t.Fatalf("it does not add up: %+v", last)
		}
		if n == 0 {
			first = last
		}
		if last.Available < first.Available && last.Sold > first.Sold {
			return
		}
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("nothing moves: first %+v, last %+v", first, last)
		}
	}
}

func only(t *testing.T, text, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("%s: %d times in\n%s", pattern, len(found), text)
	}
	return found[0][1]
}

func get(t *testing.T, url, key string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v %s", url, resp.StatusCode, err, body)
	}
	return string(body)
}
