//go:build unix

package servers

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
	"os"
	"path/filepath"
	"testing"
	"time"
)

// certificate writes ca.pem, cert.pem and key.pem into a folder: an authority of its own, and a certificate of it for
// the loopback interface, as a server and as a client.
func certificate(t testing.TB, dir string) (cert, key string) {
	t.Helper()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of " + filepath.Base(dir)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "sluice tests"},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	var keys [2]*ecdsa.PrivateKey
	var public [2][]byte
	for i, c := range []*x509.Certificate{ca, leaf} {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
		der, err := x509.CreateCertificate(rand.Reader, c, ca, &keys[i].PublicKey, keys[0])
		if err != nil {
			t.Fatal(err)
		}
		public[i] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	raw, err := x509.MarshalPKCS8PrivateKey(keys[1])
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, content := range map[string][]byte{
		cert: public[1], filepath.Join(dir, "ca.pem"): public[0],
		key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// Strangers gives an authority that no server has, with a certificate of it and its key: PEM files.
func Strangers(t testing.TB) (ca, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = certificate(t, dir)
	return filepath.Join(dir, "ca.pem"), cert, key
}

// Trust is a client's side of TLS that believes the authority in a PEM file.
func Trust(t testing.TB, ca string) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatalf("servers: %s has no certificate", ca)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
