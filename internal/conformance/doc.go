// Package conformance holds the suites that every backend passes: one for admission, one for the ledger and what
// is traded on it. A suite is handed the backend it tests and knows it by its interface alone; it decides what the
// words of that interface mean where two backends could read them differently.
package conformance
