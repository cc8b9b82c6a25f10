// Package console serves the operators' console: the files that web/console builds, which are part of the binary. It
// knows files and headers only; what the pages show comes from the operators' API.
package console
