package pass

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"sync"

	"github.com/sluice-sale/sluice"
)

// maxSigned bounds what of a request is hashed beside its body: method and path.
const maxSigned = 1024

// signRoom is room for the message that a request's signature is over.
type signRoom struct{ buf []byte }

var signRooms = sync.Pool{New: func() any { return &signRoom{make([]byte, 0, 512)} }}

// Signed says whether s was made with the signing key of pass, over this request: the HMAC-SHA256, in hex, of method,
// path, the hash of the body in hex, timestamp and nonce, a line each. It compares in constant time and does not
// allocate. It looks neither at the time nor at whether the nonce was used before.
func (k *Keys) Signed(pass string, s *sluice.RequestSignature) bool {
	if len(s.MAC) != 2*sha256.Size || len(s.Method)+len(s.Path) > maxSigned {
		return false
	}
	key, ok := k.SigningKey(pass)
	if !ok {
		return false
	}
	want := Sign(key, s)
	return subtle.ConstantTimeCompare(s.MAC, want[:]) == 1
}

// Sign gives the signature of a request under a signing key, in hex.
func Sign(key [signingText]byte, s *sluice.RequestSignature) (text [2 * sha256.Size]byte) {
	room := signRooms.Get().(*signRoom)
	defer signRooms.Put(room)
	var inner, outer [sha256.BlockSize]byte
	copy(inner[:], key[:])
	outer = inner
	for i := range inner {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	body := sha256.Sum256(s.Body)
	b := append(room.buf[:0], inner[:]...)
	b = append(append(b, s.Method...), '\n')
	b = append(append(b, s.Path...), '\n')
	b = append(hex.AppendEncode(b, body[:]), '\n')
	b = append(append(b, s.Timestamp...), '\n')
	b = append(b, s.Nonce...)
	sum := sha256.Sum256(b)
	b = append(append(b[:0], outer[:]...), sum[:]...)
	sum = sha256.Sum256(b)
	room.buf = b
	hex.Encode(text[:], sum[:])
	return text
}
