package show

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"time"

	"iocause/internal/present/jsondoc"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/tool/burst"
	"iocause/internal/tool/trace"
)

// IOs returns what prints one I/O in a format; disk is how long the names of
// disks get.
func IOs(out io.Writer, format string, began time.Time, disk int, style text.Style) (func(*sample.IO) error, error) {
	switch format {
	case "json":
		return func(x *sample.IO) error { return jsondoc.WriteLine(out, trace.Of(x, began)) }, nil
	case "csv":
		w := csv.NewWriter(out)
		write := func(fields []string) error {
			for i := range fields { // names may hold anything
				fields[i] = text.Escape(fields[i])
			}
			err := w.Write(fields)
			w.Flush()
			if err = errors.Join(err, w.Error()); err != nil {
				return fmt.Errorf("writing the output: %w", err)
			}
			return nil
		}
		return func(x *sample.IO) error { o := trace.Of(x, began); return write(o.Record()) }, write(trace.Fields())
	}
	return text.NewIOLines(out, style, began, disk).Write, nil
}

// Bursts are lines of bursts, one each.
type Bursts struct{ lines *text.Lines }

// NewBursts writes them to out; disk is how long the names of disks get.
func NewBursts(out io.Writer, disk int, style text.Style) *Bursts {
	return &Bursts{text.NewLines(out, style, []text.LineColumn{
		{Head: "TIME", Width: 12}, {Head: "DISK", Width: min(max(disk, 4), 12)}, {Head: "LENGTH", Width: 6, Right: true},
		{Head: "I/Os", Width: 6, Right: true}, {Head: "BYTES", Width: 7, Right: true}, {Head: "TOP/ms", Width: 6, Right: true},
		{Head: "LATENCY", Width: 7, Right: true}, {Head: "WHO"}})}
}

// Write writes one.
func (l *Bursts) Write(b *burst.Burst) error {
	latency := "-"
	if mean, ok := b.Latency(); ok {
		latency = text.Short(mean.Seconds(), "seconds")
	}
	return l.lines.Write([]string{b.At.Format("15:04:05.000"), b.Disk, fmt.Sprintf("%dms", b.To-b.From), text.Short(float64(b.Ops), "count"),
		text.Short(float64(b.Bytes), "bytes"), text.Short(float64(b.Peak.Ops), "count"), latency,
		b.Who(max(1, l.lines.Columns[7].Width/24))})
}
