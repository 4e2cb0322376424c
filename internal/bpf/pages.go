package bpf

import (
	"fmt"
	"os"
)

// CountsPages tells why programs that count pages cannot count those of this
// kernel: they take them to be of 4 KiB.
func CountsPages() error {
	const size = 4096
	if n := os.Getpagesize(); n != size {
		return fmt.Errorf("%w: its pages have %d KiB; only pages of 4 KiB can be counted", ErrNotSupported, n>>10)
	}
	return nil
}
