package show

import (
	"fmt"
	"time"

	"iocause/internal/present/perfetto"
	"iocause/internal/tool/threads"
)

// ThreadsCourse writes what threads did in an interval, of a trace whose times are
// counted from began: which share of the interval each was in each state. Threads that
// were idle all the time are left out.
func ThreadsCourse(w *perfetto.Writer, t *threads.Threads, began time.Time) error {
	for i := range t.Threads {
		u := &t.Threads[i]
		var figures []perfetto.Figure
		for _, s := range t.Shares(u) {
			figures = append(figures, perfetto.Figure{Name: s.State, Value: s.Of})
		}
		if err := w.Count(u.PID, string(u.Process), fmt.Sprintf("%s %d", u.Comm, u.TID), t.Begin.Sub(began), figures); err != nil {
			return err
		}
	}
	return nil
}
