// Package meminfo reads /proc/meminfo: what the memory is used for.
package meminfo

import (
	"fmt"
	"path/filepath"
	"strings"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

const file = "/proc/meminfo"

type source struct {
	host *host.Host
	path string
	buf  []byte
}

// Open opens the source. It fails when the file cannot be read.
func Open(h *host.Host) (sample.Source, error) {
	s := &source{host: h, path: h.Proc("meminfo")}
	if _, err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *source) read() (procfile.Meminfo, error) {
	var err error
	if s.buf, err = host.Read(s.path, s.buf); err != nil {
		return procfile.Meminfo{}, fmt.Errorf("reading the use of memory: %w", err)
	}
	m, err := procfile.ParseMeminfo(s.buf)
	return m, host.In(file, err)
}

// Collect implements sample.Source.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	m, err := s.read()
	if err != nil {
		return err
	}
	var absent []sample.Metric
	for _, g := range m.Gauges() {
		if g.Value == nil {
			if g.Metric != sample.MemHuge { // a kernel that has no huge pages to set aside
				absent = append(absent, g.Metric)
			}
			continue
		}
		into.Put(g.Metric, sample.Entity{}, float64(*g.Value), file)
	}
	if phase.Closes() && m.Hugetlb != nil && *m.Hugetlb > 0 {
		if unused, known := s.unusedHuge(); known {
			into.Put(sample.MemHugeFree, sample.Entity{}, float64(unused), "/sys/kernel/mm/hugepages")
		}
	}
	if len(absent) > 0 && phase == sample.First {
		into.PutGap(sample.Gap{Why: fmt.Sprintf("this kernel's %s lacks %v", file, absent), Metrics: absent})
	}
	return nil
}

// unusedHuge is how many bytes of the huge pages that are set aside nobody uses or has
// reserved, of all sizes; false where the kernel has none.
func (s *source) unusedHuge() (sum uint64, known bool) {
	sizes, err := filepath.Glob(s.host.Sys("kernel/mm/hugepages/hugepages-*kB"))
	if err != nil {
		return 0, false
	}
	for _, dir := range sizes {
		kib, is := host.Uint([]byte(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(dir), "hugepages-"), "kB")))
		free, err1 := host.ReadNumber(dir + "/free_hugepages")
		reserved, err2 := host.ReadNumber(dir + "/resv_hugepages")
		if !is || err1 != nil || err2 != nil {
			return 0, false
		}
		sum += (free - min(free, reserved)) * kib << 10
	}
	return sum, len(sizes) > 0
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
