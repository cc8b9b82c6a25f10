// Package upkeep holds the agents that run behind the sale, one a file, all of one shape: a Config, New…, Start,
// RunOnce for a single piece of the work, and Stop, which is idempotent and returns when the agent has. An agent
// decides when to work and how much at a time; what the work means is decided by its store. All of it can be done
// twice without harm, so that a failed piece is simply begun again.
package upkeep
