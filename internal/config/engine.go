package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Engine says what one of the three parts of a server runs on: a word, such as memory, or a URL. A URL may carry a
// password, so that no formatting, logging or encoding shows one; Reveal gives the whole.
type Engine struct{ text string }

// Reveal gives the text as it was set, for whoever connects with it.
func (e Engine) Reveal() string { return e.text }

// Scheme gives the word, or the URL's scheme.
func (e Engine) Scheme() string {
	scheme, _, _ := strings.Cut(e.text, "://")
	return scheme
}

// IsURL says whether it names a server.
func (e Engine) IsURL() bool { return strings.Contains(e.text, "://") }

// encrypted says whether a ledger's URL asks for TLS.
func (e Engine) encrypted() bool {
	u, err := splitEngineURL(e.text)
	return err == nil && slices.Contains([]string{"true", "skip-verify"}, u.query.Get("tls"))
}

// String, GoString, LogValue and MarshalText hide name and password.
func (e Engine) String() string { return maskURL(e.text) }

// GoString hides name and password.
func (e Engine) GoString() string { return strconv.Quote(e.String()) }

// LogValue hides name and password.
func (e Engine) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalText hides name and password.
func (e Engine) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// The words and schemes that the three parts may have in this version, and those that are known and not built in.
var engines = map[string]struct{ accepted, known []string }{
	"admission": {[]string{"memory", "ledger", "redis", "rediss"}, nil},
	"queue":     {[]string{"none", "redis", "amqp", "amqps"}, []string{"rocketmq"}},
	"ledger":    {[]string{"sqlite", "mysql"}, nil},
}

// words are the engines that are no URL.
var words = map[string][]string{
	"admission": {"memory", "ledger"}, "queue": {"none", "redis"}, "ledger": {"sqlite"},
}

// shapes shows how each URL is written.
var shapes = map[string]string{
	"redis":  "redis://[user:password@]host:port[,host:port…][/db][?mode=cluster|sentinel&master=NAME]",
	"rediss": "rediss://[user:password@]host:port[,host:port…][/db][?mode=cluster|sentinel&master=NAME]",
	"mysql":  "mysql://user:password@host[:port]/database[?tls=true|skip-verify]",
	"amqp":   "amqp://user:password@host[:port][/vhost]",
	"amqps":  "amqps://user:password@host[:port][/vhost]",
}

// parseEngine judges one engine by itself. Its errors never quote the text, which may hold a password.
func (k Key) parseEngine(text string) (Engine, error) {
	e := Engine{text}
	known := engines[k.Name]
	switch {
	case slices.Contains(words[k.Name], text):
		return e, nil
	case slices.Contains(known.known, e.Scheme()):
		return e, fmt.Errorf("is not in this version: %s", goTogether)
	case !slices.Contains(known.accepted, e.Scheme()), shapes[e.Scheme()] == "":
		return e, fmt.Errorf("is no %s that Sluice knows: %s", k.Name, goTogether)
	case !e.IsURL():
		return e, fmt.Errorf("is no URL: write %s", shapes[e.Scheme()])
	}
	if err := checkEngineURL(text); err != nil {
		return e, fmt.Errorf("%w: write %s", err, shapes[e.Scheme()])
	}
	return e, nil
}

// engineURL is a URL taken apart by hand, since net/url refuses several hosts and quotes what it refuses.
type engineURL struct {
	scheme, user, password string
	hasUser                bool
	hosts                  []string
	path                   string // without its slash
	query                  url.Values
}

