// Package api is the HTTP face: it decides how requests are read, bounded and authenticated, and how answers,
// refusals and errors look on the wire. It decides nothing about claims, orders or coupons: it asks the small
// interfaces declared here. The public listener (buyers, merchants, payment side) runs on fasthttp, the operators'
// one on net/http. Only this package knows HTTP statuses.
package api

import "time"

// Bounds of what a client may send and how long it may take. The ones that a deployment may want to move are
// fields of PublicConfig and AdminConfig, with these as their defaults.
const (
	maxClaimBody      = 16 << 10 // bytes
	maxBody           = 64 << 10
	maxURI            = 4 << 10
	maxHead           = 16 << 10 // request line and headers together
	maxNesting        = 32       // levels of a JSON body
	maxSegments       = 8        // of a path
	maxHops           = 32       // entries of X-Forwarded-For that are looked at
	maxPage           = 1000
	defaultPage       = 100
	maxErrors         = 20 // entries of errors[]
	maxWait           = 30 * time.Second
	signatureWindow   = 5 * time.Minute
	maxAdminBody      = 1 << 20
	defaultMaxConns   = 100_000
	defaultPerConn    = 100_000 // requests before a connection is closed
	defaultClaims     = 20_000  // claims in flight
	defaultWaits      = 10_000  // results being waited for
	defaultLists      = 256     // wallet pages in flight
	defaultRest       = 4_096   // payments, results, redemptions and everything else in flight
	claimTimeout      = 10 * time.Second
	restTimeout       = 10 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	adminReadTimeout  = 30 * time.Second
	adminWriteTimeout = 60 * time.Second
	streamIdle        = 30 * time.Second // a bulk stream may pause this long, no longer
	preflightSeconds  = "7200"
)
