package burst

import (
	"testing"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
)

// The same bins where a bio was just given a request, as on kernels before 6.5:
// every kernel has block_getrq.
func TestRequestsByTheirBios(t *testing.T) {
	bpftest.ComparesFigures(t)
	t.Setenv(bpf.HooksVariable, "requests=getrq")
	t.Run("each", TestEveryRequestIsInItsMillisecond)
	t.Run("merged", TestMergedBiosAddTheirBytes)
}