func splitEngineURL(text string) (u engineURL, err error) {
	scheme, rest, _ := strings.Cut(text, "://")
	u.scheme = scheme
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return u, errors.New("has a blank or a control character in it")
	}
	rest, query, _ := strings.Cut(rest, "?")
	if u.query, err = url.ParseQuery(query); err != nil {
		return u, errors.New("has a query that cannot be read")
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		u.hasUser = true
		name, password, _ := strings.Cut(rest[:at], ":")
		if u.user, err = url.PathUnescape(name); err == nil {
			u.password, err = url.PathUnescape(password)
		}
		if err != nil {
			return u, errors.New("has a name or password with a % that is no escape: write %25 for one")
		}
		if strings.Contains(rest[:at], "/") {
			return u, errors.New("has a / in its name or password: write %2F for one")
		}
		rest = rest[at+1:]
	}
	hosts, path, _ := strings.Cut(rest, "/")
	u.hosts = strings.Split(hosts, ",")
	if u.path, err = url.PathUnescape(path); err != nil {
		return u, errors.New("has a path that cannot be read")
	}
	return u, nil
}

func checkEngineURL(text string) error {
	u, err := splitEngineURL(text)
	if err != nil {
		return err
	}
	for _, h := range u.hosts {
		if err := checkHost(h, strings.HasPrefix(u.scheme, "redis")); err != nil {
			return err
		}
	}
	switch u.scheme {
	case "redis", "rediss":
		return u.checkRedis()
	case "mysql":
		return u.checkMySQL()
	}
	return u.checkAMQP()
}

func checkHost(text string, needsPort bool) error {
	host, port := text, ""
	if i := strings.LastIndex(text, ":"); i >= 0 && !strings.HasSuffix(text, "]") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return errors.New("has a host that cannot be read")
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return errors.New("has a port that is not a number from 1 to 65535")
		}
	}
	switch {
	case strings.Trim(host, "[]") == "":
		return errors.New("has no host")
	case needsPort && port == "":
		return errors.New("has a host without a port")
	}
	return nil
}

// only says whether the query has no other keys, and none twice.
func (u engineURL) only(keys ...string) error {
	for name, values := range u.query {
		if !slices.Contains(keys, name) || len(values) != 1 {
			return fmt.Errorf("has %q in its query, which says nothing here", name)
		}
	}
	return nil
}

const maxDatabase = 15 // of a Redis as it comes

func (u engineURL) checkRedis() error {
	mode, master := u.query.Get("mode"), u.query.Get("master")
	allowed := []string{"mode", "master"}
	if mode == "sentinel" {
		allowed = append(allowed, "sentinel_user", "sentinel_password")
	}
	if err := u.only(allowed...); err != nil {
		return err
	}
	db, err := strconv.Atoi(u.path)
	switch {
	case u.path != "" && (err != nil || db < 0 || db > maxDatabase):
		return fmt.Errorf("has a database that is not a number from 0 to %d", maxDatabase)
	case mode != "" && mode != "cluster" && mode != "sentinel":
		return errors.New("has a mode that is neither cluster nor sentinel")
	case mode == "cluster" && db != 0:
		return errors.New("has a database, and a cluster knows only 0")
	case mode == "sentinel" && master == "":
		return errors.New("names no master for the sentinels")
	case mode != "sentinel" && master != "":
		return errors.New("names a master, which only ?mode=sentinel has")
	case mode == "" && len(u.hosts) > 1:
		return errors.New("has several addresses and no mode")
	}
	return nil
}

// databaseName is what MySQL takes unquoted and Sluice can show.
var databaseName = regexp.MustCompile(`^[A-Za-z0-9_$-]{1,64}$`)

func (u engineURL) checkMySQL() error {
	switch {
	case len(u.hosts) > 1:
		return errors.New("has several addresses: put a proxy or a name before them")
	case u.user == "":
		return errors.New("names no user")
	case !databaseName.MatchString(u.path):
		return errors.New("names no database")
	}
	if err := u.only("tls", "socket"); err != nil {
		return err
	}
	if tls := u.query.Get("tls"); !slices.Contains([]string{"", "false", "true", "skip-verify", "preferred"}, tls) {
		return errors.New("has a tls that is none of true, skip-verify, preferred, false")
	}
	return nil
}

func (u engineURL) checkAMQP() error {
	if err := u.only(); err != nil {
		return err
	}
	if u.hasUser && u.user == "" {
		return errors.New("has a password and no user")
	}
	return nil
}
