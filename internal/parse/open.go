package parse

import (
	"context"
	"fmt"
	"io"
	"os"

	"iocause/internal/parse/blktrace"
)

// ReadFiles reads one file, or those of one trace (blktrace.Together); "-" is
// stdin. progress is told after every piece how many bytes were read of what.
func (r *Reader) ReadFiles(ctx context.Context, stdin io.Reader, names []string, progress func(name string, bytes float64)) (*Text, error) {
	from, shown := stdin, "stdin"
	if names[0] != "-" {
		var all []io.Reader
		for _, name := range names {
			f, err := os.Open(name)
			if err != nil {
				return nil, fmt.Errorf("opening the input: %w", err)
			}
			defer f.Close()
			all = append(all, f)
		}
		from, shown = all[0], names[0]
		if len(all) > 1 {
			base, _ := blktrace.PerProcessor(names[0])
			from, shown = blktrace.Text(all...), base+".*"
		}
	}
	done := make(chan struct{})
	defer close(done)
	if closer, ok := from.(io.Closer); ok && names[0] == "-" {
		go func() { // a read from a pipe does not end by itself
			select {
			case <-ctx.Done():
				closer.Close()
			case <-done:
			}
		}()
	}
	return r.Read(ctx, shown, &followed{from: from, name: shown, progress: progress})
}

// followed tells how far the reading of a text is.
type followed struct {
	from     io.Reader
	name     string
	bytes    float64
	progress func(name string, bytes float64)
}

// Read implements io.Reader.
func (f *followed) Read(b []byte) (int, error) {
	n, err := f.from.Read(b)
	f.bytes += float64(n)
	f.progress(f.name, f.bytes)
	return n, err
}
