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
