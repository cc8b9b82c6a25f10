package challenge_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/challenge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var key = []byte("0123456789abcdef0123456789abcdef")

// onceStore is what nodes share.
type onceStore struct {
	mu    sync.Mutex
	known map[string]time.Duration
	err   error
}

func (o *onceStore) First(_ context.Context, k string, ttl time.Duration) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return false, o.err
	}
	if err := sluice.CheckOnceTTL(ttl); err != nil {
		return false, err
	}
	_, known := o.known[k]
	o.known[k] = ttl
	return !known, nil
}

// bench is one or more nodes with a clock that is moved by hand.
type bench struct {
	t     testing.TB
	once  *onceStore
	clock atomic.Int64
	keys  atomic.Pointer[[][]byte]
	mu    sync.Mutex
	seen  map[challenge.Event]int
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, once: &onceStore{known: map[string]time.Duration{}}, seen: map[challenge.Event]int{}}
	b.clock.Store(1_800_000_000_000)
	b.keys.Store(&[][]byte{key})
	return b
}

func (b *bench) pass(d time.Duration) { b.clock.Add(d.Milliseconds()) }

func (b *bench) desk(change func(*challenge.Config)) *challenge.Desk {
	b.t.Helper()
	cfg := challenge.Config{
		Keys: func() [][]byte { return *b.keys.Load() }, Once: b.once, Pool: challenge.PoolConfig{Size: 2, Workers: 1},
		Now: func() time.Time { return time.UnixMilli(b.clock.Load()) },
		Seen: func(_ sluice.ChallengeType, e challenge.Event) {
			b.mu.Lock()
			b.seen[e]++
			b.mu.Unlock()
		},
	}
	if change != nil {
		change(&cfg)
	}
	d, err := challenge.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(d.Close)
	return d
}

const campaign, user, device = "spring", "u1", "d1"

