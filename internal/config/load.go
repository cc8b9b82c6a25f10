package config

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

// MaxFileBytes bounds the configuration file.
const MaxFileBytes = 1 << 20

// Sources is what Load reads.
type Sources struct {
	File    string            // a YAML file; empty for none
	Environ []string          // as os.Environ gives it
	Flags   map[string]string // key name to value, those given only
	// EnvKnown are the variables under EnvPrefix that are no settings, such as those of the CLI.
	EnvKnown []string
	// Judge finds faults in settings whose meaning another package knows. Its faults name Key, Value and Problem; those
	// of a setting that is broken by itself are not looked at. Nil: there is none.
	Judge func(c *Config) []Fault
}

// Fault is one thing wrong with the configuration.
type Fault struct {
	Key     string // or the unknown name
	Source  string // where the value came from: default, a file, an environment variable, a flag
	Value   string // masked where it is a secret
	Problem string // a sentence without its subject: "is below the least value, 1"
}

// Faults is every fault that Load found.
type Faults []Fault

// Error lists them, one a line.
func (f Faults) Error() string {
	var b strings.Builder
	b.WriteString("the configuration has a fault")
	if len(f) != 1 {
		b.Reset()
		fmt.Fprintf(&b, "the configuration has %d faults", len(f))
	}
	for _, x := range f {
		fmt.Fprintf(&b, "\n  %s", x.Key)
		if x.Value != "" {
			fmt.Fprintf(&b, " = %s", x.Value)
		}
		fmt.Fprintf(&b, " (%s): %s", x.Source, x.Problem)
	}
	return b.String()
}

// layer is one source, flattened: key name to the texts of its value.
type layer struct {
	values map[string][]string
	source func(Key) string
}

// loader gathers layers and faults.
type loader struct {
	keys   []Key
	byName map[string]Key
	faults Faults
}

// Loaded is a configuration and where each of its values came from.
type Loaded struct {
	Config
	from map[string]string
}

// Load fills a Config: defaults, then the file, the environment and the flags. Its error, if any, is Faults with all
// of them.
func Load(src Sources) (*Loaded, error) {
	l := &loader{keys: Keys(), byName: map[string]Key{}}
	for _, k := range l.keys {
		l.byName[k.Name] = k
	}
	layers := []layer{l.defaults(), l.file(src.File), l.env(src), l.flags(src.Flags)}
	out := &Loaded{from: map[string]string{}}
	broken := map[string]bool{}
	for _, k := range l.keys {
		for _, y := range slices.Backward(layers) {
			texts, ok := y.values[k.Name]
			if !ok {
				continue
			}
			out.from[k.Name] = y.source(k)
			if err := k.set(&out.Config, texts); err != nil {
				broken[k.Name] = true
				l.fault(k, y.source(k), texts, err.Error())
			}
			break
		}
	}
	l.together(out, broken)
	if src.Judge != nil {
		for _, f := range src.Judge(&out.Config) {
			if !broken[f.Key] {
				f.Source = out.from[f.Key]
				l.faults = append(l.faults, f)
			}
		}
	}
	if len(l.faults) > 0 {
		return nil, l.faults
	}
	return out, nil
}

func (l *loader) fault(k Key, source string, texts []string, problem string) {
	f := Fault{Key: k.Name, Source: source, Problem: problem}
	if !k.Secret() {
		f.Value = strconv.Quote(maskURL(strings.Join(texts, ",")))
	}
	l.faults = append(l.faults, f)
}

func (l *loader) defaults() layer {
	y := layer{values: map[string][]string{}, source: func(Key) string { return "default" }}
	for _, k := range l.keys {
		y.values[k.Name] = k.split(k.Default)
	}
	return y
}

func (l *loader) file(path string) layer {
	y := layer{values: map[string][]string{}, source: func(Key) string { return "file " + path }}
	if path == "" {
		return y
	}
	broken := func(problem string) layer {
		l.faults = append(l.faults, Fault{Key: "config", Source: "file " + path, Problem: problem})
		return y
	}
	if err := checkSize(path); err != nil {
		return broken("cannot be read: " + err.Error())
	}
	k := koanf.New(".")
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		return broken("cannot be read as YAML: " + err.Error())
	}
	all := k.All()
	for _, name := range k.Keys() {
		v := all[name]
		if v == nil { // a key without a value says nothing
			if _, known := l.byName[name]; known || l.isSection(name) {
				continue
			}
		}
		if m, ok := v.(map[string]any); ok && len(m) == 0 && l.isSection(name) {
			continue
		}
		key, known := l.byName[name]
		if !known {
			l.unknown(name, "file "+path, l.names(func(k Key) string { return k.Name }))
			continue
		}
		texts, problem := textsOf(v)
		if problem != "" {
			l.fault(key, y.source(key), nil, problem)
			continue
		}
		if key.List() && len(texts) == 1 {
			texts = key.split(texts[0])
		}
		y.values[name] = texts
	}
	return y
}

