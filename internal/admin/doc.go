// Package admin is what operators do: campaigns, stock, grants, switches, the blocklist, audiences, API keys, and
// the reading of what happened. It decides what an operator may write and names every fault of it at once; the
// ledger records it with its audit row in one transaction, and only then is it handed to the gate and to admission.
//
// It refuses to know HTTP, SQL or how a claim is decided. Each desk is safe for concurrent use.
package admin