func ask(t testing.TB, d *challenge.Desk, kind sluice.ChallengeType) sluice.Challenge {
	t.Helper()
	c, err := d.New(t.Context(), sluice.ChallengeAsk{
		Campaign: campaign, User: user, Device: device, Type: kind, Difficulty: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rightly gives the right solution, and one that is wrong and can be read.
func rightly(t testing.TB, d *challenge.Desk, c sluice.Challenge) (right, wrong json.RawMessage) {
	t.Helper()
	number, x, _, text := d.Answer(c, campaign, user, device)
	switch c.Type {
	case sluice.ChallengePoW:
		return powSolution(t, c, number), powSolution(t, c, number+1)
	case sluice.ChallengeSlider:
		return slideTo(float64(x), "pointer"), slideTo(float64(x)+20, "pointer")
	case sluice.ChallengeImage:
		return toJSON(map[string]string{"text": text}), toJSON(map[string]string{"text": "AAAAAA"})
	}
	t.Fatalf("no solution for %s", c.Type)
	return nil, nil
}

func toJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func powSolution(t testing.TB, c sluice.Challenge, number uint32) json.RawMessage {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(c.Data, &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "maxnumber")
	all["number"] = number
	return toJSON(base64.StdEncoding.EncodeToString(toJSON(all)))
}

// slideTo is a drag as a person's: slow, fast, slow, a little too far and back.
func slideTo(x float64, by string) json.RawMessage {
	return toJSON(map[string]any{"x": x, "track": drag(x, 40, 1100), "by": by})
}

func drag(x float64, points int, ms float64) (track [][3]float64) {
	for i := range points {
		t := float64(i) / float64(points-1)
		at := x * (t * t * (3 - 2*t))
		if t > 0.8 && t < 1 {
			at += 3 * math.Sin((t-0.8)*5*math.Pi)
		}
		track = append(track, [3]float64{math.Round(at), math.Round(2 * math.Sin(t*9)), math.Round(t * ms)})
	}
	track[points-1][0] = x
	return track
}

func solve(t testing.TB, d *challenge.Desk, c sluice.Challenge, s json.RawMessage) error {
	return d.Solve(t.Context(), sluice.ChallengeAnswer{
		ID: c.ID, Campaign: campaign, User: user, Device: device, Solution: s,
	})
}

func codeOf(err error) string {
	var f *sluice.Fault
	if errors.As(err, &f) {
		return f.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func wantCode(t testing.TB, what string, err error, code string) {
	t.Helper()
	if got := codeOf(err); got != code {
		t.Errorf("%s: %q (%v), want %q", what, got, err, code)
	}
}

// local are the kinds that are judged here.
var local = []sluice.ChallengeType{sluice.ChallengePoW, sluice.ChallengeSlider, sluice.ChallengeImage}

func TestLifeOfAChallenge(t *testing.T) {
	for _, kind := range local {
		t.Run(string(kind), func(t *testing.T) {
			b := newBench(t)
			issuing, judging := b.desk(nil), b.desk(nil) // two nodes

			c := ask(t, issuing, kind)
			if c.Type != kind || c.ExpiresAt != sluice.Millis(b.clock.Load()+120_000) {
				t.Errorf("%s until %d", c.Type, c.ExpiresAt)
			}
			b.pass(2 * time.Second)
			right, wrong := rightly(t, issuing, c)
			err := solve(t, judging, c, wrong)
			wantCode(t, "wrong", err, "CHALLENGE_FAILED")
			if said := fmt.Sprint(err); !strings.Contains(said, "2 tries are left") {
				t.Errorf("it does not say how many tries are left: %s", said)
			}
			wantCode(t, "right, on the other node", solve(t, judging, c, right), "")
			wantCode(t, "again, here", solve(t, judging, c, right), "CHALLENGE_GONE")
			wantCode(t, "again, there", solve(t, issuing, c, right), "CHALLENGE_GONE")

			c = ask(t, issuing, kind)
			b.pass(2 * time.Second)
			right, wrong = rightly(t, issuing, c)
			for i := range 3 {
				wantCode(t, "wrong", solve(t, []*challenge.Desk{issuing, judging}[i%2], c, wrong), "CHALLENGE_FAILED")
			}
			wantCode(t, "after three wrong ones", solve(t, issuing, c, right), "CHALLENGE_GONE")

			c = ask(t, issuing, kind)
			right, _ = rightly(t, issuing, c)
			b.pass(120 * time.Second)
			wantCode(t, "too late", solve(t, issuing, c, right), "CHALLENGE_GONE")
			if b.seen[challenge.Issued] != 3 || b.seen[challenge.Solved] != 1 || b.seen[challenge.Failed] != 4 ||
				b.seen[challenge.Gone] != 4 {
				t.Errorf("counted: %v", b.seen)
			}
		})
	}
}

// TestOnlyForWhomItWasMade: who else brings the answer, or for something else, is refused.
func TestOnlyForWhomItWasMade(t *testing.T) {
	for _, kind := range local {
		b := newBench(t)
		d := b.desk(nil)
		c := ask(t, d, kind)
		b.pass(2 * time.Second)
		right, _ := rightly(t, d, c)
		for _, a := range []sluice.ChallengeAnswer{
			{Campaign: "autumn", User: user, Device: device}, {Campaign: campaign, User: "u2", Device: device},
			{Campaign: campaign, User: user, Device: "d2"}, {Campaign: campaign, User: user},
			{Campaign: campaign + user, Device: device}, {Campaign: campaign, User: user + device},
		} {
			a.ID, a.Solution = c.ID, right
			by := fmt.Sprintf("%s by %s %s %s", kind, a.Campaign, a.User, a.Device)
			wantCode(t, by, d.Solve(t.Context(), a), "CHALLENGE_GONE")
		}
		other := ask(t, d, kind)
		wantCode(t, "the solution of another challenge", solve(t, d, other, right), "CHALLENGE_FAILED")
		wantCode(t, "and yet", solve(t, d, c, right), "")
	}
}

// TestEachByteChanged: no id that differs in one character is one of ours; nor is a solution, where it repeats what it
// was given.
func TestEachByteChanged(t *testing.T) {
	b := newBench(t)
	d := b.desk(nil)
	for _, kind := range local {
		c := ask(t, d, kind)
		b.pass(2 * time.Second)
		right, _ := rightly(t, d, c)
		if len(c.ID) != challenge.IdentText {
			t.Fatalf("the id %q has %d bytes", c.ID, len(c.ID))
		}
		for i := range c.ID {
			for _, x := range []byte{c.ID[i] ^ 1, c.ID[i] ^ 0x20, 'A', '-', 0} {
				bad := []byte(c.ID)
				if bad[i] = x; string(bad) == c.ID {
					continue
				}
				wantCode(t, fmt.Sprintf("%s, byte %d", kind, i), solve(t, d, sluice.Challenge{ID: string(bad)}, right),
					"CHALLENGE_GONE")
			}
		}
		for _, bad := range []string{
			"", c.ID[1:], c.ID + "A", c.ID + "=", strings.Repeat("A", len(c.ID)), c.ID[:28] + "\n" + c.ID[29:],
		} {
			wantCode(t, bad, solve(t, d, sluice.Challenge{ID: bad}, right), "CHALLENGE_GONE")
		}
		wantCode(t, "and yet", solve(t, d, c, right), "")
	}
	for i := 0; ; i++ { // and of a solution of proof of work, which repeats what was asked
		c := ask(t, d, sluice.ChallengePoW)
		number, _, _, _ := d.Answer(c, campaign, user, device)
		var text string
		_ = json.Unmarshal(powSolution(t, c, number), &text)
		raw, _ := base64.StdEncoding.DecodeString(text)
		if i >= len(raw) {
			break
		}
		raw[i] ^= 1
		if err := solve(t, d, c, toJSON(base64.StdEncoding.EncodeToString(raw))); err == nil {
			t.Errorf("byte %d changed was taken: %s", i, raw)
		}
	}
}

// TestManyAnswersAtOnce: of a hundred wrong answers at once three are judged, of a hundred right ones one counts.
func TestManyAnswersAtOnce(t *testing.T) {
	b := newBench(t)
	nodes := []*challenge.Desk{b.desk(nil), b.desk(nil)}
	for _, right := range []bool{false, true} {
		c := ask(t, nodes[0], sluice.ChallengeImage)
		good, bad := rightly(t, nodes[0], c)
		var solved, failed, gone atomic.Int32
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				answer := bad
				if right {
					answer = good
				}
				switch codeOf(solve(t, nodes[i%2], c, answer)) {
				case "":
					solved.Add(1)
				case "CHALLENGE_FAILED":
					failed.Add(1)
				case "CHALLENGE_GONE":
					gone.Add(1)
				}
			})
		}
		all.Wait()
		if right && (solved.Load() != 1 || gone.Load() != 99) || !right && (failed.Load() != 3 || gone.Load() != 97) {
			t.Errorf("right %v: %d solved, %d failed, %d gone", right, solved.Load(), failed.Load(), gone.Load())
		}
	}
}

// TestTheStoreIsAway: what is not known is not let through.
func TestTheStoreIsAway(t *testing.T) {
	b := newBench(t)
	d := b.desk(nil)
	c := ask(t, d, sluice.ChallengePoW)
	right, _ := rightly(t, d, c)
	b.once.err = sluice.ErrUncertain
	err := solve(t, d, c, right)
	wantCode(t, "store away", err, "UNAVAILABLE")
	if !errors.Is(err, sluice.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	b.once.err = nil
	wantCode(t, "store back", solve(t, d, c, right), "")
	for k, ttl := range b.once.known {
		if ttl > 131*time.Second || ttl < 100*time.Second {
			t.Errorf("%q is remembered for %v", k, ttl)
		}
	}
}

// TestKeysRotate: the first key makes, all are believed, a forgotten one is not.
func TestKeysRotate(t *testing.T) {
	b := newBench(t)
	d := b.desk(nil)
	for _, kind := range local {
		b.keys.Store(&[][]byte{key})
		c := ask(t, d, kind)
		other := ask(t, d, kind)
		b.pass(2 * time.Second)
		right, _ := rightly(t, d, c)
		otherRight, _ := rightly(t, d, other)
		b.keys.Store(&[][]byte{[]byte("the next key"), key})
		wantCode(t, "by the key before", solve(t, d, c, right), "")
		b.keys.Store(&[][]byte{[]byte("the next key")})
		wantCode(t, "by a key that is forgotten", solve(t, d, other, otherRight), "CHALLENGE_GONE")
		for range 5 { // more than were drawn before
			c = ask(t, d, kind)
			b.pass(2 * time.Second)
			right, _ = rightly(t, d, c)
			wantCode(t, "by the next key", solve(t, d, c, right), "")
		}
	}
	b.keys.Store(&[][]byte{})
	_, err := d.New(t.Context(), sluice.ChallengeAsk{Campaign: campaign, User: user})
	wantCode(t, "no key", err, "BUSY")
}
