// Package upgrade tests that versions live side by side: nodes of the previous commit beside nodes of this one, and
// nodes of this one beside nodes of a version to come. A sale goes on while one node after the other is replaced, and
// replaced back, and is held to every promise afterwards.
package upgrade
