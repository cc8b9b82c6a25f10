package challenge

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/sluice-sale/sluice"
)

// The id of a challenge: version, kind, when it was made and ends, how hard it is, a nonce; then a keyed hash.
const (
	identVersion = 1
	nonceLen     = 12
	bodyLen      = 1 + 1 + 6 + 6 + 4 + nonceLen
	tagLen       = 18 // so that the text has no bits to spare
	identText    = (bodyLen + tagLen) / 3 * 4
)

// What is hashed begins with what it is for, so that no hash can be taken for another one.
const (
	domainIdent  = "sluice challenge\x00"
	domainAnswer = "sluice challenge answer\x00"
	domainPoW    = "sluice challenge pow\x00"
)

var encoding = base64.RawURLEncoding.Strict()

// kinds are the kinds in the order of their numbers in an id.
var kinds = [...]sluice.ChallengeType{
	1: sluice.ChallengePoW, 2: sluice.ChallengeSlider, 3: sluice.ChallengeImage, 4: sluice.ChallengeSiteverify,
}

// ident is what the id of a challenge says.
type ident struct {
	kind   byte
	issued sluice.Millis
	ends   sluice.Millis
	limit  uint32 // of proof of work: the largest number that can be the answer
	nonce  [nonceLen]byte
}

// owner is whom a challenge is for.
type owner struct{ campaign, user, device string }

func newNonce() (n [nonceLen]byte) {
	_, _ = rand.Read(n[:]) // crypto/rand.Read never fails
	return n
}

func (id *ident) body() (b [bodyLen]byte) {
	b[0], b[1] = identVersion, id.kind
	putMillis(b[2:], id.issued)
	putMillis(b[8:], id.ends)
	binary.BigEndian.PutUint32(b[14:], id.limit)
	copy(b[18:], id.nonce[:])
	return b
}

// text gives the id for who under key.
func (id *ident) text(key []byte, who owner) string {
	body := id.body()
	tag := seal(key, body[:], who)
	return encoding.EncodeToString(append(body[:], tag[:]...))
}

// parse reads an id and finds the key that it was made with; false for what no key of ours was used for, and for
// another owner's.
func parse(text string, keys [][]byte, who owner) (id ident, key []byte, ok bool) {
	var raw [bodyLen + tagLen]byte
	if len(text) != identText {
		return id, nil, false
	}
	if n, err := encoding.Decode(raw[:], []byte(text)); err != nil || n != len(raw) {
		return id, nil, false
	}
	for _, k := range keys {
		if tag := seal(k, raw[:bodyLen], who); hmac.Equal(tag[:], raw[bodyLen:]) {
			key = k
			break
		}
	}
	if key == nil || raw[0] != identVersion || raw[1] == 0 || int(raw[1]) >= len(kinds) {
		return id, nil, false
	}
	id = ident{kind: raw[1], issued: millis(raw[2:]), ends: millis(raw[8:]), limit: binary.BigEndian.Uint32(raw[14:])}
	copy(id.nonce[:], raw[18:])
	return id, key, true
}

// seal hashes a body and whom it is for.
func seal(key, body []byte, who owner) (tag [tagLen]byte) {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(domainIdent))
	_, _ = h.Write(body)
	for _, s := range [...]string{who.campaign, who.user, who.device} {
		var n [4]byte
		binary.BigEndian.PutUint32(n[:], uint32(len(s)))
		_, _ = h.Write(n[:])
		_, _ = h.Write([]byte(s))
	}
	copy(tag[:], h.Sum(nil))
	return tag
}

// lots are numbers that only who has the key can tell, drawn from a nonce: the answers.
type lots struct {
	key   []byte
	head  []byte
	block [sha256.Size]byte
	used  int
	turn  byte
}

func newLots(key []byte, kind byte, nonce [nonceLen]byte) *lots {
	head := append(append([]byte(domainAnswer), kind), nonce[:]...)
	return &lots{key: key, head: head, used: sha256.Size}
}

// below draws a number from 0 to below n, which is at most 2^32.
func (l *lots) below(n uint64) int {
	if l.used == len(l.block) {
		h := hmac.New(sha256.New, l.key)
		_, _ = h.Write(append(l.head, l.turn))
		h.Sum(l.block[:0])
		l.used = 0
		l.turn++
	}
	v := binary.BigEndian.Uint64(l.block[l.used:])
	l.used += 8
	return int((v >> 32) * n >> 32)
}

func putMillis(b []byte, v sluice.Millis) {
	var room [8]byte
	binary.BigEndian.PutUint64(room[:], uint64(v))
	copy(b[:6], room[2:])
}

func millis(b []byte) sluice.Millis {
	var room [8]byte
	copy(room[2:], b[:6])
	return sluice.Millis(binary.BigEndian.Uint64(room[:]))
}
