package ask

import "fmt"

// Arguments checks that a command was given what it is about, and no more: names are
// what its usage calls them, the first least of which it needs.
func Arguments(args []string, least int, next string, names ...string) error {
	switch {
	case len(args) < least:
		return &Error{Err: fmt.Errorf("reading the arguments: %s is missing", names[len(args)]), Next: next}
	case len(args) > len(names):
		return &Error{Err: fmt.Errorf("reading the arguments: %q is an unexpected argument", args[len(names)]), Next: next}
	}
	return nil
}