func checkSize(path string) error {
	st, err := os.Stat(path)
	if err == nil && st.Size() > MaxFileBytes {
		err = fmt.Errorf("%d bytes, more than %d", st.Size(), MaxFileBytes)
	}
	return err
}

func (l *loader) env(src Sources) layer {
	y := layer{values: map[string][]string{}, source: func(k Key) string { return "environment " + k.Env }}
	byEnv := map[string]Key{}
	for _, k := range l.keys {
		byEnv[k.Env] = k
	}
	names := append(l.names(func(k Key) string { return k.Env }), src.EnvKnown...)
	var unknown []string
	k := koanf.New("\x00") // flat: the names of the variables are turned into keys here
	err := k.Load(env.Provider("\x00", env.Opt{Prefix: EnvPrefix, EnvironFunc: func() []string { return src.Environ },
		TransformFunc: func(name, value string) (string, any) {
			key, ok := byEnv[name]
			if !ok {
				if !slices.Contains(src.EnvKnown, name) {
					unknown = append(unknown, name)
				}
				return "", nil
			}
			return key.Name, value
		}}), nil)
	if err != nil {
		l.faults = append(l.faults, Fault{Key: EnvPrefix + "*", Source: "environment", Problem: err.Error()})
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		// The environment is shared: a variable that is far from every setting is somebody else's.
		if near := nearest(name, names); near != "" && edits(name, near) <= maxTypo {
			l.unknown(name, "environment", names)
		}
	}
	for name, v := range k.All() {
		y.values[name] = l.byName[name].split(v.(string))
	}
	return y
}

func (l *loader) flags(given map[string]string) layer {
	y := layer{values: map[string][]string{}, source: func(k Key) string { return "flag --" + k.Flag }}
	for name, v := range given {
		y.values[name] = l.byName[name].split(v)
	}
	return y
}

// maxTypo is how many edits away from a setting a variable of the environment is taken for one that was meant.
const maxTypo = 2

// unknown reports a name that is no setting, with the nearest one that is.
func (l *loader) unknown(name, source string, known []string) {
	f := Fault{Key: name, Source: source, Problem: "is not a setting"}
	if near := nearest(name, known); near != "" {
		f.Problem += "; did you mean " + near + "?"
	}
	l.faults = append(l.faults, f)
}

func (l *loader) names(of func(Key) string) []string {
	var all []string
	for _, k := range l.keys {
		all = append(all, of(k))
	}
	return all
}

func (l *loader) isSection(name string) bool {
	return slices.ContainsFunc(l.keys, func(k Key) bool { return strings.HasPrefix(k.Name, name+".") })
}

// split gives the texts of a value written as one text: lists are parted at commas.
func (k Key) split(text string) []string {
	if !k.List() {
		return []string{text}
	}
	var parts []string
	for p := range strings.SplitSeq(text, ",") {
		if p = strings.TrimSpace(p); p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// textsOf turns a YAML value into texts; problem is what is wrong with its shape.
func textsOf(v any) (texts []string, problem string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			t, problem := textsOf(item)
			if problem != "" || len(t) != 1 {
				return nil, "has an item that is not a plain value"
			}
			texts = append(texts, t[0])
		}
		return texts, ""
	case map[string]any, map[any]any:
		return nil, "has keys below it where a value belongs"
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}, ""
	}
	return []string{fmt.Sprint(v)}, ""
}

// maskURL hides the name and password of a URL, as in redis://user:secret@host.
func maskURL(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 { // wherever it stands: before it may be a password with any sign
		rest = masked + rest[at:]
	}
	rest, query, asked := strings.Cut(rest, "?")
	if asked && strings.Contains(query, "pass") {
		query = masked
	}
	if asked {
		rest += "?" + query
	}
	return scheme + "://" + rest
}
