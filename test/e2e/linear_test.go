package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-sale/sluice/test/e2e"
)

// op is one call of a client, and answer what came of it.
type op struct {
	campaign int
	kind     string // claim, cancel, adjust
	user     string
	request  string
	quantity int
	order    string // of a cancel
	delta    int64
}

type answer struct {
	code    string
	claim   string
	applied int64
}

// stock is the specification: a campaign as one thing that does one call after the other.
type stock struct {
	total  int64
	claims []held // sorted by id
}

type held struct {
	id, user string
	quantity int64
	live     bool
}

const linearLimit = 2

func (s stock) live() (n int64) {
	for _, c := range s.claims {
		if c.live {
			n += c.quantity
		}
	}
	return n
}

func (s stock) of(user string) (n int64) {
	for _, c := range s.claims {
		if c.live && c.user == user {
			n += c.quantity
		}
	}
	return n
}

func (s stock) find(id string) (int, bool) {
	return slices.BinarySearchFunc(s.claims, id, func(c held, id string) int { return strings.Compare(c.id, id) })
}

// step says whether the answer is right for the call in this state, and the state after it.
func (s stock) step(o op, a answer) (bool, stock) {
	switch o.kind {
	case "adjust":
		if max(o.delta, -(s.total-s.live())) != a.applied {
			return false, s
		}
		s.total += a.applied
		return true, s
	case "cancel":
		i, ok := s.find(o.order)
		if !ok {
			return false, s
		}
		s.claims = slices.Clone(s.claims)
		s.claims[i].live = false
		return true, s
	}
	q := int64(o.quantity)
	// The id of a claim is unknown until somebody is told it; a copy is known by user and request.
	key := o.user + "/" + o.request
	if i, ok := s.find(key); ok {
		c := s.claims[i]
		return a.code == "CONFIRMED" && c.quantity == q, s
	}
	overLimit, soldOut := s.of(o.user)+q > linearLimit, q > s.total-s.live()
	switch { // where both are so the marker, which knows no users, may have answered first
	case overLimit || soldOut:
		return a.code == "LIMIT_REACHED" && overLimit || a.code == "SOLD_OUT" && soldOut, s
	case a.code != "CONFIRMED":
		return false, s
	}
	i, _ := s.find(key)
	s.claims = slices.Insert(slices.Clone(s.claims), i, held{key, o.user, q, true})
	return true, s
}

