package proctest

import (
	"os"
	"testing"
)

// Sleepers starts n real processes (sleep(1)) that end with the benchmark: the
// cost of a pass is the kernel's, which a synthetic tree would not show.
func Sleepers(b *testing.B, n int) {
	b.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	all := make([]*os.Process, 0, n)
	b.Cleanup(func() {
		for _, p := range all {
			p.Kill()
		}
		for _, p := range all {
			p.Wait()
		}
	})
	for range n {
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "600"}, &os.ProcAttr{Files: []*os.File{null, null, null}})
		if err != nil {
			b.Fatalf("only %d of %d processes could be started: %v", len(all), n, err)
		}
		all = append(all, p)
	}
}
