package trace

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
)

// The functions that direct I/O of devices ends in were others before 5.18, and the
// one of 5.10 stands in for what 5.16 brought.
func TestEndings(t *testing.T) {
	for name, c := range map[string]struct {
		symbols     string
		async, wait uint64
	}{
		"5.10":                  {"0000000000000010 t blkdev_bio_end_io_simple\n0000000000000020 t submit_bio_wait_endio\n", 0x10, 0x20},
		"5.17":                  {"0000000000000030 t blkdev_bio_end_io_async\n0000000000000010 t blkdev_bio_end_io_simple\n0000000000000020 t submit_bio_wait_endio\n", 0x30, 0x20},
		"5.17, the other order": {"0000000000000010 t blkdev_bio_end_io_simple\n0000000000000030 t blkdev_bio_end_io_async\n", 0x30, 0},
		"6.12":                  {"0000000000000030 t blkdev_bio_end_io_async\n0000000000000020 t submit_bio_wait_endio\n", 0x30, 0x20},
	} {
		root := t.TempDir()
		if err := os.Mkdir(filepath.Join(root, "proc"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "proc", "kallsyms"), []byte(c.symbols), 0o600); err != nil {
			t.Fatal(err)
		}
		if at := endings(host.Tree(root, time.Now)); at["device_async_end"] != c.async || at["wait_end"] != c.wait {
			t.Errorf("%s: %x", name, at)
		}
	}
}
