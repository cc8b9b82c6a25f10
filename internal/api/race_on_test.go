//go:build race

package api_test

// raceDetector says that pools drop what they are given now and then, so that allocations cannot be counted.
const raceDetector = true
