package gate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
)

// minRSABits is the smallest RSA key that is taken.
const minRSABits = 2048

// key is one verification key. The signing method belongs to the key, not to the token: a token that names another
// method never meets the key, so that a public key cannot serve as a secret.
type key struct {
	id     string // the kid; empty for a key that serves any kid
	method jwt.SigningMethod
	public any // []byte, *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// keySet is a snapshot of all keys. Its address tells generations apart: a token verified by an older set is verified
// again.
type keySet struct{ keys []key }

// newKey sorts a key by its type. Only the four methods are taken: HS256, RS256, ES256 on P-256, EdDSA on Ed25519.
func newKey(id string, public any) (key, error) {
	switch k := public.(type) {
	case []byte:
		if len(k) == 0 {
			return key{}, fmt.Errorf("gate: an empty secret: %w", sluice.ErrInvalid)
		}
		secret := bytes.Clone(k)
		return key{id, newHS256(secret), secret}, nil
	case *rsa.PublicKey:
		if k.N.BitLen() < minRSABits {
			return key{}, fmt.Errorf("gate: an RSA key of %d bits: %w", k.N.BitLen(), sluice.ErrInvalid)
		}
		return key{id, jwt.SigningMethodRS256, k}, nil
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() {
			return key{}, fmt.Errorf("gate: an ECDSA key that is not on P-256: %w", sluice.ErrInvalid)
		}
		return key{id, jwt.SigningMethodES256, k}, nil
	case ed25519.PublicKey:
		return key{id, jwt.SigningMethodEdDSA, k}, nil
	}
	return key{}, fmt.Errorf("gate: a key of type %T: %w", public, sluice.ErrInvalid)
}

// parseKeys reads PEM blocks, a JWK set or a single JWK. Secrets are taken from a set only where symmetric says so:
// what is fetched from a URL is public. PEM must be readable as a whole; in a set, keys of kinds that nobody here can
// use are passed over, as long as one is left.
func parseKeys(raw []byte, symmetric bool) ([]key, error) {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return parseJWKs(raw, symmetric)
	}
	var keys []key
	for {
		var b *pem.Block
		if b, raw = pem.Decode(raw); b == nil {
			break
		}
		public, err := parsePEM(b)
		if err != nil {
			return nil, fmt.Errorf("gate: PEM block %q: %w: %w", b.Type, err, sluice.ErrInvalid)
		}
		k, err := newKey("", public)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("gate: neither PEM blocks nor a JWK set: %w", sluice.ErrInvalid)
	}
	return keys, nil
}

func parsePEM(b *pem.Block) (any, error) {
	switch b.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(b.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(b.Bytes)
	case "CERTIFICATE":
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, err
		}
		return c.PublicKey, nil
	}
	return nil, fmt.Errorf("not a public key or a certificate")
}

func parseJWKs(raw []byte, symmetric bool) ([]key, error) {
	var set struct {
		jwkset.JWKMarshal
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("gate: JWK set: %w: %w", err, sluice.ErrInvalid)
	}
	if set.Keys == nil && set.KTY != "" {
		set.Keys = []json.RawMessage{raw}
	}
	var keys []key
	var last error
	for _, one := range set.Keys {
		k, err := parseJWK(one, symmetric)
		if err != nil {
			last = err
			continue
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("gate: a JWK set without a usable key: %w (last: %w)", sluice.ErrInvalid, last)
	}
	return keys, nil
}

func parseJWK(raw json.RawMessage, symmetric bool) (key, error) {
	var m jwkset.JWKMarshal
	if err := json.Unmarshal(raw, &m); err != nil {
		return key{}, err
	}
	if m.USE != "" && m.USE != jwkset.UseSig {
		return key{}, fmt.Errorf("gate: JWK %q is not for signatures", m.KID)
	}
	parsed, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{Private: symmetric}, jwkset.JWKValidateOptions{})
	if err != nil {
		return key{}, err
	}
	public := parsed.Key()
	if private, ok := public.(interface{ Public() crypto.PublicKey }); ok {
		public = private.Public()
	}
	if _, secret := public.([]byte); secret && !symmetric {
		return key{}, fmt.Errorf("gate: JWK %q is a secret in a public set", m.KID)
	}
	k, err := newKey(m.KID, public)
	if err == nil && m.ALG != "" && string(m.ALG) != k.method.Alg() {
		return key{}, fmt.Errorf("gate: JWK %q is for %s", m.KID, m.ALG)
	}
	return k, err
}
