package text

import (
	"io"
	"strconv"
	"strings"
	"time"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// IOLines writes I/Os, one aligned line each, as they come.
type IOLines struct {
	lines Lines
	show  []func(*sample.IO) string
	cells []string
}

// Widths of a terminal from which on there are more columns.
const (
	withMicroseconds = 100
	withSector       = 112
	withCgroup       = 136
)

// NewIOLines prepares the columns: 80 hold what matters most, wider ones have
// more. began is the instant that the I/Os' times are counted from; disk is
// how long names of disks get.
func NewIOLines(to io.Writer, s Style, began time.Time, disk int) *IOLines {
	width := max(s.Width, 80)
	l := &IOLines{lines: Lines{to: to, ascii: s.ASCII}}
	clock := "15:04:05.000"
	if width >= withMicroseconds {
		clock = "15:04:05.000000"
	}
	l.add("TIME", len(clock), false, func(x *sample.IO) string { return began.Add(x.Start).Format(clock) })
	l.add("PROCESS", 12, false, func(x *sample.IO) string { return x.Comm })
	l.add("PID", 7, true, func(x *sample.IO) string { return strconv.Itoa(x.PID) })
	l.add("DISK", min(max(disk, 4), 9), false, func(x *sample.IO) string { return x.Disk })
	l.add("OP", 4, false, func(x *sample.IO) string { return x.Flags.String() })
	if width >= withSector {
		l.add("SECTOR", 11, true, func(x *sample.IO) string { return strconv.FormatUint(x.Sector, 10) })
	}
	l.add("SIZE", 5, true, func(x *sample.IO) string { return shortBytes(x.Bytes) })
	l.add("QUEUE", 6, true, func(x *sample.IO) string {
		if x.Queue < 0 {
			return "-"
		}
		return shortTime(x.Queue)
	})
	l.add("DEVICE", 6, true, func(x *sample.IO) string { return shortTime(x.Device) })
	if width >= withCgroup {
		l.add("CGROUP", (width-withCgroup)/3+16, false, func(x *sample.IO) string { return orDash(x.Cgroup) })
	}
	l.add("FILE", l.lines.room(width), false, fileOf)
	l.cells = make([]string, len(l.show))
	return l
}

func (l *IOLines) add(head string, width int, right bool, show func(*sample.IO) string) {
	l.lines.Columns = append(l.lines.Columns, LineColumn{head, width, right})
	l.show = append(l.show, show)
}

// fileOf is the last column; an error stands before all else.
func fileOf(x *sample.IO) string {
	file := x.File
	switch {
	case file == "" && x.Flags&sample.IOSwap != 0:
		file = "(swap)"
	case file == "":
		file = "-"
	}
	if x.Status != 0 {
		return sample.IOStatus(x.Status) + "! " + file
	}
	return file
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Write writes one line, and the head above the first.
func (l *IOLines) Write(x *sample.IO) error {
	for i, show := range l.show {
		l.cells[i] = show(x)
	}
	return l.lines.Write(l.cells)
}

// shortTime is a time in at most six columns: "87.3us".
func shortTime(d time.Duration) string {
	return strings.ReplaceAll(table.Duration(d.Seconds()), " ", "")
}

// shortBytes is a size in at most five columns: "4K", "1.25M".
func shortBytes(n uint64) string {
	if n < 1024 {
		return strconv.FormatUint(n, 10)
	}
	return table.Scaled(float64(n), 1024, []string{"", "K", "M", "G", "T", "P"})
}
