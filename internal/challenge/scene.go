package challenge

import (
	"image"
	"math"
	"math/rand/v2"
)

// rgb is a colour, each part from 0 to 255.
type rgb [3]float64

func mix(a, b rgb, t float64) (c rgb) {
	t = min(max(t, 0), 1)
	for i := range c {
		c[i] = a[i] + (b[i]-a[i])*t
	}
	return c
}

// canvas is a picture that is being painted.
type canvas struct {
	*image.RGBA
	w, h int
	r    *rand.Rand
}

func newCanvas(w, h int, r *rand.Rand) *canvas {
	return &canvas{RGBA: image.NewRGBA(image.Rect(0, 0, w, h)), w: w, h: h, r: r}
}

// blend lays c over a pixel, which may lie outside.
func (p *canvas) blend(x, y int, c rgb, cover float64) {
	if x < 0 || y < 0 || x >= p.w || y >= p.h || cover <= 0 {
		return
	}
	i := p.PixOffset(x, y)
	k := int(min(cover, 1) * 256)
	for j := range 3 {
		p.Pix[i+j] += uint8((int(c[j]) - int(p.Pix[i+j])) * k >> 8)
	}
	p.Pix[i+3] = 255
}

// sky fills the picture from top to bottom.
func (p *canvas) sky(top, bottom rgb) {
	for y := range p.h {
		c := mix(top, bottom, float64(y)/float64(p.h))
		for x := range p.w {
			i := p.PixOffset(x, y)
			p.Pix[i], p.Pix[i+1], p.Pix[i+2], p.Pix[i+3] = uint8(c[0]), uint8(c[1]), uint8(c[2]), 255
		}
	}
}

// disc paints a circle whose edge fades over soft pixels.
func (p *canvas) disc(cx, cy, radius, soft float64, c rgb, cover float64) {
	reach := radius + soft
	for y := int(cy - reach); y <= int(cy+reach); y++ {
		for x := int(cx - reach); x <= int(cx+reach); x++ {
			dx, dy := float64(x)-cx, float64(y)-cy
			if d := dx*dx + dy*dy; d < radius*radius {
				p.blend(x, y, c, cover)
			} else if d < reach*reach {
				p.blend(x, y, c, cover*min((reach-math.Sqrt(d))/max(soft, 1), 1))
			}
		}
	}
}

// ridge is the edge of a range of hills: a height for each x.
func (p *canvas) ridge(base, rough float64) []float64 {
	edge := make([]float64, p.w)
	for octave := 0; octave < 6; octave++ {
		wave := float64(p.w) / (1.5 + float64(octave)*float64(octave)*1.7)
		phase, high := p.r.Float64()*wave, rough/math.Pow(1.75, float64(octave))
		knots := make([]float64, int(float64(p.w)/wave)+4)
		for i := range knots {
			knots[i] = p.r.Float64()*2 - 1
		}
		for x := range edge {
			at := (float64(x) + phase) / wave
			i := int(at)
			t := at - float64(i)
			t = t * t * (3 - 2*t)
			edge[x] += high * (knots[i] + (knots[i+1]-knots[i])*t)
		}
	}
	for x := range edge {
		edge[x] += base
	}
	return edge
}

// hills fills below a ridge, with light that falls from one side on its slopes.
func (p *canvas) hills(edge []float64, near, far rgb) {
	for x := range p.w {
		slope := 0.0
		if x > 0 {
			slope = edge[x] - edge[x-1]
		}
		light := min(max(slope*0.12, -0.16), 0.16)
		top := int(math.Floor(edge[x]))
		for y := max(top, 0); y < p.h; y++ {
			depth := float64(y-top) / float64(p.h)
			c := mix(far, near, depth*1.6)
			if fade := 1 - depth*4; fade > 0 {
				for j := range c {
					c[j] = min(c[j]*(1+light*fade*fade), 255)
				}
			}
			cover := 1.0
			if y == top {
				cover = 1 - (edge[x] - float64(top))
			}
			p.blend(x, y, c, cover)
		}
	}
}

// palettes are sky above, sky below, far hills, near hills, light.
var palettes = [][5]rgb{
	{{58, 92, 168}, {246, 196, 158}, {138, 128, 170}, {36, 48, 84}, {255, 236, 190}},
	{{24, 34, 72}, {126, 104, 150}, {78, 76, 122}, {16, 22, 44}, {238, 236, 220}},
	{{110, 178, 226}, {226, 240, 246}, {134, 172, 180}, {46, 98, 76}, {255, 250, 224}},
	{{238, 142, 104}, {252, 214, 150}, {190, 104, 96}, {88, 42, 62}, {255, 244, 206}},
	{{86, 160, 166}, {222, 232, 206}, {112, 156, 140}, {30, 82, 78}, {250, 250, 226}},
	{{180, 160, 206}, {248, 212, 212}, {156, 132, 174}, {70, 62, 108}, {255, 244, 232}},
	{{70, 110, 140}, {206, 214, 200}, {150, 148, 116}, {88, 78, 50}, {252, 240, 204}},
}

// paint makes a picture that was never there before: hills, a sea, lights of a night, or a meadow.
func paint(w, h int, r *rand.Rand) *image.RGBA {
	p := newCanvas(w, h, r)
	c := palettes[r.IntN(len(palettes))]
	for i := range c {
		for j := range c[i] {
			c[i][j] = min(max(c[i][j]+r.Float64()*24-12, 0), 255)
		}
	}
	switch r.IntN(4) {
	case 0:
		p.mountains(c)
	case 1:
		p.sea(c)
	case 2:
		p.lights(c)
	default:
		p.meadow(c)
	}
	p.grain(7)
	return p.RGBA
}

