package agent

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What the probes see while nothing is off is kept, a window for each hour of
// the week: an incident is judged against it.
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

// lookAtNormal lets the probes look where it is time and nothing is off, and
// keeps the last look once it is sure that nothing was.
func (w *watcher) lookAtNormal(ctx context.Context, now time.Time) {
	if w.judge == nil || w.config.Incidents.Diagnose == 0 {
		return
	}
	if w.normalNext.IsZero() || w.normalNext.Sub(now) > normalEvery { // the start, or the clock was set back
		w.normalNext = now.Add(normalFirst)
	}
	if w.open != nil || w.judging != 0 || w.looking {
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
	if w.open == nil && len(f.Sections) == 1 {
		w.normal = &normal{f.at, f.Sections[0].Data}
	}
}

// keepNormal writes the last look.
func (w *watcher) keepNormal() {
	if w.normal == nil {
		return
	}
	path := w.normalPath(w.normal.at)
	err := os.MkdirAll(w.normalDir(), 0o700)
	if err == nil {
		err = replace(path, w.normal.data)
	}
	if err == nil {
		err = os.Chtimes(path, w.normal.at, w.normal.at)
	}
	if err != nil {
		w.log.Error("what the machine does when nothing is off cannot be kept; the next is tried", "why", err)
	}
	w.normal = nil
}

// normalBefore is the window that an incident which began then is compared
// with: that of the same hour of the week, else the newest; nil for none.
func (w *watcher) normalBefore(start time.Time) []byte {
	read := func(path string) []byte {
		info, err := os.Stat(path)
		if err != nil || !info.ModTime().Before(start) || start.Sub(info.ModTime()) > normalOldest {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			w.log.Error("what the machine does when nothing is off cannot be read", "why", err)
			return nil
		}
		return b
	}
	if b := read(w.normalPath(start)); b != nil {
		return b
	}
	if w.normal != nil && w.normal.at.Before(start) {
		return w.normal.data
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
