package blockio

import (
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"iocause/internal/bpf/bpftest"
)

// BenchmarkFloor tells what a bio of a device that takes bios costs with any program where
// it is queued and where it is complete: with programs that return at once, and with some
// that read the clock once each and do nothing else. Direct reads of 4 KiB take so much
// longer than without programs, in turns of some milliseconds.
func BenchmarkFloor(b *testing.B) {
	disk := zram(b)
	var took [3][]float64 // ns a read: without, with programs that return at once, with those that read the clock
	programs := [3][]*ebpf.Program{nil, trivial(b), trivial(b, asm.FnKtimeGetNs.Call())}
	for b.Loop() {
		for i, all := range programs {
			var links []link.Link
			for _, p := range all {
				l, err := link.AttachTracing(link.TracingOptions{Program: p, AttachType: ebpf.AttachTraceRawTp})
				bpftest.Need(b, "bpf", err)
				links = append(links, l)
			}
			disk.read(b, 1)
			from := time.Now()
			for range 4 {
				disk.read(b, 1)
			}
			took[i] = append(took[i], float64(time.Since(from).Nanoseconds())/4096)
			for _, l := range links {
				l.Close()
			}
		}
	}
	median := func(of func(i int) float64) float64 {
		var all []float64
		for i := range took[0] {
			all = append(all, of(i))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	b.ReportMetric(median(func(i int) float64 { return took[0][i] }), "a-read-ns")
	b.ReportMetric(median(func(i int) float64 { return took[1][i] - took[0][i] }), "calls-ns")
	b.ReportMetric(median(func(i int) float64 { return took[2][i] - took[1][i] }), "clocks-ns")
}

// trivial loads a program for both, of these instructions and a return.
func trivial(b *testing.B, does ...asm.Instruction) (all []*ebpf.Program) {
	b.Helper()
	for _, tracepoint := range []string{"block_bio_queue", "block_bio_complete"} {
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: tracepoint, License: "GPL",
			Instructions: append(slices.Clone(asm.Instructions(does)), asm.Mov.Imm(asm.R0, 0), asm.Return()),
		})
		bpftest.Need(b, "bpf", err)
		b.Cleanup(func() { p.Close() })
		all = append(all, p)
	}
	return all
}
