// Package scenarios holds situations with a known cause, one to a folder, and
// the test that demands the right verdict on each.
//
//	go test ./scenarios -v                          all that this machine can run
//	go test ./scenarios -v -scenario 'cold|swap'    some
//	go test ./scenarios -repeat 5                   each five times, every one to be right
//	go test ./scenarios -window 5s                  looking for as long as lab score does
//	go test ./scenarios -reports DIR                keep reports and accounts
//
// The fields of a scenario.yaml are those of lab.Scenario in
// internal/lab/scenario.go; a scenario of one's own needs a folder with that
// file, and nothing else.
package scenarios

import "embed"

// Files are the scenarios, NAME/scenario.yaml each.
//
//go:embed */scenario.yaml
var Files embed.FS
