package challenge

import (
	"bytes"
	crand "crypto/rand"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"sync"
)

// How the hole looks.
const (
	sliderQuality = 80   // of the JPEG
	holeDark      = 0.50 // how much of the light a hole takes, at least
	holeDarker    = 0.14 // and up to so much more
	decoyLess     = 0.12 // the hole that is none takes so much less
	holeShows     = 0.22 // how much of the picture can still be made out in a hole; the rest is one tone
	nightLight    = 62   // pictures that are darker than this get a light hole
	nightGlow     = 58
	rimLight      = 0.3
	bodyFrom      = 9 // the piece without its tabs
	bodyTo        = pieceSize - 9
	tabRadius     = 7.5
)

// shape is a piece: how much of each pixel belongs to it, 0 to 255.
type shape [pieceSize * pieceSize]uint8

func (s *shape) at(x, y int) int {
	if x < 0 || y < 0 || x >= pieceSize || y >= pieceSize {
		return 0
	}
	return int(s[y*pieceSize+x])
}

// shapes remembers the 81 shapes.
var shapes struct {
	sync.Mutex
	known map[[4]int]*shape
}

func shapeOf(sides [4]int) *shape {
	shapes.Lock()
	defer shapes.Unlock()
	s := shapes.known[sides]
	if s == nil {
		if shapes.known == nil {
			shapes.known = map[[4]int]*shape{}
		}
		s = newShape(sides)
		shapes.known[sides] = s
	}
	return s
}

// newShape draws a square with a tab, a notch or nothing on each side, 16 samples a pixel.
func newShape(sides [4]int) *shape {
	const mid, reach = pieceSize / 2.0, tabRadius * 0.45
	var tabs, notches [][2]float64
	for i, centre := range [4][2]float64{
		{bodyFrom, mid}, {mid, bodyFrom}, {bodyTo, mid}, {mid, bodyTo},
	} {
		out := [4][2]float64{{-1, 0}, {0, -1}, {1, 0}, {0, 1}}[i]
		switch sides[i] {
		case 1:
			tabs = append(tabs, [2]float64{centre[0] + out[0]*reach*0.3, centre[1] + out[1]*reach*0.3})
		case 2:
			notches = append(notches, [2]float64{centre[0] - out[0]*reach, centre[1] - out[1]*reach})
		}
	}
	within := func(x, y float64, circles [][2]float64) bool {
		for _, c := range circles {
			if dx, dy := x-c[0], y-c[1]; dx*dx+dy*dy < tabRadius*tabRadius {
				return true
			}
		}
		return false
	}
	s := &shape{}
	for i := range s {
		in := 0
		for k := range 16 {
			x := float64(i%pieceSize) + (float64(k%4)+0.5)/4
			y := float64(i/pieceSize) + (float64(k/4)+0.5)/4
			body := x > bodyFrom && x < bodyTo && y > bodyFrom && y < bodyTo
			if (body || within(x, y, tabs)) && !within(x, y, notches) {
				in++
			}
		}
		s[i] = uint8(in * 255 / 16)
	}
	return s
}

// chance draws what has nothing to do with the answer: how the picture looks.
func chance() *rand.Rand {
	var seed [32]byte
	_, _ = crand.Read(seed[:]) // crypto/rand.Read never fails
	return rand.New(rand.NewChaCha8(seed))
}

// draw makes a picture with the hole of l, and its piece.
func (s *slider) draw(l *lots) json.RawMessage {
	h := holeOf(l)
	r := chance()
	picture := s.pictures.next(sliderWidth, sliderHeight, r)
	mask := shapeOf(h.sides)
	piece := cut(picture, mask, h.x, h.y)
	dark := holeDark + holeDarker*r.Float64()
	if x, ok := decoyAt(h.x, r); ok {
		dig(picture, shapeOf(otherSides(h.sides, r)), x, h.y, dark-decoyLess, r)
	}
	dig(picture, mask, h.x, h.y, dark, r)
	var jpg, pieces bytes.Buffer
	// A bytes.Buffer takes everything, and the sizes are in bounds: neither can fail.
	_ = jpeg.Encode(&jpg, picture, &jpeg.Options{Quality: sliderQuality})
	_ = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&pieces, piece)
	data, _ := json.Marshal(sliderData{
		Image: dataURL("image/jpeg", jpg.Bytes()), Piece: dataURL("image/png", pieces.Bytes()),
		Y: h.y, Width: sliderWidth, Height: sliderHeight, PieceWidth: pieceSize, PieceHeight: pieceSize,
	})
	return data
}

