package main

import (
	"errors"

	"github.com/sluice-sale/sluice/internal/redis"
)

// openDirect takes stock in the ledger itself.
func (p *parts) openDirect(*server) error {
	return errors.New("admission ledger is not built in")
}

// openDegraded is where claims go while Redis is away; nil where the policy is to refuse them.
func (p *parts) openDegraded(*server) redis.Direct { return nil }
