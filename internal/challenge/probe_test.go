package challenge_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/challenge"
)

// TestProbe: what can be used is told from what cannot, and the secret is in no error.
func TestProbe(t *testing.T) {
	s := newService(t)
	good := challenge.SiteConfig{Provider: challenge.Turnstile, SiteKey: "0xsite", Secret: s.secret, URL: s.URL,
		Timeout: 500 * time.Millisecond}
	if err := challenge.ProbeSite(t.Context(), good); err != nil {
		t.Errorf("a service that is right: %v", err)
	}
	wrong := good
	wrong.Secret = "another-secret"
	err := challenge.ProbeSite(t.Context(), wrong)
	said := fmt.Sprint(err)
	if !strings.Contains(said, "invalid-input-secret") || strings.Contains(said, wrong.Secret) {
		t.Errorf("a wrong secret: %v", err)
	}
	insecure := good
	insecure.URL = "http://shop.example/siteverify"
	if err := challenge.ProbeSite(t.Context(), insecure); !errors.Is(err, sluice.ErrInvalid) {
		t.Errorf("a URL without TLS: %v", err)
	}
	d := s.desk(newBench(t), nil)
	for _, kind := range []sluice.ChallengeType{"", sluice.ChallengePoW, sluice.ChallengeSlider, sluice.ChallengeImage,
		sluice.ChallengeSiteverify} {
		if err := d.Probe(t.Context(), kind); err != nil {
			t.Errorf("%q: %v", kind, err)
		}
	}
	bare := newBench(t).desk(nil)
	if err := bare.Probe(t.Context(), sluice.ChallengeSiteverify); !errors.Is(err, challenge.ErrNoService) {
		t.Errorf("no service: %v", err)
	}
	s.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	said = fmt.Sprint(d.Probe(t.Context(), sluice.ChallengeSiteverify))
	if !strings.Contains(said, "502") {
		t.Errorf("a service in trouble: %s", said)
	}
	s.Close()
	if err := d.Probe(t.Context(), sluice.ChallengeSiteverify); err == nil {
		t.Error("a service that is away is taken for one that is there")
	}
}

// TestPictureFolders: a folder without a picture is found before the start.
func TestPictureFolders(t *testing.T) {
	if n, err := challenge.Pictures(""); err != nil || n != 0 {
		t.Errorf("none: %d, %v", n, err)
	}
	for _, folder := range []string{t.TempDir(), t.TempDir() + "/none"} {
		if _, err := challenge.Pictures(folder); !errors.Is(err, sluice.ErrInvalid) {
			t.Errorf("%s: %v", folder, err)
		}
	}
}
