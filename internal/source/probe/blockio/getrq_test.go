package blockio

import (
	"testing"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
)

// The same figures where requests are found by their bios, as on kernels before
// 6.5: every kernel has block_getrq.
func TestRequestsByTheirBios(t *testing.T) {
	bpftest.ComparesFigures(t)
	t.Setenv(bpf.HooksVariable, "requests=getrq")
	t.Run("direct reads", TestDirectReadsAreCountedOneByOne)
	t.Run("sequential", TestSequentialReads)
	t.Run("cached reads", TestCachedReadsByFile)
	t.Run("depth", TestDepth)
	t.Run("rest", TestRowsThatRest)
}
