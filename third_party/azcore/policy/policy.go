// Package policy stands in for options of requests: see ../../README.md.
package policy

// TokenRequestOptions say what a token would be for.
type TokenRequestOptions struct{ Scopes []string }
