package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// goTogether is the sentence that says which engines fit each other.
const goTogether = "this version runs admission memory with ledger sqlite and queue none (one machine, one process)"

// engines is what each of the three may be in this version, and what is known but not built in.
var engines = map[string]struct{ accepted, known []string }{
	"admission": {[]string{"memory"}, []string{"ledger", "redis", "rediss"}},
	"queue":     {[]string{"none"}, []string{"redis", "amqp", "amqps", "rocketmq"}},
	"ledger":    {[]string{"sqlite"}, []string{"mysql"}},
}

// together finds the faults that show only when settings are seen side by side. Settings that are broken by
// themselves are not judged again.
func (l *loader) together(c *Loaded, broken map[string]bool) {
	for _, k := range l.keys {
		if k.Kind == "engine" {
			l.engine(k, c)
		}
	}
	for _, pair := range []struct {
		name string
		tls  TLS
	}{{"tls", c.TLS}, {"admin_tls", c.AdminTLS}} {
		cert, key := pair.name+".cert", pair.name+".key"
		if broken[cert] || broken[key] || (pair.tls.Cert == "") == (pair.tls.Key == "") {
			continue
		}
		given, missing := cert, key
		if pair.tls.Cert == "" {
			given, missing = key, cert
		}
		k := l.byName[given]
		l.fault(k, c.from[given], []string{k.text(&c.Config)}, "needs "+missing+" beside it")
	}
	if !broken["listen"] && !broken["admin_listen"] && c.Listen == c.AdminListen && !strings.HasSuffix(c.Listen, ":0") {
		k := l.byName["admin_listen"]
		l.fault(k, c.from[k.Name], []string{c.AdminListen}, "is the address of the public listener too")
	}
	if slices.Contains(c.CORS.Origins, "*") && len(c.CORS.Origins) > 1 {
		k := l.byName["cors.origins"]
		l.fault(k, c.from[k.Name], c.CORS.Origins, "has * beside other origins: * alone lets in all")
	}
}

func (l *loader) engine(k Key, c *Loaded) {
	value := k.text(&c.Config)
	scheme, _, _ := strings.Cut(value, "://")
	e := engines[k.Name]
	switch {
	case slices.Contains(e.accepted, value):
	case slices.Contains(e.known, scheme):
		l.fault(k, c.from[k.Name], []string{value}, fmt.Sprintf("is not in this version: %s", goTogether))
	default:
		l.fault(k, c.from[k.Name], []string{value}, fmt.Sprintf("is no %s that Sluice knows: %s", k.Name, goTogether))
	}
}

// text gives the key's value in c as it would be written in an environment variable; secrets are masked.
func (k Key) text(c *Config) string {
	switch v := k.field(c).Interface().(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, ",")
	case Secrets:
		return strings.TrimSuffix(strings.Repeat(masked+",", len(v)), ",")
	case time.Duration:
		return shortDuration(v)
	case fmt.Stringer:
		return v.String()
	default:
		s := fmt.Sprint(v)
		return strings.ReplaceAll(strings.Trim(s, "[]"), " ", ",")
	}
}

// shortDuration writes 168h for 168h0m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