var specification = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[int][]porcupine.Operation{}
		for _, h := range history {
			c := h.Input.(op).campaign
			parts[c] = append(parts[c], h)
		}
		var all [][]porcupine.Operation
		for _, p := range parts {
			all = append(all, p)
		}
		return all
	},
	Init: func() any { return stock{total: linearStock} },
	Step: func(state, input, output any) (bool, any) { return state.(stock).step(input.(op), output.(answer)) },
	Equal: func(a, b any) bool {
		x, y := a.(stock), b.(stock)
		return x.total == y.total && slices.Equal(x.claims, y.claims)
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

const (
	linearWait      = 30 * time.Second
	linearStock     = 5
	linearCampaigns = 12
	linearClients   = 10
	linearCalls     = 12 // of each client on each campaign
)

// TestLinearizable records what concurrent clients were answered over HTTP (claims, copies, cancels, adjustments), and
// has porcupine look for an order of the calls in which every answer is right.
func TestLinearizable(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := e2e.Start(t, e2e.Options{})
	for c := range linearCampaigns {
		s.Create(t, e2e.Goods(fmt.Sprint("linear-", c), linearStock, linearLimit, map[string]any{
			"protection": map[string]any{"per_user_rate": 1000},
		}))
	}
	h := &history{s: s, began: time.Now(), orders: map[string]string{}}
	var all sync.WaitGroup
	for i := range linearClients {
		all.Go(func() { h.client(t, i, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for _, part := range specification.Partition(h.ops) {
		if result, info := porcupine.CheckOperationsVerbose(specification, part, linearWait); result != porcupine.Ok {
			t.Errorf("no order explains these answers (%v); seed %d\n%s", result, seed, stuck(part, info))
		}
	}
	for c := range linearCampaigns {
		s.Verify(t, fmt.Sprint("linear-", c))
	}
}

// stuck tells how far an explanation gets, and which calls it cannot go on with.
func stuck(part []porcupine.Operation, info porcupine.LinearizationInfo) (text string) {
	var longest []porcupine.Operation
	for _, p := range info.PartialLinearizationsOperations() {
		for _, q := range p {
			if len(q) > len(longest) {
				longest = q
			}
		}
	}
	state, done := specification.Init(), map[porcupine.Operation]bool{}
	for _, o := range longest {
		_, state = specification.Step(state, o.Input, o.Output)
		done[o] = true
		text += line(o)
	}
	text += fmt.Sprintf("then, in the state %+v, none of\n", state)
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return int(a.Return - b.Return) })
	end := int64(0)
	for _, o := range part {
		if !done[o] && (end == 0 || o.Call < end) {
			if end == 0 {
				end = o.Return
			}
			text += line(o)
		}
	}
	return text
}

func line(o porcupine.Operation) string {
	return fmt.Sprintf("%9d to %9d µs  client %d  %s\n", o.Call/1000, o.Return/1000, o.ClientId,
		specification.DescribeOperation(o.Input, o.Output))
}

type history struct {
	s     *e2e.Server
	began time.Time

	mu     sync.Mutex
	ops    []porcupine.Operation
	orders map[string]string // order id → user/request
}

func (h *history) client(t *testing.T, id int, rng *rand.Rand) {
	for n := range linearCalls {
		for c := range linearCampaigns {
			o := op{campaign: c, kind: "claim", quantity: 1 + rng.IntN(2)}
			o.user = fmt.Sprintf("u%d", rng.IntN(linearClients))
			o.request = fmt.Sprintf("r%d", rng.IntN(3)) // few, so that copies meet
			if rng.IntN(4) == 0 {
				o = h.other(o, rng, fmt.Sprintf("%d-%d", id, n))
			}
			if err := h.call(id, o); err != nil {
				t.Error(err)
				return
			}
		}
	}
}

// other turns a claim into a cancel of an order that somebody was told of, or into an adjustment.
func (h *history) other(o op, rng *rand.Rand, name string) op {
	if rng.IntN(3) == 0 {
		return op{campaign: o.campaign, kind: "adjust", request: name, delta: int64(1-2*rng.IntN(2)) * int64(1+rng.IntN(2))}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	prefix := fmt.Sprint(o.campaign, "|")
	for id, key := range h.orders {
		if k, mine := strings.CutPrefix(key, prefix); mine {
			user, _, _ := strings.Cut(k, "/")
			return op{campaign: o.campaign, kind: "cancel", user: user, request: id, order: k}
		}
	}
	return o
}

func (h *history) call(client int, o op) error {
	campaign := fmt.Sprint("linear-", o.campaign)
	start := time.Since(h.began)
	var a answer
	switch o.kind {
	case "adjust":
		got, err := h.s.TryAsk("POST", h.s.AdminURL+"/v1/admin/campaigns/"+campaign+"/adjustments", e2e.AdminKey,
			map[string]any{"change_id": campaign + "-" + o.request, "delta": o.delta})
		if err != nil || got.Status != 200 {
			return fmt.Errorf("adjust: %d %s %w", got.Status, got.Body, err)
		}
		if a.applied, err = applied(got.Body); err != nil {
			return err
		}
	case "cancel":
		got, err := h.s.TryAsk("POST", h.s.URL+"/v1/orders/"+o.request+"/cancel", e2e.Token(o.user), nil)
		if err != nil || got.Status != 200 {
			return fmt.Errorf("cancel: %d %s %w", got.Status, got.Body, err)
		}
	default:
		got, err := h.s.TryClaim(campaign, o.user, o.request, o.quantity)
		if err != nil {
			return err
		}
		if got.Code == "REQUEST_ID_REUSED" || got.Code == "BUSY" || got.Code == "TOO_FREQUENT" {
			return nil // nothing was decided; the first is told from what the claim was
		}
		a = answer{code: got.Code, claim: got.ClaimID}
		if got.Code == "CONFIRMED" {
			h.mu.Lock()
			h.orders[got.OrderID] = fmt.Sprintf("%d|%s/%s", o.campaign, o.user, o.request)
			h.mu.Unlock()
		}
	}
	end := time.Since(h.began)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{
		ClientId: client, Input: o, Call: start.Nanoseconds(), Output: a, Return: end.Nanoseconds(),
	})
	return nil
}

// applied reads how much of an adjustment was applied.
func applied(body []byte) (int64, error) {
	var a struct {
		Applied int64 `json:"applied"`
	}
	err := json.Unmarshal(body, &a)
	return a.Applied, err
}
