package trace

import (
	"context"
	"errors"
	"io"

	"iocause/internal/sample"
	"iocause/internal/store/tracefile"
)

// Read hands the I/Os of a file that are wanted to an observer, until it has
// enough or the context ends.
func Read(ctx context.Context, file *tracefile.Reader, wanted func(*sample.IO) bool, o *Observer) error {
	if was := file.Header().Filter; was != "" {
		o.Notes = append(o.Notes, "recorded with a filter: "+was)
	}
	whole, err := read(ctx, file, wanted, o)
	if err != nil {
		return err
	}
	o.losses = file.Losses()
	length, ended := file.End()
	if !ended {
		length = o.last
		if whole {
			o.Notes = append(o.Notes, "the trace was not closed cleanly: its last I/Os may be missing")
		}
	}
	return o.conclude(length)
}

// read takes the I/Os. whole tells that it came to the end of the file.
func read(ctx context.Context, file *tracefile.Reader, wanted func(*sample.IO) bool, o *Observer) (whole bool, err error) {
	for n := 0; ; n++ {
		if n%1000 == 0 && ctx.Err() != nil {
			o.Notes = append(o.Notes, "interrupted: only a part was read")
			return false, nil
		}
		x, err := file.Next()
		if err == io.EOF {
			return ctx.Err() == nil, nil
		}
		var cut *tracefile.CutError
		if errors.As(err, &cut) {
			o.Notes = append(o.Notes, err.Error()+"; what came before is here")
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !wanted(x) {
			continue
		}
		o.losses = file.Losses()
		if err := o.take(x); errors.Is(err, errEnough) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
}
