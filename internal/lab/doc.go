// Package lab is the load laboratory: it puts a crowd in front of a server, measures what the crowd saw, and audits
// what the ledger says about it. The crowd is an open loop: arrivals follow a schedule that was drawn before the start
// and wait for nobody, and a latency counts from the moment a buyer meant to click, not from the moment a connection
// was free.
//
// The lab decides two things: how fast the server was, and whether it kept its word. A run that breaks its word has no
// speed. It refuses to trust counters: the verdict comes from the claim rows and from what each client saw. It knows
// the server by its HTTP API alone and imports nothing of it but the words of the root package.
package lab
