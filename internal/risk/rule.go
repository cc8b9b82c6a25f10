package risk

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-sale/sluice"
)

// Bounds of what a rule may say.
const (
	MaxConditions = 4
	MinWindow     = 10 * time.Second
	MaxWindow     = 24 * time.Hour
	MaxBlock      = 30 * 24 * time.Hour
	MaxSlow       = 1000
	MaxCount      = 50_000 // the largest threshold of a count, below what a counter can hold
	MaxDistinct   = 300    // the largest threshold of a signal that counts different ones
	minShareOf    = 10     // claims within the window before a refused share is judged
)

// signal is what a condition counts.
type signal uint8

const (
	sigAccounts signal = iota
	sigDevices
	sigClaims
	sigOrders
	sigFailed
	sigEarly
	sigShare
	sigAge
	numSignals
)

var signalNames = [numSignals]string{
	"accounts", "devices", "claims", "orders", "failed challenges", "early claims", "refused share", "account age",
}

// distinct says whether the signal counts different ones.
func (s signal) distinct() bool { return s == sigAccounts || s == sigDevices }

// by is what a condition counts for.
type by uint8

const (
	byAccount by = iota
	byDevice
	byAddress
	bySubnet
	numBys
)

var byScopes = [numBys]sluice.RiskScope{sluice.RiskAccount, sluice.RiskDevice, sluice.RiskAddress, sluice.RiskSubnet}

// shared says whether honest buyers who do not know each other may share one.
func (b by) shared() bool { return b == byAddress || b == bySubnet }

// condition is one thing that has to be seen.
type condition struct {
	signal    signal
	by        by
	threshold float64 // above it; of an account's age, below it, in seconds
	window    time.Duration
}

// text writes the condition with what was counted, or the way it stands in a rule where seen is negative.
func (c condition) text(seen float64) string {
	var b strings.Builder
	b.WriteString(signalNames[c.signal])
	if c.signal == sigAge {
		if seen >= 0 {
			b.WriteString(" " + span(time.Duration(seen)*time.Second))
		}
		return b.String() + " < " + span(time.Duration(c.threshold)*time.Second)
	}
	b.WriteString(" per " + string(byScopes[c.by]))
	if seen >= 0 {
		b.WriteString(" " + number(seen))
	}
	return b.String() + " > " + number(c.threshold) + " in " + span(c.window)
}

// deed is what a rule does.
type deed uint8

const (
	deedLog deed = iota
	deedChallenge
	deedSlow
	deedBlock
)

// action is a deed with its measure.
type action struct {
	deed   deed
	factor float64       // of deedSlow
	length time.Duration // of deedBlock
}

func (a action) text() string {
	switch a.deed {
	case deedChallenge:
		return "challenge"
	case deedSlow:
		return "slow " + number(a.factor)
	case deedBlock:
		return "block " + span(a.length)
	}
	return "log"
}

// rule is a rule as it was read.
type rule struct {
	conditions []condition
	action     action
}

// target is what the action applies to: the narrowest that the conditions count for, so that it meets as few as it can.
func (r *rule) target() by {
	best := bySubnet
	for _, c := range r.conditions {
		best = min(best, c.by)
	}
	return best
}

func (r *rule) text() string {
	parts := make([]string, len(r.conditions))
	for i, c := range r.conditions {
		parts[i] = c.text(-1)
	}
	return strings.Join(parts, " and ") + " -> " + r.action.text()
}

// Check reads a rule and gives it in the one form that is kept; the error says what is wrong with it.
func Check(text string) (string, error) {
	r, err := parse(text)
	if err != nil {
		return "", err
	}
	return r.text(), nil
}

// parse reads "CONDITION {and CONDITION} -> ACTION".
func parse(text string) (*rule, error) {
	if len(text) > sluice.MaxRiskRuleText {
		return nil, fmt.Errorf("must be at most %d bytes, and has %d", sluice.MaxRiskRuleText, len(text))
	}
	left, right, ok := strings.Cut(text, "->")
	if !ok {
		return nil, fmt.Errorf("must be conditions, then -> and an action, such as: " +
			"accounts per device > 5 in 10m -> block 15m")
	}
	words := strings.Fields(left)
	r := &rule{}
	for len(words) > 0 || len(r.conditions) == 0 {
		n := 0
		for n < len(words) && words[n] != "and" {
			n++
		}
		c, err := parseCondition(words[:n])
		if err != nil {
			return nil, err
		}
		if r.conditions = append(r.conditions, c); len(r.conditions) > MaxConditions {
			return nil, fmt.Errorf("must have at most %d conditions", MaxConditions)
		}
		if n == len(words) {
			break
		}
		if words = words[n+1:]; len(words) == 0 {
			return nil, fmt.Errorf("ends in \"and\" without a condition after it")
		}
	}
	var err error
	if r.action, err = parseAction(strings.Fields(right)); err != nil {
		return nil, err
	}
	if r.target().shared() && r.action.deed > deedChallenge {
		return nil, fmt.Errorf("can only log or challenge: it counts by address alone, and honest buyers share addresses; "+
			"add a condition per account or per device to %s", r.action.text())
	}
	return r, nil
}

