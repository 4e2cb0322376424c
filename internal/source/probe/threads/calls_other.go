//go:build !amd64

package threads

// oldCalls are the idle calls that newer architectures do not have.
func oldCalls() []int { return nil }
