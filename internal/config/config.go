package config

import (
	"net/netip"
	"time"
)

// Config is what `sluice serve` runs on. Tags: key (the name in the file), default, kind (how the text is read, where
// the Go type does not say), min and max (bounds, in the kind's own notation), oneof. What each setting means stands
// in meanings. A Secrets field has no flag.
type Config struct {
	Data        string `key:"data" kind:"path" default:"./sluice-data"`
	Listen      string `key:"listen" kind:"listen" default:"127.0.0.1:8080"`
	AdminListen string `key:"admin_listen" kind:"listen" default:"127.0.0.1:8081"`

	Admission Engine `key:"admission" kind:"engine" default:"memory"`
	Queue     Engine `key:"queue" kind:"engine" default:"none"`
	Ledger    Engine `key:"ledger" kind:"engine" default:"sqlite"`

	Node struct {
		Name string `key:"name" kind:"name" default:""`
	} `key:"node"`
	AdmissionAck     string        `key:"admission_ack" oneof:"permit,replica,broker,ledger" default:"permit"`
	AdmissionAckWait time.Duration `key:"admission_ack_wait" min:"10ms" max:"30s" default:"2s"`
	Degraded         Degraded      `key:"degraded"`
	Backlog          int           `key:"backlog" min:"1000" max:"100000000" default:"500000"`
	Settle           struct {
		Workers   int           `key:"workers" min:"0" max:"16" default:"2"`
		LostGrace time.Duration `key:"lost_grace" min:"1s" max:"1h" default:"1m"`
	} `key:"settle"`
	Redis    Redis    `key:"redis"`
	MySQL    MySQL    `key:"mysql"`
	RabbitMQ RabbitMQ `key:"rabbitmq"`
	Start    struct {
		Wait time.Duration `key:"wait" min:"0s" max:"1h" default:"1m"`
	} `key:"start"`

	TrustedProxies []netip.Prefix `key:"trusted_proxies"`
	Environment    string         `key:"environment" kind:"name" default:""`
	LoginURL       string         `key:"login_url" kind:"url"`
	PayURL         string         `key:"pay_url" kind:"url"`

	SignIn struct {
		Dev string `key:"dev" oneof:"auto,on,off" default:"auto"`
	} `key:"sign_in"`
	Storefront Storefront `key:"storefront"`

	API struct {
		DecisionStatus string `key:"decision_status" oneof:"body,http" default:"body"`
	} `key:"api"`
	CORS struct {
		Origins []string `key:"origins" kind:"origins"`
	} `key:"cors"`
	TLS      TLS `key:"tls"`
	AdminTLS TLS `key:"admin_tls"`

	JWT   JWT `key:"jwt"`
	Admin struct {
		Key Secrets `key:"key" min:"8"`
	} `key:"admin"`
	Payment Payment `key:"payment"`
	Pass    Pass    `key:"pass"`

	Capacity struct {
		Rate float64 `key:"rate" min:"0" max:"10000000" default:"0"`
	} `key:"capacity"`
	Challenge Challenge `key:"challenge"`
	Risk      Risk      `key:"risk"`
	Holding   struct {
		PerUser    int `key:"per_user" min:"0" max:"1000" default:"0"`
		PerDevice  int `key:"per_device" min:"0" max:"1000" default:"0"`
		PerAddress int `key:"per_address" min:"0" max:"50000" default:"0"`
	} `key:"holding"`
	DecisionLog DecisionLog `key:"decision_log"`
	Log         Log         `key:"log"`
	SQLite      SQLite      `key:"sqlite"`
	Limits      Limits      `key:"limits"`
	Shutdown    struct {
		Delay time.Duration `key:"delay" min:"0s" max:"5m" default:"0s"`
		Grace time.Duration `key:"grace" min:"0s" max:"10m" default:"20s"`
	} `key:"shutdown"`
}

