package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"unsafe"

	"github.com/redis/rueidis"
	"github.com/sluice-sale/sluice"
)

// letters are the answers of admit.lua to one claim.
var letters = [256]Verdict{
	'A': VerdictAdmitted, 'Q': VerdictQueued, 'L': VerdictLive, 'E': VerdictEnded, 'R': VerdictReused,
	'C': VerdictClosed, 'N': VerdictNotStarted, 'X': VerdictEndedWindow, 'M': VerdictLimit, 'D': VerdictDry,
}

// recordSize is the size of a claim's record in the claims hash; headSize that of what stands before a user's
// records.
const (
	recordSize = 24
	headSize   = 4
	halfSize   = 10
)

// allAdmitted answers calls whose claims were all admitted. Nobody writes to it.
var allAdmitted = func() (all [MaxAdmit]ClaimReply) {
	for i := range all {
		all[i].Verdict = VerdictAdmitted
	}
	return all
}()

// Admit decides the claims of one shard in one script call. ErrUnavailable: nothing was done. ErrUncertain: it is not
// known; the same call again answers replays where it was done. ErrInvalid: a claim cannot be right, or is at home in
// another shard; nothing was done.
func (g *Gates) Admit(ctx context.Context, call AdmitCall) (AdmitReply, error) {
	c := call.Campaign
	if err := call.check(); err != nil {
		return AdmitReply{}, fmt.Errorf("redis: admit to %s/%d: %w", c.ID, call.Shard, err)
	}
	what := func() string { return fmt.Sprintf("%d claims of %s/%d", len(call.Claims), c.ID, call.Shard) }
	sent := call.messages()
	answer, err := g.c.run(ctx, g.c.scripts.admit, what, call.keys(g.c.keys), call.args(sent))
	if err != nil {
		return AdmitReply{}, err
	}
	reply, err := call.read(answer)
	if err != nil {
		return AdmitReply{}, fmt.Errorf("redis: admit %s: %w", what(), err)
	}
	reply.Sent = sent
	return reply, nil
}

func (call *AdmitCall) check() error {
	n := len(call.Claims)
	if n == 0 || n > MaxAdmit || call.Shard < 0 || call.Shard >= shardsOf(call.Campaign) {
		return fmt.Errorf("%w: %d claims", sluice.ErrInvalid, n)
	}
	for i := range call.Claims {
		claim := &call.Claims[i]
		if err := checkClaim(claim); err != nil {
			return err
		}
		if claim.Campaign != call.Campaign.ID || HomeShard(call.Campaign, claim.ID.User()) != call.Shard {
			return fmt.Errorf("%w: claim %s is at home elsewhere", sluice.ErrInvalid, claim.ID)
		}
	}
	return nil
}

func (call *AdmitCall) keys(k *keys) []string {
	at := k.of(call.Campaign, call.Shard)
	all := make([]string, 0, 5+2*len(call.Peers))
	all = append(all, at.gate, at.claims, at.pending, at.holders, at.outbox)
	if len(call.Peers) > 0 {
		stem := k.stem(call.Campaign, call.Shard)
		for _, peer := range call.Peers {
			all = append(all, stem+peer+":claims", stem+peer+":pending")
		}
	}
	return all
}

// messages writes the claims' messages, one after the other.
func (call *AdmitCall) messages() []byte {
	room := 0
	for i := range call.Claims {
		room += sizeOf(&call.Claims[i])
	}
	buf := make([]byte, 0, room)
	for i := range call.Claims {
		buf = appendMessage(buf, &call.Claims[i], call.Campaign.Epoch)
	}
	return buf
}

// args gives what is sent: messages, and the claims' ids, the users' halves first.
func (call *AdmitCall) args(messages []byte) []string {
	c := call.Campaign
	name := rand.Uint64() | 1 // not 0
	same := call.Claims[0].Quantity
	ids := make([]byte, 2*halfSize*len(call.Claims))
	users, rest := ids[:len(ids)/2], ids[len(ids)/2:]
	for i := range call.Claims {
		claim := &call.Claims[i]
		copy(users[i*halfSize:], claim.ID[:halfSize])
		copy(rest[i*halfSize:], claim.ID[halfSize:])
		if claim.Quantity != same {
			same = 0
		}
	}
	return []string{
		number(c.Epoch), number(int64(c.StartsAt)), number(int64(c.EndsAt)), strconv.Itoa(c.PerUserLimit),
		string(binary.BigEndian.AppendUint64(nil, name)), call.again(), strconv.Itoa(same), stringOf(messages),
		stringOf(ids), call.quantities(same),
	}
}

