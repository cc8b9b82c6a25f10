package challenge_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/challenge"
)

const at = 173.0

func with(track [][3]float64, change func([][3]float64)) [][3]float64 {
	track = append([][3]float64(nil), track...)
	change(track)
	return track
}

func line(x float64, points int, ms float64) (track [][3]float64) {
	for i := range points {
		t := float64(i) / float64(points-1)
		track = append(track, [3]float64{math.Round(x * t), 0, math.Round(ms * t)})
	}
	track[points-1][0] = x
	return track
}

func TestTrack(t *testing.T) {
	good := drag(at, 40, 1100)
	keys := [][3]float64{{0, 0, 0}, {10, 0, 180}, {20, 0, 213}, {90, 0, 246}, {160, 0, 280}, {172, 0, 700}, {173, 0, 910}}
	jitter := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		name  string
		track [][3]float64
		x     float64
		by    string
		since time.Duration
		want  string
	}{
		{"a person's", good, at, "pointer", 2 * time.Second, ""},
		{"a person's, few points", drag(at, 8, 600), at, "pointer", 2 * time.Second, ""},
		{"a person's, many points", drag(at, 300, 4000), at, "pointer", 5 * time.Second, ""},
		{"a finger that keeps its height", with(good, func(p [][3]float64) {
			for i := range p {
				p[i][1] = 0
			}
		}), at, "pointer", 2 * time.Second, ""},
		{"times of any clock", with(good, func(p [][3]float64) {
			for i := range p {
				p[i][2] += 50_000
			}
		}), at, "pointer", 2 * time.Second, ""},
		{"keys", keys, at, "keys", 2 * time.Second, ""},
		{"one click", [][3]float64{{0, 0, 0}, {at, 0, 900}}, at, "keys", 2 * time.Second, ""},

		{"no points", nil, at, "pointer", 2 * time.Second, "too few points"},
		{"no points by keys", nil, at, "keys", 2 * time.Second, "too few points"},
		{"only the end", [][3]float64{{at, 0, 500}}, at, "keys", 2 * time.Second, "too few points"},
		{"seven points", drag(at, 7, 600), at, "pointer", 2 * time.Second, "too few points"},
		{"time backwards", with(good, func(p [][3]float64) { p[5][2], p[6][2] = p[6][2], p[5][2] }), at, "pointer",
			2 * time.Second, "time runs backwards"},
		{"keys backwards", with(keys, func(p [][3]float64) { p[2][2] = 0 }), at, "keys", 2 * time.Second,
			"time runs backwards"},
		{"a click, and a drag from there", [][3]float64{{150, 0, 900}, {170, 0, 960}, {at, 0, 1400}}, at, "pointer",
			2 * time.Second, ""},
		{"keys from the first step on", [][3]float64{{26, 0, 300}, {52, 0, 400}, {at, 0, 800}}, at, "keys",
			2 * time.Second, ""},
		{"ends elsewhere", good, at + 3, "pointer", 2 * time.Second, "it does not end where the piece was let go"},
		{"keys end elsewhere", keys, at + 3, "keys", 2 * time.Second, "it does not end where the piece was let go"},
		{"too fast", drag(at, 40, 199), at, "pointer", 2 * time.Second, "too fast"},
		{"keys too fast", [][3]float64{{0, 0, 0}, {at, 0, 149}}, at, "keys", 2 * time.Second, "too fast"},
		{"longer than the challenge is old", drag(at, 40, 3100), at, "pointer", 2 * time.Second,
			"it took longer than the challenge is old"},
		{"a straight line", line(at, 40, 1200), at, "pointer", 2 * time.Second, "constant speed"},
		{"a straight line with noise in time", with(line(at, 40, 1200), func(p [][3]float64) {
			for i := 1; i < len(p)-1; i++ {
				p[i][2] += jitter.Float64()*20 - 10
			}
		}), at, "pointer", 2 * time.Second, "constant speed"},
		{"a leap", with(good, func(p [][3]float64) {
			for i := 1; i < 39; i++ {
				p[i][0] = float64(i % 3)
			}
		}), at, "pointer", 2 * time.Second, "a leap"},
		{"all at one moment", with(good, func(p [][3]float64) {
			for i := range p[:39] {
				p[i][2] = 0
			}
		}), at, "pointer", 2 * time.Second, "too few moments"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := challenge.TrackFault(tt.track, tt.x, tt.by, tt.since); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestSlider: position and track are both judged, whichever way the piece was moved.
func TestSlider(t *testing.T) {
	for _, tt := range []struct {
		name string
		off  float64
		make func(x float64) json.RawMessage
		want string
	}{
		{"right", 0, func(x float64) json.RawMessage { return slideTo(x, "pointer") }, ""},
		{"by default a pointer", 0, func(x float64) json.RawMessage {
			return toJSON(map[string]any{"x": x, "track": drag(x, 40, 1100)})
		}, ""},
		{"five pixels off", 5, func(x float64) json.RawMessage { return slideTo(x, "pointer") }, ""},
		{"five pixels off, left", -5, func(x float64) json.RawMessage { return slideTo(x, "pointer") }, ""},
		{"six pixels off", 6, func(x float64) json.RawMessage { return slideTo(x, "pointer") }, "CHALLENGE_FAILED"},
		{"by keys", 0, func(x float64) json.RawMessage {
			return toJSON(map[string]any{"x": x, "track": [][3]float64{{0, 0, 0}, {x - 1, 0, 500}, {x, 0, 700}}, "by": "keys"})
		}, ""},
		{"right, no track", 0, func(x float64) json.RawMessage {
			return toJSON(map[string]any{"x": x, "track": [][3]float64{}})
		}, "CHALLENGE_FAILED"},
		{"right, a straight line", 0, func(x float64) json.RawMessage {
			return toJSON(map[string]any{"x": x, "track": line(x, 50, 900)})
		}, "CHALLENGE_FAILED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			d := b.desk(nil)
			c := ask(t, d, sluice.ChallengeSlider)
			_, x, _, _ := d.Answer(c, campaign, user, device)
			b.pass(2 * time.Second)
			wantCode(t, tt.name, solve(t, d, c, tt.make(float64(x)+tt.off)), tt.want)
		})
	}
}

// TestSolutionsThatCannotBeRead name what is wrong, and use up no try.
func TestSolutionsThatCannotBeRead(t *testing.T) {
	b := newBench(t)
	d := b.desk(nil)
	long := make([][3]float64, 301)
	for kind, all := range map[sluice.ChallengeType][]json.RawMessage{
		sluice.ChallengeSlider: {
			nil, []byte("null"), []byte("{}"), []byte(`{"x":1,"track":[]} x`), []byte(`{"x":1,"track":[],"z":1}`),
			[]byte(`{"x":"1","track":[]}`), []byte(`{"x":-1,"track":[]}`), []byte(`{"x":321,"track":[]}`),
			[]byte(`{"x":1,"track":[[1,2]]}`), []byte(`{"x":1,"track":[[1,2,3,4]]}`), []byte(`{"x":1,"track":[[1,2,-3]]}`),
			[]byte(`{"x":1,"track":[[1e9,2,3]]}`), []byte(`{"x":1,"track":[[1e999,2,3]]}`),
			[]byte(`{"x":1,"track":[],"by":"magic"}`),
			toJSON(map[string]any{"x": 1, "track": long}),
		},
		sluice.ChallengePoW: {
			nil, []byte("{}"), []byte(`""`), []byte(`"%%%"`), []byte(`"e30"`), []byte(`"e30=="`), []byte(`"bm8="`),
			[]byte(`"eyJudW1iZXIiOi0xfQ=="`), []byte(`"eyJ4IjoxfQ=="`), toJSON(string(make([]byte, sluice.MaxChallengeBody))),
		},
		sluice.ChallengeImage: {
			nil, []byte("{}"), []byte(`{"text":""}`), []byte(`{"text":5}`), []byte(`{"text":"A","text2":"B"}`),
			toJSON(map[string]string{"text": string(make([]byte, 65))}),
		},
	} {
		c := ask(t, d, kind)
		b.pass(time.Second)
		for _, raw := range all {
			err := solve(t, d, c, raw)
			if kind == sluice.ChallengePoW && string(raw) == `"e30="` {
				continue
			}
			wantCode(t, string(kind)+" "+string(raw[:min(len(raw), 40)]), err, "VALIDATION")
		}
		right, _ := rightly(t, d, c)
		wantCode(t, "and yet", solve(t, d, c, right), "")
	}
}

// TestTextAsPeopleType: any case, spaces and wide letters are taken; letters that look alike are not in use.
func TestTextAsPeopleType(t *testing.T) {
	b := newBench(t)
	d := b.desk(nil)
	for _, alike := range "O0QI1L5S8B2ZGVo" {
		for _, used := range challenge.Alphabet {
			if used == alike {
				t.Errorf("%c is in use", used)
			}
		}
	}
	for name, typed := range map[string]func(string) string{
		"as it is": func(s string) string { return s },
		"small": func(s string) string {
			low := ""
			for _, r := range s {
				if r >= 'A' {
					r += 'a' - 'A'
				}
				low += string(r)
			}
			return low
		},
		"with spaces": func(s string) string { return " " + s[:2] + " " + s[2:] + "\u3000" },
		"wide": func(s string) string {
			wide := ""
			for _, r := range s {
				wide += string(r + 0xff01 - '!')
			}
			return wide
		},
	} {
		c := ask(t, d, sluice.ChallengeImage)
		_, _, _, text := d.Answer(c, campaign, user, device)
		if len(text) != challenge.TextLength {
			t.Fatal(text)
		}
		wantCode(t, "one letter short", solve(t, d, c, toJSON(map[string]string{"text": text[1:]})), "CHALLENGE_FAILED")
		wantCode(t, name, solve(t, d, c, toJSON(map[string]string{"text": typed(text)})), "")
	}
}
