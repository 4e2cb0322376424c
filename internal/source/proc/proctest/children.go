package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// ChildrenThatEnd has children of a shell end in a window of a source, at one time
// with another shell between: of what they read, which the kernel adds to the
// figures of the shell, it demands that what was read in the window counts.
func ChildrenThatEnd(t *testing.T, open func(*host.Host) (sample.Source, error), h *host.Host) {
	const before, within, few = 3_000_017, 500_009, 60_000 // bytes; the last for what shells read by themselves
	name := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(name, make([]byte, before), 0o600); err != nil {
		t.Fatal(err)
	}
	child := fmt.Sprintf(`head -c %d "$0" >/dev/null; echo read; read line; head -c %d "$0" >/dev/null; true`, before, within)
	for what, script := range map[string]string{
		"waited for":                          `sh -c '` + child + `' "$0"`,
		"waited for by one that ends as well": `sh -c 'sh -c "$1" "$0"; true' "$0" '` + child + `'`,
	} {
		t.Run(what, func(t *testing.T) {
			c := start(t, os.Environ(), "/bin/sh", "-c", script+"; echo done; read line; true", name)
			c.says(t, "read")
			s, err := open(h)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			Collect(t, s, sample.First)
			c.tell(t)
			c.says(t, "done")
			w := Collect(t, s, sample.Last)
			got, ok := w.Value(sample.ProcReadChars, sample.Entity{PID: c.PID})
			if !ok || got < within || got > within+few {
				t.Errorf("the shell read %v bytes, %v; want %v and a little", got, ok, within)
			}
		})
	}
}
