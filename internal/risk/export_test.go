package risk

import "testing"

// Trade records and trades once, as the loop does each second.
func Trade(t *testing.T, e *Engine) {
	t.Helper()
	e.once(t.Context())
}

// Batch gives what the engine would tell others, and Hear has it hear what others tell.
func (e *Engine) Batch() []byte { return e.batch() }

// Hear counts a batch.
func (e *Engine) Hear(b []byte) error { return e.hear(b) }

// ParseAnswer reads what a risk service said.
func ParseAnswer(b []byte) error {
	_, err := parseAnswer(b)
	return err
}

// Keyed has the engine hash with a key of the test's: members are estimated, and a random key puts four of them on
// three places once in forty times.
func Keyed(e *Engine, k Key) {
	e.mu.Lock()
	e.key = k
	e.mu.Unlock()
	e.setRules(nil)
}
