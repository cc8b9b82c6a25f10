package memory

import "time"

// Records says how many records the campaign's book has room for: used ones and those to be used again.
func (a *Admission) Records(id string) int { return int(a.find(id).book.n) }

// NewOnceAt makes a Once on a clock of its own.
func NewOnceAt(cfg OnceConfig, mono func() time.Duration) *Once {
	o := NewOnce(cfg)
	o.mono = mono
	return o
}
