package predict

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/predict"
	"iocause/internal/procfile"
	"iocause/internal/table"
)

// Writes is when writers are paused for dirty memory, now and with other limits
// and devices: what is shown and what JSON has. The limits are the host's.
type Writes struct {
	Version int       `json:"version"`
	Start   time.Time `json:"time"`
	Seconds float64   `json:"seconds"`
	Asked   bool      `json:"rate_was_asked_for"`
	Cases   []Case    `json:"cases"` // the first is how it is now
	Advice  []string  `json:"advice"`
	Notes   []string  `json:"notes"`
}

// Case is a setting, and what it does.
type Case struct {
	Name string `json:"name"`
	predict.Dirty
	predict.Pause
}

// WriteWatch is the beginning of an observation of writes.
type WriteWatch struct {
	host  *host.Host
	began time.Time
	first procfile.Vmstat
	low   float64 // the least dirty memory that was seen, bytes

	devices map[string]device // as they were then
}

// WatchWrites begins one.
func WatchWrites(h *host.Host) (*WriteWatch, error) {
	l := &WriteWatch{host: h, began: time.Now(), devices: devices(h)}
	var err error
	if l.first, err = readVmstat(h); err != nil {
		return nil, err
	}
	l.low = dirty(&l.first)
	return l, nil
}

func readVmstat(h *host.Host) (procfile.Vmstat, error) {
	b, err := host.Read(h.Proc("vmstat"), nil)
	if err != nil {
		return procfile.Vmstat{}, fmt.Errorf("looking at dirty memory: %w", err)
	}
	v, err := procfile.ParseVmstat(b)
	if err == nil && (v.DirtyLimit == nil || v.DirtyBg == nil || v.Dirty == nil || v.Writeback == nil || v.Dirtied == nil || v.Written == nil) {
		err = errors.New("nr_dirty_threshold, nr_dirty_background_threshold, nr_dirty, nr_writeback, nr_dirtied or nr_written is missing")
	}
	return v, host.In("/proc/vmstat", err)
}

// page is what /proc/vmstat counts in, in bytes.
func page() float64 { return float64(os.Getpagesize()) }

// dirty is dirty and under writeback, in bytes.
func dirty(v *procfile.Vmstat) float64 {
	return float64(*v.Dirty+*v.Writeback) * page()
}

// Poll keeps how low dirty memory was.
func (l *WriteWatch) Poll() error {
	v, err := readVmstat(l.host)
	if err == nil {
		l.low = min(l.low, dirty(&v))
	}
	return err
}

// Predict works out when writers are paused; rate is asked for, in bytes a second,
// or 0 for the one that was seen; limit is one of dirty memory that is asked for, too,
// in bytes, or 0.
func (l *WriteWatch) Predict(rate, limit float64) (*Writes, error) {
	v, err := readVmstat(l.host)
	if err != nil {
		return nil, err
	}
	seconds := time.Since(l.began).Seconds()
	w := &Writes{Version: version, Start: l.began, Seconds: seconds, Asked: rate > 0}
	per := func(now, before *uint64) float64 { return float64(*now-*before) * page() / seconds }
	d := predict.Dirty{Limit: float64(*v.DirtyLimit) * page(), Background: float64(*v.DirtyBg) * page(), Now: dirty(&v), Rate: rate}
	if rate == 0 {
		d.Rate = per(v.Dirtied, l.first.Dirtied)
	}
	written := per(v.Written, l.first.Written)
	from := "written back while it was watched, always above the threshold of writeback"
	switch name, own := l.own(seconds); {
	case l.low < d.Background || written == 0:
		d.Drain, from = l.bandwidth()
	case own > 0: // others may write what was dirty before
		d.Drain, from = own, "written back to the device that was written to (bdi/"+name+") while it was watched, always above the threshold of writeback"
	default:
		d.Drain = written
	}
	for _, x := range []struct {
		name            string
		limits, devices float64
	}{{"now", 1, 1}, {"half the limits", 0.5, 1}, {"twice the limits", 2, 1}, {"four times the limits", 4, 1}, {"devices twice as fast", 1, 2}} {
		if x.devices != 1 && d.Drain <= 0 {
			continue
		}
		is := d.Scaled(x.limits, x.devices)
		w.Cases = append(w.Cases, Case{x.name, is, is.Pauses()})
	}
	if limit > 0 {
		is := d.Limited(limit)
		w.Cases = append(w.Cases, Case{"a limit of " + bytes(limit), is, is.Pauses()})
	}
	w.Advice = w.advise(from)
	w.Notes = append(w.Notes, "the limits are the host's current ones; they follow free memory; the lower limits of cgroups (v2) are not considered",
		"pages that are dirty for longer than vm.dirty_expire_centisecs are written back earlier: slow writers are paused later than this, or never")
	return w, nil
}

// device is what the kernel counts of one that it writes back to.
type device struct{ bandwidth, dirtied, written float64 } // bytes a second, bytes

