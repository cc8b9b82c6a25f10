//go:build race

package admin_test

// manyRows is a tenth of what comes without the race detector; what runs at once is the same.
const manyRows = 2_000
