package config

import (
	"net/netip"
	"reflect"
	"strings"
	"time"
)

// EnvPrefix begins the name of every environment variable that Sluice reads.
const EnvPrefix = "SLUICE_"

// Key describes one setting.
type Key struct {
	Name    string // in the file, dotted
	Env     string // the environment variable
	Flag    string // without the dashes; empty for a secret
	Kind    string // how its text is read
	Default string
	Min     string
	Max     string
	OneOf   []string
	Help    string

	index [][]int // the way to its field, one step a struct
}

// Secret says whether the value is never shown and never a flag.
func (k Key) Secret() bool { return k.Kind == "secrets" }

// List says whether the value is a list: a YAML list, or a text with commas.
func (k Key) List() bool {
	switch k.Kind {
	case "secrets", "networks", "origins", "files", "hosts", "rules":
		return true
	}
	return false
}

// Keys lists every setting in the order of the struct.
func Keys() []Key { return keysOf(reflect.TypeFor[Config](), "", nil) }

func keysOf(t reflect.Type, prefix string, way [][]int) []Key {
	var keys []Key
	for i := range t.NumField() {
		f := t.Field(i)
		name := prefix + f.Tag.Get("key")
		at := append(way[:len(way):len(way)], f.Index)
		if f.Type.Kind() == reflect.Struct && f.Tag.Get("kind") == "" {
			keys = append(keys, keysOf(f.Type, name+".", at)...)
			continue
		}
		k := Key{Name: name, Kind: kindOf(f), Default: f.Tag.Get("default"), Min: f.Tag.Get("min"), Max: f.Tag.Get("max"),
			Help: meanings[name], index: at}
		k.Env = EnvPrefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
		if one := f.Tag.Get("oneof"); one != "" {
			k.OneOf = strings.Split(one, ",")
		}
		if !k.Secret() {
			k.Flag = strings.NewReplacer(".", "-", "_", "-").Replace(name)
		}
		keys = append(keys, k)
	}
	return keys
}

func kindOf(f reflect.StructField) string {
	if k := f.Tag.Get("kind"); k != "" {
		return k
	}
	if f.Tag.Get("oneof") != "" {
		return "choice"
	}
	switch f.Type {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[Size]():
		return "size"
	case reflect.TypeFor[Secrets]():
		return "secrets"
	case reflect.TypeFor[[]netip.Prefix]():
		return "networks"
	}
	return f.Type.Kind().String() // bool, int, float64, string
}

// field finds the key's field in c.
func (k Key) field(c *Config) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	for _, step := range k.index {
		v = v.FieldByIndex(step)
	}
	return v
}
