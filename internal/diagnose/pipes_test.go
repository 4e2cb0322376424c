package diagnose

import (
	"strconv"
	"testing"

	"iocause/internal/sample"
)

// pipeline is tar, which waits for a disk, a buffer and gzip; compute is gzip's time.
func (m machine) pipeline(compute float64) {
	m.process(10, "tar", "read", thread{wait: 6.5, cpu: 0.7})
	m.process(11, "mbuffer", "read", thread{cpu: 1})
	m.process(12, "gzip", "read", thread{cpu: compute})
	m.reads(10, 1<<16)
	for pid := range 3 {
		e := sample.Entity{PID: 10 + pid}
		m.put(sample.ProcThreads, e, map[bool]float64{true: 3, false: 1}[pid == 1])
		m.put(sample.ProcReadChars, e, 1<<28)
		if pid < 2 {
			m.put(sample.ProcWriteChars, e, 1<<28)
		}
	}
}

func (m machine) feeds(writer, reader int) {
	m.put(sample.ProcFeeds, sample.Entity{PID: writer, Class: strconv.Itoa(reader)}, 1)
}

// Who feeds a program through pipes that computes all the time waits for nothing that
// matters, unless that one reads something else, or has to wait for it.
func TestPipelines(t *testing.T) {
	for _, c := range []struct {
		name    string
		make    func(m machine)
		target  Target
		primary ID
	}{
		{"the last one computes all the time", func(m machine) {
			m.pipeline(9.9)
			m.feeds(10, 11)
			m.feeds(11, 12)
		}, Target{}, CPUBound},
		{"the same, and the first one is asked about", func(m machine) {
			m.pipeline(9.9)
			m.feeds(10, 11)
			m.feeds(11, 12)
		}, Target{Comm: "tar"}, CPUBound},
		{"the last one waits at times", func(m machine) {
			m.pipeline(6.5)
			m.feeds(10, 11)
			m.feeds(11, 12)
		}, Target{}, "cold-cache"},
		{"a program beside it that computes", func(m machine) {
			m.pipeline(9.9)
			m.feeds(10, 11)
		}, Target{}, "cold-cache"},
		{"one that has the pipe and reads little of it", func(m machine) {
			m.pipeline(9.9)
			m.feeds(10, 12)
			m.put(sample.ProcWriteChars, sample.Entity{PID: 10}, 1<<30)
		}, Target{}, "cold-cache"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine()
			c.make(m)
			m.busy(0.7)
			r := Judge(m.Window(epoch.Add(testSeconds*1e9)), c.target)
			if r.Primary != c.primary {
				t.Fatalf("the primary cause is %s, want %s: %+v", r.Primary, c.primary, r.Excluded)
			}
			checkReport(t, r)
		})
	}
}
