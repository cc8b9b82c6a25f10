package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/redis/rueidis"
	"github.com/sluice-sale/sluice"
)

// onceBytes is how much of a key's hash names it: enough that two never meet.
const onceBytes = 16

// Once remembers in Redis what was there once, for all nodes. A key is one string of its own, so that it lies on any
// master of a Cluster, and dies with its time to live. What is asked at once travels together: the driver pipelines.
// About 100 bytes a key in Redis.
type Once struct{ c *Client }

// NewOnce makes a Once of c.
func NewOnce(c *Client) *Once { return &Once{c: c} }

// First says whether key comes for the first time within ttl. One command, so that of many nodes one hears true.
// ErrInvalid: the ttl is out of its bounds. ErrUnavailable: it was not remembered. ErrUncertain: it may have been.
func (o *Once) First(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	if err := sluice.CheckOnceTTL(ttl); err != nil {
		return false, err
	}
	if err := notSent(ctx); err != nil {
		return false, sorted(err, "once")
	}
	ctx, cancel := o.c.limited(ctx)
	defer cancel()
	set := o.c.rdb.B().Set().Key(o.key(key)).Value("").Nx().Px(ttl).Build()
	err := o.c.rdb.Do(ctx, set).Error()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	return err == nil, sorted(err, "once")
}

// key gives the name of a key in Redis: a hash of fixed length, whatever a client made of it.
func (o *Once) key(key string) string {
	sum := sha256.Sum256([]byte(key))
	return o.c.keys.prefix + ":once:{" + hex.EncodeToString(sum[:onceBytes]) + "}"
}
