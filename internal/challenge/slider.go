package challenge

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/sluice-sale/sluice"
)

// Sizes of the slider, in picture pixels.
const (
	sliderWidth  = 320
	sliderHeight = 180
	pieceSize    = 60 // with its tabs
	sliderMinX   = pieceSize + 12
	sliderMaxX   = sliderWidth - pieceSize - 6
	sliderMinY   = 8
	sliderMaxY   = sliderHeight - pieceSize - 8
)

// Bounds of the slider's tolerance.
const (
	DefaultTolerance = 5
	MaxTolerance     = 12
)

// SliderConfig of the slider.
type SliderConfig struct {
	Tolerance int    // how many picture pixels the piece may lie off, 1 to MaxTolerance
	Folder    string // of the operator's pictures, JPEG and PNG; empty: pictures are painted by this package
}

func (c *SliderConfig) complete() error {
	if c.Tolerance == 0 {
		c.Tolerance = DefaultTolerance
	}
	if c.Tolerance < 1 || c.Tolerance > MaxTolerance {
		return fmt.Errorf("challenge: %w: slider: a tolerance of %d is not within 1 and %d", sluice.ErrInvalid, c.Tolerance,
			MaxTolerance)
	}
	return nil
}

// slider is a picture with a hole, and the piece that belongs there: it is moved to the right until it fits.
type slider struct {
	cfg      SliderConfig
	pictures *pictures
	pool     *pool
	now      func() time.Time
}

// sliderData is what the client is sent. The piece starts at the left edge, at the height Y, which is the hole's.
type sliderData struct {
	Image       string `json:"image"`
	Piece       string `json:"piece"`
	Y           int    `json:"y"`
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	PieceWidth  int    `json:"piece_width"`
	PieceHeight int    `json:"piece_height"`
}

// hole says where the hole is. Only its height and the shape can be seen in what is sent.
type hole struct {
	x, y  int
	sides [4]int // left, top, right, bottom: 0 flat, 1 a tab, 2 a notch
}

func holeOf(l *lots) (h hole) {
	h.x = sliderMinX + l.below(sliderMaxX-sliderMinX+1)
	h.y = sliderMinY + l.below(sliderMaxY-sliderMinY+1)
	for i := range h.sides {
		h.sides[i] = l.below(3)
	}
	if h.sides == [4]int{} {
		h.sides[l.below(4)] = 1 + l.below(2)
	}
	return h
}

func (s *slider) issue(
	ctx context.Context, keys [][]byte, id *ident, _ float64,
) (json.RawMessage, []byte, error) {
	return s.pool.fill(ctx, keys, id)
}

// sliderSolution is where the piece was let go, and how it came there.
type sliderSolution struct {
	X     *float64     `json:"x"`
	Track [][3]float64 `json:"track"`
	By    string       `json:"by"` // "pointer", the default, or "keys"
	// slider is who judges it.
	slider *slider
}

func (s *slider) read(raw json.RawMessage) (solution, error) {
	var loose struct {
		X     *float64    `json:"x"`
		Track [][]float64 `json:"track"`
		By    string      `json:"by"`
	}
	if err := strictly(raw, &loose); err != nil {
		return nil, solutionFault("must be an object with x, track and, at will, by")
	}
	got := &sliderSolution{X: loose.X, By: loose.By, slider: s}
	if got.By == "" {
		got.By = byPointer
	}
	switch {
	case got.X == nil || *got.X < 0 || *got.X > sliderWidth:
		return nil, solutionFault("x must be from 0 to %d, in pixels of the picture", sliderWidth)
	case got.By != byPointer && got.By != byKeys:
		return nil, solutionFault("by must be pointer or keys")
	case len(loose.Track) > maxTrack:
		return nil, solutionFault("track must have at most %d points", maxTrack)
	}
	for _, p := range loose.Track {
		if len(p) != 3 {
			return nil, solutionFault("a point of track must be [x, y, t_ms]")
		}
		if math.Abs(p[0]) > maxCoordinate || math.Abs(p[1]) > maxCoordinate || p[2] < 0 || p[2] > maxTrackTime {
			return nil, solutionFault("a point of track must lie within %d pixels and 0 to %d ms", maxCoordinate, maxTrackTime)
		}
		got.Track = append(got.Track, [3]float64(p))
	}
	return got, nil
}

func (a *sliderSolution) right(_ context.Context, key []byte, id *ident, _ *sluice.ChallengeAnswer) (bool, error) {
	h := holeOf(newLots(key, kindSlider, id.nonce))
	if math.Abs(*a.X-float64(h.x)) > float64(a.slider.cfg.Tolerance) {
		return false, nil
	}
	since := time.Duration(sluice.MillisOf(a.slider.now())-id.issued) * time.Millisecond
	return trackFault(a.Track, *a.X, a.By, since) == "", nil
}
