package main

import (
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sluice-sale/sluice"
	"github.com/sluice-sale/sluice/internal/config"
)

// tokenCmd makes a buyer's token.
type tokenCmd struct {
	User   string            `required:"" placeholder:"U" help:"The user id, the token's sub: 1 to 64 bytes."`
	Device string            `placeholder:"D" help:"The device id, the token's did."`
	TTL    time.Duration     `default:"24h" help:"How long it is valid."`
	Claim  map[string]string `placeholder:"NAME=VALUE" help:"A further claim of the token; may be given more than once."`
	dataFlags
}

// Run prints it.
func (c *tokenCmd) Run(a *app) error {
	switch {
	case len(c.User) == 0 || len(c.User) > sluice.MaxUserID:
		return usage("--user has %d bytes: 1 to %d are allowed", len(c.User), sluice.MaxUserID)
	case len(c.Device) > sluice.MaxDeviceID:
		return usage("--device has %d bytes: at most %d are allowed", len(c.Device), sluice.MaxDeviceID)
	case c.TTL <= 0:
		return usage("--ttl has to be longer than nothing")
	}
	cfg, err := c.load(a)
	if err != nil {
		return err
	}
	if err := cfg.ReadSecrets(); err != nil {
		return err
	}
	if len(cfg.JWT.Secret) == 0 {
		return &failure{code: exitFailed, next: "sluice serve --data " + cfg.Data,
			err: fmt.Errorf("there is no secret to sign with: SLUICE_JWT_SECRET is not set, and %s has none (serve makes it)",
				cfg.SecretsPath())}
	}
	expires := time.Now().Add(c.TTL)
	token, err := buyerToken(cfg, c.User, c.Device, c.Claim, expires)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{
			"token": token, "user_id": c.User, "expires_at": expires.UTC().Format(time.RFC3339),
		})
	}
	_, err = fmt.Fprintln(a.out, token)
	return err
}

// buyerToken signs a token with the first of the secrets; further are claims beyond those that every token has.
func buyerToken(
	cfg *config.Loaded, user, device string, further map[string]string, expires time.Time,
) (string, error) {
	claims := jwt.MapClaims{}
	for k, v := range further {
		claims[k] = v
	}
	claims["sub"], claims["iat"], claims["exp"] = user, time.Now().Unix(), expires.Unix()
	for name, v := range map[string]string{"did": device, "iss": cfg.JWT.Issuer, "aud": cfg.JWT.Audience} {
		if v != "" {
			claims[name] = v
		}
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(cfg.JWT.Secret[0].Reveal()))
	if err != nil {
		return "", fmt.Errorf("sign the token: %w", err)
	}
	return token, nil
}
