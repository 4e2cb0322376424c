package parse

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkRead is how fast outputs, and prose without any, are read.
func BenchmarkRead(b *testing.B) {
	for _, name := range []string{"iostat/testdata/new-x.txt", "vmstat/testdata/plain.txt", "blkparse/testdata/default.txt", "fio/testdata/mixed-3.33.txt", "prose"} {
		text := strings.Repeat("The quick brown fox jumps over the lazy dog, 12 times a second. It took 3.5 hours and 20 MB.\n", 20)
		if name != "prose" {
			x, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			text = string(x)
		}
		text = strings.Repeat(text, 1<<20/len(text))
		b.Run(filepath.Base(filepath.Dir(filepath.Dir(name)))+filepath.Base(name), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r := Reader{Tools: List()}
				if _, err := r.Read(context.Background(), "-", strings.NewReader(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
