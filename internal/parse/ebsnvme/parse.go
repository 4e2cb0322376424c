// Package ebsnvme reads what a volume of EBS counts of itself, as nvme amzn stats and
// ebsnvme print it: above all for how long more was asked of it than its cap.
package ebsnvme

import (
	"cmp"
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line the figures begin.
func Find(line string) int {
	text := strings.TrimSpace(line)
	if text == "Total Ops" || text == "Total Ops:" || strings.HasPrefix(text, "EBS Volume Performance Exceeded (us)") {
		return len(line) - len(strings.TrimLeft(line, " \t"))
	}
	return -1
}

type reader struct {
	device  string
	section string
	shots   lines.Snapshots
	pause   float64
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{pause: lines.Pause(before), device: "nvme"}
	if at := strings.LastIndex(before, "/dev/nvme"); at >= 0 {
		name := before[at+len("/dev/"):]
		if end := strings.IndexFunc(name, func(c rune) bool { return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') }); end >= 0 {
			name = name[:end]
		}
		r.device = name[:min(len(name), 32)]
	}
	return r
}

// sections are the headings, with what the figures below them are of.
func sections() map[string]string {
	return map[string]string{
		"Total Ops": "ops", "Total Bytes": "bytes", "Total Time (us)": "time",
		"EBS Volume Performance Exceeded (us)": "volume", "EC2 Instance EBS Performance Exceeded (us)": "instance",
	}
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, _ lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	name, value, _ := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	section, heads := sections()[name]
	switch {
	case text == "", strings.Trim(text, "=") == "", text[0] == '[':
		return lines.Skipped, nil
	case heads && value == "":
		r.section = section
		return lines.Skipped, nil
	case strings.HasSuffix(text, "Latency Histogram (us)"), strings.HasSuffix(text, "Latency Histogram"), name == "Number of bins", strings.HasPrefix(text, "Lower "):
		r.section = ""
		return lines.Skipped, nil
	case name == "Queue Length (point in time)":
		r.section, name = "queue", "queue"
	case r.section == "" || name != "Read" && name != "Write" && name != "IOPS" && name != "Throughput":
		return lines.Foreign, nil
	}
	v, ok := lines.Number(value)
	if !ok {
		return lines.Broken, fmt.Errorf("%s of %s is %.20q, not a number", name, r.section, value)
	}
	r.shots.Add(r.section+" "+name, v, l.N)
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	s := &r.shots
	if s.Taken == 0 {
		return
	}
	into.At(s.LastLine)
	if s.Taken < 2 {
		into.State()
		into.Note("the counters of an EBS volume are in the text once: they count since it was attached; paste them twice, some seconds apart")
		return
	}
	for _, m := range []struct {
		name  string
		to    sample.Metric
		class string
		unit  float64
	}{
		{"volume IOPS", sample.CloudExceeded, "volume operations", 1e-6}, {"volume Throughput", sample.CloudExceeded, "volume bytes", 1e-6},
		{"instance IOPS", sample.CloudExceeded, "instance operations", 1e-6}, {"instance Throughput", sample.CloudExceeded, "instance bytes", 1e-6},
		{"ops Read", sample.CloudOps, sample.ClassRead, 1}, {"ops Write", sample.CloudOps, sample.ClassWrite, 1},
		{"time Read", sample.CloudTime, sample.ClassRead, 1e-6}, {"time Write", sample.CloudTime, sample.ClassWrite, 1e-6},
		{"ops Read", sample.DiskReads, "", 1}, {"ops Write", sample.DiskWrites, "", 1},
		{"bytes Read", sample.DiskReadBytes, "", 1}, {"bytes Write", sample.DiskWriteBytes, "", 1},
		{"time Read", sample.DiskReadTime, "", 1e-6}, {"time Write", sample.DiskWriteTime, "", 1e-6},
	} {
		first, ok := s.First[m.name]
		last, also := s.Last[m.name]
		if ok && also && last >= first {
			into.Put(m.to, sample.Entity{Device: r.device, Class: m.class}, (last-first)*m.unit)
		}
	}
	if n, ok := s.Last["queue queue"]; ok {
		into.Put(sample.CloudQueue, sample.Entity{Device: r.device}, n)
	}
	if r.pause == 0 {
		into.Note("the time between the snapshots of the EBS volume is not in the text: 10 s is assumed, and its share over the cap depends on that")
	}
	into.Tick(cmp.Or(r.pause, 10) * float64(s.Taken-1))
}
