package config

// meanings is what each setting does, for the reference page and the help of the flags. A test holds it against the
// struct.
var meanings = map[string]string{
	"data":         "Folder of the ledger, the secrets and the decision log. One server at a time.",
	"listen":       "Address of the public listener: buyers, merchants, payment side.",
	"admin_listen": "Address of the operators' listener: admin API, metrics, health, docs.",
	"admission": "Where stock is taken first: memory (this process), ledger (SQL itself, several nodes) or a " +
		"Redis. A URL with a password belongs into the environment or the file: flags can be seen by other users.",
	"queue":  "What carries claims to the ledger: none, redis (the outbox of the Redis that admits) or a RabbitMQ.",
	"ledger": "Where the truth is kept: sqlite (a file in the data folder) or a MySQL, MariaDB or TiDB.",
	"node.name": "How this node is called in lists, logs and metrics; empty: the host's name. Several nodes may " +
		"share one.",
	"admission_ack": "What an answer QUEUED rests on: permit (Redis has it, and this node keeps it), replica (a " +
		"replica of Redis has it too), broker (RabbitMQ has confirmed it), ledger (it is committed: CONFIRMED, or " +
		"QUEUED after `admission_ack_wait`).",
	"admission_ack_wait": "How long an answer waits for what `admission_ack` asks for.",
	"degraded.policy": "While Redis is away: reject (BUSY), or ledger (claims are admitted by SQL, up to " +
		"`degraded.rate` a second on each node).",
	"degraded.after": "How long Redis has to be away before the policy is followed.",
	"degraded.rate":  "Claims a second that a node lets through to SQL while Redis is away.",
	"backlog":        "Claims admitted and not settled yet, of one campaign, beyond which claims are BUSY.",
	"settle.workers": "Settling transactions that this node has under way at once; 0: it leaves settling to other nodes.",
	"settle.lost_grace": "How long after gates that lost something were armed anew a claim may still turn up, " +
		"before its owner is told LOST.",
	"redis.prefix": "What every key in Redis and every name in RabbitMQ begins with: installations that share one " +
		"differ in it.",
	"redis.ca":                 "PEM file with the certificates that rediss:// is believed by; empty: the system's.",
	"redis.cert":               "PEM file with a certificate that a Redis over TLS may ask for.",
	"redis.key":                "PEM file with that certificate's private key.",
	"redis.dial_timeout":       "How long a connection to Redis may take to come about.",
	"redis.timeout":            "How long Redis may take to answer; then the outcome of a call is unknown.",
	"mysql.ca":                 "PEM file with the certificates that ?tls=true is believed by; empty: the system's.",
	"mysql.cert":               "PEM file with a certificate that a MySQL over TLS may ask for.",
	"mysql.key":                "PEM file with that certificate's private key.",
	"mysql.urgent":             "Connections for payments and for what operators do.",
	"mysql.claims":             "Connections for batches of claims.",
	"mysql.background":         "Connections for the agents.",
	"mysql.readers":            "Connections that read.",
	"mysql.waiting":            "Writes that may wait; more are refused as unavailable.",
	"mysql.dial_timeout":       "How long a connection to MySQL may take to come about.",
	"mysql.timeout":            "How long one statement may take.",
	"mysql.lock_wait":          "How long a statement waits for a row that another transaction holds.",
	"mysql.idle":               "How long a connection that is not used is kept.",
	"rabbitmq.ca":              "PEM file with the certificates that amqps:// is believed by; empty: the system's.",
	"rabbitmq.cert":            "PEM file with a certificate that a RabbitMQ over TLS may ask for.",
	"rabbitmq.key":             "PEM file with that certificate's private key.",
	"rabbitmq.management":      "Where sluice doctor asks the management plug-in; empty: port 15672 of the broker's host.",
	"rabbitmq.replicas":        "Replicas of a new quorum queue; 0: what the broker itself chooses.",
	"rabbitmq.dial_timeout":    "How long a connection to RabbitMQ may take to come about.",
	"rabbitmq.confirm_timeout": "How long RabbitMQ may take to confirm a message before it is published again.",
	"start.wait": "How long a start waits for MySQL, and then for Redis, where one does not answer yet. A RabbitMQ " +
		"that is away keeps no node from starting.",
	"trusted_proxies": "Networks whose X-Forwarded-For is believed. Empty: the peer's own address counts.",
	"login_url":       "Where the sale page sends a buyer who has no token.",
	"pay_url":         "Where the sale page sends a buyer to pay.",
	"sign_in.dev": "on: whoever asks gets a token for any name, for trials; off: the shop's tokens only; auto: on while " +
		"the public listener is on a loopback address, no proxy is trusted, there is no login_url, and the secret of " +
		"tokens is the one that the server made for itself.",
	"storefront.on":    "Serve the sale page at / and /c/{id} of the public listener.",
	"storefront.theme": "A folder with theme.css, texts.json, or both: the shop's own colours and words.",
	"storefront.images": "Origins that pictures of campaigns may come from, as https://img.shop.example; the page's " +
		"own is always allowed.",
	"environment":         "What operators call this installation, such as prod: the console shows it on every page.",
	"api.decision_status": "body: every decision is HTTP 200 with its code; http: refusals are 403, 409 or 429.",
	"cors.origins":        "Origins whose pages may call the public listener, as https://shop.example; * for all.",
	"admin.key": "The operator's key (role admin). Several at once, for rotation. Unset: made and kept in the data " +
		"folder.",
	"capacity.rate": "Claims a second that the whole server lets through to admission; 0 means no bound. Refused " +
		"ones hear BUSY.",
	"risk.rules": "Risk rules, as NAME (MODE): CONDITION and CONDITION -> ACTION; the mode is off, dry_run (the " +
		"default) or on. A rule that an operator writes under the same name beats one of these.",
	"risk.account_age_claim": "The token claim with the time at which the account was made, in Unix seconds; empty: " +
		"rules on the age of accounts never hold.",
	"risk.service_url":    "A risk service that is asked where a pass is asked for; empty: none.",
	"risk.service_token":  "What the risk service is asked with, as a bearer token. The first one is sent.",
	"risk.service_budget": "How long the risk service may take.",
	"risk.service_failure": "Where the risk service says nothing in time: open (nothing follows), closed (a challenge " +
		"has to be solved).",
	"holding.per_user": "Unpaid orders that one user may have, over all campaigns; 0: no bound. More are refused " +
		"LIMIT_REACHED, with the claims.",
	"holding.per_device": "Unpaid orders that one device may have, over all campaigns; 0: no bound.",
	"holding.per_address": "Orders of one address within 15 minutes beyond which a challenge has to be solved; 0: no " +
		"bound. An address alone is never refused.",
	"shutdown.delay": "How long a stop goes on serving while /readyz says no already, so that a load balancer " +
		"stops sending.",
	"shutdown.grace": "How long a stop waits for requests under way before it cuts them.",
	"tls.cert":       "PEM file with the certificate and its chain. Read again when it changes and on SIGHUP.",
	"admin_tls.cert": "PEM file with the certificate and its chain. Read again when it changes and on SIGHUP.",
	"tls.key":        "PEM file with the certificate's private key.",
	"admin_tls.key":  "PEM file with the certificate's private key.",
	"jwt.secret": "HS256 secrets. Several at once, for rotation. Unset, and no other key given: made and kept in " +
		"the data folder.",
	"jwt.public_keys": "PEM files with public keys (RS256, ES256, EdDSA).",
	"jwt.key_file":    "A JWK set or PEM keys on disk; read again when it changes.",
	"jwt.jwks_url":    "A JWK set over HTTP(S), fetched again as keys rotate.",
	"jwt.issuer":      "What the iss claim has to be; empty: anything.",
	"jwt.audience":    "What the aud claim has to contain; empty: anything.",
	"jwt.leeway":      "How far exp and nbf may be off.",
	"payment.secret": "Secrets that sign payment notifications. Several at once, for rotation. Unset: made and " +
		"kept in the data folder.",
	"pass.ttl": "How long a pass holds: from the start of its campaign, or from when it is given where that is later.",
	"pass.rotate_every": "At what age the key that passes are signed with is replaced. Passes of the old one hold as " +
		"long as they live.",
	"payment.provider": "sandbox: a buyer may pay an order by calling its pay route, for trials; signed: only " +
		"signed notifications pay; auto: sandbox while the public listener is on a loopback address and no proxy is " +
		"trusted, else signed.",
	"challenge.life":  "How long a challenge can be answered.",
	"challenge.tries": "Answers to one challenge that are judged; after the last wrong one it is gone.",
	"challenge.pow_max": "Proof of work: the largest number that can be the answer, for who is little above normal; " +
		"half of it is tried in the mean.",
	"challenge.pow_ceiling": "Proof of work: what suspicion and load raise `challenge.pow_max` to, at most.",
	"challenge.pow_rate": "Proof of work: challenges a second on this node beyond which they become harder, in " +
		"proportion.",
	"challenge.slider_tolerance": "Slider: how many picture pixels the piece may lie off.",
	"challenge.pictures": "Slider: folder of your own pictures, JPEG and PNG (up to 200, 8 MB and 4096 pixels a side " +
		"each), read at the start; empty: pictures are painted.",
	"challenge.pool":    "Slider and text image: pictures that are kept ready, of each kind.",
	"challenge.workers": "Slider and text image: pictures drawn at once; 0: a quarter of the processors.",
	"challenge.waiting": "Slider and text image: requests that may wait for a picture; the next hears BUSY.",
	"challenge.siteverify.provider": "The service that campaigns with the challenge siteverify use; none: their buyers " +
		"get proof of work.",
	"challenge.siteverify.site_key": "The widget's public key.",
	"challenge.siteverify.secret":   "The secret that the service is asked with; the first one counts.",
	"challenge.siteverify.url": "Where the service is asked, in place of the provider's own address: https, or http on " +
		"this machine.",
	"challenge.siteverify.timeout": "How long the service may take to answer.",
	"challenge.siteverify.on_trouble": "While the service gives no answer: closed (nobody passes by it), open " +
		"(everybody does, counted as waived).",
	"challenge.siteverify.hostnames": "Hosts on which the widget may have been solved; empty: any.",
	"challenge.siteverify.action":    "The action that the widget must have been given; empty: any.",
	"challenge.siteverify.min_score": "The least score, where the service gives one (reCAPTCHA v3); 0: none is asked for.",
	"decision_log.on": "Write one JSON line for each decision of the gate. The switch decision_log turns it on and " +
		"off while the server runs.",
	"decision_log.file":      "Where; empty: decisions.log in the data folder.",
	"decision_log.max_size":  "A file that reaches this is rotated.",
	"decision_log.max_age":   "Rotated files older than this are deleted, in whole days; 0s keeps them.",
	"decision_log.max_files": "Rotated files beyond this many are deleted; 0 keeps them all.",
	"log.level":              "The least level that is written. Changeable while the server runs.",
	"log.format":             "auto: text at a terminal, else JSON lines.",
	"sqlite.cache":           "Page cache of the writer.",
	"sqlite.readers":         "Connections for reads.",
	"sqlite.waiting":         "Writes that may wait; more are refused as unavailable.",
	"limits.body":            "The largest body of a public request; a larger one is 413.",
	"limits.connections":     "Connections to the public listener at once.",
	"limits.once": "Nonces and answered challenges that one process remembers at a time where admission is memory, " +
		"about 100 bytes each. While they are all in use, new ones are refused: none is forgotten before its time.",
	"limits.read_timeout": "How long a public request may take to arrive.",
	"limits.idle_timeout": "How long an idle connection is kept.",
}
