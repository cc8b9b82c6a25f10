package rabbitmq

import (
	"net"
	"net/url"
	"strings"

	"github.com/sluice-sale/sluice"
)

// address is a URL taken apart: the hosts are tried in turn. None of its parts but the hosts may be shown.
type address struct {
	scheme string
	user   *url.Userinfo
	hosts  []string
	vhost  string // as it stands in a URL
	query  string
}

// errAddress says what is expected and nothing of what was given: that holds a password.
var errAddress = sluice.Invalid(sluice.FieldFault{
	Field: "queue", Detail: "an address like amqp://user:password@host:5672/vhost, or amqps:// for TLS",
})

// parseAddress reads a URL that may name several hosts, which net/url refuses.
func parseAddress(s string) (address, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme != "amqp" && scheme != "amqps" {
		return address{}, errAddress
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, vhost, hasVhost := strings.Cut(rest, "/")
	a := address{scheme: scheme, query: query}
	if hasVhost {
		a.vhost = "/" + vhost
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		u, err := url.Parse(scheme + "://" + authority[:at] + "@host" + a.vhost)
		if err != nil {
			return address{}, errAddress
		}
		a.user, authority = u.User, authority[at+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		u, err := url.Parse(scheme + "://" + host + a.vhost)
		if err != nil || u.Hostname() == "" || u.User != nil || u.Port() == "0" {
			return address{}, errAddress
		}
		a.hosts = append(a.hosts, host)
	}
	if strings.Contains(vhost, "/") {
		return address{}, errAddress // a slash in a vhost's name is written %2F
	}
	return a, nil
}

// url gives the URL with the n-th host, for the driver only.
func (a address) url(n int) string {
	s := a.scheme + "://"
	if a.user != nil {
		s += a.user.String() + "@"
	}
	s += a.hosts[n%len(a.hosts)] + a.vhost
	if a.query != "" {
		s += "?" + a.query
	}
	return s
}

// host gives the n-th host as it may be shown.
func (a address) host(n int) string {
	h := a.hosts[n%len(a.hosts)]
	if _, _, err := net.SplitHostPort(h); err == nil {
		return h
	}
	if a.scheme == "amqps" {
		return h + ":5671"
	}
	return h + ":5672"
}

// vhostName gives the vhost as operators' commands want it.
func (a address) vhostName() string {
	name, err := url.PathUnescape(strings.TrimPrefix(a.vhost, "/"))
	if err != nil || name == "" {
		return "/"
	}
	return name
}
