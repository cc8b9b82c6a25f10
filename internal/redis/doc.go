// Package redis keeps the gates of campaigns in Redis: one server, a master under Sentinel, or a Cluster. A gate is
// the permit: it decides who is admitted, in one atomic script a shard, and is never the truth; that is the ledger.
//
// What it decides: whether a claim is a replay, within the limit, and whether there are units for it; and how units
// move between the shards of a campaign. What it refuses to do: it never guesses after an error. ErrUnavailable
// means that nothing was done, ErrUncertain that it is not known; every script may be sent twice.
package redis
