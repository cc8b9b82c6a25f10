package challenge

import (
	"math"
	"time"
)

// Ways to move the piece.
const (
	byPointer = "pointer" // dragged by mouse or finger
	byKeys    = "keys"    // by arrow keys or clicks
)

// Bounds of a track. Points are [x, y, ms since any moment], x as the piece's left edge in picture pixels.
const (
	maxTrack      = 300
	maxCoordinate = 10_000
	maxTrackTime  = 10 * 60_000

	minPointer     = 8    // points of a drag
	minKeys        = 2    // of a way by keys or clicks
	startWithin    = 12.0 // pixels from the left edge
	endWithin      = 2.0  // pixels from where the piece was let go
	minDragMS      = 200.0
	minKeysMS      = 150.0
	maxLeap        = 0.6  // of the way, in one step
	minMoments     = 5    // different times
	minUneven      = 0.12 // spread of the speeds, in terms of their mean
	minBend        = 0.02 // how far the way over time is from a straight line, in terms of the way
	clocksApartMS  = 1000 // of two nodes
	backAllowance  = 0.25 // of the way that may be gone back in one step
	shortestWayPix = 30.0
)

// trackFault says what shows that no person moved the piece, or "" where nothing does. since is the time from making
// the challenge to its answer, by our clock: whoever says that it took longer made the track up.
func trackFault(track [][3]float64, x float64, by string, since time.Duration) string {
	if len(track) > 0 && math.Abs(track[0][0]) > startWithin {
		by = byKeys // a drag begins at the left edge; what begins elsewhere began with a click
	}
	if len(track) < minKeys || by == byPointer && len(track) < minPointer {
		return "too few points"
	}
	first, last := track[0], track[len(track)-1]
	took := last[2] - first[2]
	for i := 1; i < len(track); i++ {
		if track[i][2] < track[i-1][2] {
			return "time runs backwards"
		}
	}
	switch {
	case math.Abs(last[0]-x) > endWithin:
		return "it does not end where the piece was let go"
	case by == byPointer && took < minDragMS, took < minKeysMS:
		return "too fast"
	case took > float64(since.Milliseconds()+clocksApartMS):
		return "it took longer than the challenge is old"
	case by == byKeys:
		return ""
	}
	return dragFault(track, last[0]-first[0], took)
}

// dragFault looks at how a drag went: people start, hurry, slow down and correct themselves; a script that steps from
// here to there does not.
func dragFault(track [][3]float64, way, took float64) string {
	if way < shortestWayPix {
		return "no way"
	}
	var speeds []float64
	bend, moments := 0.0, 1
	for i := 1; i < len(track); i++ {
		a, b := track[i-1], track[i]
		dx, dt := b[0]-a[0], b[2]-a[2]
		if dx > maxLeap*way || dx < -backAllowance*way {
			return "a leap"
		}
		if dt > 0 {
			speeds = append(speeds, dx/dt)
			moments++
		}
		straight := track[0][0] + way*(b[2]-track[0][2])/took
		bend = max(bend, math.Abs(b[0]-straight))
	}
	switch {
	case moments < minMoments:
		return "too few moments"
	case uneven(speeds) < minUneven, bend < minBend*way:
		return "constant speed"
	}
	return ""
}

// uneven is the standard deviation in terms of the mean.
func uneven(v []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range v {
		sum += x
		squares += x * x
	}
	n := float64(len(v))
	mean := sum / n
	if mean <= 0 {
		return math.Inf(1)
	}
	return math.Sqrt(max(squares/n-mean*mean, 0)) / mean
}
