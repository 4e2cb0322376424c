// Package ask has what people put questions with: the error of those that make no
// sense, wherever that is found out (the command line ends with the status of bad
// usage for it), and values of flags: sizes, times, numbers, one of some words.
package ask

// Error is a question that makes no sense as it was put.
type Error struct {
	Err  error
	Next string // what to do instead
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() + "; " + e.Next }

// Unwrap gives what is wrong without the advice.
func (e *Error) Unwrap() error { return e.Err }
