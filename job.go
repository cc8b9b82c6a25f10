package sluice

import "encoding/json"

// JobState is where a job stands.
type JobState string

// The states of a job.
const (
	JobRunning   JobState = "running"
	JobDone      JobState = "done"
	JobFailed    JobState = "failed"
	JobCancelled JobState = "cancelled"
)

// Job is work that takes longer than a call: a bulk act, a rehearsal. It goes on when whoever asked for it has gone,
// and every node shows it.
type Job struct {
	ID        string
	Kind      string // such as dead_letters.replay
	State     JobState
	Object    string // what it is about, such as campaign/spring
	Author    string // name of the key that asked for it
	KeyID     string
	Reason    string
	Total     int64 // pieces of work; -1: not known
	Done      int64
	Failed    int64
	Node      string // that works on it
	Ask       json.RawMessage
	Result    json.RawMessage // nil until there is one
	Code      string          // what kind of fault it was, in capitals: STOPPED, INTERRUPTED, that of a Fault …
	Fault     string          // why it failed or stopped, in English
	Cancel    bool            // somebody wants it to stop
	CreatedAt Millis
	BeatAt    Millis // when its node told of it last
	EndedAt   Millis // zero while it runs
}

// Bounds of jobs.
const (
	MaxJobID            = 64
	MaxJobAsk           = 1 << 20 // bytes
	MaxJobResult        = 64 << 10
	JobLost      Millis = 30_000 // a job whose node has been silent for so long has ended with its node
)

// JobProgress is how far a job has come.
type JobProgress struct{ Total, Done, Failed int64 }

// JobQuery selects jobs, newest first; empty fields do not narrow it.
type JobQuery struct {
	State  JobState
	Kind   string
	Object string
	Before Millis // created before; zero: from the newest
	Limit  int
}
