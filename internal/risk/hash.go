package risk

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// Key is what keys of the counters are hashed with: the same on all nodes, and secret, so that nobody can aim at
// another's place in a table.
type Key [16]byte

// hasher is SipHash-1-3 under a Key.
type hasher struct{ k0, k1 uint64 }

func newHasher(k Key) hasher {
	return hasher{binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:])}
}

type sip struct{ v0, v1, v2, v3 uint64 }

func (s *sip) round() {
	s.v0 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 13) ^ s.v0
	s.v0 = bits.RotateLeft64(s.v0, 32)
	s.v2 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 16) ^ s.v2
	s.v0 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 21) ^ s.v0
	s.v2 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 17) ^ s.v2
	s.v2 = bits.RotateLeft64(s.v2, 32)
}

func (s *sip) word(m uint64) {
	s.v3 ^= m
	s.round()
	s.v0 ^= m
}

func (h hasher) begin(kind by) sip {
	return sip{h.k0 ^ 0x736f6d6570736575 ^ uint64(kind)<<56, h.k1 ^ 0x646f72616e646f6d,
		h.k0 ^ 0x6c7967656e657261, h.k1 ^ 0x7465646279746573}
}

func (s *sip) end() uint64 {
	s.v2 ^= 0xff
	s.round()
	s.round()
	s.round()
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3
}

// text hashes a user or a device; users and devices of one name have other hashes.
func (h hasher) text(kind by, t string) uint64 {
	s := h.begin(kind)
	tail := uint64(len(t)) << 56
	for ; len(t) >= 8; t = t[8:] {
		s.word(uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
			uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56)
	}
	for i := range len(t) {
		tail |= uint64(t[i]) << (8 * i)
	}
	s.word(tail)
	return s.end()
}

// addr hashes an address or the first address of a network.
func (h hasher) addr(kind by, a netip.Addr) uint64 {
	b := a.As16()
	s := h.begin(kind)
	s.word(binary.LittleEndian.Uint64(b[:8]))
	s.word(binary.LittleEndian.Uint64(b[8:]))
	return s.end()
}

// network gives the /24 of an IPv4 address or the /64 of an IPv6 one.
func network(a netip.Addr) netip.Prefix {
	length := 64
	if a.Is4() {
		length = 24
	}
	p, err := a.Prefix(length)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
