package redis

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/redis/rueidis"
	"github.com/sluice-sale/sluice"
)

// Config of a Client. Zero values mean the defaults.
type Config struct {
	URL     string // redis://[user:pass@]host:port[,host:port…][/db], rediss:// for TLS; ?mode=cluster|sentinel&master=
	Prefix  string // of every key; default "sluice"
	TLS     *tls.Config
	Dial    time.Duration // to connect
	Timeout time.Duration // of one call
	Name    string        // as the server's client list shows it
	Log     *slog.Logger
}

// Client is a connection to Redis. Safe for concurrent use.
type Client struct {
	cfg Config
	rdb rueidis.Client
}

// Open connects. ErrInvalid: the URL cannot be right. ErrUnavailable: nothing answers there.
func Open(ctx context.Context, cfg Config) (*Client, error) { return nil, sluice.ErrUnavailable }

// Close ends all connections.
func (c *Client) Close() { c.rdb.Close() }

// Ping asks every master whether it answers.
func (c *Client) Ping(ctx context.Context) error { return sluice.ErrUnavailable }

// Identity gives the run id of each master by its address: another one means that a server was started anew or that
// another one took over.
func (c *Client) Identity(ctx context.Context) (map[string]string, error) {
	return nil, sluice.ErrUnavailable
}
