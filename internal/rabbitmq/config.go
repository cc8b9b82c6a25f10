package rabbitmq

import (
	"crypto/tls"
	"log/slog"
	"regexp"
	"time"

	"github.com/sluice-sale/sluice"
)

// The bounds of this package.
const (
	defaultPrefix   = "sluice"
	defaultInFlight = 2048 // messages published and not confirmed yet
	maxInFlight     = 16384
	defaultPrefetch = 5120 // deliveries handed out and not acknowledged: what a settler has in hand, and a batch
	maxPrefetch     = 65535

	// A delivery counts against the limit whenever a settler goes away with it unacknowledged, as all it had prefetched
	// do when it is killed. So the limit has to outlast a bad night of restarts; what kills settlers is found far earlier,
	// by the tries that the ledger counts.
	defaultDeliveryLimit = 100

	defaultConfirmTimeout = 5 * time.Second
	defaultDialTimeout    = 5 * time.Second // for the connection, and again for all that is declared on it
	defaultHeartbeat      = 5 * time.Second // three missed ones end a connection
	defaultMinBackoff     = 100 * time.Millisecond
	defaultMaxBackoff     = 5 * time.Second
	closeTimeout          = time.Second

	writeTimeout = 10 * time.Second
	writeBuffer  = 16 << 20 // bytes gathered for one connection; maxInFlight messages are less

	minDelay  = time.Second
	maxDelay  = 31 * 24 * time.Hour
	maxDelays = 256       // delay queues that one process makes
	delaySlow = time.Hour // how long a delay queue outlives its last use, beyond twice its delay
)

// Config sets up either end. URL, Encode (to publish) and Decode (to consume) are needed; the zero value of everything
// else means its default.
type Config struct {
	// URL is amqp[s]://user:password@host[:port][,host…]/vhost. Nothing of it but the hosts is ever logged.
	URL string
	// TLS is used with amqps; by default the host's name is verified against the system's roots.
	TLS *tls.Config
	// Prefix begins every name that is declared, so that two installations can share a vhost.
	Prefix string
	// Node is how this process shows up in the broker's list of connections.
	Node string

	// Encode appends the message of a claim to dst; Decode reads it, or says why it cannot. The bytes are the ones that
	// the outbox holds.
	Encode func(dst []byte, c *sluice.Claim) []byte
	Decode func(body []byte) (sluice.Claim, error)

	InFlight      int // messages published and not confirmed; default 2048
	Prefetch      int // deliveries not acknowledged; default 5120
	DeliveryLimit int // deliveries of one message before it is a dead letter; default 100
	QuorumSize    int // replicas of a new quorum queue; default: the broker's own

	ConfirmTimeout time.Duration // default 5 s
	DialTimeout    time.Duration // default 5 s
	Heartbeat      time.Duration // default 5 s
	MinBackoff     time.Duration // default 100 ms
	MaxBackoff     time.Duration // default 5 s

	Now func() time.Time // default time.Now
	Log *slog.Logger     // default: discard
	On  Events
}

// Events are told what happens, for metrics. Each may be nil; none may block.
type Events struct {
	// Published: a call to publish so many messages ended, with err where not all are known to be taken.
	Published func(messages int, took time.Duration, err error)
	// Received: so many deliveries were handed over, among them redelivered ones and ones that cannot be read.
	Received func(deliveries, redelivered, unreadable int)
	// Link: the connection of a role ("publisher", "claims", "due") came up, went down or is blocked by an alarm of the
	// broker.
	Link func(role string, state LinkState)
}

// LinkState is how a connection stands.
type LinkState string

// The states of a connection.
const (
	LinkUp      LinkState = "up"
	LinkDown    LinkState = "down"
	LinkBlocked LinkState = "blocked" // the broker takes nothing: short of memory or disk
)

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// withDefaults fills in what was left open and refuses what cannot be.
func (c Config) withDefaults() (Config, address, error) {
	addr, err := parseAddress(c.URL)
	if err != nil {
		return c, addr, err
	}
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	defaultInt(&c.InFlight, defaultInFlight)
	defaultInt(&c.Prefetch, defaultPrefetch)
	defaultInt(&c.DeliveryLimit, defaultDeliveryLimit)
	defaultTime(&c.ConfirmTimeout, defaultConfirmTimeout)
	defaultTime(&c.DialTimeout, defaultDialTimeout)
	defaultTime(&c.Heartbeat, defaultHeartbeat)
	defaultTime(&c.MinBackoff, defaultMinBackoff)
	defaultTime(&c.MaxBackoff, max(defaultMaxBackoff, c.MinBackoff))
	var faults []sluice.FieldFault
	refuse := func(bad bool, field, detail string) {
		if bad {
			faults = append(faults, sluice.FieldFault{Field: field, Detail: detail})
		}
	}
	refuse(!prefixForm.MatchString(c.Prefix), "prefix", "1 to 64 letters, digits, - or _")
	refuse(c.InFlight < 1 || c.InFlight > maxInFlight, "in_flight", "1 to 16384 messages")
	refuse(c.Prefetch < 1 || c.Prefetch > maxPrefetch, "prefetch", "1 to 65535 deliveries")
	refuse(c.DeliveryLimit < 1, "delivery_limit", "at least 1")
	refuse(c.QuorumSize < 0, "quorum_size", "not negative")
	return c, addr, sluice.Invalid(faults...)
}

func defaultInt(n *int, d int) {
	if *n == 0 {
		*n = d
	}
}

func defaultTime(n *time.Duration, d time.Duration) {
	if *n <= 0 {
		*n = d
	}
}

func (e Events) published(n int, took time.Duration, err error) {
	if e.Published != nil {
		e.Published(n, took, err)
	}
}

func (e Events) received(n, again, unreadable int) {
	if e.Received != nil {
		e.Received(n, again, unreadable)
	}
}

func (e Events) link(role string, s LinkState) {
	if e.Link != nil {
		e.Link(role, s)
	}
}
