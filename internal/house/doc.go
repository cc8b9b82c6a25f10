// Package house holds the rules of this code base as ordinary tests: which package may import which, how long a
// function, a file and a line may be, and what does not stand in a source file. It has no code of its own.
package house
