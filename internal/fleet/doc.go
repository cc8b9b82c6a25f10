// Package fleet makes one server of several nodes, as far as operators see it: each node says that it lives and which
// settings are in force on it, takes over what another node has changed, and tells on how many nodes a change is in
// force.
//
// Nodes meet in the ledger, by a heartbeat and the revision of its settings, and where there is a Redis in that too,
// so that a switch reaches every node while either of the two is away. What a node has taken over stays in force when
// both are: its age is told, and nothing is forgotten because it could not be read.
//
// The package decides nothing about a sale and elects nobody.
package fleet
