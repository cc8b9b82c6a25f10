package rabbitmq_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/rabbitmq"
	"github.com/sluice-sale/sluice/internal/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

// until asks again and again until ok.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s did not come to be", what)
		}
	}
}

// The tests' own encoding: the package is handed one.
func encode(dst []byte, c *sluice.Claim) []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return append(dst, b...)
}

func decode(b []byte) (c sluice.Claim, err error) { return c, json.Unmarshal(b, &c) }

func config(url string) rabbitmq.Config {
	return rabbitmq.Config{
		URL: url, Node: "test", Encode: encode, Decode: decode, ConfirmTimeout: 2 * time.Second,
		DialTimeout: 2 * time.Second, MaxBackoff: 200 * time.Millisecond, Heartbeat: time.Second,
	}
}

func publisher(t *testing.T, cfg rabbitmq.Config) *rabbitmq.Publisher {
	t.Helper()
	p, err := rabbitmq.OpenPublisher(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func consumer(t *testing.T, cfg rabbitmq.Config) *rabbitmq.Consumer {
	t.Helper()
	c, err := rabbitmq.OpenConsumer(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func claims(from, n int) []sluice.Claim {
	all := make([]sluice.Claim, n)
	for i := range all {
		user := fmt.Sprintf("user-%d", from+i)
		all[i] = sluice.Claim{
			ID: sluice.NewClaimID("spring", user, sluice.SourceClaim, "r"), Campaign: "spring", User: user, RequestID: "r",
			Quantity: 1 + i%3, At: 1_700_000_000_000, Epoch: 7,
		}
	}
	return all
}

// receive takes deliveries until n have come, and gives them without acknowledging.
func receive(t *testing.T, c *rabbitmq.Consumer, n int) []sluice.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []sluice.Delivery
	for len(all) < n && ctx.Err() == nil {
		got, err := c.Receive(ctx, n-len(all))
		if err != nil && !errors.Is(err, sluice.ErrUnavailable) {
			t.Fatal(err)
		}
		all = append(all, got...)
	}
	if len(all) != n {
		t.Fatalf("%d of %d deliveries came", len(all), n)
	}
	return all
}

func ack(t *testing.T, c *rabbitmq.Consumer, d []sluice.Delivery) {
	t.Helper()
	if err := c.Ack(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// none: the queue of claims is empty once c is closed, which gives back what it was handed and did not acknowledge.
func none(t *testing.T, cfg rabbitmq.Config, c *rabbitmq.Consumer) {
	t.Helper()
	closeLater(c)
	got, err := consumer(t, cfg).Receive(t.Context(), 10)
	if err != nil || len(got) != 0 {
		t.Errorf("left over: %d, %v", len(got), err)
	}
}

// closeLater leaves the broker time: an acknowledgement right before the end of a connection may be lost in it, and
// then the message comes again.
func closeLater(c *rabbitmq.Consumer) {
	<-time.After(300 * time.Millisecond)
	_ = c.Close()
}

type queueFacts struct {
	Name      string         `json:"name"`
	Type      string         `json:"type"`
	Durable   bool           `json:"durable"`
	Arguments map[string]any `json:"arguments"`
}

func facts(t *testing.T, v *servers.RabbitVhost, queue string) (q queueFacts) {
	t.Helper()
	if err := v.Manage(t.Context(), "GET", "/api/queues/"+v.Name+"/"+queue+"", nil, &q); err != nil {
		t.Log(err)
	}
	return q
}

// raw is a channel beside the package, for what a stranger might do.
func raw(t *testing.T, url string) *amqp.Channel {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// TestWhatAMessageCarries: the body is the encoding, byte by byte; the rest is for people and for routing.
func TestWhatAMessageCarries(t *testing.T) {
	v := servers.Rabbit(t)
	p := publisher(t, config(v.URL))
	want := claims(0, 1)
	if err := p.Publish(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	m, ok, err := raw(t, v.URL).Get("sluice.claims", false)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	id := want[0].ID.String()
	if string(m.Body) != string(encode(nil, &want[0])) || m.CorrelationId != id || m.MessageId != id ||
		m.DeliveryMode != amqp.Persistent || m.Exchange != "sluice" || m.RoutingKey != "claim.spring" {
		t.Errorf("the message is %+v", m)
	}
	for name, value := range map[string]any{
		"version": int32(sluice.MessageVersion), "claim_id": id, "campaign": "spring", "user": "user-0",
		"quantity": int32(1), "epoch": int64(7),
	} {
		if m.Headers[name] != value {
			t.Errorf("header %s is %v (%T), not %v", name, m.Headers[name], m.Headers[name], value)
		}
	}
}

// TestThereAndBack: many batches at once, each claim comes once, and what is acknowledged is gone.
func TestThereAndBack(t *testing.T) {
	v := servers.Rabbit(t)
	cfg := config(v.URL)
	cfg.InFlight = 100 // smaller than a batch
	p, c := publisher(t, cfg), consumer(t, cfg)
	const callers, each = 8, 300
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			if err := p.Publish(t.Context(), claims(i*each, each)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	want := map[sluice.ClaimID]sluice.Claim{}
	for _, x := range claims(0, callers*each) {
		want[x.ID] = x
	}
	for _, d := range receive(t, c, callers*each) {
		w, ok := want[d.Claim.ID]
		if !ok || d.Fault != "" || d.Claim.User != w.User || d.Claim.Epoch != 7 || d.Tag == "" || len(d.Raw) == 0 {
			t.Fatalf("came twice or wrong: %+v", d)
		}
		delete(want, d.Claim.ID)
		ack(t, c, []sluice.Delivery{d})
		ack(t, c, []sluice.Delivery{d}) // twice is harmless
	}
	none(t, cfg, c)
}

// TestAcksOutOfOrder: whatever order acknowledgements come in, what was not acknowledged comes again and nothing else.
func TestAcksOutOfOrder(t *testing.T) {
	v := servers.Rabbit(t)
	p := publisher(t, config(v.URL))
	if err := p.Publish(t.Context(), claims(0, 100)); err != nil {
		t.Fatal(err)
	}
	first, err := rabbitmq.OpenConsumer(t.Context(), config(v.URL))
	if err != nil {
		t.Fatal(err)
	}
	d := receive(t, first, 100)
	for _, part := range [][]sluice.Delivery{d[50:60], d[0:10], d[5:20], d[90:100], d[20:50], d[61:90], d[61:90]} {
		ack(t, first, part)
	}
	closeLater(first)
	second := consumer(t, config(v.URL))
	again := receive(t, second, 1)
	if again[0].Claim.ID != d[60].Claim.ID {
		t.Errorf("%v came again", again[0].Claim.User)
	}
	ack(t, second, d[:3]) // tags of a session that is over mean nothing here
	ack(t, second, again)
	none(t, config(v.URL), second)
}

// TestWhatCannotBeRead is handed over with its fault and its bytes, never dropped and never settled.
func TestWhatCannotBeRead(t *testing.T) {
	v := servers.Rabbit(t)
	c := consumer(t, config(v.URL))
	one := claims(0, 2)
	good := string(encode(nil, &one[0]))
	id := one[0].ID.String()
	for _, tt := range []struct {
		name, body, correlation string
		version                 any
		fault                   string
	}{
		{"a version of tomorrow", good, id, int32(99), "version 99"},
		{"a version of tomorrow, in another size", good, id, int64(99), "version 99"},
		{"no version at all", good, id, int16(0), "version 0"},
		{"not a message", "hello", id, int32(1), "cannot be read"},
		{"an empty body", "", id, int32(1), "cannot be read"},
		{"of two claims", good, one[1].ID.String(), int32(1), "correlation id"},
		{"good", good, id, int32(1), ""},
		{"good, headers lost", good, "", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := amqp.Publishing{Body: []byte(tt.body), CorrelationId: tt.correlation}
			if tt.version != nil {
				m.Headers = amqp.Table{"version": tt.version}
			}
			if err := raw(t, v.URL).PublishWithContext(t.Context(), "sluice", "claim.spring", true, false, m); err != nil {
				t.Fatal(err)
			}
			d := receive(t, c, 1)
			if string(d[0].Raw) != tt.body || (d[0].Fault == "") != (tt.fault == "") || !strings.Contains(d[0].Fault, tt.fault) {
				t.Errorf("came as %+v", d[0])
			}
			if tt.fault != "" && d[0].Claim.User != "" {
				t.Errorf("a claim was made of it: %+v", d[0].Claim)
			}
			ack(t, c, d)
		})
	}
	none(t, config(v.URL), c)
}

// TestWhatTheBrokerGivesUp: a message that was delivered too often comes once more, as one that is not to be settled.
func TestWhatTheBrokerGivesUp(t *testing.T) {
	v := servers.Rabbit(t)
	cfg := config(v.URL)
	cfg.DeliveryLimit = 2
	if err := publisher(t, cfg).Publish(t.Context(), claims(0, 1)); err != nil {
		t.Fatal(err)
	}
	var last []sluice.Delivery
	for range 4 {
		c, err := rabbitmq.OpenConsumer(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		last = receive(t, c, 1)
		if last[0].Fault != "" {
			ack(t, c, last)
		}
		_ = c.Close() // as one that was killed, where it did not acknowledge
	}
	if !strings.Contains(last[0].Fault, "gave the message up") || len(last[0].Raw) == 0 {
		t.Errorf("it came as %+v", last[0])
	}
	none(t, cfg, consumer(t, cfg))
}

// TestNothingIsLeftBehind: no goroutine outlives Close, also where there never was a broker.
func TestNothingIsLeftBehind(t *testing.T) {
	v := servers.Rabbit(t)
	before := goleak.IgnoreCurrent()
	for _, url := range []string{v.URL, "amqp://guest:guest@127.0.0.1:1/x"} {
		p, err := rabbitmq.OpenPublisher(t.Context(), config(url))
		if err != nil {
			t.Fatal(err)
		}
		c, err := rabbitmq.OpenConsumer(t.Context(), config(url))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, _ = p.Close(), c.Close()
		}
		if err = p.Publish(t.Context(), claims(0, 1)); !errors.Is(err, sluice.ErrUnavailable) {
			t.Errorf("a closed publisher says %v", err)
		}
		if _, err = c.Receive(t.Context(), 1); !errors.Is(err, sluice.ErrUnavailable) {
			t.Errorf("a closed consumer says %v", err)
		}
	}
	goleak.VerifyNone(t, before)
}

// TestSecretsAreNotShown: neither logs nor errors hold the password, whatever is wrong with the address.
func TestSecretsAreNotShown(t *testing.T) {
	v := servers.Rabbit(t)
	const secret = "pa55-w%3Ard"
	for _, url := range []string{
		"amqp://guest:" + secret + "@" + v.Addr + "/" + v.Name,  // refused
		"amqp://guest:" + secret + "@127.0.0.1:1/" + v.Name,     // nobody there
		"amqp://guest:" + secret + "@" + v.Addr + "/nowhere",    // refused
		"amqp://guest:" + secret + "@host:port/x",               // no address
		"http://guest:" + secret + "@host/x",                    // another scheme
		"amqp://guest:" + secret + "\x00@host/x",                // not a URL
		"amqp://guest:" + secret + "@" + v.Addr + "/a/b",        // two vhosts
		"amqp://guest:guest@host@guest:" + secret + "%zz@other", // nonsense
	} {
		var log strings.Builder
		cfg := config(url)
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		p, err := rabbitmq.OpenPublisher(t.Context(), cfg)
		if err == nil {
			err = p.Publish(t.Context(), claims(0, 1))
			_ = p.Close()
		}
		if err == nil || strings.Contains(fmt.Sprint(err, log.String()), "pa55") {
			t.Errorf("%q: %v\n%s", url, err, log.String())
		}
	}
}