// devices are those of /sys/kernel/debug/bdi, by their folders.
func devices(h *host.Host) map[string]device {
	all := map[string]device{}
	files, _ := filepath.Glob(h.Sys("kernel/debug/bdi/*/stats"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		var d device
		for line := range strings.Lines(string(b)) {
			name, value, _ := strings.Cut(line, ":")
			number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
			x, _ := strconv.ParseFloat(number, 64)
			switch {
			case name == "BdiWriteBandwidth" && unit == "kBps":
				d.bandwidth = x * 1024
			case name == "BdiDirtied":
				d.dirtied = x * 1024
			case name == "BdiWritten":
				d.written = x * 1024
			}
		}
		all[filepath.Base(filepath.Dir(f))] = d
	}
	return all
}

// own is the device that nearly all was written to since the beginning, and how much a
// second was written back to it; "" where there is none.
func (l *WriteWatch) own(seconds float64) (name string, perSecond float64) {
	all, sum, most := devices(l.host), 0.0, 0.0
	for n, d := range all {
		grown := d.dirtied - l.devices[n].dirtied
		if sum += grown; grown > most {
			name, most = n, grown
		}
	}
	if most == 0 || most < 0.9*sum {
		return "", 0
	}
	return name, (all[name].written - l.devices[name].written) / seconds
}

// bandwidth is what the kernel believes that the device takes whose files most was
// written to since the beginning, else the fastest one; 0 where it is not known.
func (l *WriteWatch) bandwidth() (perSecond float64, from string) {
	own, fastest := "", ""
	all := devices(l.host)
	grown := func(name string) float64 { return all[name].dirtied - l.devices[name].dirtied }
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].written == 0 { // the kernel has only guessed yet
			continue
		}
		if grown(name) > 0 && (own == "" || grown(name) > grown(own)) {
			own = name
		}
		if fastest == "" || all[name].bandwidth > all[fastest].bandwidth {
			fastest = name
		}
	}
	switch {
	case own != "":
		return all[own].bandwidth, "the kernel's own estimate of the device that was written to (bdi/" + own + ")"
	case fastest != "":
		return all[fastest].bandwidth, "the kernel's own estimate of the fastest device (bdi/" + fastest + ")"
	}
	return 0, ""
}

// advise says it.
func (w *Writes) advise(from string) []string {
	now := &w.Cases[0]
	out := []string{fmt.Sprintf("%s are dirty or under writeback. Writeback begins at %s, writers are paused from %s on (limit %s).",
		bytes(now.Now), bytes(now.Background), bytes(now.From), bytes(now.Limit))}
	at := fmt.Sprintf("At %s/s", bytes(now.Rate))
	switch {
	case now.Rate == 0:
		return append(out, "Nothing was written while it was watched: give a rate (--rate 200M).")
	case now.After == nil:
		out = append(out, fmt.Sprintf("%s no writer is paused: devices take %s/s.", at, bytes(now.Drain)))
	case now.Bounds:
		out = append(out, fmt.Sprintf("%s writers are paused after %s and %s at the earliest: the devices' rate is not known, because nothing had to be written back. From then on all of them together write as fast as the devices.",
			at, table.Duration(*now.After), bytes(*now.Bytes)))
	case *now.After == 0:
		out = append(out, fmt.Sprintf("Writers are paused now; all of them together write %s/s.", bytes(now.Then)))
	default:
		out = append(out, fmt.Sprintf("%s writers are paused after %s and %s; from then on all of them together write %s/s.", at, table.Duration(*now.After), bytes(*now.Bytes), bytes(now.Then)))
	}
	if now.Behind != nil && now.Rate > 0 && !now.Bounds && *now.Behind > 0 {
		out = append(out, fmt.Sprintf("A writer that keeps this rate makes up for its first pauses, and falls behind for good once between %s and %s are written.", bytes(*now.Bytes), bytes(*now.Behind)))
	}
	if now.Drain > 0 {
		out = append(out, "What the devices take is from "+from+".")
	}
	return out
}

// Table is the cases.
func (w *Writes) Table() table.Table {
	t := table.Table{Key: "cases", Title: "When writers are paused", Whole: true, Notes: w.Notes, Columns: []table.Column{
		{Key: "name", Head: "WITH"},
		{Key: "pauses_from_bytes", Head: "FROM", Unit: "bytes"},
		{Key: "after_seconds", Head: "AFTER", Unit: "seconds"},
		{Key: "after_bytes", Head: "WRITTEN", Unit: "bytes"},
		{Key: "behind_bytes", Head: "BEHIND", Unit: "bytes"},
		{Key: "then_bytes_per_s", Head: "THEN", Unit: "bytes/s"},
	}}
	for i := range w.Cases {
		c := &w.Cases[i]
		after, written, behind := table.None(), table.None(), table.None()
		if c.After != nil {
			after, written = table.Num(*c.After), table.Num(*c.Bytes)
		}
		if c.Behind != nil {
			behind = table.Num(*c.Behind)
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(c.Name), table.Num(c.From), after, written, behind, table.Maybe(c.Then, c.Then > 0)})
	}
	return t
}