// Risk are the risk rules and what they ask.
type Risk struct {
	Rules           []string      `key:"rules" kind:"rules"`
	AccountAgeClaim string        `key:"account_age_claim" default:""`
	ServiceURL      string        `key:"service_url" kind:"url"`
	ServiceToken    Secrets       `key:"service_token" min:"8"`
	ServiceBudget   time.Duration `key:"service_budget" min:"1ms" max:"1s" default:"20ms"`
	ServiceFailure  string        `key:"service_failure" oneof:"open,closed" default:"open"`
}

// Degraded is what a node does while Redis is away.
type Degraded struct {
	Policy string        `key:"policy" oneof:"reject,ledger" default:"reject"`
	After  time.Duration `key:"after" min:"100ms" max:"5m" default:"1s"`
	Rate   float64       `key:"rate" min:"1" max:"1000000" default:"1000"`
}

// Redis tunes admission on Redis.
type Redis struct {
	Prefix      string        `key:"prefix" kind:"prefix" default:"sluice"`
	CA          string        `key:"ca" kind:"file"`
	Cert        string        `key:"cert" kind:"file"`
	Key         string        `key:"key" kind:"file"`
	DialTimeout time.Duration `key:"dial_timeout" min:"50ms" max:"1m" default:"2s"`
	Timeout     time.Duration `key:"timeout" min:"50ms" max:"1m" default:"1s"`
}

// MySQL tunes the ledger on MySQL.
type MySQL struct {
	CA          string        `key:"ca" kind:"file"`
	Cert        string        `key:"cert" kind:"file"`
	Key         string        `key:"key" kind:"file"`
	Urgent      int           `key:"urgent" min:"1" max:"256" default:"8"`
	Claims      int           `key:"claims" min:"1" max:"64" default:"4"`
	Background  int           `key:"background" min:"1" max:"64" default:"2"`
	Readers     int           `key:"readers" min:"1" max:"256" default:"8"`
	Waiting     int           `key:"waiting" min:"16" max:"10000000" default:"65536"`
	DialTimeout time.Duration `key:"dial_timeout" min:"50ms" max:"1m" default:"3s"`
	Timeout     time.Duration `key:"timeout" min:"100ms" max:"5m" default:"10s"`
	LockWait    time.Duration `key:"lock_wait" min:"1s" max:"1m" default:"3s"`
	Idle        time.Duration `key:"idle" min:"1s" max:"24h" default:"5m"`
}

// RabbitMQ tunes the queue on RabbitMQ.
type RabbitMQ struct {
	CA          string        `key:"ca" kind:"file"`
	Cert        string        `key:"cert" kind:"file"`
	Key         string        `key:"key" kind:"file"`
	Management  string        `key:"management" kind:"url"`
	Replicas    int           `key:"replicas" min:"0" max:"99" default:"0"`
	DialTimeout time.Duration `key:"dial_timeout" min:"50ms" max:"1m" default:"5s"`
	Confirm     time.Duration `key:"confirm_timeout" min:"100ms" max:"5m" default:"5s"`
}

// TLS is a certificate and its key, both or neither.
type TLS struct {
	Cert string `key:"cert" kind:"file"`
	Key  string `key:"key" kind:"file"`
}

// JWT says whose buyers' tokens are believed.
type JWT struct {
	Secret     Secrets       `key:"secret" min:"8"`
	PublicKeys []string      `key:"public_keys" kind:"files"`
	KeyFile    string        `key:"key_file" kind:"file"`
	JWKSURL    string        `key:"jwks_url" kind:"url"`
	Issuer     string        `key:"issuer"`
	Audience   string        `key:"audience"`
	Leeway     time.Duration `key:"leeway" min:"0s" max:"5m" default:"30s"`
}

// Payment is the payment side.
type Payment struct {
	Secret   Secrets `key:"secret" min:"8"`
	Provider string  `key:"provider" oneof:"auto,sandbox,signed" default:"auto"`
}