func (p *canvas) mountains(c [5]rgb) {
	p.sky(c[0], c[1])
	fw, fh := float64(p.w), float64(p.h)
	p.disc(p.r.Float64()*fw, fh*(0.12+0.25*p.r.Float64()), 9+p.r.Float64()*12, 16, c[4], 0.9)
	p.clouds(c[4], 5)
	layers := 4 + p.r.IntN(3)
	for i := range layers {
		t := float64(i) / float64(layers-1)
		p.hills(p.ridge(fh*(0.38+0.5*t), fh*(0.20-0.07*t)), mix(c[2], c[3], t+0.25), mix(c[2], c[3], t))
	}
}

func (p *canvas) sea(c [5]rgb) {
	p.sky(c[0], c[1])
	fw, fh := float64(p.w), float64(p.h)
	horizon := fh * (0.35 + 0.12*p.r.Float64())
	sun := p.r.Float64() * fw
	p.disc(sun, horizon-8-p.r.Float64()*26, 10+p.r.Float64()*8, 10, c[4], 0.95)
	p.clouds(c[4], 6)
	p.hills(p.ridge(horizon-5, 12), c[2], c[2])
	water := mix(c[3], c[0], 0.45)
	for y := int(horizon); y < p.h; y++ {
		depth := (float64(y) - horizon) / (fh - horizon)
		for x := range p.w {
			wave := math.Sin(float64(x)/(3+depth*16)+float64(y)*0.9+3*math.Sin(float64(y)*0.35+float64(x)*0.02)) * 0.5
			glow := math.Exp(-math.Pow((float64(x)-sun)/(14+60*depth), 2)) * (0.35 + 0.4*wave)
			p.blend(x, y, mix(mix(water, c[3], depth*0.8+wave*0.35), c[4], glow), 1)
		}
	}
	for range 1 + p.r.IntN(3) {
		p.hills(p.ridge(fh*(0.86+0.1*p.r.Float64()), 22), c[3], mix(c[3], c[2], 0.3))
	}
}

func (p *canvas) lights(c [5]rgb) {
	p.sky(mix(c[3], rgb{8, 10, 24}, 0.4), mix(c[0], c[3], 0.4))
	fw, fh := float64(p.w), float64(p.h)
	for range 60 + p.r.IntN(30) {
		size := 3 + p.r.Float64()*p.r.Float64()*26
		p.disc(p.r.Float64()*fw, p.r.Float64()*fh, size, 3, mix(c[p.r.IntN(3)], c[4], p.r.Float64()), 0.22+0.4*p.r.Float64())
	}
	for x := 0; x < p.w; {
		wide, high := 14+p.r.IntN(30), int(fh*(0.15+0.5*p.r.Float64()))
		tone := mix(c[3], rgb{10, 12, 26}, 0.3+0.5*p.r.Float64())
		for i := range wide {
			for y := p.h - high; y < p.h; y++ {
				p.blend(x+i, y, tone, 0.86)
			}
		}
		for wy := p.h - high + 5; wy < p.h-3; wy += 7 {
			for wx := 3; wx < wide-3; wx += 6 {
				if p.r.IntN(5) < 2 {
					continue
				}
				for i := range 9 {
					p.blend(x+wx+i%3, wy+i/3, mix(c[4], c[1], p.r.Float64()*0.5), 0.8)
				}
			}
		}
		x += wide + p.r.IntN(4)
	}
}

func (p *canvas) meadow(c [5]rgb) {
	p.sky(c[0], c[1])
	fh := float64(p.h)
	p.clouds(c[4], 8)
	p.hills(p.ridge(fh*0.42, 34), c[2], c[2])
	p.hills(p.ridge(fh*0.56, 22), c[3], mix(c[2], c[3], 0.5))
	for range 340 {
		depth := math.Sqrt(p.r.Float64())
		x, y := p.r.Float64()*float64(p.w), fh*(0.55+0.47*depth)
		stem, size := 3+9*depth, 0.8+3.4*depth
		lean := p.r.Float64()*2 - 1
		for i := 0.0; i < stem; i++ {
			p.blend(int(x+lean*i*0.4), int(y-i), mix(c[3], rgb{90, 150, 70}, 0.35+0.3*p.r.Float64()), 0.85)
		}
		p.disc(x+lean*stem*0.4, y-stem, size, 1.2, mix(c[p.r.IntN(2)], c[4], 0.2+0.8*p.r.Float64()), 0.95)
	}
}

// clouds paints n of them in the upper half.
func (p *canvas) clouds(c rgb, n int) {
	for range p.r.IntN(n) + 1 {
		x, y := p.r.Float64()*float64(p.w), p.r.Float64()*float64(p.h)*0.4
		for range 9 {
			p.disc(x+p.r.Float64()*56-28, y+p.r.Float64()*8, 3+p.r.Float64()*8, 8, c, 0.16)
		}
	}
}

// grain lays noise over the picture, so that no two have a pixel in common that could be counted on.
func (p *canvas) grain(most int) {
	var bits uint64
	for i := range p.Pix {
		if i%8 == 0 {
			bits = p.r.Uint64()
		}
		if i%4 == 3 {
			continue
		}
		v := int(p.Pix[i]) + int(bits&255)*(2*most+1)>>8 - most
		bits >>= 8
		p.Pix[i] = uint8(min(max(v, 0), 255))
	}
}
