// Package perfetto writes I/Os, what threads do, stacks and courses as the JSON trace
// that Chrome's about:tracing and Perfetto's viewer open: "Trace Event Format",
// Google, 2016.
package perfetto

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// Writer writes I/Os as they complete. Each process is a group of lanes, one for
// each of its I/Os in flight at a time on a disk: the viewer nests what overlaps in
// one lane, and I/Os overlap without being inside each other.
type Writer struct {
	to    io.Writer
	lanes map[owner][]lane
	names map[int]bool // processes that are named
	next  int          // number of a lane
	began bool

	counted map[counterKey]map[string]bool // figures that were told
}

// owner is a process on a disk.
type owner struct {
	pid  int
	disk string
}

// lane is a row of the viewer: until when it is taken.
type lane struct {
	number int
	until  time.Duration
}

// event is one line of the format. Times are in microseconds.
type event struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"` // X complete, C counter, M metadata
	At       float64        `json:"ts"`
	Length   float64        `json:"dur,omitempty"`
	PID      int            `json:"pid"`
	TID      int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// New begins a trace whose times are counted from began.
func New(to io.Writer, program string, began time.Time) (*Writer, error) {
	w := &Writer{to: to, lanes: map[owner][]lane{}, names: map[int]bool{}}
	head, err := json.Marshal(map[string]string{"program": program, "began": began.Format(time.RFC3339Nano)})
	if err != nil {
		return nil, fmt.Errorf("writing the trace: %w", err)
	}
	return w, w.write(`{"displayTimeUnit":"ns","otherData":` + string(head) + `,"traceEvents":[`)
}

func (w *Writer) write(s string) error {
	if _, err := io.WriteString(w.to, s); err != nil {
		return fmt.Errorf("writing the trace: %w", err)
	}
	return nil
}

func (w *Writer) event(e *event) error {
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing the trace: %w", err)
	}
	before := ",\n"
	if !w.began {
		w.began, before = true, "\n"
	}
	return w.write(before + string(b))
}

// Write writes one I/O: from request to completion, and in it the time before the
// device and in it, where both are known.
func (w *Writer) Write(x *sample.IO) error {
	if err := w.name(x.PID, x.Comm); err != nil {
		return err
	}
	tid, err := w.lane(x)
	if err != nil {
		return err
	}
	args := map[string]any{"disk": x.Disk, "bytes": x.Bytes, "sector": x.Sector, "flags": x.Flags.String(), "thread": x.TID}
	for name, value := range map[string]string{"file": x.File, "cgroup": x.Cgroup, "error": sample.IOStatus(x.Status)} {
		if value != "" {
			args[name] = value
		}
	}
	whole := event{Name: x.Flags.Op() + " " + table.Value(float64(x.Bytes), "bytes"), Category: x.Disk, Phase: "X", At: micros(x.Start), Length: micros(x.Latency()), PID: x.PID, TID: tid, Args: args}
	if err := w.event(&whole); err != nil || x.Queue <= 0 {
		return err
	}
	if err := w.event(&event{Name: "before the device", Category: x.Disk, Phase: "X", At: micros(x.Start), Length: micros(x.Queue), PID: x.PID, TID: tid}); err != nil {
		return err
	}
	return w.event(&event{Name: "in the device", Category: x.Disk, Phase: "X", At: micros(x.Start + x.Queue), Length: micros(x.Device), PID: x.PID, TID: tid})
}

// name says once what a group of lanes is called.
func (w *Writer) name(pid int, name string) error {
	if w.names[pid] {
		return nil
	}
	w.names[pid] = true
	return w.event(&event{Name: "process_name", Phase: "M", PID: pid, Args: map[string]any{"name": name}})
}

// thread is a new lane of that name.
func (w *Writer) thread(pid int, name string) (number int, err error) {
	w.next++
	return w.next, w.event(&event{Name: "thread_name", Phase: "M", PID: pid, TID: w.next, Args: map[string]any{"name": name}})
}

// lane is one that is free from the start of an I/O on. I/Os come by their ends, so
// that all that is in a lane ended before this one did.
func (w *Writer) lane(x *sample.IO) (number int, err error) {
	k := owner{x.PID, x.Disk}
	for i := range w.lanes[k] {
		if l := &w.lanes[k][i]; l.until <= x.Start {
			l.until = x.End()
			return l.number, nil
		}
	}
	number, err = w.thread(x.PID, x.Disk+" "+strconv.Itoa(len(w.lanes[k])+1))
	w.lanes[k] = append(w.lanes[k], lane{number, x.End()})
	return number, err
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// Close ends the document.
func (w *Writer) Close() error { return w.write("\n]}\n") }
