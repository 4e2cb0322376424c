// Package record writes what all sources see into a recording, window after
// window, of the machine or of one command.
package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"syscall"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source"
	"iocause/internal/store/recording"
)

// Recorder is one recording on its way to its file.
type Recorder struct {
	Host      *host.Host
	Program   string        // who records, for the header
	OpenLimit time.Duration // of a source, after which it is done without
	Interval  time.Duration
	Duration  time.Duration  // 0: until it is interrupted, or the command ends
	Child     *session.Child // nil without a command
	File      io.Writer
	Name      string // of File, for errors

	Opened func([]source.Status) // when it is known which sources work
	Begun  func()                // when the header is written
	Seen   func(*sample.Window)  // before a window is written
	Note   func(error)           // of the machine's fingerprint, which then lacks something

	To    *recording.Writer // nil before Begun
	Began time.Time
	cpu   float64 // seconds of our own so far
}

// Run records until it is over.
func (r *Recorder) Run(watch context.Context, sources []source.Entry) error {
	open, cancel := context.WithTimeout(watch, r.OpenLimit)
	defer cancel()
	collector := source.Open(open, r.Host, sources)
	defer collector.Close()
	collector.StandIn(source.StandIns())
	if watch.Err() != nil {
		return session.TooEarly(watch)
	}
	r.Opened(collector.Statuses())
	until, end := context.WithCancel(watch)
	defer end()
	r.Began = time.Now()
	collector.Begin()
	if r.Child != nil {
		if err := r.Child.Start(r.Host); err != nil {
			return err
		}
		defer r.Child.StopTracking()
		go func() {
			select {
			case <-r.Child.Done():
				end()
			case <-until.Done():
			}
		}()
	}
	if r.Duration > 0 {
		timer := time.AfterFunc(r.Duration, end)
		defer timer.Stop()
	}
	err := r.Begin(collector.Statuses())
	if err == nil {
		r.Begun()
		err = collector.Intervals(until, r.Interval, 0, func(w *sample.Window) error {
			r.Seen(w)
			return r.Window(w)
		})
	}
	if r.Child != nil && watch.Err() != nil {
		r.Child.Signal(session.SignalOf(watch))
	}
	if err == nil {
		err = r.To.End(recording.End{Run: r.Ran()})
	}
	if err != nil {
		return fmt.Errorf("%w; %s", err, r.kept())
	}
	return nil
}

// kept says what there is of a recording that failed.
func (r *Recorder) kept() string {
	if r.To == nil || r.To.Windows() == 0 {
		return "nothing was recorded"
	}
	return fmt.Sprintf("%s from before: %s", sample.Counted(r.To.Windows(), "window"), r.Name)
}

// Header says what made a recording, where, and of what. The error is of the
// machine's fingerprint, of which a part may be there.
func Header(h *host.Host, program string, all []source.Status, interval time.Duration) (recording.Header, error) {
	head := recording.Header{Program: program, Began: h.Now(), Interval: interval.Seconds()}
	fingerprint, failed := h.Fingerprint()
	var err error
	if head.Host, err = json.Marshal(fingerprint); err != nil {
		failed = errors.Join(failed, err)
	}
	for _, s := range all {
		one := recording.Source{Name: s.Name, Metrics: s.Metrics, Gaps: s.Gaps}
		if s.OpenErr != nil {
			one.Gaps = append(one.Gaps, sample.Gap{Source: s.Name, Why: fmt.Sprintf("%s: %v", s.Name, s.OpenErr), Metrics: s.Metrics})
		}
		head.Sources = append(head.Sources, one)
	}
	return head, failed
}

// Begin writes the header.
func (r *Recorder) Begin(all []source.Status) error {
	h, err := Header(r.Host, r.Program, all, r.Interval)
	if err != nil {
		r.Note(err)
	}
	if r.Child != nil {
		h.Command = &recording.Command{Name: []byte(r.Child.Name()), PID: r.Child.PID()}
	}
	to, err := recording.NewWriter(r.File, h)
	if err == nil {
		r.To = to
	}
	return err
}

// Window writes one window.
func (r *Recorder) Window(w *sample.Window) error {
	cost, err := source.ReadCost(r.Host, w)
	if err != nil {
		w.Gaps = append(w.Gaps, sample.Gap{Why: err.Error()})
	}
	one := &recording.Record{Window: w, Cost: recording.Cost{CPUSeconds: cost.CPUSeconds - r.cpu, RSSBytes: cost.RSSBytes}}
	r.cpu = cost.CPUSeconds
	return r.To.Window(one)
}

// Ran is how the command went; nil without one.
func (r *Recorder) Ran() *recording.Run {
	if r.Child == nil {
		return nil
	}
	run := &recording.Run{}
	procs := r.Child.StopTracking()
	for _, pid := range slices.Sorted(maps.Keys(procs)) {
		run.Processes = append(run.Processes, recording.Process{PID: pid, Comm: []byte(procs[pid])})
	}
	ran, state, ended := r.Child.Ended()
	if !ended {
		return run
	}
	run.Ended, run.Exit, run.Seconds = true, r.Child.Code(), ran.Seconds()
	run.How = state.String()
	if use, ok := state.SysUsage().(*syscall.Rusage); ok {
		run.User, run.System = seconds(use.Utime), seconds(use.Stime)
		run.MostBytes = use.Maxrss << 10
		run.ReadBytes, run.WriteBytes = use.Inblock*512, use.Oublock*512
		run.MajorFaults = use.Majflt
	}
	return run
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
