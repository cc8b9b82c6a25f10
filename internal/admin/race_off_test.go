//go:build !race

package admin_test

// manyRows is how many grants come in one bulk.
const manyRows = 20_000
