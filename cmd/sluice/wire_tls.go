package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/sluice-sale/sluice/internal/config"
)

func redisTLS(c *config.Config) (*tls.Config, error) {
	return trust("redis", c.Redis.CA, c.Redis.Cert, c.Redis.Key)
}

func mysqlTLS(c *config.Config) (*tls.Config, error) {
	return trust("mysql", c.MySQL.CA, c.MySQL.Cert, c.MySQL.Key)
}

func rabbitTLS(c *config.Config) (*tls.Config, error) {
	return trust("rabbitmq", c.RabbitMQ.CA, c.RabbitMQ.Cert, c.RabbitMQ.Key)
}

// trust reads the certificates that a store is believed by, those of the system where none are named, and the one that
// this node shows where it is asked for one. nil where nothing is set: the driver's own way. An error names the
// setting.
func trust(store, ca, cert, key string) (*tls.Config, error) {
	if ca == "" && cert == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("%s.ca: %w", store, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s.ca: %s has no certificate", store, ca)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s.cert and .key: %w", store, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
