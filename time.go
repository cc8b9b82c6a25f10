package sluice

import "time"

// Millis is a moment as UTC milliseconds since the Unix epoch; zero means "never" or "not yet".
type Millis int64

// MillisOf rounds t down to the millisecond. The zero time gives zero.
func MillisOf(t time.Time) Millis {
	if t.IsZero() {
		return 0
	}
	return Millis(t.UnixMilli())
}

// Time returns m as a UTC time; the zero Millis gives the zero time.
func (m Millis) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// Add returns the moment d later, d rounded down to the millisecond.
func (m Millis) Add(d time.Duration) Millis { return m + Millis(d.Milliseconds()) }

// PaymentClock is the clock that unpaid windows run on: it stands still while payments are marked down. An order's
// deadline is kept as a reading of this clock, so that stopping it touches no order.
type PaymentClock struct {
	Stopped Millis // sum of the finished stops, in ms
	Since   Millis // when the present stop began; zero while the clock runs
}

// Read gives the clock's reading at the wall time now. A wall clock that jumped back behind Since reads as Since.
func (c PaymentClock) Read(now Millis) Millis {
	if c.Since != 0 {
		now = c.Since
	}
	return now - c.Stopped
}

// Wall turns a reading into the wall time at which the clock will show it if it is not stopped again.
func (c PaymentClock) Wall(reading, now Millis) Millis {
	wall := reading + c.Stopped
	if c.Since != 0 && now > c.Since {
		wall += now - c.Since
	}
	return wall
}

// Stop and Start return the clock after payments went down and came back; both are idempotent.
func (c PaymentClock) Stop(now Millis) PaymentClock {
	if c.Since == 0 {
		c.Since = now
	}
	return c
}

// Start ends the present stop. A wall clock that jumped back counts as a stop of no length.
func (c PaymentClock) Start(now Millis) PaymentClock {
	if c.Since != 0 {
		c.Stopped += max(0, now-c.Since)
		c.Since = 0
	}
	return c
}
