//go:build !race

package sim_test

// manySeeds is how many histories are played if nobody says another number.
const manySeeds = 1000
