package challenge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/challenge"
)

// FuzzIdent: no id but ours can be read, and one of ours for nobody else.
func FuzzIdent(f *testing.F) {
	one := challenge.Ident(key, campaign, user, device)
	f.Add(one, campaign, user, device)
	f.Add(one, campaign, user, "")
	f.Add("", "", "", "")
	f.Fuzz(func(t *testing.T, id, c2, u2, d2 string) {
		ours := id == one && c2 == campaign && u2 == user && d2 == device
		if got := challenge.Parse(id, key, c2, u2, d2); got != ours {
			t.Errorf("%q for %q %q %q: %v", id, c2, u2, d2, got)
		}
	})
}

// FuzzSolution: whatever a solution is, it is judged or it is a fault that says so; nothing panics, and nothing that
// was not the answer is right.
func FuzzSolution(f *testing.F) {
	b := newBench(f)
	site := challenge.SiteConfig{Provider: challenge.Turnstile, SiteKey: "k", Secret: "s", URL: "http://127.0.0.1:1/"}
	d := b.desk(func(cfg *challenge.Config) { cfg.Site = site })
	kinds := []sluice.ChallengeType{
		sluice.ChallengePoW, sluice.ChallengeSlider, sluice.ChallengeImage, sluice.ChallengeSiteverify,
	}
	var all []sluice.Challenge
	for i, kind := range kinds {
		c := ask(f, d, kind)
		all = append(all, c)
		if kind == sluice.ChallengeSiteverify {
			f.Add(i, []byte(token("t")))
			continue
		}
		right, wrong := rightly(f, d, c)
		f.Add(i, []byte(right))
		f.Add(i, []byte(wrong))
	}
	f.Add(1, []byte(`{"x":1e400,"track":[[null,0,0]]}`))
	f.Add(0, []byte(`"eyJudW1iZXIiOjF9"`))
	b.pass(2 * time.Second)
	f.Fuzz(func(t *testing.T, i int, raw []byte) {
		if i < 0 || i >= len(kinds) {
			return
		}
		if err := d.Read(kinds[i], raw); err != nil {
			if !errors.Is(err, sluice.ErrInvalid) || codeOf(err) != "VALIDATION" {
				t.Errorf("%v", err)
			}
			return
		}
		if kinds[i] == sluice.ChallengeSiteverify {
			return
		}
		b.once.mu.Lock()
		clear(b.once.known)
		b.once.mu.Unlock()
		right, _ := rightly(t, d, all[i])
		err := solve(t, d, all[i], raw)
		if kinds[i] == sluice.ChallengePoW && err == nil && !bytes.Equal(raw, right) {
			var text string
			if json.Unmarshal(raw, &text) != nil || len(text) < 100 {
				t.Errorf("%s was taken", raw)
			}
		}
	})
}

// FuzzPicture: no file that an operator uploads makes the server fail or take much.
func FuzzPicture(f *testing.F) {
	img := image.NewRGBA(image.Rect(0, 0, 70, 66))
	var a, b bytes.Buffer
	_ = png.Encode(&a, img)
	_ = jpeg.Encode(&b, img, nil)
	f.Add(a.Bytes())
	f.Add(b.Bytes())
	f.Add([]byte("\x89PNG"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		img, err := challenge.DecodePicture(raw)
		if err == nil && img.Bounds() != image.Rect(0, 0, 400, 225) || err != nil && !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%v", err)
		}
	})
}

// FuzzSiteAnswer: whatever a service answers is read or is an error.
func FuzzSiteAnswer(f *testing.F) {
	for _, s := range []string{
		`{"success":true,"challenge_ts":"2027-01-15T08:00:00Z","hostname":"h","error-codes":[],"action":"a","score":0.9}`,
		`{"success":false,"error-codes":["timeout-or-duplicate"]}`, `{"success":null}`, `[]`, `{"challenge_ts":"x"}`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := challenge.ReadSiteAnswer(raw); err == nil && !json.Valid(raw) {
			t.Errorf("%q was read", raw)
		}
	})
}
