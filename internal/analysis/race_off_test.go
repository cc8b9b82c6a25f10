//go:build !race

package analysis_test

// manyLines is how long the log is whose analysis has to stay in its memory.
const manyLines = 300_000
