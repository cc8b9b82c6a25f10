// Package sqldb is the ledger: the only truth. It runs the transactions of PROTOCOL on SQL and decides what a row may
// become; it refuses to decide who may ask. All writes go through one door, write, which gathers what waits into one
// transaction, so that one fsync serves many callers; reads have connections of their own and never wait for it.
//
// One file per noun. The SQL is plain; what differs between databases stands in dialect.go and in the migrations'
// folders.
package sqldb
