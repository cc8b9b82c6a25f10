package challenge

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-sale/sluice"
)

// Bounds of an operator's pictures.
const (
	maxPictures     = 200
	maxPictureBytes = 8 << 20
	maxPictureSide  = 4096
	minPictureSide  = 64
	keptTimes       = 5 // pictures are kept at 5/4 of the size that is shown, so that each time shows another part
)

// pictures are what holes are dug into.
type pictures struct {
	kept []*image.RGBA // the operator's; none: each picture is painted anew
}

// pictures reads the folder, once, at the start.
func (c *SliderConfig) pictures() (*pictures, error) {
	p := &pictures{}
	if c.Folder == "" {
		return p, nil
	}
	entries, err := os.ReadDir(c.Folder)
	if err != nil {
		return nil, fmt.Errorf("challenge: pictures: %w: %w", sluice.ErrInvalid, err)
	}
	for _, e := range entries {
		if !slices.Contains([]string{".jpg", ".jpeg", ".png"}, strings.ToLower(filepath.Ext(e.Name()))) {
			continue
		}
		if len(p.kept) == maxPictures {
			return nil, fmt.Errorf("challenge: pictures: %w: %s has more than %d", sluice.ErrInvalid, c.Folder, maxPictures)
		}
		picture, err := loadPicture(filepath.Join(c.Folder, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("challenge: picture %s: %w", e.Name(), err)
		}
		p.kept = append(p.kept, picture)
	}
	if len(p.kept) == 0 {
		return nil, fmt.Errorf("challenge: pictures: %w: %s has no JPEG and no PNG", sluice.ErrInvalid, c.Folder)
	}
	return p, nil
}

func loadPicture(path string) (*image.RGBA, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sluice.ErrInvalid, err)
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxPictureBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sluice.ErrInvalid, err)
	}
	return decodePicture(raw)
}

// decodePicture reads a JPEG or a PNG of bounded size, and makes it as large as it is needed. The size is looked at
// before any room is taken for it. ErrInvalid for everything else.
func decodePicture(raw []byte) (*image.RGBA, error) {
	bad := func(format string, args ...any) (*image.RGBA, error) {
		return nil, fmt.Errorf("%w: %s", sluice.ErrInvalid, fmt.Sprintf(format, args...))
	}
	if len(raw) > maxPictureBytes {
		return bad("it has more than %d bytes", maxPictureBytes)
	}
	config, decode := jpeg.DecodeConfig, jpeg.Decode
	if bytes.HasPrefix(raw, []byte("\x89PNG")) {
		config, decode = png.DecodeConfig, png.Decode
	}
	size, err := config(bytes.NewReader(raw))
	if err != nil {
		return bad("it is neither a JPEG nor a PNG that can be read: %v", err)
	}
	if short, long := min(size.Width, size.Height), max(size.Width, size.Height); short < minPictureSide ||
		long > maxPictureSide {
		return bad("%d×%d is not within %d and %d pixels a side", size.Width, size.Height, minPictureSide, maxPictureSide)
	}
	picture, err := decode(bytes.NewReader(raw))
	if err != nil {
		return bad("it cannot be read: %v", err)
	}
	return fit(picture, sliderWidth*keptTimes/4, sliderHeight*keptTimes/4), nil
}

// fit cuts the middle out of a picture in the form of w×h and scales it, each pixel the mean of up to 16 samples.
func fit(from image.Image, w, h int) *image.RGBA {
	b := from.Bounds()
	scale := min(float64(b.Dx())/float64(w), float64(b.Dy())/float64(h))
	left := float64(b.Min.X) + (float64(b.Dx())-scale*float64(w))/2
	top := float64(b.Min.Y) + (float64(b.Dy())-scale*float64(h))/2
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			var sum [3]uint32
			for k := range 16 {
				sx := int(left + scale*(float64(x)+(float64(k%4)+0.5)/4))
				sy := int(top + scale*(float64(y)+(float64(k/4)+0.5)/4))
				r, g, b, _ := from.At(min(sx, b.Max.X-1), min(sy, b.Max.Y-1)).RGBA()
				sum[0], sum[1], sum[2] = sum[0]+r>>8, sum[1]+g>>8, sum[2]+b>>8
			}
			i := to.PixOffset(x, y)
			to.Pix[i], to.Pix[i+1], to.Pix[i+2], to.Pix[i+3] = uint8(sum[0]/16), uint8(sum[1]/16), uint8(sum[2]/16), 255
		}
	}
	return to
}

// next gives a picture of w×h that nobody else has: painted, or a part of one of the operator's, mirrored at times, in
// a light of its own and with a noise of its own.
func (p *pictures) next(w, h int, r *rand.Rand) *image.RGBA {
	if len(p.kept) == 0 {
		return paint(w, h, r)
	}
	from := p.kept[r.IntN(len(p.kept))]
	to := newCanvas(w, h, r)
	left, top := r.IntN(from.Rect.Dx()-w+1), r.IntN(from.Rect.Dy()-h+1)
	mirror := r.IntN(2) == 0
	var light [3][256]uint8
	for k := range light {
		gain, lift := 0.9+0.2*r.Float64(), r.Float64()*16-8
		for v := range light[k] {
			light[k][v] = uint8(min(max(float64(v)*gain+lift, 0), 255))
		}
	}
	for y := range h {
		for x := range w {
			sx := x
			if mirror {
				sx = w - 1 - x
			}
			i, j := from.PixOffset(left+sx, top+y), to.PixOffset(x, y)
			for k := range 3 {
				to.Pix[j+k] = light[k][from.Pix[i+k]]
			}
			to.Pix[j+3] = 255
		}
	}
	to.grain(5)
	return to.RGBA
}
