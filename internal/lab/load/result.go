package load

import (
	"fmt"
	"io"
	"slices"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// Result is what a load truly did. Pages are of 4096 bytes; times are in
// seconds.
type Result struct {
	Kind    Kind     `json:"kind"`
	Path    string   `json:"path,omitempty"`
	Args    []string `json:"args"` // what gives the same load again
	PID     int      `json:"pid"`
	Threads int      `json:"threads"`

	Calls   int64   `json:"calls"` // system calls, or touches of one block of mapped memory
	Bytes   int64   `json:"bytes"`
	Errors  int64   `json:"errors"`  // of the calls, EIO, where the load was to go on
	Seconds float64 `json:"seconds"` // from the first call to the end of the last

	// Accesses to page-cache pages by reads and by touches of mapped files:
	// every call counted in full, and (Dedup) less one for a call that starts
	// on the page where the thread's call before it ended. Direct input and
	// output has none. Writes are counted apart.
	Accesses      int64 `json:"accesses"`
	AccessesDedup int64 `json:"accesses_dedup"`
	WriteAccesses int64 `json:"write_accesses"`
	Distinct      int64 `json:"distinct_pages"` // covered at least once, by any call

	formerResult

	// ResidentBefore is how many pages of the region were in the page cache
	// when the load started, DistinctResident how many of these it covered;
	// -1 when that could not be found out.
	ResidentBefore   int64 `json:"resident_before"`
	DistinctResident int64 `json:"distinct_resident"`

	P50 float64 `json:"p50"` // latency of a call
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`

	MinorFaults int64 `json:"minflt"` // of the load's threads only
	MajorFaults int64 `json:"majflt"`
	InBlock     int64 `json:"inblock"` // 512-byte units read on behalf of the threads
	OutBlock    int64 `json:"oublock"`

	Series *Series `json:"series,omitempty"` // with Window

	Reads  *Side `json:"reads,omitempty"` // mixed: the calls that read
	Writes *Side `json:"writes,omitempty"`
}

// formerResult has figures under the keys of the version before, too.
type formerResult struct {
	Visits      int64 `json:"visits"`
	VisitsDedup int64 `json:"visits_dedup"`
	WriteVisits int64 `json:"write_visits"`
}

// Side is what the calls of one direction did.
type Side struct {
	Calls int64   `json:"calls"`
	Bytes int64   `json:"bytes"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

func newSide(s *direction) *Side {
	return &Side{
		Calls: int64(s.lat.N()), Bytes: s.bytes, P50: s.lat.Quantile(0.5).Seconds(), P90: s.lat.Quantile(0.9).Seconds(),
		P99: s.lat.Quantile(0.99).Seconds(), Max: s.lat.Most().Seconds(),
	}
}

// Rate is calls a second.
func (r *Result) Rate() float64 {
	if r.Seconds == 0 {
		return 0
	}
	return float64(r.Calls) / r.Seconds
}

// WriteText writes the result for people, in 80 columns.
func (r *Result) WriteText(w io.Writer) error {
	over := max(r.Seconds, 1e-9)
	_, err := fmt.Fprintf(w, `%s: %d calls, %.1f MiB in %.2f s: %.0f calls/s, %.1f MiB/s
latency   p50 %v  p90 %v  p99 %v  max %v
pages     %d accesses, %d by writes, %d distinct; %d accesses
          if a page where two calls meet counts once
cache     %s in it before, %s of the distinct pages
threads   %s, %s, %.1f MiB read, %.1f MiB written
`,
		r.Kind, r.Calls, mib(r.Bytes), r.Seconds, float64(r.Calls)/over, mib(r.Bytes)/over,
		table.Duration(r.P50), table.Duration(r.P90), table.Duration(r.P99), table.Duration(r.Max),
		r.Accesses, r.WriteAccesses, r.Distinct, r.AccessesDedup,
		known(r.ResidentBefore), known(r.DistinctResident),
		sample.Counted(r.MinorFaults, "minor fault"), sample.Counted(r.MajorFaults, "major fault"), mib(r.InBlock*512), mib(r.OutBlock*512))
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	if err := r.writeSides(w); err != nil {
		return err
	}
	return r.writeWindows(w)
}

// writeSides writes the directions of a mixed load, a line each.
func (r *Result) writeSides(w io.Writer) error {
	for _, d := range []struct {
		name string
		side *Side
	}{{"reads", r.Reads}, {"writes", r.Writes}} {
		s := d.side
		if s == nil {
			continue
		}
		_, err := fmt.Fprintf(w, "%-9s %d calls, %.1f MiB  p50 %v  p90 %v  p99 %v  max %v\n",
			d.name, s.Calls, mib(s.Bytes), table.Duration(s.P50), table.Duration(s.P90), table.Duration(s.P99), table.Duration(s.Max))
		if err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	return nil
}

// writeWindows writes the range of the windows' rates; all of them are in the
// JSON form.
func (r *Result) writeWindows(w io.Writer) error {
	if r.Series == nil {
		return nil
	}
	var rates []float64
	for _, x := range r.Series.Windows {
		if x.Seconds >= r.Series.Length/2 { // a stump's rate is mostly chance
			rates = append(rates, float64(x.Calls)/x.Seconds)
		}
	}
	if len(rates) == 0 {
		return nil
	}
	slices.Sort(rates)
	_, err := fmt.Fprintf(w, "windows   %d of %v: least %.0f, median %.0f, most %.0f calls/s\n",
		len(rates), table.Duration(r.Series.Length), rates[0], rates[len(rates)/2], rates[len(rates)-1])
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func known(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return fmt.Sprint(n)
}
