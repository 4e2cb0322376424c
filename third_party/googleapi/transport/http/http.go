// Package http stands in for requests to Google's cloud: see ../../../README.md.
package http

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/api/option"
)

// NewTransport refuses.
func NewTransport(context.Context, http.RoundTripper, ...option.ClientOption) (http.RoundTripper, error) {
	return nil, errors.New("requests to Google's cloud are not built in")
}