// Pass is what passes live by. Their keys are made by the server and kept in the ledger.
type Pass struct {
	TTL         time.Duration `key:"ttl" min:"1m" max:"1h" default:"15m"`
	RotateEvery time.Duration `key:"rotate_every" min:"3h" max:"8760h" default:"24h"`
}

// Challenge is how puzzles are made and judged.
type Challenge struct {
	Life            time.Duration `key:"life" min:"10s" max:"30m" default:"2m"`
	Tries           int           `key:"tries" min:"1" max:"10" default:"3"`
	PoWMax          int           `key:"pow_max" min:"1000" max:"50000000" default:"50000"`
	PoWCeiling      int           `key:"pow_ceiling" min:"1000" max:"50000000" default:"1000000"`
	PoWRate         float64       `key:"pow_rate" min:"1" max:"1000000" default:"200"`
	SliderTolerance int           `key:"slider_tolerance" min:"1" max:"12" default:"5"`
	Pictures        string        `key:"pictures" kind:"path"`
	Pool            int           `key:"pool" min:"1" max:"10000" default:"64"`
	Workers         int           `key:"workers" min:"0" max:"256" default:"0"`
	Waiting         int           `key:"waiting" min:"1" max:"100000" default:"256"`
	Siteverify      Siteverify    `key:"siteverify"`
}

// Siteverify is the service whose widgets are shown to buyers of campaigns that ask for it.
type Siteverify struct {
	Provider  string        `key:"provider" oneof:"none,turnstile,hcaptcha,recaptcha" default:"none"`
	SiteKey   string        `key:"site_key"`
	Secret    Secrets       `key:"secret" min:"8"`
	URL       string        `key:"url" kind:"url"`
	Timeout   time.Duration `key:"timeout" min:"50ms" max:"10s" default:"2s"`
	OnTrouble string        `key:"on_trouble" oneof:"closed,open" default:"closed"`
	Hostnames []string      `key:"hostnames" kind:"hosts"`
	Action    string        `key:"action"`
	MinScore  float64       `key:"min_score" min:"0" max:"1" default:"0"`
}

// Storefront is the sale page.
type Storefront struct {
	On     bool     `key:"on" default:"true"`
	Theme  string   `key:"theme" kind:"path"`
	Images []string `key:"images" kind:"origins"`
}

// DecisionLog is the log of every decision of the gate.
type DecisionLog struct {
	On       bool          `key:"on" default:"false"`
	File     string        `key:"file" kind:"path"`
	MaxSize  Size          `key:"max_size" min:"1MB" max:"10GB" default:"100MB"`
	MaxAge   time.Duration `key:"max_age" min:"0s" max:"8760h" default:"168h"`
	MaxFiles int           `key:"max_files" min:"0" max:"1000" default:"10"`
}

// Log is the server's own log, on stderr.
type Log struct {
	Level  string `key:"level" oneof:"debug,info,warn,error" default:"info"`
	Format string `key:"format" oneof:"auto,text,json" default:"auto"`
}

// SQLite tunes the ledger.
type SQLite struct {
	Cache   Size `key:"cache" min:"8MB" max:"64GB" default:"256MB"`
	Readers int  `key:"readers" min:"1" max:"64" default:"4"`
	Waiting int  `key:"waiting" min:"16" max:"10000000" default:"65536"`
}

// Limits bound what one client or one moment may ask of the public listener.
type Limits struct {
	Body        Size          `key:"body" min:"1KB" max:"1MB" default:"16KB"`
	Connections int           `key:"connections" min:"16" max:"10000000" default:"200000"`
	Once        int           `key:"once" min:"1000" max:"100000000" default:"1000000"`
	ReadTimeout time.Duration `key:"read_timeout" min:"100ms" max:"5m" default:"10s"`
	IdleTimeout time.Duration `key:"idle_timeout" min:"1s" max:"1h" default:"2m"`
}
