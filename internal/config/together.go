package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// goTogether is the sentence that says which engines fit each other.
const goTogether = "memory goes with sqlite and queue none (one process), ledger with mysql://… and queue none " +
	"(several nodes), redis://… with mysql://… and queue redis or amqp://… (several nodes)"

// together finds the faults that show only when settings are seen side by side. Settings that are broken by
// themselves are not judged again.
func (l *loader) together(c *Loaded, broken map[string]bool) {
	if !broken["admission"] && !broken["queue"] && !broken["ledger"] {
		l.engines(c)
	}
	for _, pair := range []struct {
		name string
		tls  TLS
	}{
		{"tls", c.TLS}, {"admin_tls", c.AdminTLS}, {"redis", TLS{c.Redis.Cert, c.Redis.Key}},
		{"mysql", TLS{c.MySQL.Cert, c.MySQL.Key}}, {"rabbitmq", TLS{c.RabbitMQ.Cert, c.RabbitMQ.Key}},
	} {
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
	l.encrypted(c, broken)
	l.siteverify(c, broken)
	if slices.Contains(c.CORS.Origins, "*") && len(c.CORS.Origins) > 1 {
		k := l.byName["cors.origins"]
		l.fault(k, c.from[k.Name], c.CORS.Origins, "has * beside other origins: * alone lets in all")
	}
}

// encrypted refuses certificates for a store that is spoken to in the clear: somebody thinks that it is not.
func (l *loader) encrypted(c *Loaded, broken map[string]bool) {
	for _, s := range []struct {
		name, setting, want string
		url                 Engine
		secure              bool
		files               [3]string
	}{
		{"redis", "admission", "rediss://", c.Admission, c.Admission.Scheme() == "rediss",
			[3]string{c.Redis.CA, c.Redis.Cert, c.Redis.Key}},
		{"mysql", "ledger", "?tls=true", c.Ledger, c.Ledger.encrypted(), [3]string{c.MySQL.CA, c.MySQL.Cert, c.MySQL.Key}},
		{"rabbitmq", "queue", "amqps://", c.Queue, c.Queue.Scheme() == "amqps",
			[3]string{c.RabbitMQ.CA, c.RabbitMQ.Cert, c.RabbitMQ.Key}},
	} {
		if broken[s.setting] || s.secure || !s.url.IsURL() {
			continue
		}
		for i, file := range s.files {
			name := s.name + "." + [3]string{"ca", "cert", "key"}[i]
			if k := l.byName[name]; file != "" && !broken[name] {
				l.fault(k, c.from[name], []string{file}, "is of no use: "+s.setting+" is not "+s.want)
			}
		}
	}
}

// siteverify asks for all of a service or nothing of it, and for a ceiling that is none below the floor.
func (l *loader) siteverify(c *Loaded, broken map[string]bool) {
	v := &c.Challenge.Siteverify
	judged := !broken["challenge.siteverify.provider"] && !broken["challenge.siteverify.secret"]
	if judged && v.Provider != "none" && (v.SiteKey == "" || len(v.Secret) == 0) {
		k := l.byName["challenge.siteverify.provider"]
		l.fault(k, c.from[k.Name], []string{v.Provider}, "needs challenge.siteverify.site_key and .secret beside it")
	}
	if c.Challenge.PoWCeiling < c.Challenge.PoWMax && !broken["challenge.pow_max"] && !broken["challenge.pow_ceiling"] {
		k := l.byName["challenge.pow_ceiling"]
		l.fault(k, c.from[k.Name], []string{k.text(&c.Config)}, "is below challenge.pow_max")
	}
}

// engines refuses the engines that do not go together: one fault, at the setting that stands alone.
func (l *loader) engines(c *Loaded) {
	wrong := func(key, problem string) {
		k := l.byName[key]
		l.fault(k, c.from[key], []string{k.text(&c.Config)}, problem+": "+goTogether)
	}
	admission, queue, ledger := c.Admission.Scheme(), c.Queue.Scheme(), c.Ledger.Scheme()
	switch {
	case admission == "memory" && ledger != "sqlite":
		wrong("ledger", "does not go with admission memory, which knows one process only")
	case admission == "memory" && queue != "none":
		wrong("queue", "has nothing to carry where admission is memory")
	case admission == "memory":
	case ledger != "mysql":
		wrong("admission", "needs ledger mysql://… beside it, since sqlite serves one process only")
	case admission == "ledger" && queue != "none":
		wrong("queue", "has nothing to carry where admission is the ledger itself")
	case admission != "ledger" && queue == "none":
		wrong("admission", "needs queue redis or amqp://… beside it")
	case admission != "ledger" && c.Redis.Prefix == "":
		k := l.byName["redis.prefix"]
		l.fault(k, c.from[k.Name], nil, "is empty: every key of this installation begins with it")
	case queue == "redis" && c.AdmissionAck == "broker":
		k := l.byName["admission_ack"]
		l.fault(k, c.from[k.Name], []string{c.AdmissionAck}, "needs queue amqp://… beside it: there is no broker")
	}
}

// text gives the key's value in c as it would be written in an environment variable; secrets are masked.
func (k Key) text(c *Config) string {
	switch v := k.field(c).Interface().(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, ",")
	case Engine:
		return v.String()
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
