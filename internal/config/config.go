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

	Admission string `key:"admission" kind:"engine" default:"memory"`
	Queue     string `key:"queue" kind:"engine" default:"none"`
	Ledger    string `key:"ledger" kind:"engine" default:"sqlite"`

	TrustedProxies []netip.Prefix `key:"trusted_proxies"`
	LoginURL       string         `key:"login_url" kind:"url"`
	PayURL         string         `key:"pay_url" kind:"url"`

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

	Capacity struct {
		Rate float64 `key:"rate" min:"0" max:"10000000" default:"0"`
	} `key:"capacity"`
	DecisionLog DecisionLog `key:"decision_log"`
	Log         Log         `key:"log"`
	SQLite      SQLite      `key:"sqlite"`
	Limits      Limits      `key:"limits"`
	Shutdown    struct {
		Delay time.Duration `key:"delay" min:"0s" max:"5m" default:"0s"`
		Grace time.Duration `key:"grace" min:"0s" max:"10m" default:"20s"`
	} `key:"shutdown"`
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
	ReadTimeout time.Duration `key:"read_timeout" min:"100ms" max:"5m" default:"10s"`
	IdleTimeout time.Duration `key:"idle_timeout" min:"1s" max:"1h" default:"2m"`
}
