// Package outbound has what all requests have that iocause makes over HTTP, to
// addresses that people configured.
package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// Client follows no redirect, for what it sends is meant for the address that was
// given, and checks certificates: with those in a file (PEM), or with the system's
// where caFile is "".
func Client(caFile string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("reading the certificates: %w", err)
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading the certificates: %s holds none (PEM)", caFile)
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// Introduce says in a request who asks, and shows the bearer token of a file, "" for
// none. It is read each time: it may be changed.
func Introduce(r *http.Request, tokenFile string) error {
	r.Header.Set("User-Agent", "iocause")
	if tokenFile == "" {
		return nil
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return fmt.Errorf("reading the token: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return nil
}

// Host is whom an address is of, without what may be a secret: its path and query.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	return u.Host
}

// Unquoted is an error without the address that package http puts into it.
func Unquoted(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
