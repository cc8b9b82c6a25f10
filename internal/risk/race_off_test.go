//go:build !race

package risk_test

const raceEnabled = false
