package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-sale/sluice/test/e2e"
)

// certificate writes a self-signed pair for 127.0.0.1 with this serial number, and gives its PEM.
func certificate(t *testing.T, dir string, serial int64) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "sluice e2e"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
	for name, text := range map[string][]byte{"cert.pem": cert, "key.pem": private} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert
}

// serial gives the serial number of what the listener presents.
func serial(t *testing.T, addr string) int64 {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestTLSOnBothListenersAndReload(t *testing.T) {
	dir := t.TempDir()
	cert := certificate(t, dir, 1)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	s := e2e.Start(t, e2e.Options{
		Scheme: "https",
		Client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}},
		Args: []string{"--tls-cert", certFile, "--tls-key", keyFile, "--admin-tls-cert", certFile,
			"--admin-tls-key", keyFile},
	})
	s.Create(t, e2e.Goods("spring", 5, 1, nil))
	if c := s.Claim(t, "spring", "alice", "r1", 1); c.Code != "CONFIRMED" {
		t.Errorf("a claim over TLS: %+v", c)
	}
	if r := s.CLI(t, "", "verify", "--admin-ca", certFile); r.Code != 0 || !strings.Contains(r.Out, "ok") {
		t.Errorf("verify over TLS: %+v", r)
	}
	if r := s.CLI(t, "", "verify"); r.Code != 3 {
		t.Errorf("an unknown issuer: %+v", r)
	}
	public, operators := strings.TrimPrefix(s.URL, "https://"), strings.TrimPrefix(s.AdminURL, "https://")
	plain, err := http.Get("http://" + public + "/healthz")
	if err == nil {
		defer plain.Body.Close()
		if plain.StatusCode == http.StatusOK {
			t.Error("plain HTTP is answered")
		}
	}
	certificate(t, dir, 2)
	s.Signal(t, syscall.SIGHUP)
	for name, addr := range map[string]string{"public": public, "operators": operators} {
		if !s.Eventually(10*time.Second, func() bool { return serial(t, addr) == 2 }) {
			t.Errorf("%s: the new certificate is not served after SIGHUP", name)
		}
	}
	certificate(t, dir, 3) // without a signal: the files are looked at
	if !s.Eventually(15*time.Second, func() bool { return serial(t, public) == 3 }) {
		t.Error("the new certificate is not served by itself")
	}
	if err := os.WriteFile(certFile, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Signal(t, syscall.SIGHUP)
	if !s.Eventually(10*time.Second, func() bool { return strings.Contains(s.Log(), "the old one stays") }) {
		t.Error("a broken certificate is not reported")
	}
	if n := serial(t, public); n != 3 {
		t.Errorf("certificate %d is served after a broken one, want 3", n)
	}
}
