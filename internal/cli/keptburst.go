package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/detect"
	"iocause/internal/sample"
	"iocause/internal/source/probe/burst"
	"iocause/internal/store/tracefile"
)

// longestTrace is how long a trace is played at most, a millisecond at a time.
const longestTrace = time.Hour

// play finds the bursts of an incident's trace: every I/O is in it with its
// times, so that milliseconds can be counted as the kernel would have.
func (r *burstRun) play(c *cobra.Command, data []byte) (err error) {
	if err := refused(c, burstRefuses(), ""); err != nil {
		return err
	}
	if r.filter.target, err = r.o.filter.recordedTarget(r.o.filter.given(c)); err != nil {
		return err
	}
	bins, length, err := r.binsOf(data)
	if err != nil {
		return err
	}
	if length > longestTrace {
		return fmt.Errorf("playing the trace: its %v are more than %v", length, longestTrace)
	}
	r.begin()
	every := r.o.every
	if c.Flags().NArg() == 0 {
		every = length
	}
	n := 0
	for start := time.Duration(0); start < length && (n < r.o.count || r.o.count == 0 || n == 0); start += every {
		end := min(start+every, length)
		for len(bins) > 0 && (bins[0].MS < end.Milliseconds() || end == length) {
			if r.filter.keep(&bins[0]) {
				if err := r.take(&bins[0]); err != nil {
					return err
				}
			}
			bins = bins[1:]
		}
		for name, d := range r.disks {
			d.feed(end.Milliseconds(), func(b detect.Burst) { err = errors.Join(err, r.found(name, d, b)) })
		}
		if end == length || n+1 == r.o.count {
			err = errors.Join(err, r.end())
		}
		if err = errors.Join(err, r.print(r.boot.Add(start), end-start, "")); err != nil {
			return err
		}
		n++
	}
	return nil
}

// binsOf counts the I/Os of a trace by millisecond and disk.
func (r *burstRun) binsOf(data []byte) (bins []burst.Bin, length time.Duration, err error) {
	file, err := tracefile.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, 0, err
	}
	r.boot = file.Header().Began
	type place struct {
		disk string
		ms   int64
	}
	at := map[place]*burst.Bin{}
	bin := func(x *sample.IO, t time.Duration) *burst.Bin {
		p := place{x.Disk, max(t, 0).Milliseconds()}
		if at[p] == nil {
			at[p] = &burst.Bin{Disk: p.disk, MS: p.ms}
		}
		return at[p]
	}
	for {
		x, err := file.Next()
		var cut *tracefile.CutError
		if errors.As(err, &cut) {
			r.notes = append(r.notes, err.Error()+"; what came before is here")
			break
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		length = max(length, x.End())
		made := bin(x, x.Start)
		made.Ops++
		made.Bytes += x.Bytes
		of := slices.IndexFunc(made.Owners, func(o burst.Owner) bool { return o.PID == x.PID && o.Comm == x.Comm && o.Cgroup == x.Cgroup })
		if of < 0 {
			of = len(made.Owners)
			made.Owners = append(made.Owners, burst.Owner{PID: x.PID, Comm: x.Comm, Cgroup: x.Cgroup})
		}
		made.Owners[of].Ops++
		made.Owners[of].Bytes += x.Bytes
		done := bin(x, x.End())
		done.Done++
		done.Took += x.Latency()
	}
	if end, ok := file.End(); ok {
		length = end
	}
	if l := file.Losses(); l.Dropped+l.InFlight+l.Missed > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d I/Os are missing: %s", l.Dropped+l.InFlight+l.Missed, whyLost(l)))
	}
	r.losses = func() (burst.Losses, error) { return burst.Losses{}, nil }
	for _, b := range at {
		bins = append(bins, *b)
	}
	slices.SortFunc(bins, func(a, b burst.Bin) int { return cmp.Or(cmp.Compare(a.MS, b.MS), cmp.Compare(a.Disk, b.Disk)) })
	return bins, max(length, time.Millisecond), nil
}
