package main

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sluice-sale/sluice/internal/config"
)

// cliVariables are the environment variables of the CLI that are no settings of the server.
var cliVariables = []string{"SLUICE_CONFIG", "SLUICE_ADMIN_URL"}

// settingFlags makes one flag for each setting, so that the struct in internal/config stays the only list of them. A
// flag that is not given stays nil.
func settingFlags() kong.Plugins {
	var fields []reflect.StructField
	for _, k := range config.Keys() {
		if k.Flag == "" {
			continue
		}
		help := k.Help
		if k.Default != "" {
			help += " Default: " + k.Default + "."
		}
		f := reflect.StructField{Name: fieldName(k), Type: reflect.TypeFor[*string]()}
		tag := fmt.Sprintf(`name:%q help:%q placeholder:%q`, k.Flag, help, strings.ToUpper(placeholder(k)))
		if k.Kind == "bool" {
			f.Type = reflect.TypeFor[*bool]()
			tag = fmt.Sprintf(`name:%q help:%q negatable:""`, k.Flag, help)
		}
		f.Tag = reflect.StructTag(tag)
		fields = append(fields, f)
	}
	return kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
}

func fieldName(k config.Key) string { return "F_" + strings.ReplaceAll(k.Name, ".", "__") }

func placeholder(k config.Key) string {
	switch {
	case len(k.OneOf) > 0:
		return strings.Join(k.OneOf, "|")
	case k.Kind == "listen":
		return "addr"
	case k.Kind == "float64" || k.Kind == "int":
		return "n"
	case k.Kind == "networks" || k.Kind == "origins" || k.Kind == "files":
		return k.Kind[:len(k.Kind)-1] + ",…"
	}
	return k.Kind
}

// given reads back the flags that were on the command line, by key name.
func given(p kong.Plugins) map[string]string {
	out := map[string]string{}
	for _, plugin := range p {
		v := reflect.ValueOf(plugin).Elem()
		for _, k := range config.Keys() {
			f := v.FieldByName(fieldName(k))
			if !f.IsValid() || f.IsNil() {
				continue
			}
			switch x := f.Interface().(type) {
			case *string:
				out[k.Name] = *x
			case *bool:
				out[k.Name] = strconv.FormatBool(*x)
			}
		}
	}
	return out
}

// loadConfig reads the settings for a verb.
func (a *app) loadConfig(file string, flags map[string]string) (*config.Loaded, error) {
	if file == "" {
		file = a.getenv("SLUICE_CONFIG")
	}
	return config.Load(config.Sources{File: file, Environ: a.environ, Flags: flags, EnvKnown: cliVariables,
		Judge: judgeRules})
}

// getenv gives the last value of an environment variable, or "".
func (a *app) getenv(name string) (value string) {
	for _, kv := range a.environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// dataFlags are the flags of the verbs that work on the data folder, as the server does.
type dataFlags struct {
	ConfigFile string  `name:"config" placeholder:"FILE" help:"YAML file with settings." predictor:"file"`
	Data       *string `placeholder:"DIR" help:"The server's data folder. Default: ./sluice-data." predictor:"dir"`
}

func (d dataFlags) load(a *app) (*config.Loaded, error) {
	flags := map[string]string{}
	if d.Data != nil {
		flags["data"] = *d.Data
	}
	return a.loadConfig(d.ConfigFile, flags)
}
