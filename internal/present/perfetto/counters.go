package perfetto

import (
	"maps"
	"math"
	"strings"
	"time"
	"unicode"
)

// Figure is one value of a counter.
type Figure struct {
	Name  string
	Value float64
}

// Count writes figures of a process as they are from an instant on. The viewer keeps
// them until the next ones, so that a figure that was told once is told as 0 when it
// is missing, and one that never was is left out. What is no number is left out.
func (w *Writer) Count(pid int, process, counter string, at time.Duration, figures []Figure) error {
	args := map[string]any{}
	k := counterKey{pid, counter}
	for name := range w.counted[k] {
		args[name] = 0.0
	}
	for _, f := range figures {
		name := plain(f.Name)
		if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
			delete(args, name)
			continue
		}
		if f.Value != 0 {
			args[name] = f.Value
		}
	}
	if len(args) == 0 {
		return nil
	}
	if w.counted == nil {
		w.counted = map[counterKey]map[string]bool{}
	}
	if w.counted[k] == nil {
		w.counted[k] = map[string]bool{}
	}
	for name := range maps.Keys(args) {
		w.counted[k][name] = true
	}
	if err := w.name(pid, process); err != nil {
		return err
	}
	return w.event(&event{Name: plain(counter), Phase: "C", At: micros(at), PID: pid, Args: args})
}

// counterKey is a counter of a process.
type counterKey struct {
	pid     int
	counter string
}

// plain is a name without what a viewer could obey.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, name)
}
