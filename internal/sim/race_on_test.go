//go:build race

package sim_test

// manySeeds is a tenth of what is played without the race detector, which makes the store about ten times slower.
const manySeeds = 100
