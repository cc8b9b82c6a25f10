package config

import (
	"net/netip"
	"time"
)

// Config is what `sluice serve` runs on. Tags: key (the name in the file), default, kind (how the text is read, where the Go
// type does not say), min and max (bounds, in the kind's own notation), oneof, help. A Secrets field has no flag.
type Config struct {
	Data        string `key:"data" kind:"path" default:"./sluice-data" help:"Folder of the ledger, the secrets and the decision log. One server at a time."`
	Listen      string `key:"listen" kind:"listen" default:"127.0.0.1:8080" help:"Address of the public listener: buyers, merchants, payment side."`
	AdminListen string `key:"admin_listen" kind:"listen" default:"127.0.0.1:8081" help:"Address of the operators' listener: admin API, metrics, health, docs."`

	Admission string `key:"admission" kind:"engine" default:"memory" help:"Where stock is taken first: memory."`
	Queue     string `key:"queue" kind:"engine" default:"none" help:"What carries claims to the ledger: none."`
	Ledger    string `key:"ledger" kind:"engine" default:"sqlite" help:"Where the truth is kept: sqlite (a file in the data folder)."`

	TrustedProxies []netip.Prefix `key:"trusted_proxies" default:"" help:"Networks whose X-Forwarded-For is believed. Empty: the peer's own address counts."`
	LoginURL       string         `key:"login_url" kind:"url" default:"" help:"Where the sale page sends a buyer who has no token."`
	PayURL         string         `key:"pay_url" kind:"url" default:"" help:"Where the sale page sends a buyer to pay."`

	API struct {
		DecisionStatus string `key:"decision_status" oneof:"body,http" default:"body" help:"body: every decision is HTTP 200 with its code; http: refusals are 403, 409 or 429."`
	} `key:"api"`
	CORS struct {
		Origins []string `key:"origins" kind:"origins" default:"" help:"Origins whose pages may call the public listener, such as https://shop.example; * for all."`
	} `key:"cors"`
	TLS      TLS `key:"tls"`
	AdminTLS TLS `key:"admin_tls"`

	JWT     JWT `key:"jwt"`
	Operate struct {
		Key Secrets `key:"key" min:"16" default:"" help:"The operator's key (role admin). Several at once, for rotation. Unset: made and kept in the data folder."`
	} `key:"admin"`
	Payment Payment `key:"payment"`

	Capacity struct {
		Rate float64 `key:"rate" min:"0" max:"10000000" default:"0" help:"Claims a second that the whole server lets through to admission; 0 means no bound. Refused ones hear BUSY."`
	} `key:"capacity"`
	DecisionLog DecisionLog `key:"decision_log"`
	Log         Log         `key:"log"`
	SQLite      SQLite      `key:"sqlite"`
	Limits      Limits      `key:"limits"`
	Shutdown    struct {
		Grace time.Duration `key:"grace" min:"0s" max:"10m" default:"20s" help:"How long a stop waits for requests under way before it cuts them."`
	} `key:"shutdown"`
}

// TLS is a certificate and its key, both or neither.
type TLS struct {
	Cert string `key:"cert" kind:"file" default:"" help:"PEM file with the certificate and its chain. Read again when it changes and on SIGHUP."`
	Key  string `key:"key" kind:"file" default:"" help:"PEM file with the certificate's private key."`
}

// JWT says whose buyers' tokens are believed.
type JWT struct {
	Secret     Secrets       `key:"secret" min:"16" default:"" help:"HS256 secrets. Several at once, for rotation. Unset, and no other key given: made and kept in the data folder."`
	PublicKeys []string      `key:"public_keys" kind:"files" default:"" help:"PEM files with public keys (RS256, ES256, EdDSA)."`
	KeyFile    string        `key:"key_file" kind:"file" default:"" help:"A JWK set on disk; read again when it changes and on SIGHUP."`
	JWKSURL    string        `key:"jwks_url" kind:"url" default:"" help:"A JWK set over HTTP(S), fetched again as keys rotate."`
	Issuer     string        `key:"issuer" default:"" help:"What the iss claim has to be; empty: anything."`
	Audience   string        `key:"audience" default:"" help:"What the aud claim has to contain; empty: anything."`
	Leeway     time.Duration `key:"leeway" min:"0s" max:"5m" default:"5s" help:"How far exp and nbf may be off."`
}

// Payment is the payment side.
type Payment struct {
	Secret   Secrets `key:"secret" min:"16" default:"" help:"Secrets that sign payment notifications. Several at once, for rotation. Unset: made and kept in the data folder."`
	Provider string  `key:"provider" oneof:"sandbox,signed" default:"sandbox" help:"sandbox: a buyer may pay an order by calling its pay route, for trials; signed: only signed notifications pay."`
}

// DecisionLog is the log of every decision of the gate.
type DecisionLog struct {
	On       bool          `key:"on" default:"false" help:"Write one JSON line for each decision of the gate. The switch decision_log turns it on and off while the server runs."`
	File     string        `key:"file" kind:"path" default:"" help:"Where; empty: decisions.log in the data folder."`
	MaxSize  Size          `key:"max_size" min:"1MB" max:"10GB" default:"100MB" help:"A file that reaches this is rotated."`
	MaxAge   time.Duration `key:"max_age" min:"0s" max:"8760h" default:"168h" help:"Rotated files older than this are deleted, in whole days; 0s keeps them."`
	MaxFiles int           `key:"max_files" min:"0" max:"1000" default:"10" help:"Rotated files beyond this many are deleted; 0 keeps them all."`
}

// Log is the server's own log, on stderr.
type Log struct {
	Level  string `key:"level" oneof:"debug,info,warn,error" default:"info" help:"The least level that is written. Changeable while the server runs."`
	Format string `key:"format" oneof:"auto,text,json" default:"auto" help:"auto: text at a terminal, else JSON lines."`
}

// SQLite tunes the ledger.
type SQLite struct {
	Cache   Size `key:"cache" min:"8MB" max:"64GB" default:"256MB" help:"Page cache of the writer."`
	Readers int  `key:"readers" min:"1" max:"64" default:"4" help:"Connections for reads."`
	Waiting int  `key:"waiting" min:"16" max:"10000000" default:"65536" help:"Writes that may wait; more are refused as unavailable."`
}

// Limits bound what one client or one moment may ask of the public listener.
type Limits struct {
	Body        Size          `key:"body" min:"1KB" max:"1MB" default:"16KB" help:"The largest body of a public request; a larger one is 413."`
	Connections int           `key:"connections" min:"16" max:"10000000" default:"200000" help:"Connections to the public listener at once."`
	ReadTimeout time.Duration `key:"read_timeout" min:"100ms" max:"5m" default:"10s" help:"How long a public request may take to arrive."`
	IdleTimeout time.Duration `key:"idle_timeout" min:"1s" max:"1h" default:"2m" help:"How long an idle connection is kept."`
	Import      Size          `key:"import" min:"1MB" max:"4GB" default:"256MB" help:"The largest upload of grants or of an audience on the operators' listener."`
}
