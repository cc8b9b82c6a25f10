package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-sale/sluice/test/e2e"
)

// Bounds of one buyer.
const (
	callTimeout = 12 * time.Second // of one call: a long poll and some
	pollFor     = 5 * time.Second
	patience    = 2 * time.Minute // after which a buyer without an outcome is a fault of the product
	firstPause  = 100 * time.Millisecond
	longPause   = 2 * time.Second
	// Calls at once. Each takes three files of this process, with the proxy before the node, and the proxies before the
	// stores must not run out of them.
	maxCalls = 3000
)

// Buyer is one buyer with everything that he was told.
type Buyer struct {
	User, Request string
	ClaimID       string
	Promised      bool   // QUEUED or CONFIRMED was said at least once
	Final         string // CONFIRMED, SOLD_OUT, LIMIT_REACHED, a rejected claim's code, or "" where patience ran out
	State         string // of the last answer
	Rejected      bool   // promised first, then rejected
	Forgotten     bool   // promised first, then "no such claim"
	Wrong         string // an answer that contradicts an earlier one

	Asked, First, Queued, Done time.Duration // since the sale began; 0: never
}

// Seen counts what clients were told, by word, in one phase of the sale.
type Seen map[string]int

// Crowd is the buyers of one sale. Its fields are read once Run has returned.
type Crowd struct {
	Buyers []Buyer

	campaign string
	bases    []string
	span     time.Duration
	room     chan struct{} // a place for each call under way
	client   *http.Client
	began    time.Time
	promised atomic.Int64

	mu     sync.Mutex
	phase  string
	seen   map[string]Seen
	wins   []time.Duration // when a buyer was first told that he has a unit
	change chan struct{}   // closed and made anew at each promise
}

// NewCrowd makes buyers that arrive evenly over span and ask any of the nodes.
func NewCrowd(campaign, prefix string, bases []string, buyers int, span time.Duration) *Crowd {
	c := &Crowd{
		campaign: campaign, bases: bases, span: span, phase: "before", seen: map[string]Seen{},
		room:   make(chan struct{}, maxCalls),
		change: make(chan struct{}), Buyers: make([]Buyer, buyers),
		client: &http.Client{Timeout: callTimeout, Transport: &http.Transport{
			MaxIdleConnsPerHost: 2048, IdleConnTimeout: 30 * time.Second,
		}},
	}
	for i := range c.Buyers {
		c.Buyers[i] = Buyer{User: fmt.Sprintf("%s-%06d", prefix, i), Request: fmt.Sprintf("r-%s-%06d", prefix, i)}
	}
	return c
}

// Phase names what follows, for Seen.
func (c *Crowd) Phase(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase = name
}

// Since gives the time since the sale began.
func (c *Crowd) Since() time.Duration { return time.Since(c.began) }

// Run lets everybody come, and returns when each has an outcome or no patience left. reached is called once, in a
// goroutine of its own, when so many buyers have been promised a unit; it may be nil.
func (c *Crowd) Run(ctx context.Context, at int64, reached func()) {
	c.began = time.Now()
	var all sync.WaitGroup
	if reached != nil {
		all.Go(func() {
			for c.promised.Load() < at {
				c.mu.Lock()
				change := c.change
				c.mu.Unlock()
				if c.promised.Load() >= at {
					break
				}
				select {
				case <-change:
				case <-ctx.Done():
					return
				}
			}
			reached()
		})
	}
	step := c.span / time.Duration(max(1, len(c.Buyers)))
	for i := range c.Buyers {
		if !wait(ctx, time.Until(c.began.Add(time.Duration(i)*step))) {
			break
		}
		all.Go(func() { c.buy(ctx, &c.Buyers[i]) })
	}
	all.Wait()
	c.client.CloseIdleConnections()
}

func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// buy is one buyer's whole evening.
func (c *Crowd) buy(ctx context.Context, b *Buyer) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b.Asked = c.Since()
	token := e2e.Token(b.User)
	pause := firstPause
	for ctx.Err() == nil && b.Final == "" {
		var a answer
		if b.Promised && !b.Forgotten {
			a = c.call(ctx, "GET", "/v1/claims/"+b.ClaimID+"?wait_ms="+fmt.Sprint(pollFor.Milliseconds()), token, "")
		} else {
			a = c.call(ctx, "POST", "/v1/campaigns/"+c.campaign+"/claims", token, `{"request_id":"`+b.Request+`"}`)
		}
		if again := c.take(b, a); !again {
			pause = firstPause
			continue
		}
		hint := time.Duration(a.RetryAfterMS) * time.Millisecond
		if !wait(ctx, max(hint, time.Duration(rand.Int64N(int64(pause)))+pause/2)) {
			return
		}
		pause = min(2*pause, longPause)
	}
}

