package trace

import (
	"os"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// What comes after the program at the completion tells of what that one has not told of,
// and of nothing else: of all where that one is never run, and of nothing where it is.
func TestCompletionsThatAreMissed(t *testing.T) {
	const count = 1013 // prime
	path := bpftest.File(t, 4*count)
	for _, both := range []bool{true, false} {
		ios, l := record(t, Options{PID: os.Getpid()}, func() { directReads(t, path, count, 4096, 16384) }, func(p *Probe) {
			if err := p.probe.Attach(onMissed); err != nil {
				t.Fatal(err)
			}
			if !both {
				if err := p.probe.Detach(onComplete); err != nil {
					t.Fatal(err)
				}
			}
		})
		if len(ios) != count || lost(l) != 0 {
			t.Errorf("with both programs %v: %d I/Os and %+v, want %d and nothing lost", both, len(ios), l, count)
		}
		for i := range ios {
			if io := &ios[i]; io.Bytes != 4096 || io.Flags&sample.IODirect == 0 || io.File != path || io.Device <= 0 {
				t.Fatalf("with both programs %v: I/O %d is %+v", both, i, io)
			}
		}
	}
}
