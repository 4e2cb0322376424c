package cli

import (
	"fmt"
	"os"
	"time"

	"iocause/internal/output"
	"iocause/internal/store/tracefile"
	"iocause/internal/table"
)

// playedDisk is how long the names of the disks of a trace or an incident may get,
// whose machine had others than this one: as nvme0n1.
const playedDisk = 7

// create makes the file for a trace.
func (r *traceRun) create() (*os.File, error) {
	return output.Kept(r.env.stdout, r.o.to, "trace", func(f *os.File) error {
		_, err := tracefile.NewReader(f)
		return err
	})
}

func closeOutput(f *os.File) error {
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing the trace: %w", err)
	}
	return nil
}

// soFar says how far the trace is.
func (r *traceRun) soFar(elapsed time.Duration) string {
	line := fmt.Sprintf("tracing for %s · %d I/Os", table.Duration(elapsed.Seconds()), r.Taken())
	if r.file != nil {
		line += " · " + table.Value(float64(r.file.Written()), "bytes") + " written"
	}
	return line
}
