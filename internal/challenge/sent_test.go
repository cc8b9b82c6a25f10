package challenge_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/challenge"
)

// TestTheAnswerIsNotSent looks for the answer, as it is and in the usual codings, in everything that is sent.
func TestTheAnswerIsNotSent(t *testing.T) {
	b := newBench(t)
	d := b.desk(nil)
	for range 20 {
		for _, kind := range local {
			c := ask(t, d, kind)
			number, x, y, text := d.Answer(c, campaign, user, device)
			var fields map[string]any
			if err := json.Unmarshal(c.Data, &fields); err != nil {
				t.Fatal(err)
			}
			names := make([]string, 0, len(fields))
			sent := c.ID
			for name, v := range fields {
				names = append(names, name)
				s := fmt.Sprint(v)
				if media, b64, ok := strings.Cut(s, ";base64,"); ok {
					raw, err := base64.StdEncoding.DecodeString(b64)
					if err != nil {
						t.Fatal(err)
					}
					// Pictures are made of pixels; their files carry no text beside.
					if strings.Contains(string(raw), "tEXt") || strings.Contains(string(raw), text) {
						t.Errorf("%s of %s has text in its file", name, kind)
					}
					s = media
				}
				sent += " " + s
			}
			slices.Sort(names)
			switch kind {
			case sluice.ChallengePoW:
				wantFields(t, names, "algorithm challenge maxnumber salt signature")
				if fields["maxnumber"] == float64(number) {
					t.Error("the number is the limit")
				}
			case sluice.ChallengeSlider:
				wantFields(t, names, "height image piece piece_height piece_width width y")
				if fields["y"] != float64(y) {
					t.Errorf("y is %v, not %d", fields["y"], y)
				}
				if x < challenge.SliderMinX || x > challenge.SliderMaxX {
					t.Errorf("x is %d", x)
				}
			case sluice.ChallengeImage:
				wantFields(t, names, "image")
				for _, hidden := range []string{text, strings.ToLower(text), hex.EncodeToString([]byte(text)),
					base64.RawStdEncoding.EncodeToString([]byte(text))[:6], hexSum(text), hexSum(strings.ToLower(text))} {
					if strings.Contains(sent, hidden) {
						t.Errorf("%q is in what is sent", hidden)
					}
				}
			}
		}
	}
}

func hexSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func wantFields(t *testing.T, got []string, want string) {
	t.Helper()
	if strings.Join(got, " ") != want {
		t.Errorf("sent: %v, want %s", got, want)
	}
}

// TestPoWAsAltchaSolvesIt finds the number as ALTCHA's widget does, by what it is sent and nothing else.
func TestPoWAsAltchaSolvesIt(t *testing.T) {
	b := newBench(t)
	d := b.desk(func(cfg *challenge.Config) { cfg.PoW.Max = 2000 })
	for range 5 {
		c := ask(t, d, sluice.ChallengePoW)
		var p struct {
			Algorithm, Challenge, Salt, Signature string
			MaxNumber                             int
		}
		if err := json.Unmarshal(c.Data, &p); err != nil {
			t.Fatal(err)
		}
		if p.Algorithm != "SHA-256" || p.MaxNumber != 2000 || !strings.Contains(p.Salt, "?expires=1800000") ||
			!strings.HasSuffix(p.Salt, "&") {
			t.Errorf("%+v", p)
		}
		found := -1
		for n := 0; n <= p.MaxNumber; n++ {
			if hexSum(p.Salt+strconv.Itoa(n)) == p.Challenge {
				found = n
				break
			}
		}
		if found < 0 {
			t.Fatal("there is no such number")
		}
		wantCode(t, "solved", solve(t, d, c, powSolution(t, c, uint32(found))), "")
	}
}

