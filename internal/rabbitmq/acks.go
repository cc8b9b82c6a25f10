package rabbitmq

import "slices"

// acks knows which deliveries of a channel were acknowledged, so that one acknowledgement can stand for all up to it
// where nothing before it is still open. The broker counts deliveries from 1; all below first are acknowledged.
type acks struct {
	first uint64
	above map[uint64]struct{} // acknowledged, one or more before them open
}

func newAcks() *acks { return &acks{first: 1, above: map[uint64]struct{}{}} }

// done takes tags that are to be acknowledged now. It gives the one that may be acknowledged together with all before
// it (0 where there is none) and those that have to be acknowledged each by itself. A tag that was given before is left
// out: the broker ends a channel that acknowledges twice.
func (a *acks) done(tags []uint64) (upTo uint64, single []uint64) {
	for _, t := range tags {
		if _, twice := a.above[t]; t < a.first || twice {
			continue
		}
		a.above[t] = struct{}{}
		single = append(single, t)
	}
	for {
		if _, ok := a.above[a.first]; !ok {
			break
		}
		delete(a.above, a.first)
		a.first++
	}
	// One of this call's own: earlier ones below first are acknowledged already, and the broker would not know them.
	single = slices.DeleteFunc(single, func(t uint64) bool {
		if t < a.first {
			upTo = max(upTo, t)
			return true
		}
		return false
	})
	return upTo, single
}
