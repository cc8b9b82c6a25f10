// Package config decides what the server's settings are: one struct, filled from the defaults, a YAML file, the
// environment and the flags, each layer over the one before. It finds every fault before it gives up, and names for
// each the key, where the value came from and the bound it broke. It refuses to open, listen or connect: whoever uses
// a setting does.
//
// The struct is the only list of settings. Its tags give the key, the default, the bounds and the sentence of the
// reference page; the names of the environment variables and the flags follow from the key.
package config
