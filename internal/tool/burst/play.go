package burst

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"iocause/internal/sample"
	"iocause/internal/source/probe/burst"
	"iocause/internal/store/tracefile"
)

// longest is how long a trace is played at most, a millisecond at a time.
const longest = time.Hour

// played are the milliseconds of a trace: every I/O is in it with its times, so
// that they can be counted as the kernel would have.
type played struct {
	bins  []burst.Bin // that are to come
	until time.Duration
	all   bool // until is the end
}

// Each implements milliseconds.
func (p *played) Each(f func(*burst.Bin)) (next int64, err error) {
	for len(p.bins) > 0 && (p.all || p.bins[0].MS < p.until.Milliseconds()) {
		f(&p.bins[0])
		p.bins = p.bins[1:]
	}
	return p.until.Milliseconds(), nil
}

// Losses implements milliseconds: what the trace lacks is said once.
func (p *played) Losses() (burst.Losses, error) { return burst.Losses{}, nil }

// Close implements milliseconds.
func (p *played) Close() error { return nil }

// Play finds the bursts of a trace, interval by interval: all of it in one where
// every is 0, count of them at most where that is not 0.
func Play(data []byte, f Filter, every time.Duration, count int, found func(*Burst) error, show func(*Interval) error) error {
	file, err := tracefile.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	bins, length, notes, err := binsOf(file)
	if err != nil {
		return err
	}
	if length > longest {
		return fmt.Errorf("replaying the trace: its %v are more than %v", length, longest)
	}
	from := &played{bins: bins}
	o := newObserver(from, file.Header().Began, f)
	o.Found, o.notes = found, notes
	every = cmp.Or(every, length)
	for n, start := 1, time.Duration(0); start < length; n, start = n+1, start+every {
		from.until = min(start+every, length)
		from.all = from.until == length
		last := from.all || n == count
		in, err := o.Next(o.boot.Add(start), from.until-start, last)
		if err != nil {
			return err
		}
		if err := show(in); err != nil || last {
			return err
		}
	}
	return nil
}

// binsOf counts the I/Os of a trace by millisecond and disk. notes say what is
// not in it.
func binsOf(file *tracefile.Reader) (bins []burst.Bin, length time.Duration, notes []string, err error) {
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
			notes = append(notes, err.Error()+"; what came before is here")
			break
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, nil, err
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
	if l := file.Losses(); l.Lost() > 0 {
		notes = append(notes, fmt.Sprintf("%d I/Os are missing: %s", l.Lost(), l.Why()))
	}
	for _, b := range at {
		bins = append(bins, *b)
	}
	slices.SortFunc(bins, func(a, b burst.Bin) int { return cmp.Or(cmp.Compare(a.MS, b.MS), cmp.Compare(a.Disk, b.Disk)) })
	return bins, max(length, time.Millisecond), notes, nil
}
