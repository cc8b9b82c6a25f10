package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set when a release is built (-ldflags "-X main.version=…").
var version = "dev"

// build tells what this binary is.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func buildInfo() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return b
}

// String is the version in one line.
func (b build) String() string {
	rev := ""
	if b.Revision != "" {
		rev = " (" + b.Revision + ")"
	}
	return fmt.Sprintf("sluice %s%s %s %s", b.Version, rev, b.Go, b.Platform)
}

// versionCmd prints the version.
type versionCmd struct{}

// Run prints it.
func (versionCmd) Run(a *app) error {
	b := buildInfo()
	if a.json {
		return a.printJSON(b)
	}
	_, err := fmt.Fprintln(a.out, b)
	return err
}
