//go:build !amd64 && !arm64

package threads

// The first system calls are numbers here.
const firstCalls = ""
