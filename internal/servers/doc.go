//go:build unix

// Package servers starts the real servers that tests run against: Redis (alone, under Sentinel, as a cluster),
// MariaDB, RabbitMQ, and a proxy that breaks connections. It decides ports and folders; it never uses a server that
// happens to run, and nothing that it starts outlives the test process.
//
// A server that is started in a blink is a test's own. MariaDB and RabbitMQ are started once in a test process, at
// the first call, and each call gets a fresh database or virtual host; a package that uses them hands its tests to
// Main, which stops them and removes their folders. A program that is not installed fails the test with the Debian
// package to install (`make servers` installs all of them).
package servers
