package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"iocause/internal/sample"
)

// IOLines writes I/Os, one aligned line each, as they come. Widths do not
// depend on what comes later: what is too long is cut in its middle.
type IOLines struct {
	to      io.Writer
	began   time.Time
	columns []ioColumn
	line    []byte
	headed  bool
}

type ioColumn struct {
	head  string
	width int
	right bool // numbers
	show  func(*sample.IO) string
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
	l := &IOLines{to: to, began: began}
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
	used := len(l.columns)
	for _, c := range l.columns {
		used += c.width
	}
	l.add("FILE", width-used, false, fileOf)
	return l
}

func (l *IOLines) add(head string, width int, right bool, show func(*sample.IO) string) {
	l.columns = append(l.columns, ioColumn{head, width, right, show})
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
	l.line = l.line[:0]
	if !l.headed {
		l.headed = true
		for i := range l.columns {
			l.cell(i, l.columns[i].head)
		}
		l.end()
	}
	for i := range l.columns {
		l.cell(i, Escape(l.columns[i].show(x)))
	}
	l.end()
	if _, err := l.to.Write(l.line); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

func (l *IOLines) cell(i int, s string) {
	c := &l.columns[i]
	if i > 0 {
		l.line = append(l.line, ' ')
	}
	width := Width(s)
	if width > c.width && !c.right {
		s = Middle(s, c.width)
		width = Width(s)
	}
	room := strings.Repeat(" ", max(0, c.width-width))
	if c.right {
		l.line = append(l.line, room...)
		room = ""
	}
	l.line = append(append(l.line, s...), room...)
}

func (l *IOLines) end() {
	for len(l.line) > 0 && l.line[len(l.line)-1] == ' ' {
		l.line = l.line[:len(l.line)-1]
	}
	l.line = append(l.line, '\n')
}

// shortTime is a time in at most six columns: "87.3us".
func shortTime(d time.Duration) string { return strings.ReplaceAll(Duration(d.Seconds()), " ", "") }

// shortBytes is a size in at most five columns: "4K", "1.25M".
func shortBytes(n uint64) string {
	if n < 1024 {
		return strconv.FormatUint(n, 10)
	}
	return scaled(float64(n), 1024, []string{"", "K", "M", "G", "T", "P"})
}
