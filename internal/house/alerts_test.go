package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAlerts: an alert that names a metric or a runbook that is not there never fires, or helps nobody.
func TestAlerts(t *testing.T) {
	root := filepath.Join("..", "..")
	rules, err := os.ReadFile(filepath.Join(root, "deploy", "prometheus", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	reference, err := os.ReadFile(filepath.Join(root, "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	metrics := regexp.MustCompile(`sluice_[a-z_]+`).FindAllString(string(rules), -1)
	if len(metrics) < 10 {
		t.Errorf("only %d metrics are watched", len(metrics))
	}
	for _, m := range metrics {
		name := m
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, part)
		}
		if !strings.Contains(string(reference), "`"+name+"`") {
			t.Errorf("there is no metric %s", m)
		}
	}
	books := regexp.MustCompile(`docs/runbooks/[a-z-]+\.md`).FindAllString(string(rules), -1)
	if alerts := strings.Count(string(rules), "- alert:"); len(books) != alerts {
		t.Errorf("%d alerts, %d runbooks", alerts, len(books))
	}
	for _, b := range books {
		if _, err := os.Stat(filepath.Join(root, b)); err != nil {
			t.Errorf("an alert names a runbook that is not there: %v", err)
		}
	}
}
