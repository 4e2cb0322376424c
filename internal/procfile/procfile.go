// Package procfile parses files of the kernel. Its parsers are pure: bytes in,
// a struct out, an error that names the line. Sources use them on the files of
// this machine, and internal/parse on what people pasted of another's.
package procfile
