// Package rest stands in for a client of Kubernetes: see ../../README.md.
package rest

import "context"

// WarningHandlerWithContext would be told of warnings in answers.
type WarningHandlerWithContext interface {
	HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string)
}

// WarningLogger says nothing: there are no answers.
type WarningLogger struct{}

// HandleWarningHeaderWithContext does nothing.
func (WarningLogger) HandleWarningHeaderWithContext(context.Context, int, string, string) {}
