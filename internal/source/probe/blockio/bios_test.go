package blockio

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Bytes of files and direct reads are the same to the byte where bios are counted at
// the queue, and where they are counted when a request begins or takes them in: reads
// past the page cache, through it, and writes that are merged.
func TestBiosAtTheQueueAndInRequests(t *testing.T) {
	const direct, pages = 499, 1511 // primes
	for name, atQueue := range map[string][2]bool{"at the queue": {true, true}, "at the queue, loaded late": {false, true}, "in requests": {}} {
		t.Run(name, func(t *testing.T) {
			asked := 0 // the first time before the programs are loaded
			past, through := bpftest.File(t, 4*direct), bpftest.File(t, pages)
			f, err := os.OpenFile(bpftest.File(t, 1), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			buf, offsets := bpftest.Aligned(t, 4096), stride(direct, 16384)
			opens := func(h *host.Host) (sample.Source, error) {
				s, err := open(h, func() bool { asked++; return atQueue[min(asked, 2)-1] })
				if err == nil && atQueue[0] == atQueue[1] && !h.Stacked() && slices.Contains(s.(*Probe).probe.Hooked(), "on_remap") {
					t.Error("what follows layers is loaded, where no disk lies on another")
				}
				return s, err
			}
			w, hidden := bpftest.ObserveSeen(t, 4096, opens, func() {
				bpftest.Drop(t, through)
				directReads(t, past, buf, offsets)
				directReads(t, past, buf, offsets)
				if _, err := os.ReadFile(through); err != nil {
					t.Fatal(err)
				}
				// every other page first, and then those between them, which are merged
				for _, from := range []int64{0, 1} {
					for i := from; i < pages; i += 2 {
						if _, err := f.WriteAt(make([]byte, 4096), i*4096); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := unix.Fdatasync(int(f.Fd())); err != nil {
					t.Fatal(err)
				}
			})
			self := sample.Entity{PID: os.Getpid()}
			for m, want := range map[sample.Metric]float64{sample.BlockDirect: 2 * direct * 4096, sample.BlockDirectAgn: direct * 4096} {
				if got, _ := w.Sum(m, self); got > want || got < want-hidden*4096 {
					t.Errorf("%s is %g, want %g; %g completions were hidden", m, got, want, hidden)
				}
			}
			for path, class := range map[string]string{through: "read", f.Name(): "write"} {
				id := bpftest.ID(t, path)
				got, _ := w.SumWhere(sample.BlockFileBytes, func(e sample.Entity) bool { return e.File == id && e.Class == class })
				if got != pages*4096 {
					t.Errorf("%s of %g bytes of the file, want %d", class, got, pages*4096)
				}
			}
		})
	}
}
