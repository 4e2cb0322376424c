// Package require is what tests everywhere need: the end of one whose preparation fails,
// and what is printed while another reads it.
package require

import "testing"

// NoError ends the test if there is an error.
func NoError(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}
