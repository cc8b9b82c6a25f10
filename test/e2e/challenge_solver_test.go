package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// work finds the number of a proof of work, as a page does, and gives the solution.
func work(t *testing.T, data json.RawMessage) any {
	t.Helper()
	var p struct {
		Algorithm, Challenge, Salt, Signature string
		MaxNumber                             int
	}
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= p.MaxNumber; n++ {
		if sum := sha256.Sum256([]byte(p.Salt + strconv.Itoa(n))); hex.EncodeToString(sum[:]) == p.Challenge {
			text, err := json.Marshal(map[string]any{"algorithm": p.Algorithm, "challenge": p.Challenge, "number": n,
				"salt": p.Salt, "signature": p.Signature, "took": 87})
			if err != nil {
				t.Fatal(err)
			}
			return base64.StdEncoding.EncodeToString(text)
		}
	}
	t.Fatalf("no number up to %d: %s", p.MaxNumber, data)
	return nil
}

// sliderData is what a page is sent of a slider.
type sliderData struct {
	Image, Piece     string
	Y, Width, Height int
	PieceWidth       int `json:"piece_width"`
	PieceHeight      int `json:"piece_height"`
}

// lookAt finds the hole by looking: the place where an edge goes round the form of the piece. It stands for a person
// here, and shows what a script that reads pictures can do.
func lookAt(t *testing.T, data json.RawMessage) int {
	t.Helper()
	var d sliderData
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	picture, piece := decodeURL(t, d.Image), decodeURL(t, d.Piece)
	belongs := func(u, v int) bool {
		_, _, _, a := piece.At(u, v).RGBA()
		return a > 0xc000
	}
	light := func(x, y int) float64 {
		r, g, b, _ := picture.At(x, y).RGBA()
		return float64(r+g+b) / 3 / 257
	}
	best, at := 0.0, 0
	for x := 0; x+d.PieceWidth <= d.Width; x++ {
		sum, n := 0.0, 0.0
		for v := 2; v < d.PieceHeight-2; v++ {
			for u := 2; u < d.PieceWidth-2; u++ {
				for _, o := range [][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
					if belongs(u, v) || !belongs(u+o[0], v+o[1]) {
						continue
					}
					step := light(x+u-o[0], d.Y+v-o[1]) - light(x+u+3*o[0], d.Y+v+3*o[1])
					sum, n = sum+math.Max(-20, math.Min(step, 20)), n+1
				}
			}
		}
		if score := math.Abs(sum / n); score > best {
			best, at = score, x
		}
	}
	return at
}

func decodeURL(t *testing.T, url string) image.Image {
	t.Helper()
	_, b64, _ := strings.Cut(url, ";base64,")
	raw, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		t.Fatal(err)
	}
	img, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// dragTo is a drag as a person's: it starts slowly, hurries, and slows down.
func dragTo(x int, took time.Duration) any {
	var track [][3]int
	const points = 30
	for i := range points {
		at := float64(i) / (points - 1)
		track = append(track, [3]int{
			int(math.Round(float64(x) * at * at * (3 - 2*at))), int(3 * math.Sin(at*7)),
			int(at * float64(took.Milliseconds())),
		})
	}
	return map[string]any{"x": x, "track": track}
}

// keysTo is a way by keys: most of it by a click, the rest by arrows.
func keysTo(x int) any {
	track := [][3]int{{0, 0, 0}, {x - 2, 0, 190}, {x - 1, 0, 260}, {x, 0, 330}}
	return map[string]any{"x": x, "track": track, "by": "keys"}
}
