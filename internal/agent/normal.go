package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"iocause/internal/store/whole"
)

// What the probes see while nothing is abnormal is kept, a window for each hour of
// the week: an incident is diagnosed against it.
const (
	normalEvery  = time.Hour        // from one look to the next
	normalFirst  = time.Minute      // after the start
	normalLength = 5 * time.Second  // of a look, at most
	normalProven = 15 * time.Minute // without an incident that began before it
	normalOldest = 35 * 24 * time.Hour
)

// normal is a window of better times, as the bytes of a recording.
type normal struct {
	at   time.Time
	data []byte
}

func (w *watcher) normalDir() string { return filepath.Join(w.config.Dir, "normal") }

// normalPath is where the window of an instant's hour of the week is kept.
func (w *watcher) normalPath(at time.Time) string {
	at = at.In(time.Local)
	return filepath.Join(w.normalDir(), fmt.Sprintf("%s-%02d.iocause", strings.ToLower(at.Weekday().String()[:3]), at.Hour()))
}

// lookAtNormal lets the probes look where it is time and nothing is abnormal, and
// keeps the last look once it is sure that nothing was.
func (w *watcher) lookAtNormal(ctx context.Context, now time.Time) {
	if !w.judges() {
		return
	}
	if w.normalNext.IsZero() || w.normalNext.Sub(now) > normalEvery { // the start, or the clock was set back
		w.normalNext = now.Add(normalFirst)
	}
	if w.open != nil || w.judging != nil || w.looking {
		return
	}
	if w.normal != nil && now.Sub(w.normal.at) >= normalProven && !w.watch.Off() {
		w.keepNormal()
	}
	if now.Before(w.normalNext) || !w.watch.Calm() { // an incident that began already takes no part of it
		return
	}
	w.normalNext = now.Add(normalEvery)
	w.looking = true
	ask := Ask{Length: min(normalLength, w.config.Incidents.Diagnose), Look: true}
	go func() {
		f := w.judge(ctx, ask)
		f.at = now
		w.found <- f
	}()
}

// looked takes a look that ended.
func (w *watcher) looked(f Finding) {
	w.looking = false
	if w.open == nil {
		w.verdicts.set(f.Report, ofLook)
		w.events.tellLook(f.Report, f.at, w.normalPath(f.at))
	}
	if w.open == nil && len(f.Sections) == 1 {
		w.normal = &normal{f.at, f.Sections[0].Data}
	}
}

// keepNormal writes the last look.
func (w *watcher) keepNormal() {
	if w.normal == nil {
		return
	}
	n := w.normal
	w.normal, w.keptNormal = nil, n
	path := w.normalPath(n.at)
	w.keeper.put(job{of: path, bytes: len(n.data), fails: "the baseline window cannot be saved", do: func() error {
		if err := os.MkdirAll(w.normalDir(), 0o700); err != nil {
			return err
		}
		if err := whole.Write(path, 0o600, whole.Bytes(n.data)); err != nil {
			return err
		}
		return os.Chtimes(path, n.at, n.at)
	}})
}

// errSlowDisk is a disk that has what was asked for, and does not answer.
var errSlowDisk = errors.New("the disk did not answer")

// soonNormal is normalBefore with little patience. A call that hangs takes a
// thread, so there is one at most.
func (w *watcher) soonNormal(start time.Time, last *normal) ([]byte, error) {
	if !w.reading.CompareAndSwap(false, true) {
		return nil, errSlowDisk
	}
	read := make(chan []byte, 1)
	go func() {
		defer w.reading.Store(false)
		read <- w.normalBefore(start, last)
	}()
	select {
	case b := <-read:
		return b, nil
	case <-time.After(normalPatience):
		return nil, errSlowDisk
	}
}

// normalBefore is the window that an incident which began then is compared
// with: that of the same hour of the week, else the newest, which may be one
// that is not kept yet; nil for none.
func (w *watcher) normalBefore(start time.Time, last *normal) []byte {
	read := func(path string) []byte {
		info, err := os.Stat(path)
		if err != nil || !info.ModTime().Before(start) || start.Sub(info.ModTime()) > normalOldest {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			w.log.Error("the baseline window cannot be read", "why", err)
			return nil
		}
		return b
	}
	if b := read(w.normalPath(start)); b != nil {
		return b
	}
	if last != nil && last.at.Before(start) {
		return last.data
	}
	names, _ := filepath.Glob(filepath.Join(w.normalDir(), "*.iocause")) // the pattern is right
	age := map[string]time.Time{}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			age[name] = info.ModTime()
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(age[b].Compare(age[a]), strings.Compare(a, b)) })
	for _, name := range names {
		if b := read(name); b != nil {
			return b
		}
	}
	return nil
}
