package sluice

// Session is one sign-in of an operator's browser. It stands for the key that it was opened with, and ends with it. The
// secret of the session is in the browser's cookie and nowhere else.
type Session struct {
	ID        string
	KeyID     string // the key that opened it
	Name      string // of that key, at the time
	Role      Role   // of that key, at the time
	Hash      [32]byte
	Proof     [32]byte // of secret and key together: another key under the same id does not fit
	Addr      string
	Agent     string // what the browser calls itself, at most MaxSessionAgent bytes
	CreatedAt Millis
	ExpiresAt Millis
}

// Bounds of sessions.
const (
	SessionLife        Millis = 12 * 60 * 60 * 1000 // from the sign-in on, whatever is done meanwhile
	MaxKeySessions            = 50                  // of one key at a time: the oldest gives way
	MaxSessionAgent           = 200                 // bytes
	MaxListedSessions         = 1000
	SessionSecretBytes        = 32
)
