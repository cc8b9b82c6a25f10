package pass

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-sale/sluice"
)

// A pass is p1.KEY.PAYLOAD.MAC: the number of its key in base 36; what it says, and a keyed hash over everything
// before it and whom it is for, both in base64url. Whom it is for does not stand in it: a reader knows who claims.
const (
	version     = "p1."
	payloadLen  = 1 + 6 + 6 + 4 // flags, from, until, lot
	payloadText = 23            // in base64url
	macLen      = 16            // of SHA-256: 128 bits
	macText     = 22
	flagSolved  = 1
	// skewMS is how far another node's clock may be ahead of ours.
	skewMS = 5000
	// maxKeyName bounds the number of a key in a pass.
	maxKeyName = 13
)

// What is hashed begins with what it is for, so that no hash can be taken for another one.
const (
	domainPass   = "sluice pass\x00"
	domainSign   = "sluice signing key\x00"
	domainDerive = "sluice derived\x00"
)

var encoding = base64.RawURLEncoding.Strict()

func keyName(seq int64) string { return strconv.FormatInt(seq, 36) }

// Issue gives a pass that says p to user, with device, for campaign. ErrUnavailable: there is no key yet.
func (k *Keys) Issue(now sluice.Millis, campaign, user, device string, p sluice.Pass) (string, error) {
	key := k.signing(now)
	if key == nil {
		return "", fmt.Errorf("pass: there is no key yet: %w", sluice.ErrUnavailable)
	}
	var payload [payloadLen]byte
	if p.Solved {
		payload[0] = flagSolved
	}
	putMillis(payload[1:], p.From)
	putMillis(payload[7:], p.Until)
	binary.BigEndian.PutUint32(payload[13:], p.Draw)
	b := make([]byte, 0, sluice.MaxPass)
	b = append(append(append(b, version...), key.name...), '.')
	b = encoding.AppendEncode(b, payload[:])
	m := key.macs.Get().(*mac)
	defer key.macs.Put(m)
	tag := m.ofPass(string(b), campaign, user, device)
	return string(append(append(b, '.'), tag[:]...)), nil
}

// Check says whether pass was given to user with device for campaign by a key that is believed, and holds now. It
// compares in constant time and does not allocate.
func (k *Keys) Check(now sluice.Millis, campaign, user, device, pass string) (p sluice.Pass, ok bool) {
	key, head, tag, ok := k.split(pass)
	if !ok {
		return p, false
	}
	m := key.macs.Get().(*mac)
	want := m.ofPass(head, campaign, user, device)
	key.macs.Put(m)
	var got [macText]byte
	copy(got[:], tag)
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return p, false
	}
	var text [payloadText]byte
	copy(text[:], head[len(head)-payloadText:])
	var payload [payloadLen]byte
	if n, err := encoding.Decode(payload[:], text[:]); err != nil || n != payloadLen {
		return p, false
	}
	p = sluice.Pass{From: millis(payload[1:]), Until: millis(payload[7:]), Draw: binary.BigEndian.Uint32(payload[13:]),
		Solved: payload[0] == flagSolved}
	return p, payload[0] <= flagSolved && now >= p.From-skewMS && now < p.Until
}

// split finds the parts of a pass and its key; false for what cannot be one.
func (k *Keys) split(pass string) (found *key, head, tag string, ok bool) {
	if len(pass) > len(version)+maxKeyName+1+payloadText+1+macText || !strings.HasPrefix(pass, version) {
		return nil, "", "", false
	}
	end := len(pass) - macText - 1
	dot := end - payloadText - 1
	if dot <= len(version) || pass[end] != '.' || pass[dot] != '.' {
		return nil, "", "", false
	}
	found = find(*k.ring.Load(), pass[len(version):dot])
	return found, pass[:end], pass[end+1:], found != nil
}

// ofPass hashes the head of a pass and whom it is for, and gives the hash as it stands in the pass.
func (m *mac) ofPass(head, campaign, user, device string) (text [macText]byte) {
	b := append(m.buf[:0], domainPass...)
	for _, s := range [...]string{head, campaign, user, device} {
		b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	m.hash(b)
	encoding.Encode(text[:], m.sum[:macLen])
	return text
}

// hash leaves the hash of b in m.sum, and keeps b for the next time.
func (m *mac) hash(b []byte) {
	m.buf = b
	m.Reset()
	_, _ = m.Write(b)
	m.Sum(m.sum[:0])
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

// signingText is the length of a signing key: 32 bytes in base64url.
const signingText = 43

// SigningKey gives the key that requests under pass are signed with: its text is the key. False where the pass is of
// no key that is believed. It does not check the pass.
func (k *Keys) SigningKey(pass string) (text [signingText]byte, ok bool) {
	key, _, _, ok := k.split(pass)
	if !ok {
		return text, false
	}
	m := key.macs.Get().(*mac)
	m.hash(append(append(m.buf[:0], domainSign...), pass...))
	encoding.Encode(text[:], m.sum[:sha256.Size])
	key.macs.Put(m)
	return text, true
}
