package pass

import (
	"crypto/subtle"
	"encoding/binary"
	"math"
	"strings"

	"github.com/sluice-sale/sluice"
)

// A receipt is r1.KEY.PAYLOAD.MAC, as a pass: what a queued claim was promised, and a keyed hash over that and the
// claim's id, which has the user's in it. Whoever was answered QUEUED has it, and it outlives both the gate and the
// node that answered.
const (
	receiptVersion  = "r1."
	domainReceipt   = "sluice receipt\x00"
	receiptHead     = 2 + 4 + 6 // quantity, epoch, time; the campaign follows
	maxReceiptBytes = receiptHead + sluice.MaxCampaignID
	// receiptMS is how long after the promise a receipt says anything.
	receiptMS = keptMS
)

// AppendReceipt appends the receipt of a claim that was promised at now, under an epoch of its campaign. It appends
// nothing where there is no key, or no epoch: then no gate can lose it.
func (k *Keys) AppendReceipt(
	dst []byte, now sluice.Millis, campaign string, id sluice.ClaimID, quantity int, epoch int64,
) []byte {
	key := k.signing(now)
	if key == nil || epoch <= 0 || epoch > math.MaxUint32 || quantity > math.MaxUint16 ||
		len(campaign) > sluice.MaxCampaignID {
		return dst
	}
	var room [maxReceiptBytes]byte
	b := binary.BigEndian.AppendUint16(room[:0], uint16(quantity))
	b = binary.BigEndian.AppendUint32(b, uint32(epoch))
	b = b[:receiptHead]
	putMillis(b[6:], now)
	b = append(b, campaign...)
	from := len(dst)
	dst = append(append(append(dst, receiptVersion...), key.name...), '.')
	dst = encoding.AppendEncode(dst, b)
	m := key.macs.Get().(*mac)
	defer key.macs.Put(m)
	tag := m.ofReceipt(dst[from:], id)
	return append(append(dst, '.'), tag[:]...)
}

// ReadReceipt gives the claim of that id as its receipt tells it, without its user; false for anything that is no
// receipt of it, or too old at now.
func (k *Keys) ReadReceipt(now sluice.Millis, id sluice.ClaimID, text string) (c sluice.Claim, ok bool) {
	rest, ok := strings.CutPrefix(text, receiptVersion)
	parts := strings.Split(rest, ".")
	if !ok || len(text) > sluice.MaxReceipt || len(parts) != 3 || len(parts[2]) != macText {
		return c, false
	}
	key := find(*k.ring.Load(), parts[0])
	if key == nil {
		return c, false
	}
	m := key.macs.Get().(*mac)
	want := m.ofReceipt([]byte(text[:len(text)-macText-1]), id)
	key.macs.Put(m)
	if subtle.ConstantTimeCompare([]byte(parts[2]), want[:]) != 1 {
		return c, false
	}
	b, err := encoding.DecodeString(parts[1])
	if err != nil || len(b) < receiptHead {
		return c, false
	}
	c = sluice.Claim{
		ID: id, Campaign: string(b[receiptHead:]), Quantity: int(binary.BigEndian.Uint16(b)),
		Epoch: int64(binary.BigEndian.Uint32(b[2:])), At: millis(b[6:]),
	}
	return c, now < c.At+receiptMS
}

// ofReceipt hashes the head of a receipt and the claim that it is of.
func (m *mac) ofReceipt(head []byte, id sluice.ClaimID) (text [macText]byte) {
	b := append(m.buf[:0], domainReceipt...)
	b = append(append(b, id[:]...), head...)
	m.hash(b)
	encoding.Encode(text[:], m.sum[:macLen])
	return text
}
