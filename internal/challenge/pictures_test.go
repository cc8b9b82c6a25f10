package challenge_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/challenge"
)

// picture reads a data URL.
func picture(t testing.TB, url string) (image.Image, []byte) {
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
	return img, raw
}

type slide struct {
	Image, Piece     string
	Y, Width, Height int
	PieceWidth       int `json:"piece_width"`
	PieceHeight      int `json:"piece_height"`
	img, pc          image.Image
}

func readSlide(t testing.TB, data json.RawMessage) (s slide) {
	t.Helper()
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	s.img, _ = picture(t, s.Image)
	s.pc, _ = picture(t, s.Piece)
	return s
}

// folder makes a folder of an operator's pictures.
func folder(t testing.TB, sizes ...image.Point) string {
	t.Helper()
	dir := t.TempDir()
	for i, size := range sizes {
		img := image.NewRGBA(image.Rectangle{Max: size})
		for y := range size.Y {
			for x := range size.X {
				img.Set(x, y, color.RGBA{uint8(128 + 90*math.Sin(float64(x)/23)), uint8(128 + 90*math.Sin(float64(y)/17)), 90, 255})
			}
		}
		var b bytes.Buffer
		name := "p" + string(rune('a'+i)) + ".png"
		if i%2 == 1 {
			name = "P" + string(rune('a'+i)) + ".JPG"
			_ = jpeg.Encode(&b, img, nil)
		} else {
			_ = png.Encode(&b, img)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("no picture"), 0o600)
	return dir
}

// TestSliderPictures: sizes as they are said, the piece fits the hole, no two are the same, and they stay small.
func TestSliderPictures(t *testing.T) {
	for name, dir := range map[string]string{
		"painted": "", "a folder's": folder(t, image.Pt(640, 360), image.Pt(100, 700)),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			d := b.desk(func(cfg *challenge.Config) { cfg.Slider.Folder = dir })
			seen := map[string]bool{}
			places := map[int]bool{}
			for range 30 {
				c := ask(t, d, sluice.ChallengeSlider)
				if len(c.Data) > 64<<10 {
					t.Errorf("%d bytes", len(c.Data))
				}
				s := readSlide(t, c.Data)
				if s.img.Bounds().Dx() != s.Width || s.img.Bounds().Dy() != s.Height ||
					s.pc.Bounds().Dx() != s.PieceWidth || s.pc.Bounds().Dy() != s.PieceHeight {
					t.Errorf("sizes: %v, %v, said %+v", s.img.Bounds(), s.pc.Bounds(), s)
				}
				_, x, y, _ := d.Answer(c, campaign, user, device)
				if x < 0 || x+s.PieceWidth > s.Width || y < 0 || y+s.PieceHeight > s.Height {
					t.Errorf("the hole at %d, %d is not in the picture", x, y)
				}
				if seen[s.Image] || seen[s.Piece] {
					t.Error("the same picture came twice")
				}
				seen[s.Image], seen[s.Piece] = true, true
				places[x] = true
				// In the hole the light is another than on the piece, which is what was there.
				i, j := light(s.img, x+20, y+20, 20), light(s.pc, 20, 20, 20)
				if i > 0.75*j && i < j+30 {
					t.Errorf("at the hole the picture has light %.0f, the piece %.0f", i, j)
				}
			}
			if len(places) < 15 {
				t.Errorf("30 holes lie at %d places only", len(places))
			}
		})
	}
}

// light is the mean light of a square.
func light(img image.Image, x, y, side int) (sum float64) {
	for i := range side * side {
		r, g, b, _ := img.At(x+i%side, y+i/side).RGBA()
		sum += float64(r+g+b) / 3 / 257
	}
	return sum / float64(side*side)
}

