package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxItems bounds a list in the configuration.
const MaxItems = 1000

// set reads texts (one, unless the key is a list) into the key's field of c.
func (k Key) set(c *Config, texts []string) error {
	if len(texts) > MaxItems {
		return fmt.Errorf("has %d items, more than %d", len(texts), MaxItems)
	}
	if !k.List() && len(texts) != 1 {
		return errors.New("is a list where one value belongs")
	}
	v, err := k.parse(texts)
	if err != nil {
		return err
	}
	return k.assign(c, v)
}

func (k Key) parse(texts []string) (any, error) {
	one := ""
	if len(texts) > 0 {
		one = texts[0]
	}
	switch k.Kind {
	case "bool":
		return parseBool(one)
	case "int":
		return bounded(k, one, strconv.Atoi, "a whole number")
	case "float64":
		return bounded(k, one, parseFloat, "a number")
	case "duration":
		return bounded(k, one, time.ParseDuration, "a duration: write a number and a unit, such as 500ms, 10s, 15m or 24h")
	case "size":
		return bounded(k, one, ParseSize, "a size: write a whole number and a unit, such as 16KB, 100MB or 4GB")
	case "choice":
		if !slices.Contains(k.OneOf, one) {
			return nil, fmt.Errorf("has to be one of %s", strings.Join(k.OneOf, ", "))
		}
		return one, nil
	case "engine":
		return k.parseEngine(one)
	case "name":
		return one, checkName(one, nameRunes+".")
	case "prefix":
		return one, checkName(one, nameRunes)
	case "listen":
		return one, checkListen(one)
	case "url":
		return one, checkURL(one)
	case "file":
		return one, checkFile(one)
	case "files":
		return texts, checkEach(texts, checkFile)
	case "origins":
		return texts, checkEach(texts, checkOrigin)
	case "hosts":
		return texts, checkEach(texts, checkSite)
	case "rules": // read where they are put in force
		return texts, nil
	case "networks":
		return parseNetworks(texts)
	case "secrets":
		return k.parseSecrets(texts)
	case "path":
		if strings.ContainsRune(one, 0) {
			return nil, errors.New("is no path")
		}
	}
	return one, nil
}

func (k Key) assign(c *Config, v any) error {
	f := k.field(c)
	switch v := v.(type) {
	case string:
		f.SetString(v)
	case bool:
		f.SetBool(v)
	case int:
		f.SetInt(int64(v))
	case float64:
		f.SetFloat(v)
	case time.Duration:
		f.SetInt(int64(v))
	case Size:
		f.SetInt(int64(v))
	case []string:
		*f.Addr().Interface().(*[]string) = v
	case []netip.Prefix:
		*f.Addr().Interface().(*[]netip.Prefix) = v
	case Engine:
		*f.Addr().Interface().(*Engine) = v
	case Secrets:
		*f.Addr().Interface().(*Secrets) = v
	default:
		return fmt.Errorf("is of a kind that cannot be set (%T)", v)
	}
	return nil
}

func parseBool(text string) (any, error) {
	switch strings.ToLower(text) {
	case "true", "on", "yes", "1":
		return true, nil
	case "false", "off", "no", "0":
		return false, nil
	}
	return nil, errors.New("has to be true or false")
}

func parseFloat(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && (f != f || f > 1e300 || f < -1e300) {
		err = strconv.ErrRange
	}
	return f, err
}

// bounded reads text and holds it against the key's min and max, which are written in the same notation.
func bounded[T int | float64 | time.Duration | Size](
	k Key, text string, read func(string) (T, error), what string,
) (any, error) {
	v, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("is not %s", what)
	}
	if low, err := read(k.Min); err == nil && v < low {
		return nil, fmt.Errorf("is below the least value, %s", k.Min)
	}
	if high, err := read(k.Max); err == nil && v > high {
		return nil, fmt.Errorf("is above the largest value, %s", k.Max)
	}
	return v, nil
}

func checkListen(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return errors.New("is not an address: write host:port, such as 127.0.0.1:8080 or :8080")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return errors.New("has a port that is not a number from 0 to 65535")
	}
	if strings.ContainsAny(host, " /@") {
		return errors.New("has a host that is neither a name nor an IP address")
	}
	return nil
}

// maxName bounds a name of this installation or node, which stands in keys, logs and lists.
const maxName = 64

func checkName(text, runes string) error {
	if len(text) > maxName {
		return fmt.Errorf("is longer than %d bytes", maxName)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(runes, r) }); i >= 0 {
		return errors.New("may have letters, digits and dashes only")
	}
	return nil
}

const nameRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

func checkURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return errors.New("is not a URL: write http://… or https://… with a host")
	}
	if u.User != nil {
		return errors.New("is a URL with a name or password in it, which would be shown to buyers or in logs")
	}
	return nil
}

func checkOrigin(text string) error {
	if text == "*" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Scheme+"://"+u.Host != text {
		return fmt.Errorf("has %q, which is no origin: write scheme://host[:port] without a path, or *", text)
	}
	return nil
}

func checkSite(text string) error {
	if text == "" || len(text) > 253 || strings.ContainsAny(text, " /:@*") {
		return fmt.Errorf("has %q, which is no host: write a name, such as shop.example", text)
	}
	return nil
}

func checkFile(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || st.IsDir() {
		return fmt.Errorf("is no file: %s", path)
	}
	return nil
}

func checkEach(texts []string, check func(string) error) error {
	for _, t := range texts {
		if err := check(t); err != nil {
			return err
		}
	}
	return nil
}

func parseNetworks(texts []string) (any, error) {
	var all []netip.Prefix
	for _, t := range texts {
		p, err := netip.ParsePrefix(t)
		if err != nil {
			a, e := netip.ParseAddr(t)
			if e != nil {
				return nil, fmt.Errorf("has %q, which is neither an IP address nor a network such as 10.0.0.0/8", t)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

func (k Key) parseSecrets(texts []string) (any, error) {
	least, _ := strconv.Atoi(k.Min)
	var all Secrets
	for i, t := range texts {
		if len(t) < least {
			return nil, fmt.Errorf("has %d bytes (secret %d of %d), fewer than %d", len(t), i+1, len(texts), least)
		}
		all = append(all, NewSecret(t))
	}
	return all, nil
}