func dataURL(media string, b []byte) string {
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(b)
}

// decoyAt finds a place for a hole that is none, apart from the hole; false where there is no room.
func decoyAt(x int, r *rand.Rand) (int, bool) {
	for range 8 {
		at := sliderMinX + r.IntN(sliderMaxX-sliderMinX+1)
		if at-x > pieceSize || x-at > pieceSize {
			return at, true
		}
	}
	return 0, false
}

// otherSides gives a shape that differs on every side.
func otherSides(sides [4]int, r *rand.Rand) (other [4]int) {
	for i := range sides {
		other[i] = (sides[i] + 1 + r.IntN(2)) % 3
	}
	return other
}

// cut copies the piece out of the picture, with a light edge above and a dark one below.
func cut(from *image.RGBA, mask *shape, left, top int) *image.NRGBA {
	piece := image.NewNRGBA(image.Rect(0, 0, pieceSize, pieceSize))
	for y := range pieceSize {
		for x := range pieceSize {
			a := mask.at(x, y)
			if a == 0 {
				// The shadow that the piece throws.
				piece.Pix[piece.PixOffset(x, y)+3] = uint8((mask.at(x-2, y-2) + mask.at(x-1, y-1)) / 6)
				continue
			}
			i, j := from.PixOffset(left+x, top+y), piece.PixOffset(x, y)
			edge := (mask.at(x+1, y+1) - mask.at(x-1, y-1)) / 3
			for k := range 3 {
				piece.Pix[j+k] = uint8(min(max(int(from.Pix[i+k])+edge, 0), 255))
			}
			piece.Pix[j+3] = uint8(a)
		}
	}
	return piece
}

// dig makes a hole in the form of mask: a dark tone in which little of the picture is left, so that piece and hole
// cannot be laid over each other and compared; darker under its upper left edge, where the shadow falls, uneven, and
// with a light rim. Where the picture is so dark that nobody would see it, the hole is lighter in place of darker.
func dig(picture *image.RGBA, mask *shape, left, top int, dark float64, r *rand.Rand) {
	tone := toneUnder(picture, mask, left, top)
	glow := 0.0
	if light := (tone[0] + tone[1] + tone[2]) / 3; light < nightLight {
		glow, dark = nightGlow, -0.2
	}
	tilt, slope := r.Float64()*0.24-0.12, r.Float64()*0.24-0.12
	for y := range pieceSize {
		for x := range pieceSize {
			a := mask.at(x, y)
			if a == 0 {
				continue
			}
			cover := float64(a) / 255
			shadow := float64(a-(mask.at(x-3, y-3)+mask.at(x-1, y-1))/2) / 255
			uneven := tilt*(float64(x)/pieceSize-0.5) + slope*(float64(y)/pieceSize-0.5) + r.Float64()*0.05
			keep := 1 - dark - max(shadow, 0)*0.22 + uneven
			rim := min(mask.at(x-1, y), mask.at(x+1, y), mask.at(x, y-1), mask.at(x, y+1)) < 128
			i := picture.PixOffset(left+x, top+y)
			for k := range 3 {
				was := float64(picture.Pix[i+k])
				is := (tone[k]+(was-tone[k])*holeShows)*keep + glow
				if rim {
					is += (255 - is) * rimLight
				}
				picture.Pix[i+k] = uint8(min(max(was+(is-was)*cover, 0), 255))
			}
		}
	}
}

// toneUnder is the mean colour under mask.
func toneUnder(picture *image.RGBA, mask *shape, left, top int) (tone rgb) {
	weight := 0.0
	for y := range pieceSize {
		for x := range pieceSize {
			a := float64(mask.at(x, y))
			i := picture.PixOffset(left+x, top+y)
			for k := range 3 {
				tone[k] += a * float64(picture.Pix[i+k])
			}
			weight += a
		}
	}
	for k := range tone {
		tone[k] /= weight
	}
	return tone
}