// stringOf gives bytes that nobody changes any more as a string.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// quantities are those of the claims, where they are not all the same.
func (call *AdmitCall) quantities(same int) string {
	if same != 0 {
		return ""
	}
	b := make([]byte, 0, 2*len(call.Claims))
	for i := range call.Claims {
		b = binary.BigEndian.AppendUint16(b, uint16(call.Claims[i].Quantity))
	}
	return string(b)
}

// again names the users who come more than once.
func (call *AdmitCall) again() string {
	if len(call.Claims) == 1 {
		return ""
	}
	var twice []byte
	var seen [2 * MaxAdmit]uint16 // open addressing: places of claims, from 1
	for i := range call.Claims {
		id := &call.Claims[i].ID
		at := binary.LittleEndian.Uint16(id[halfSize-2:]) % uint16(len(seen)) // not the bits that chose the shard
		for ; seen[at] != 0; at = (at + 1) % uint16(len(seen)) {
			if [halfSize]byte(call.Claims[seen[at]-1].ID[:]) == [halfSize]byte(id[:]) {
				twice = append(twice, id[:halfSize]...)
				break
			}
		}
		if seen[at] == 0 {
			seen[at] = uint16(i + 1)
		}
	}
	return string(twice)
}

// read reads the answer of admit.lua.
func (call *AdmitCall) read(answer []rueidis.RedisMessage) (r AdmitReply, err error) {
	in := reader{answer: answer}
	r.Status, r.Epoch = statusOf(in.int()), in.int()
	if r.Status != GateOK {
		return r, in.err
	}
	r.Now, r.Available, r.Returning, r.Queued = sluice.Millis(in.int()), in.int(), in.int(), in.int()
	word := in.text()
	if in.err != nil || word != "" && len(word) != len(call.Claims) {
		return r, fmt.Errorf("%w: an answer that cannot be read: %w", sluice.ErrUncertain, in.err)
	}
	if word == "" {
		r.Claims = allAdmitted[:len(call.Claims):len(call.Claims)]
		return r, in.err
	}
	r.Claims = make([]ClaimReply, len(call.Claims))
	for i := range r.Claims {
		if r.Claims[i].Verdict = letters[word[i]]; r.Claims[i].Verdict == VerdictLimit {
			r.Claims[i].Claims = listed(call.Claims[i].ID, in.text())
		}
	}
	return r, in.err
}

// statusOf translates the statuses that scripts have in common.
func statusOf(n int64) GateStatus {
	switch n {
	case 0:
		return GateNone
	case 2:
		return GateEpoch
	case 3:
		return GateClosed
	}
	return GateOK
}

// maxListed bounds the claims that a LIMIT_REACHED names.
const maxListed = 100

// listed gives the ids of the records that take of the limit, newest first.
func listed(of sluice.ClaimID, records string) (ids []sluice.ClaimID) {
	for end := len(records); end >= recordSize && len(ids) < maxListed; end -= recordSize {
		r := records[end-recordSize : end]
		if r[14] == 0 && r[15] == 0 {
			continue
		}
		id := of
		copy(id[halfSize:], r[:halfSize])
		ids = append(ids, id)
	}
	return ids
}

// reader reads the parts of an answer one after the other; the first error stays.
type reader struct {
	answer []rueidis.RedisMessage
	err    error
}

func (r *reader) next() (m rueidis.RedisMessage) {
	if r.err != nil || len(r.answer) == 0 {
		if r.err == nil {
			r.err = fmt.Errorf("%w: an answer with too few parts", sluice.ErrUncertain)
		}
		return m
	}
	m, r.answer = r.answer[0], r.answer[1:]
	return m
}

func (r *reader) int() int64 {
	m := r.next()
	if r.err != nil {
		return 0
	}
	n, err := m.AsInt64()
	if err != nil {
		r.err = fmt.Errorf("%w: an answer with a part that is no number: %w", sluice.ErrUncertain, err)
	}
	return n
}

func (r *reader) text() string {
	m := r.next()
	if r.err != nil {
		return ""
	}
	s, err := m.ToString()
	if err != nil {
		r.err = fmt.Errorf("%w: an answer with a part that is no text: %w", sluice.ErrUncertain, err)
	}
	return s
}

// number reads a number that may be missing.
func (r *reader) number() int64 {
	s := r.text()
	if s == "" || r.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		r.err = fmt.Errorf("%w: a figure that is no number", sluice.ErrUncertain)
	}
	return n
}
