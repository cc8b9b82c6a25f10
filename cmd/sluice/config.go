package main

import (
	"github.com/alecthomas/kong"
)

// configCmd prints the settings in force.
type configCmd struct {
	File string `name:"config" placeholder:"FILE" help:"YAML file with settings (SLUICE_CONFIG)."`
	kong.Plugins
}

// Run prints them.
func (c *configCmd) Run(a *app) error {
	cfg, err := a.loadConfig(c.File, given(c.Plugins))
	if err != nil {
		return err
	}
	if err := cfg.ReadSecrets(); err != nil {
		return err
	}
	settings := cfg.Masked()
	if a.json {
		return a.printJSON(map[string]any{"settings": settings})
	}
	t := table{heads: []string{"SETTING", "VALUE", "FROM"}}
	t.paint = func(row, column int, s string) string {
		if settings[row].Source == "default" {
			return a.paint.dim(s)
		}
		return s
	}
	for _, s := range settings {
		t.add(s.Key, s.Value, s.Source)
	}
	t.print(a)
	return nil
}
