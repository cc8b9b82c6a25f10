package challenge

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"sync"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Sizes of a text image, in pixels.
const (
	textWidth  = 220
	textHeight = 80
	shades     = 32 // between paper and ink
	glyphSize  = 46
	leanMost   = 0.36 // radians
	waveMost   = 3.4
)

// faces are the fonts of the Go project, which are in the binary.
var faces = sync.OnceValue(func() (all []*sfnt.Font) {
	for _, ttf := range [][]byte{gobold.TTF, gomedium.TTF, gomonobold.TTF, goregular.TTF} {
		if f, err := sfnt.Parse(ttf); err == nil { // they are fixed: a test reads them
			all = append(all, f)
		}
	}
	return all
})

// place moves a point of a glyph to where it is drawn.
type place func(x, y float64) (float32, float32)

// draw makes a picture of the text of l.
func (x *textImage) draw(l *lots) json.RawMessage {
	ink := drawText(textOf(l), chance())
	var b bytes.Buffer
	_ = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, ink) // a bytes.Buffer takes everything
	data, _ := json.Marshal(textData{Image: dataURL("image/png", b.Bytes())})
	return data
}

func drawText(text string, r *rand.Rand) image.Image {
	cover := image.NewAlpha(image.Rect(0, 0, textWidth, textHeight))
	pen := vector.NewRasterizer(textWidth, textHeight)
	wave := waves(r)
	step := float64(textWidth-36) / float64(len(text))
	for i, letter := range text {
		face := faces()[r.IntN(len(faces()))]
		lean, shear := (r.Float64()*2-1)*leanMost, (r.Float64()*2-1)*0.25
		size := 0.88 + 0.26*r.Float64()
		cx := 18 + step*(float64(i)+0.5) + r.Float64()*6 - 3
		cy := textHeight/2 + r.Float64()*12 - 6
		sin, cos := math.Sincos(lean)
		glyph(pen, face, letter, func(x, y float64) (float32, float32) {
			x, y = (x+shear*y)*size, y*size
			return wave(cx+x*cos-y*sin, cy+x*sin+y*cos)
		})
	}
	for range 2 {
		stroke(pen, r)
	}
	pen.Draw(cover, cover.Bounds(), image.Opaque, image.Point{})
	return tint(cover, r)
}

// waves bends the whole picture.
func waves(r *rand.Rand) place {
	a, b := (0.6+0.4*r.Float64())*waveMost, (0.5+0.5*r.Float64())*waveMost
	la, lb := 26+r.Float64()*22, 34+r.Float64()*26
	pa, pb := r.Float64()*7, r.Float64()*7
	return func(x, y float64) (float32, float32) {
		return float32(x + a*math.Sin(y/la*2*math.Pi+pa)), float32(y + b*math.Sin(x/lb*2*math.Pi+pb))
	}
}

// glyph adds a letter whose middle is at 0, 0 of at.
func glyph(pen *vector.Rasterizer, face *sfnt.Font, letter rune, at place) {
	var room sfnt.Buffer
	index, err := face.GlyphIndex(&room, letter)
	if err != nil {
		return
	}
	segments, err := face.LoadGlyph(&room, index, fixed.I(glyphSize), nil)
	if err != nil {
		return
	}
	box := segments.Bounds()
	mx, my := float64(box.Min.X+box.Max.X)/128, float64(box.Min.Y+box.Max.Y)/128
	point := func(p fixed.Point26_6) (float32, float32) { return at(float64(p.X)/64-mx, float64(p.Y)/64-my) }
	for _, s := range segments {
		x, y := point(s.Args[0])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			pen.ClosePath()
			pen.MoveTo(x, y)
		case sfnt.SegmentOpLineTo:
			pen.LineTo(x, y)
		case sfnt.SegmentOpQuadTo:
			x2, y2 := point(s.Args[1])
			pen.QuadTo(x, y, x2, y2)
		case sfnt.SegmentOpCubeTo:
			x2, y2 := point(s.Args[1])
			x3, y3 := point(s.Args[2])
			pen.CubeTo(x, y, x2, y2, x3, y3)
		}
	}
	pen.ClosePath()
}

// stroke adds a bent line through the letters, in their own ink.
func stroke(pen *vector.Rasterizer, r *rand.Rand) {
	y1, y2 := 16+r.Float64()*(textHeight-32), 16+r.Float64()*(textHeight-32)
	mid, thick := r.Float64()*textHeight, 1.2+r.Float64()*1.2
	pen.MoveTo(6, float32(y1))
	pen.QuadTo(textWidth/2, float32(mid), textWidth-6, float32(y2))
	pen.LineTo(textWidth-6, float32(y2+thick))
	pen.QuadTo(textWidth/2, float32(mid+thick), 6, float32(y1+thick))
	pen.ClosePath()
}

// tint gives ink and paper their colours, with a noise that hides where one ends.
func tint(cover *image.Alpha, r *rand.Rand) *image.Paletted {
	base := palettes[r.IntN(len(palettes))]
	ink, paper := mix(base[3], rgb{}, 0.25), mix(base[4], rgb{255, 255, 255}, 0.35)
	colours := make(color.Palette, shades)
	for i := range colours {
		c := mix(paper, ink, float64(i)/(shades-1))
		colours[i] = color.RGBA{R: uint8(c[0]), G: uint8(c[1]), B: uint8(c[2]), A: 255}
	}
	to := image.NewPaletted(cover.Bounds(), colours)
	for i, a := range cover.Pix {
		v := int(a)*(shades-1)/255 + r.IntN(7) - 3
		if r.IntN(90) == 0 {
			v += 9
		}
		to.Pix[i] = uint8(min(max(v, 0), shades-1))
	}
	return to
}
