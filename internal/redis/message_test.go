package redis_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/redis"
)

func sampleClaim(user, request string, quantity int) sluice.Claim {
	return sluice.Claim{
		ID: sluice.NewClaimID("spring", user, sluice.SourceGrant, request), Campaign: "spring", User: user,
		RequestID: request, Quantity: quantity, Source: sluice.SourceGrant, At: 1_700_000_000_123, Epoch: 7,
	}
}

func same(a, b sluice.Claim) bool {
	return a.ID == b.ID && a.Campaign == b.Campaign && a.User == b.User && a.RequestID == b.RequestID &&
		a.Quantity == b.Quantity && a.Source == b.Source && a.At == b.At && a.Epoch == b.Epoch
}

func TestMessage(t *testing.T) {
	for _, c := range []sluice.Claim{
		sampleClaim("a", "", 1), sampleClaim("Ålice", "r", sluice.MaxPerUserLimit),
		sampleClaim(strings.Repeat("u", sluice.MaxUserID), strings.Repeat("r", sluice.MaxRequestID), 255),
	} {
		b := redis.AppendMessage([]byte{}, &c)
		got, raw, rest, err := redis.DecodeMessage(append(b, "rest"...))
		if err != nil || !same(got, c) || string(rest) != "rest" || !bytes.Equal(raw, b) || len(b) > redis.MaxMessage {
			t.Errorf("%+v: %+v %q %v", c, got, rest, err)
		}
	}
}

// TestMessageOfAnotherVersion keeps its bytes, and what follows it is read.
func TestMessageOfAnotherVersion(t *testing.T) {
	first, second := sampleClaim("a", "1", 1), sampleClaim("b", "2", 2)
	strange := redis.AppendMessage(nil, &first)
	strange[0] = 9
	if _, raw, _, err := redis.DecodeMessage(strange); !errors.Is(err, redis.ErrVersion) || !bytes.Equal(raw, strange) {
		t.Errorf("%q %v", raw, err)
	}
	all := redis.Deliveries("tag", redis.AppendMessage(bytes.Clone(strange), &second))
	if len(all) != 2 || all[0].Fault == "" || !bytes.Equal(all[0].Raw, strange) || all[0].Claim.User != "" ||
		all[1].Fault != "" || !same(all[1].Claim, second) || all[1].Tag != "tag" {
		t.Errorf("%+v", all)
	}
}

// TestMessageBroken cuts a message short at each byte, and turns each bit: it is never read as another claim than
// its bytes say, and what is no message keeps all bytes.
func TestMessageBroken(t *testing.T) {
	c := sampleClaim("alice", "r", 2)
	whole := redis.AppendMessage(nil, &c)
	for n := range whole {
		_, raw, rest, err := redis.DecodeMessage(whole[:n])
		if !errors.Is(err, redis.ErrMessage) || len(raw) != n || rest != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for bit := range len(whole) * 8 {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		got, _, _, err := redis.DecodeMessage(b)
		if err == nil && same(got, c) {
			t.Errorf("bit %d makes no difference", bit)
		}
	}
}

func FuzzDecodeMessage(f *testing.F) {
	c := sampleClaim("alice", "r", 2)
	f.Add(redis.AppendMessage(nil, &c))
	f.Add([]byte{9, 0, 61})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, raw, rest, err := redis.DecodeMessage(b)
		if len(raw)+len(rest) != len(b) {
			t.Fatalf("%d bytes: %d and %d", len(b), len(raw), len(rest))
		}
		if err == nil {
			again, _, _, err := redis.DecodeMessage(redis.AppendMessage(nil, &c))
			if err != nil || !same(again, c) {
				t.Fatalf("%+v: %+v %v", c, again, err)
			}
		}
		n := 0
		for _, d := range redis.Deliveries("", b) {
			n += len(d.Raw)
		}
		if n != len(b) {
			t.Fatalf("deliveries of %d bytes have %d", len(b), n)
		}
	})
}