// TestDifficulty: it follows suspicion and load, and stays within its bounds.
func TestDifficulty(t *testing.T) {
	b := newBench(t)
	d := b.desk(func(cfg *challenge.Config) { cfg.PoW = challenge.PoWConfig{Max: 10_000, Ceiling: 100_000, Rate: 100} })
	for _, tt := range []struct {
		difficulty, rate float64
		want             uint32
	}{
		{1, 0, 10_000}, {5, 100, 10_000}, {10, 100, 20_000}, {1, 200, 20_000}, {10, 200, 40_000}, {1e9, 1, 100_000},
		{1, 1e9, 100_000}, {math.Inf(1), 1, 100_000}, {math.NaN(), 1, 10_000}, {-5, 0, 10_000},
	} {
		if got := d.Limit(tt.difficulty, tt.rate); got != tt.want {
			t.Errorf("%v times above normal at %v a second: %d, want %d", tt.difficulty, tt.rate, got, tt.want)
		}
	}
	limit := func() (n struct{ MaxNumber uint32 }) {
		_ = json.Unmarshal(ask(t, d, sluice.ChallengePoW).Data, &n)
		return n
	}
	first := limit().MaxNumber
	for range 2000 {
		limit()
	}
	crowd := limit().MaxNumber
	b.pass(time.Minute)
	if after := limit().MaxNumber; first != 10_000 || crowd < 30_000 || after != 10_000 {
		t.Errorf("first %d, in a crowd %d, after it %d", first, crowd, after)
	}
}

func TestConfigBounds(t *testing.T) {
	b := newBench(t)
	good := challenge.Config{Keys: func() [][]byte { return nil }, Once: b.once}
	for name, change := range map[string]func(*challenge.Config){
		"no keys":           func(c *challenge.Config) { c.Keys = nil },
		"no store":          func(c *challenge.Config) { c.Once = nil },
		"life too short":    func(c *challenge.Config) { c.Life = time.Second },
		"life too long":     func(c *challenge.Config) { c.Life = time.Hour },
		"no try":            func(c *challenge.Config) { c.Tries = -1 },
		"too many tries":    func(c *challenge.Config) { c.Tries = 11 },
		"work too little":   func(c *challenge.Config) { c.PoW.Max = 10 },
		"ceiling below max": func(c *challenge.Config) { c.PoW.Max, c.PoW.Ceiling = 5000, 4000 },
		"ceiling too high":  func(c *challenge.Config) { c.PoW.Ceiling = 1 << 30 },
		"rate":              func(c *challenge.Config) { c.PoW.Rate = -1 },
		"tolerance":         func(c *challenge.Config) { c.Slider.Tolerance = 13 },
		"pool":              func(c *challenge.Config) { c.Pool.Size = -1 },
		"waiting":           func(c *challenge.Config) { c.Pool.Waiting = -1 },
		"no such folder":    func(c *challenge.Config) { c.Slider.Folder = "/does/not/exist" },
		"no pictures":       func(c *challenge.Config) { c.Slider.Folder = t.TempDir() },
		"no such service": func(c *challenge.Config) {
			c.Site = challenge.SiteConfig{Provider: "x", SiteKey: "k", Secret: "s"}
		},
		"no secret": func(c *challenge.Config) { c.Site = challenge.SiteConfig{Provider: "turnstile", SiteKey: "k"} },
		"http": func(c *challenge.Config) {
			c.Site = challenge.SiteConfig{Provider: "turnstile", SiteKey: "k", Secret: "s", URL: "http://example.com/"}
		},
		"policy": func(c *challenge.Config) {
			c.Site = challenge.SiteConfig{Provider: "turnstile", SiteKey: "k", Secret: "s", OnTrouble: "maybe"}
		},
		"time-out": func(c *challenge.Config) {
			c.Site = challenge.SiteConfig{Provider: "turnstile", SiteKey: "k", Secret: "s", Timeout: time.Minute}
		},
	} {
		cfg := good
		change(&cfg)
		if d, err := challenge.New(cfg); !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				d.Close()
			}
		}
	}
	d, err := challenge.New(good)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	d.Close()
}

// TestKindsThatAreNotThere: an unknown kind is refused, one that is not set up gives the way that is always open.
func TestKindsThatAreNotThere(t *testing.T) {
	d := newBench(t).desk(nil)
	_, err := d.New(t.Context(), sluice.ChallengeAsk{Campaign: campaign, User: user, Type: "riddle"})
	wantCode(t, "riddle", err, "VALIDATION")
	for _, kind := range []sluice.ChallengeType{"", sluice.ChallengeSiteverify} {
		if c := ask(t, d, kind); c.Type != sluice.ChallengePoW {
			t.Errorf("%q gives %s", kind, c.Type)
		}
	}
}
