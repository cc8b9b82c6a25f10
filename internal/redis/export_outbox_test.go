package redis

import (
	"context"
	"time"
)

// ForgetReaders does at once what an outbox does every ten minutes.
func ForgetReaders(ctx context.Context, o *Outbox, idle time.Duration) {
	o.forgetReaders(ctx, o.followed(), idle)
}
