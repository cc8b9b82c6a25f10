package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-sale/sluice"
)

// startPause lies between two tries of a start to reach a store.
const startPause = 500 * time.Millisecond

// await opens a store, and where nothing answers yet tries again for as long as the setting says: machines and
// containers come up in any order. What another try cannot change, such as a wrong password, is an error at once.
func (s *server) await(ctx context.Context, what string, open func(context.Context) error) error {
	waiting := "waiting for " + what
	var deadline time.Time
	for {
		err := open(ctx)
		if err == nil {
			if !deadline.IsZero() {
				s.ready.done(waiting)
				s.log.Info(what + " answers")
			}
			return nil
		}
		away := errors.Is(err, sluice.ErrUnavailable) || errors.Is(err, sluice.ErrUncertain)
		now := time.Now()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !away || s.cfg.Start.Wait == 0:
			return err
		case deadline.IsZero():
			deadline = now.Add(s.cfg.Start.Wait)
			s.ready.begin(waiting, "")
			s.log.Warn(waiting, "at_most", s.cfg.Start.Wait.String(), "setting", "start.wait", "err", err)
		case now.After(deadline):
			return fmt.Errorf("%s has not answered within %s (start.wait): %w", what, s.cfg.Start.Wait, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(startPause):
		}
	}
}