// TestPicturesFromAFolder are bounded in number and size, and read safely.
func TestPicturesFromAFolder(t *testing.T) {
	encode := func(w, h int) []byte {
		var b bytes.Buffer
		_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h)))
		return b.Bytes()
	}
	bomb := encode(64, 64)
	copy(bomb[16:], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // says 65,536 × 65,536
	for name, raw := range map[string][]byte{
		"empty": {}, "text": []byte("hello"), "cut off": encode(200, 200)[:60], "too small": encode(63, 200),
		"too large": encode(4097, 64), "a bomb": bomb, "too many bytes": make([]byte, 8<<20+1),
		"a GIF": []byte("GIF89a\x01\x00\x01\x00"),
	} {
		if _, err := challenge.DecodePicture(raw); !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	img, err := challenge.DecodePicture(encode(4096, 64))
	if err != nil || img.Bounds().Dx() != 400 || img.Bounds().Dy() != 225 {
		t.Errorf("%v, %v", img.Bounds(), err)
	}
	dir := folder(t, image.Pt(320, 180))
	if err := os.WriteFile(filepath.Join(dir, "broken.jpg"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	_, err = challenge.New(challenge.Config{
		Keys: func() [][]byte { return nil }, Once: b.once, Slider: challenge.SliderConfig{Folder: dir},
	})
	if said := fmt.Sprint(err); !errors.Is(err, sluice.ErrInvalid) || !strings.Contains(said, "broken.jpg") {
		t.Errorf("%v", err)
	}
}

// TestTextPictures: they differ for the same text, and stay small. The fonts are there.
func TestTextPictures(t *testing.T) {
	d := newBench(t).desk(nil)
	if n := challenge.Faces(); n != 4 {
		t.Errorf("%d fonts", n)
	}
	seen := map[string]bool{}
	for range 30 {
		c := ask(t, d, sluice.ChallengeImage)
		var data struct{ Image string }
		if err := json.Unmarshal(c.Data, &data); err != nil || len(c.Data) > 32<<10 {
			t.Errorf("%d bytes, %v", len(c.Data), err)
		}
		img, _ := picture(t, data.Image)
		if ink := 255 - light(img, 20, 0, 80); ink < 15 {
			t.Errorf("little ink: %.0f", ink)
		}
		if seen[data.Image] {
			t.Error("the same picture came twice")
		}
		seen[data.Image] = true
	}
}

// TestPool: it draws nothing before it is asked; when it is asked for more than it can draw, who cannot wait is told
// so.
func TestPool(t *testing.T) {
	b := newBench(t)
	d := b.desk(func(cfg *challenge.Config) { cfg.Pool = challenge.PoolConfig{Size: 4, Workers: 1, Waiting: 2} })
	if n := d.Ready(); n != 0 {
		t.Errorf("%d are drawn for nobody", n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	busy := 0
	for range 200 { // none of them waits
		if _, err := d.New(ended, sluice.ChallengeAsk{Campaign: campaign, User: user, Type: "slider"}); err != nil {
			wantCode(t, "crowd", err, "BUSY")
			busy++
		}
	}
	if busy == 0 || b.seen[challenge.Busy] != busy {
		t.Errorf("%d were told BUSY, %d counted", busy, b.seen[challenge.Busy])
	}
	ask(t, d, sluice.ChallengeSlider)
	d.Close()
	start := time.Now()
	for range 5 {
		_, _ = d.New(t.Context(), sluice.ChallengeAsk{Campaign: campaign, User: user, Type: "slider"})
	}
	if took := time.Since(start); took > 500*time.Millisecond {
		t.Errorf("a closed desk takes %v to say so", took)
	}
}

func BenchmarkDraw(b *testing.B) {
	d := newBench(b).desk(nil)
	for name, draw := range map[string]func() json.RawMessage{"slider": d.DrawSlider, "image": d.DrawText} {
		b.Run(name, func(b *testing.B) {
			before := processorTime()
			size := 0
			for range b.N {
				size += len(draw())
			}
			b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(size)/float64(b.N), "bytes/op")
		})
	}
}

// processorTime is what this process has used: it counts what was done, however many others there are.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkIssueAndSolve(b *testing.B) {
	for _, kind := range []sluice.ChallengeType{sluice.ChallengePoW, sluice.ChallengeSlider, sluice.ChallengeImage} {
		bench := newBench(b)
		d := bench.desk(nil)
		c := ask(b, d, kind)
		bench.pass(2 * time.Second)
		right, _ := rightly(b, d, c)
		if kind == sluice.ChallengePoW {
			b.Run("issue "+string(kind), func(b *testing.B) {
				before := processorTime()
				for range b.N {
					ask(b, d, kind)
				}
				b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(b.N), "cpu-µs/op")
			})
		}
		b.Run("judge "+string(kind), func(b *testing.B) {
			before := processorTime()
			for range b.N {
				clear(bench.once.known)
				if err := solve(b, d, c, right); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}
