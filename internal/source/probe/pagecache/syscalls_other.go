//go:build !amd64

package pagecache

// nameCalls are calls with names that only older architectures have.
func nameCalls() []int { return nil }
