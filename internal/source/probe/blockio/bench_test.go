package blockio

import (
	"errors"
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
// without and with bios followed through layers.
func BenchmarkBios(b *testing.B) {
	for _, what := range []string{"nothing", "counted", "followed"} {
		b.Run(what, func(b *testing.B) {
			s, err := open(host.Live(), func() bool { return true })
			if err != nil {
				bpftest.Need(b, "bpf", err)
			}
			defer s.Close()
			if p := s.(*Probe); what != "counted" && !p.layers.On() {
				for _, name := range []string{"on_remap", "on_split", "on_bio_done"} {
					if err := p.probe.Attach(name); err != nil {
						b.Fatal(err)
					}
				}
				if err := p.probe.SetVariable("follow", uint32(1)); err != nil {
					b.Fatal(err)
				}
			}
			disk := zram(b)
			if what != "nothing" {
				bpftest.Collect(b, s, sample.First, sample.NewRecorder(time.Now()))
			}
			measured(b, func() {
				for b.Loop() {
					for i := range int64(1024) {
						if _, err := unix.Pread(disk.fd, disk.buf, i*4096); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		})
	}
}

type memory struct {
	fd  int
	buf []byte
}

// zram makes a disk of compressed memory, of which nothing is written.
func zram(b *testing.B) memory {
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
	return memory{fd, buf}
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
