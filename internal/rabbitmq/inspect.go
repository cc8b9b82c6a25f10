package rabbitmq

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sluice-sale/sluice"
)

// managementPort is where the management plug-in listens where nothing else is said.
const managementPort = "15672"

// maxManagement bounds an answer of the management plug-in.
const maxManagement = 8 << 20

// Facts are what a broker says of itself.
type Facts struct {
	Version    string
	Management bool // the plug-in has answered; what follows is known only then
	Nodes      []NodeFacts
	Queues     []QueueFacts  // those of this installation
	Skew       time.Duration // its clock less this machine's, to the second
}

// NodeFacts are those of one member of the broker's cluster.
type NodeFacts struct {
	Name                   string `json:"name"`
	Running                bool   `json:"running"`
	MemoryAlarm, DiskAlarm bool
	DiskFree, DiskLimit    int64
}

// QueueFacts are those of one queue.
type QueueFacts struct {
	Name    string
	Type    string // quorum, classic, stream
	Members int    // replicas of a quorum queue
	Ready   int64
}

// Inspect connects to the broker and asks its management plug-in; management is its address, empty for the usual port
// on the broker's host. It declares nothing.
func Inspect(ctx context.Context, cfg Config, management string) (f Facts, err error) {
	cfg, addr, err := cfg.withDefaults()
	if err != nil {
		return f, err
	}
	conn, err := amqp.DialConfig(addr.url(0), amqp.Config{
		TLSClientConfig: cfg.TLS.Clone(), Heartbeat: cfg.Heartbeat,
		Dial: func(network, to string) (net.Conn, error) {
			conn, err := (&net.Dialer{Timeout: cfg.DialTimeout}).DialContext(ctx, network, to)
			if err == nil {
				err = conn.SetDeadline(time.Now().Add(cfg.DialTimeout))
			}
			return conn, err
		},
	})
	if err != nil {
		return f, connectFault(err, addr, addr.host(0))
	}
	f.Version, _ = conn.Properties["version"].(string)
	_ = conn.Close()
	m := manager{addr: addr, base: strings.TrimSuffix(management, "/"), tls: cfg.TLS}
	if m.base == "" {
		host, _, _ := net.SplitHostPort(addr.host(0))
		m.base = "http://" + net.JoinHostPort(host, managementPort)
	}
	if f.Skew, err = m.clock(ctx); err != nil {
		return f, nil // the plug-in is not there, or not for this user
	}
	f.Management = true
	return f, m.read(ctx, &f, topology{prefix: cfg.Prefix})
}

// manager asks the management plug-in.
type manager struct {
	addr address
	base string
	tls  *tls.Config
}

func (m manager) read(ctx context.Context, f *Facts, t topology) error {
	var nodes []struct {
		NodeFacts
		MemAlarm      bool  `json:"mem_alarm"`
		DiskFreeAlarm bool  `json:"disk_free_alarm"`
		DiskFree      int64 `json:"disk_free"`
		DiskLimit     int64 `json:"disk_free_limit"`
	}
	if _, err := m.get(ctx, "/api/nodes", &nodes); err != nil {
		return err
	}
	for _, n := range nodes {
		n.MemoryAlarm, n.DiskAlarm = n.MemAlarm, n.DiskFreeAlarm
		n.NodeFacts.DiskFree, n.NodeFacts.DiskLimit = n.DiskFree, n.DiskLimit
		f.Nodes = append(f.Nodes, n.NodeFacts)
	}
	var queues []struct {
		Name    string   `json:"name"`
		Type    string   `json:"type"`
		Members []string `json:"members"`
		Ready   int64    `json:"messages_ready"`
	}
	vhost := "/"
	if m.addr.vhost != "" {
		name, err := url.PathUnescape(m.addr.vhost[1:])
		if err != nil {
			return errAddress
		}
		vhost = name
	}
	if _, err := m.get(ctx, "/api/queues/"+url.PathEscape(vhost), &queues); err != nil {
		return err
	}
	for _, q := range queues {
		if strings.HasPrefix(q.Name, t.prefix+".") {
			f.Queues = append(f.Queues, QueueFacts{Name: q.Name, Type: q.Type, Members: len(q.Members), Ready: q.Ready})
		}
	}
	return nil
}

// clock asks who we are, and takes the time from the answer's head.
func (m manager) clock(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	head, err := m.get(ctx, "/api/whoami", nil)
	if err != nil {
		return 0, err
	}
	at, err := http.ParseTime(head.Get("Date"))
	if err != nil {
		return 0, nil
	}
	skew := at.Add(500 * time.Millisecond).Sub(began.Add(time.Since(began) / 2)) // the head has whole seconds
	return skew.Truncate(time.Second), nil
}

func (m manager) get(ctx context.Context, path string, answer any) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base+path, nil)
	if err != nil {
		return nil, fmt.Errorf("rabbitmq: management: %w", err)
	}
	user, password := "guest", "guest"
	if m.addr.user != nil {
		user = m.addr.user.Username()
		password, _ = m.addr.user.Password()
	}
	req.SetBasicAuth(user, password)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: m.tls, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("rabbitmq: management: %w: %w", sluice.ErrUnavailable, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("rabbitmq: management: %w: %s", sluice.ErrUnavailable, resp.Status)
	}
	if answer == nil {
		return resp.Header, nil
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxManagement))
	if err == nil {
		err = json.Unmarshal(raw, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("rabbitmq: management: %w", err)
	}
	return resp.Header, nil
}
