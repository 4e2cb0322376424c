// Package option stands in for options of Google's clients: see ../../README.md.
package option

// ClientOption is nothing here.
type ClientOption struct{}

// ServiceAccount is a kind of credentials.
const ServiceAccount = "service_account"

// WithScopes says what for.
func WithScopes(...string) ClientOption { return ClientOption{} }

// WithAuthCredentialsFile says by what.
func WithAuthCredentialsFile(_, _ string) ClientOption { return ClientOption{} }

// WithCredentials says by whom.
func WithCredentials(any) ClientOption { return ClientOption{} }
