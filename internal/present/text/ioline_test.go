package text

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

func TestIOLinesStayInTheirColumns(t *testing.T) {
	hostile := strings.Repeat("\x1b[2J\n世界\u202e", 40)
	ios := []sample.IO{
		{Start: time.Second, Queue: 1, Device: 87300, Disk: "vda", Bytes: 4096, PID: 7, Comm: "fio", File: "/var/tmp/x", Cgroup: "/a"},
		{Queue: -1, Device: 99999999999, Disk: hostile, Sector: 1 << 62, Bytes: 1 << 62, Flags: 0xffff01, Status: 10,
			PID: 4194304, Comm: hostile, Cgroup: hostile, File: hostile},
		{Queue: 999499, Device: 59.9994e9, Disk: "nvme0n1", Bytes: 1023<<10 + 512, Flags: sample.IOSwap | 1, Comm: "kswapd0"},
	}
	for _, width := range []int{80, 99, 100, 112, 136, 160, 400} {
		var b strings.Builder
		l := NewIOLines(&b, Style{Width: width}, time.Unix(0, 0).UTC(), 7)
		for i := range ios {
			if err := l.Write(&ios[i]); err != nil {
				t.Fatal(err)
			}
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != len(ios)+1 {
			t.Fatalf("%d columns: %d lines:\n%s", width, len(lines), b.String())
		}
		at := strings.Index(lines[0], "FILE")
		for i, line := range lines {
			if Width(line) > width && i != 2 || strings.ContainsAny(line, "\x1b\u202e") {
				t.Errorf("%d columns: a line has %d: %q", width, Width(line), line)
			}
		}
		if !strings.HasPrefix(lines[1][at:], "/var/") || !strings.HasPrefix(lines[3][at:], "(swap)") || !strings.Contains(lines[2], "EIO! ") {
			t.Errorf("%d columns: files are not below FILE:\n%s", width, b.String())
		}
	}
}
