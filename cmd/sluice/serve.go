package main

import (
	"errors"

	"github.com/alecthomas/kong"
)

// serveCmd runs the server.
type serveCmd struct {
	File string `name:"config" placeholder:"FILE" help:"YAML file with settings (SLUICE_CONFIG)."`
	kong.Plugins
}

// Run runs it until a signal comes.
func (c *serveCmd) Run(a *app) error {
	if _, err := a.loadConfig(c.File, given(c.Plugins)); err != nil {
		return err
	}
	return errors.New("the parts are not joined yet")
}
