package rabbitmq_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/rabbitmq"
	"github.com/sluice-sale/sluice/internal/servers"
)

// shown is a client's side of TLS that shows a certificate.
func shown(t *testing.T, ca, cert, key string) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	c := servers.Trust(t, ca)
	c.Certificates = []tls.Certificate{pair}
	return c
}

// TestQueueOverTLS carries claims, and the reminders of orders, with and without a certificate of the client's own.
func TestQueueOverTLS(t *testing.T) {
	v := servers.Rabbit(t)
	for prefix, secure := range map[string]*tls.Config{
		"plain": servers.Trust(t, v.CA), "shown": shown(t, v.CA, v.Cert, v.Key),
	} {
		t.Run(prefix, func(t *testing.T) {
			cfg := config(v.SecureURL)
			cfg.TLS, cfg.Prefix = secure, prefix
			p, from := publisher(t, cfg), consumer(t, cfg)
			const count = 500
			if err := p.Publish(t.Context(), claims(0, count)); err != nil {
				t.Fatal(err)
			}
			seen := map[sluice.ClaimID]bool{}
			for len(seen) < count {
				got, err := from.Receive(t.Context(), count)
				if err != nil {
					t.Fatal(err)
				}
				for i := range got {
					seen[got[i].Claim.ID] = true
				}
				if err := from.Ack(t.Context(), got); err != nil {
					t.Fatal(err)
				}
			}
			until(t, "an empty queue", func() bool {
				s, err := from.State(t.Context())
				return err == nil && s.Entries == 0
			})
			is, err := rabbitmq.Inspect(t.Context(), cfg, v.Management)
			if err != nil || is.Version == "" {
				t.Errorf("what doctor asks for: %+v %v", is, err)
			}
			for _, c := range tlsConnections(t, v) {
				if c.Peer == "" && prefix == "shown" || c.Peer != "" && prefix == "plain" {
					t.Errorf("the broker sees %+v", c)
				}
			}
		})
	}
}

// connection is one as the broker sees it.
type connection struct {
	TLS  bool   `json:"ssl"`
	Peer string `json:"peer_cert_subject"`
}

// tlsConnections gives those of the virtual host, once there are as many as two.
func tlsConnections(t *testing.T, v *servers.RabbitVhost) (all []connection) {
	t.Helper()
	until(t, "two connections over TLS", func() bool {
		all = nil
		if err := v.Manage(t.Context(), "GET", "/api/vhosts/"+v.Name+"/connections", nil, &all); err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if !c.TLS {
				t.Fatalf("not over TLS: %+v", all)
			}
		}
		return len(all) == 2
	})
	return all
}

// TestBrokerOfAStranger: a certificate that is not believed is refused at once, by the name of what is to be set.
func TestBrokerOfAStranger(t *testing.T) {
	v := servers.Rabbit(t)
	other, _, _ := servers.Strangers(t)
	elsewhere := servers.Trust(t, v.CA)
	elsewhere.ServerName = "elsewhere.example"
	for name, secure := range map[string]*tls.Config{
		"another authority": servers.Trust(t, other), "the system's": nil, "another name": elsewhere,
	} {
		cfg := config(v.SecureURL)
		cfg.TLS = secure
		_, opened := rabbitmq.OpenPublisher(t.Context(), cfg)
		_, inspected := rabbitmq.Inspect(t.Context(), cfg, v.Management)
		for _, err := range []error{opened, inspected} {
			var f *sluice.Fault
			if !errors.As(err, &f) || f.Code != "QUEUE_TLS" || !errors.Is(err, sluice.ErrInvalid) ||
				!strings.Contains(f.Detail, "rabbitmq.ca") || !strings.Contains(f.Detail, v.TLSAddr) {
				t.Errorf("%s: %v", name, err)
			}
			if text := fmt.Sprint(err); strings.Contains(text, "guest:") {
				t.Errorf("%s: the password shows: %s", name, text)
			}
		}
	}
}