func parseCondition(words []string) (c condition, err error) {
	text := strings.Join(words, " ")
	for s, name := range signalNames {
		rest, ok := strings.CutPrefix(text, name+" ")
		if !ok {
			continue
		}
		if c.signal = signal(s); c.signal == sigAge {
			return parseAge(c, rest)
		}
		return parseCounted(c, rest)
	}
	return c, fmt.Errorf("%q does not begin with a signal: %s", text, strings.Join(signalNames[:], ", "))
}

// parseCounted reads "per SCOPE > NUMBER in WINDOW".
func parseCounted(c condition, rest string) (condition, error) {
	w := strings.Fields(rest)
	name := signalNames[c.signal]
	if len(w) != 6 || w[0] != "per" || w[2] != ">" || w[4] != "in" {
		return c, fmt.Errorf("%s must be followed by: per account|device|address|subnet > NUMBER in TIME", name)
	}
	at := -1
	for i, s := range byScopes {
		if w[1] == string(s) {
			at = i
		}
	}
	c.by = by(max(at, 0))
	if at < 0 || c.signal == sigAccounts && c.by == byAccount || c.signal == sigDevices && c.by != byAccount {
		return c, fmt.Errorf("%s per %s is nothing that is counted", name, w[1])
	}
	low, high := 1.0, float64(MaxCount)
	switch {
	case c.signal == sigShare:
		low, high = 0.01, 0.99
	case c.signal.distinct():
		high = MaxDistinct
	}
	var err error
	if c.threshold, err = parseNumber(w[3], low, high); err != nil {
		return c, fmt.Errorf("the threshold of %s %w", name, err)
	}
	if c.signal != sigShare && c.threshold != math.Trunc(c.threshold) {
		return c, fmt.Errorf("the threshold of %s must be a whole number", name)
	}
	if c.window, err = parseSpan(w[5], MinWindow, MaxWindow); err != nil {
		return c, fmt.Errorf("the time of %s %w", name, err)
	}
	return c, nil
}

// parseAge reads "< TIME".
func parseAge(c condition, rest string) (condition, error) {
	w := strings.Fields(rest)
	if len(w) != 2 || w[0] != "<" {
		return c, fmt.Errorf("account age must be followed by: < TIME")
	}
	d, err := parseSpan(w[1], time.Second, 100*365*24*time.Hour)
	if err != nil {
		return c, fmt.Errorf("the time of account age %w", err)
	}
	c.by, c.threshold = byAccount, d.Seconds()
	return c, nil
}

func parseAction(w []string) (a action, err error) {
	switch {
	case len(w) == 1 && w[0] == "log":
	case len(w) == 1 && w[0] == "challenge":
		a.deed = deedChallenge
	case len(w) == 2 && w[0] == "slow":
		a.deed = deedSlow
		if a.factor, err = parseNumber(w[1], 1.1, MaxSlow); err != nil {
			return a, fmt.Errorf("the factor of slow %w", err)
		}
	case len(w) == 2 && w[0] == "block":
		a.deed = deedBlock
		if a.length, err = parseSpan(w[1], time.Second, MaxBlock); err != nil {
			return a, fmt.Errorf("the time of block %w", err)
		}
	default:
		return a, fmt.Errorf("the action after -> must be: log, challenge, slow FACTOR or block TIME")
	}
	return a, nil
}

func parseNumber(s string, low, high float64) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= low && v <= high) || strings.ContainsAny(s, "xXpP_") {
		return 0, fmt.Errorf("must be a number from %s to %s, and is %q", number(low), number(high), s)
	}
	// What is kept is what is printed.
	return strconv.ParseFloat(number(v), 64)
}

func number(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// parseSpan reads a time such as 30s, 10m, 2h or 7d, in whole seconds.
func parseSpan(s string, low, high time.Duration) (time.Duration, error) {
	wrong := fmt.Errorf("must be from %s to %s, such as 10m, and is %q", span(low), span(high), s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 31)
		if err != nil || n > 40_000 {
			return 0, wrong
		}
		s = strconv.FormatUint(n*24, 10) + "h"
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < low || d > high || d%time.Second != 0 {
		return 0, wrong
	}
	return d, nil
}

// span writes a time the way rules do.
func span(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}} {
		if d >= u.unit && d%u.unit == 0 {
			return strconv.FormatInt(int64(d/u.unit), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d/time.Second), 10) + "s"
}
