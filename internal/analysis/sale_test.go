package analysis_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

// opening is the start of the sales of these tests.
var opening = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// sale writes the decision log of a made-up sale, a piece at a time: n lines, the first tenth of them units, the rest
// refused, everybody from an address and a device of their own but for a farm of scripts.
type sale struct {
	rng   *rand.Rand
	n     int
	at    int
	farm  float64 // share of the lines that come from the farm
	ready []byte
}

func newSale(seed uint64, n int, farm float64) *sale {
	return &sale{rng: rand.New(rand.NewPCG(seed, 1)), n: n, farm: farm}
}

func (s *sale) Read(p []byte) (int, error) {
	for len(s.ready) == 0 {
		if s.at == s.n {
			return 0, io.EOF
		}
		s.ready = s.line(s.ready)
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	if len(s.ready) == 0 {
		s.ready = s.ready[:0]
	}
	return n, nil
}

var refusals = []string{"SOLD_OUT", "SOLD_OUT", "SOLD_OUT", "TOO_FREQUENT", "PASS_REQUIRED", "BUSY"}

func (s *sale) line(b []byte) []byte {
	after := s.at * 20_000 / s.n
	who := strconv.Itoa(s.rng.IntN(s.n))
	device, addr := "d"+who, fmt.Sprintf("10.%d.%d.%d", s.rng.IntN(256), s.rng.IntN(256), s.rng.IntN(256))
	if s.rng.Float64() < s.farm {
		who = "bot" + strconv.Itoa(s.rng.IntN(500))
		device, addr = "farm"+strconv.Itoa(s.rng.IntN(20)), fmt.Sprintf("203.0.113.%d", s.rng.IntN(8))
	}
	reason, more := refusals[s.rng.IntN(len(refusals))], ""
	if s.at < s.n/10 {
		reason = "CONFIRMED"
	}
	if s.rng.IntN(50) == 0 {
		more = `,"rule":"many accounts","challenged":true`
	}
	s.at++
	b = append(b, `{"time":"`...)
	b = opening.Add(time.Duration(after)*time.Millisecond).AppendFormat(b, "2006-01-02T15:04:05.000Z07:00")
	return fmt.Appendf(b, `","campaign":"spring","reason":"%s","check":"marker","after_ms":%d,"user":"u%s","device":"%s",`+
		`"addr":"%s"%s,"quantity":1,"took_us":12}`+"\n", reason, after, who, device, addr, more)
}
