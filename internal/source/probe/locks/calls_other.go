//go:build !amd64

package locks

func oldCallNames() map[int]string { return nil }
