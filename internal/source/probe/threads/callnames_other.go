//go:build !amd64

package threads

// System calls are numbers here.
const firstCalls, laterCalls = "", ""
