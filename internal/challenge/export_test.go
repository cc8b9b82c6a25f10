package challenge

import (
	"encoding/json"
	"image"
	"time"

	"github.com/sluice-sale/sluice"
)

// Sizes and sets that tests measure by.
const (
	SliderMinX = sliderMinX
	SliderMaxX = sliderMaxX
	PieceSize  = pieceSize
	Alphabet   = alphabet
	TextLength = textLength
	IdentText  = identText
)

// Answer tells what nobody outside can know: the solution of a challenge.
func (d *Desk) Answer(c sluice.Challenge, campaign, user, device string) (number uint32, x, y int, text string) {
	id, key, ok := parse(c.ID, d.cfg.Keys(), owner{campaign, user, device})
	if !ok {
		panic("no challenge of ours")
	}
	h := holeOf(newLots(key, kindSlider, id.nonce))
	return powNumber(key, &id), h.x, h.y, textOf(newLots(key, kindImage, id.nonce))
}

// TrackFault is trackFault.
func TrackFault(track [][3]float64, x float64, by string, since time.Duration) string {
	return trackFault(track, x, by, since)
}

// DecodePicture is decodePicture.
func DecodePicture(raw []byte) (image.Image, error) { return decodePicture(raw) }

// ReadSiteAnswer is readSiteAnswer.
func ReadSiteAnswer(raw []byte) error { _, err := readSiteAnswer(raw); return err }

// Read reads a solution of one kind.
func (d *Desk) Read(t sluice.ChallengeType, raw json.RawMessage) error {
	n, err := d.number(t)
	if err != nil {
		return err
	}
	_, err = d.kinds[n].read(raw)
	return err
}

// Parse says whether an id can be read under key.
func Parse(text string, key []byte, campaign, user, device string) bool {
	_, _, ok := parse(text, [][]byte{key}, owner{campaign, user, device})
	return ok
}

// Ident gives an id that is always the same.
func Ident(key []byte, campaign, user, device string) string {
	id := ident{kind: kindPoW, issued: 1_800_000_000_000, ends: 1_800_000_120_000, limit: 50_000}
	return id.text(key, owner{campaign, user, device})
}

// Limit is how hard proof of work is.
func (d *Desk) Limit(difficulty, rate float64) uint32 {
	return d.kinds[kindPoW].(*pow).limit(difficulty, rate)
}

// Ready says how many sliders are drawn.
func (d *Desk) Ready() int { return len(d.pools[0].ready) }

// DrawSlider and DrawText draw one without a pool.
func (d *Desk) DrawSlider() json.RawMessage {
	return d.kinds[kindSlider].(*slider).draw(newLots([]byte("k"), kindSlider, newNonce()))
}

// DrawText draws a text image.
func (d *Desk) DrawText() json.RawMessage {
	return d.kinds[kindImage].(*textImage).draw(newLots([]byte("k"), kindImage, newNonce()))
}

// Faces says how many fonts there are.
func Faces() int { return len(faces()) }
