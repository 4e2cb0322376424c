package cli

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// hostileComm is as long as the kernel lets it be: 15 bytes.
const hostileComm = "\x1b[2J\n\xff) S \u202eab"

// readUnderAHostileName reads a file, dropping it from the cache every time,
// until it is killed.
func readUnderAHostileName(path string) {
	if err := os.WriteFile("/proc/self/comm", []byte(hostileComm), 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	f, err := os.Open(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	buf := make([]byte, 4096)
	for began := time.Now(); time.Since(began) < time.Minute; {
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			os.Exit(99)
		}
		for off := int64(0); ; off += int64(len(buf)) {
			if n, err := f.ReadAt(buf, off); n == 0 || err != nil {
				break
			}
		}
	}
	os.Exit(0)
}
