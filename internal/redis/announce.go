package redis

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/sluice-sale/sluice"
)

// Bounds of announcements.
const (
	announceVersion = 1
	announcedEach   = 21   // bytes of one: claim id, reason
	maxAnnounced    = 1024 // of one message
	firstRejoin     = 50 * time.Millisecond
	lastRejoin      = 2 * time.Second
)

// The channels, behind the prefix.
const (
	outcomesChannel = ":outcomes"
	settingsChannel = ":settings"
)

// Announce tells all nodes of outcomes. Nobody keeps an announcement: a node that is not listening does not hear it.
func (c *Client) Announce(ctx context.Context, all []sluice.Announcement) error {
	for len(all) > 0 {
		n := min(len(all), maxAnnounced)
		if err := c.publish(ctx, outcomesChannel, string(appendAnnounced(nil, all[:n]))); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// Nudge tells all nodes that the settings have come to revision rev.
func (c *Client) Nudge(ctx context.Context, rev int64) error {
	return c.publish(ctx, settingsChannel, strconv.FormatInt(rev, 10))
}

func (c *Client) publish(ctx context.Context, channel, message string) error {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	err := c.rdb.Do(ctx, c.rdb.B().Publish().Channel(c.cfg.Prefix+channel).Message(message).Build()).Error()
	return sorted(err, "publish on %s", c.cfg.Prefix+channel)
}

func appendAnnounced(b []byte, all []sluice.Announcement) []byte {
	b = append(b, announceVersion)
	for i := range all {
		b = append(b, all[i].ID[:]...)
		b = append(b, byte(all[i].Reason))
	}
	return b
}

// readAnnounced reads what appendAnnounced wrote. What cannot be read is nothing: it was a hint only.
func readAnnounced(message string) []sluice.Announcement {
	if len(message) == 0 || message[0] != announceVersion || (len(message)-1)%announcedEach != 0 {
		return nil
	}
	all := make([]sluice.Announcement, 0, len(message)/announcedEach)
	for b := message[1:]; len(b) > 0; b = b[announcedEach:] {
		var a sluice.Announcement
		copy(a.ID[:], b)
		a.Reason = sluice.Reason(b[announcedEach-1])
		all = append(all, a)
	}
	return all
}

// NewsConfig says who is told. A nil function is told nothing; none of them may block.
type NewsConfig struct {
	Log      *slog.Logger
	Outcomes func(all []sluice.Announcement)
	// Settings is told the revision that somebody announced, and 0 whenever it has joined: announcements may have been
	// missed before.
	Settings func(rev int64)
}

// News listens to what other nodes announce, and joins again when its connection is lost.
type News struct {
	c      *Client
	cfg    NewsConfig
	start  sync.Once
	stop   sync.Once
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
}

// NewNews makes a listener; Start sets it going.
func NewNews(c *Client, cfg NewsConfig) *News {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	n := &News{c: c, cfg: cfg, done: make(chan struct{})}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// Start begins to listen. A second call does nothing, nor does one after Stop.
func (n *News) Start() { n.start.Do(func() { go n.run() }) }

// Stop ends it and returns when nobody is told anything any more. It is idempotent.
func (n *News) Stop() {
	n.stop.Do(func() {
		n.cancel()
		n.start.Do(func() { close(n.done) }) // never started
	})
	<-n.done
}

func (n *News) run() {
	defer close(n.done)
	outcomes, settings := n.c.cfg.Prefix+outcomesChannel, n.c.cfg.Prefix+settingsChannel
	for pause := firstRejoin; n.ctx.Err() == nil; pause = min(2*pause, lastRejoin) {
		joined := time.Now()
		err := n.listen(outcomes, settings)
		if n.ctx.Err() != nil {
			return
		}
		n.cfg.Log.Debug("announcements are not heard for a moment", "err", fmt.Sprint(err))
		if time.Since(joined) > lastRejoin {
			pause = firstRejoin
		}
		rest(n.ctx, pause)
	}
}

// listen is one connection, from joining until it is lost. It is a connection of its own, since the driver would join
// again by itself and not say so: what was announced in between would be missed without a word.
func (n *News) listen(outcomes, settings string) error {
	conn, release := n.c.rdb.Dedicate()
	defer release()
	lost := conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) {
		switch m.Channel {
		case outcomes:
			n.outcomes(m.Message)
		case settings:
			n.settings(m.Message)
		}
	}})
	ctx, cancel := n.c.limited(n.ctx)
	err := conn.Do(ctx, conn.B().Subscribe().Channel(outcomes, settings).Build()).Error()
	cancel()
	if err != nil {
		return sorted(err, "listen to announcements")
	}
	n.settings("0")
	select {
	case err = <-lost:
		return err
	case <-n.ctx.Done():
		return n.ctx.Err()
	}
}

func (n *News) outcomes(message string) {
	if all := readAnnounced(message); len(all) > 0 && n.cfg.Outcomes != nil {
		n.cfg.Outcomes(all)
	}
}

func (n *News) settings(message string) {
	rev, err := strconv.ParseInt(message, 10, 64)
	if err == nil && n.cfg.Settings != nil {
		n.cfg.Settings(rev)
	}
}
