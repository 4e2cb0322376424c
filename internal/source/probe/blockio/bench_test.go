package blockio

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// BenchmarkBios tells what the programs cost a bio of a device that takes bios, as
// each layer does (zram: direct reads of 4 KiB), as the kernel measures its programs:
// where they return at once (what measuring itself takes, and is in the other figures),
// without and with bios followed through layers, and with what counts those that were
// missed.
func BenchmarkBios(b *testing.B) {
	for _, what := range []string{"nothing", "counted", "followed", "missed"} {
		b.Run(what, func(b *testing.B) {
			p, disk := attached(b, what != "counted", what != "nothing")
			if what == "missed" {
				if err := p.probe.Attach(onBioMissed); err != nil {
					b.Fatal(err)
				}
			}
			follow(b, p, what == "followed" || what == "missed")
			measured(b, func() {
				for b.Loop() {
					disk.read(b, 1)
				}
			})
		})
	}
}

// BenchmarkLayer tells what following costs a bio in one layer, which is what both
// programs take with it more than without: in turns of some milliseconds and with the
// same programs, for what else uses the processor's core and caches, and where programs
// come to lie, changes these times more than what is to be measured.
func BenchmarkLayer(b *testing.B) {
	for _, step := range []int64{1, 1619} { // the second is a prime: over the whole disk
		b.Run(fmt.Sprintf("every %d", step), func(b *testing.B) {
			p, disk := attached(b, true, true)
			stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
			if err != nil {
				b.Fatal(err)
			}
			defer stats.Close()
			var costs []float64
			for b.Loop() {
				var each [2]float64
				for on := range each {
					follow(b, p, on == 1)
					disk.read(b, step)
					before := runs(b)
					for range 4 {
						disk.read(b, step)
					}
					after := runs(b)
					for _, name := range []string{"on_bio", onBioDone} {
						each[on] += float64(after[name].Runtime-before[name].Runtime) / float64(after[name].RunCount-before[name].RunCount)
					}
				}
				costs = append(costs, each[1]-each[0])
			}
			slices.Sort(costs)
			b.ReportMetric(costs[len(costs)/4], "lower-quartile-ns")
			b.ReportMetric(costs[len(costs)/2], "median-ns")
			b.ReportMetric(costs[len(costs)*3/4], "upper-quartile-ns")
		})
	}
}

// attached opens the probe with what sees bios, and those that follow layers too if
// wanted, beside a disk that takes bios; it counts if that is wanted.
func attached(b testing.TB, layers, counts bool) (*Probe, memory) {
	b.Helper()
	s, err := open(host.Live(), func() bool { return true })
	if err != nil {
		bpftest.Need(b, "bpf", err)
	}
	b.Cleanup(func() { s.Close() })
	p := s.(*Probe)
	if layers && !p.layers.On() {
		for _, name := range []string{"on_remap", "on_split", onBioDone} {
			if err := p.probe.Attach(name); err != nil {
				b.Fatal(err)
			}
		}
	}
	disk := zram(b)
	if counts {
		bpftest.Collect(b, s, sample.First, sample.NewRecorder(time.Now()))
	}
	return p, disk
}

func follow(b testing.TB, p *Probe, on bool) {
	b.Helper()
	value := uint32(0)
	if on {
		value = 1
	}
	if err := p.probe.SetVariable("follow", value); err != nil {
		b.Fatal(err)
	}
}

type memory struct {
	name string
	fd   int
	buf  []byte
}

const reads = 1024 // of a memory at a time

// read reads so many blocks, each so many blocks behind the one before.
func (m memory) read(b testing.TB, step int64) {
	b.Helper()
	for i := range int64(reads) {
		if _, err := unix.Pread(m.fd, m.buf, i*step%4096*4096); err != nil {
			b.Fatal(err)
		}
	}
}

// zram makes a disk of compressed memory, of which nothing is written.
func zram(b testing.TB) memory {
	b.Helper()
	number, err := os.ReadFile("/sys/class/zram-control/hot_add") // reading adds one
	if err != nil {
		bpftest.Need(b, "zram", err)
	}
	n := strings.TrimSpace(string(number))
	b.Cleanup(func() {
		if err := os.WriteFile("/sys/class/zram-control/hot_remove", []byte(n), 0); err != nil {
			b.Error(err)
		}
	})
	if err := os.WriteFile("/sys/block/zram"+n+"/disksize", []byte("16M"), 0); err != nil {
		b.Fatal(err)
	}
	fd, err := unix.Open("/dev/zram"+n, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { unix.Close(fd) })
	buf, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		b.Fatal(err)
	}
	buf[0] = 1
	b.Cleanup(func() { unix.Munmap(buf) })
	return memory{"zram" + n, fd, buf}
}

// measured reports what a run of each program of this process took.
func measured(b *testing.B, f func()) {
	b.Helper()
	stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		b.Fatal(err)
	}
	defer stats.Close()
	before := runs(b)
	f()
	after := runs(b)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		n := after[name].RunCount - before[name].RunCount
		if n < 1000 {
			continue
		}
		b.ReportMetric(float64(after[name].Runtime-before[name].Runtime)/float64(n), name+"-ns")
	}
}

// runs are the statistics of the programs that this process has attached.
func runs(b *testing.B) map[string]ebpf.ProgramStats {
	b.Helper()
	files, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		b.Fatal(err)
	}
	all := map[string]ebpf.ProgramStats{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || !strings.Contains(string(text), "link_type") {
			continue // closed meanwhile, or not an attachment
		}
		_, rest, _ := strings.Cut(string(text), "prog_id:\t")
		id, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.ParseUint(strings.TrimSpace(id), 10, 32)
		if err != nil {
			b.Fatal(err)
		}
		p, err := ebpf.NewProgramFromID(ebpf.ProgramID(n))
		if err != nil {
			b.Fatal(err)
		}
		info, err := p.Info()
		if err != nil {
			b.Fatal(err)
		}
		s, err := p.Stats()
		if err != nil {
			b.Fatal(err)
		}
		all[info.Name] = *s
		p.Close()
	}
	return all
}
