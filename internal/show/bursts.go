package show

import (
	"fmt"
	"io"

	"iocause/internal/present/jsondoc"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/tool/burst"
)

// burstLines is how many bursts are printed in a second; the rest are in the table.
const burstLines = 10

// Bursts shows bursts as they are found, one each: as a line for people, as JSON for
// programs, and not at all as CSV, which has room for one table alone.
type Bursts struct {
	out    io.Writer
	format string
	lines  *text.Lines
	second int64 // that shown counts in
	shown  int
	hidden int  // since Note
	tables bool // were printed below the bursts so far
}

// NewBursts writes them to out; disk is how long the names of disks get.
func NewBursts(out io.Writer, format string, disk int, style text.Style) *Bursts {
	return &Bursts{out: out, format: format, lines: text.NewLines(out, style, []text.LineColumn{
		{Head: "TIME", Width: 12}, {Head: "DISK", Width: min(max(disk, 4), 12)}, {Head: "LENGTH", Width: 6, Right: true},
		{Head: "I/Os", Width: 6, Right: true}, {Head: "BYTES", Width: 7, Right: true}, {Head: "TOP/ms", Width: 6, Right: true},
		{Head: "LATENCY", Width: 7, Right: true}, {Head: "WHO"}})}
}

// Write shows one.
func (l *Bursts) Write(b *burst.Burst) error {
	switch l.format {
	case "csv":
		return nil
	case "json":
		return jsondoc.WriteLine(l.out, map[string]any{"burst": b.Object()})
	}
	if s := b.At.Unix(); s != l.second {
		l.second, l.shown = s, 0
	}
	if l.shown++; l.shown > burstLines {
		l.hidden++
		return nil
	}
	if l.tables {
		l.tables = false
		fmt.Fprintln(l.out)
	}
	latency := "-"
	if mean, ok := b.Latency(); ok {
		latency = text.Short(mean.Seconds(), "seconds")
	}
	return l.lines.Write([]string{b.At.Format("15:04:05.000"), b.Disk, fmt.Sprintf("%dms", b.To-b.From), text.Short(float64(b.Ops), "count"),
		text.Short(float64(b.Bytes), "bytes"), text.Short(float64(b.Peak.Ops), "count"), latency,
		b.Who(max(1, l.lines.Columns[7].Width/24))})
}

// Tables is called before tables are printed below the bursts. It tells whether
// there is any line above them, and says how many bursts were not printed, "" for
// none.
func (l *Bursts) Tables() (below bool, note string) {
	if l.hidden > 0 {
		note = fmt.Sprintf("%s beyond %d in a second appear in the table only", sample.Counted(l.hidden, "burst"), burstLines)
	}
	l.hidden, l.tables = 0, true
	return l.shown > 0, note
}