// answer is what one call came to. status 0: there was none.
type answer struct {
	status       int
	Code         string `json:"code"`
	ClaimID      string `json:"claim_id"`
	State        string `json:"state"`
	Replayed     bool   `json:"replayed"`
	RetryAfterMS int64  `json:"retry_after_ms"`
}

func (c *Crowd) call(ctx context.Context, method, path, token, body string) (a answer) {
	select {
	case c.room <- struct{}{}:
		defer func() { <-c.room }()
	case <-ctx.Done():
		return a
	}
	url := c.bases[rand.IntN(len(c.bases))] + path
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return a
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return a
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || json.Unmarshal(text, &a) != nil {
		return answer{}
	}
	a.status = resp.StatusCode
	return a
}

// take notes an answer and says whether to wait before the next call.
func (c *Crowd) take(b *Buyer, a answer) (again bool) {
	now := c.Since()
	word := a.Code
	switch {
	case a.status == 0:
		word = "no answer"
	case a.status == http.StatusNotFound && b.Promised:
		word = "forgotten"
	}
	c.count(word)
	if a.status != 0 && b.First == 0 {
		b.First = now
	}
	switch {
	case a.status == 0 || a.status == http.StatusServiceUnavailable || a.status == http.StatusRequestTimeout:
		return true // nothing was said, or, 408, nothing was read: on a machine that is short of time
	case word == "forgotten":
		b.Forgotten = true // the same request id is sent again
		return true
	case a.status != http.StatusOK:
		b.Wrong = fmt.Sprintf("status %d %s", a.status, a.Code)
		b.Final = a.Code
		return false
	}
	if a.ClaimID != "" {
		if b.ClaimID != "" && b.ClaimID != a.ClaimID {
			b.Wrong = fmt.Sprintf("claim %s, then %s", b.ClaimID, a.ClaimID)
		}
		b.ClaimID = a.ClaimID
	}
	switch a.State {
	case "queued":
		c.promise(b, now)
		b.State, b.Forgotten = a.State, false
		return false
	case "confirmed":
		c.promise(b, now)
		b.Final, b.State, b.Done = a.Code, a.State, now
		return false
	case "rejected", "released":
		b.Rejected = b.Promised
		b.Final, b.State, b.Done = a.Code, a.State, now
		return false
	}
	switch a.Code {
	case "BUSY", "TOO_FREQUENT", "PAUSED", "NOT_STARTED":
		return true
	}
	if b.Promised {
		b.Wrong = "promised, then " + a.Code
	}
	b.Final, b.Done = a.Code, now
	return false
}

func (c *Crowd) promise(b *Buyer, now time.Duration) {
	if b.Promised {
		return
	}
	b.Promised, b.Queued = true, now
	c.mu.Lock()
	c.wins = append(c.wins, now)
	close(c.change)
	c.change = make(chan struct{})
	c.mu.Unlock()
	c.promised.Add(1)
}

func (c *Crowd) count(word string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[c.phase] == nil {
		c.seen[c.phase] = Seen{}
	}
	c.seen[c.phase][word]++
}

// Said counts how often a word was said in all.
func (c *Crowd) Said(word string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, phase := range c.seen {
		n += phase[word]
	}
	return n
}

// Seen gives what was said in a phase, the most frequent first, as a person reads it.
func (c *Crowd) Seen(phase string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	words := make([]string, 0, len(c.seen[phase]))
	for w := range c.seen[phase] {
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b string) int {
		if n := c.seen[phase][b] - c.seen[phase][a]; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	for i, w := range words {
		words[i] = fmt.Sprintf("%d %s", c.seen[phase][w], w)
	}
	return strings.Join(words, ", ")
}

// Gap gives the longest time between two promises from a moment on, and when it ended; only promises up to the last
// one count, since a sale that is sold out promises nothing.
func (c *Crowd) Gap(from time.Duration) (gap, end time.Duration) {
	c.mu.Lock()
	wins := slices.Clone(c.wins)
	c.mu.Unlock()
	slices.Sort(wins)
	last := from
	for _, w := range wins {
		if w < from {
			continue
		}
		if w-last > gap {
			gap, end = w-last, w
		}
		last = w
	}
	return gap, end
}

// Settling gives the middle and the longest time from a promise to its outcome.
func (c *Crowd) Settling() (median, p99, longest time.Duration) {
	var took []time.Duration
	for i := range c.Buyers {
		if b := &c.Buyers[i]; b.Promised && b.Done > 0 {
			took = append(took, b.Done-b.Queued)
		}
	}
	if len(took) == 0 {
		return 0, 0, 0
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
}
