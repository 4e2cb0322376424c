package blockio

import (
	"slices"
	"strings"
	"testing"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
)

// The same figures where requests are found by their bios, as on kernels before
// 6.5: every kernel has block_getrq.
func TestRequestsByTheirBios(t *testing.T) {
	bpftest.ComparesFigures(t)
	t.Setenv(bpf.HooksVariable, "requests=getrq")
	t.Run("direct reads", TestDirectReadsAreCountedOneByOne)
	t.Run("sequential", TestSequentialReads)
	t.Run("cached reads", TestCachedReadsByFile)
	t.Run("depth", func(t *testing.T) {
		if preempted(t) {
			t.Skip("since 7.0 the kernel preempts programs at tracepoints, and passes over those at block_getrq, which is for kernels before 6.5 and is not attached twice")
		}
		TestDepth(t)
	})
	t.Run("rest", TestRowsThatRest)
}

// preempted tells whether the kernel may preempt programs: then there are two of some.
func preempted(t *testing.T) bool {
	t.Helper()
	s, err := Open(host.Live())
	bpftest.Need(t, "bpf", err)
	defer s.Close()
	return slices.ContainsFunc(s.(*Probe).probe.Hooked(), func(name string) bool { return strings.HasSuffix(name, "_again") })
}
