//go:build race

package analysis_test

// manyLines is a tenth of what is read without the race detector: it is one goroutine that reads.
const manyLines = 30_000
