// Package baseline shows hours of signals beside what is normal at such a time.
package baseline

import (
	"time"

	"iocause/internal/detect"
	"iocause/internal/sample"
	"iocause/internal/store/summaries"
)

// Read reads what a folder keeps of all signals, and when the newest hour began
// that is not after now. lost is what could not be read.
func Read(dir string, now time.Time) (history *detect.History, newest time.Time, lost []string, err error) {
	history = detect.NewHistory(now.Location())
	lost, err = summaries.Read(dir, func(h sample.Hour) {
		history.Put(h)
		if h.Start.After(newest) && !h.Start.After(now) {
			newest = h.Start
		}
	})
	return history, newest, lost, err
}

// Band is a band for programs; its figures are null where nothing is known.
type Band struct {
	Hours   int      `json:"hours"` // that it was made of
	P05     *float64 `json:"p05"`
	P25     *float64 `json:"p25"`
	P50     *float64 `json:"p50"`
	P75     *float64 `json:"p75"`
	P95     *float64 `json:"p95"`
	Extreme *float64 `json:"worst_minute"`
}

func bandOf(b detect.Band) Band {
	o := Band{Hours: b.Hours}
	if b.Hours > 0 {
		q := b.Q
		o.P05, o.P25, o.P50, o.P75, o.P95, o.Extreme = &q[0], &q[1], &q[2], &q[3], &q[4], &b.Extreme
	}
	return o
}

// Hour is one hour of a signal beside what is normal.
type Hour struct {
	Signal  string       `json:"signal"`
	Unit    string       `json:"unit"`
	Start   time.Time    `json:"start"`
	Samples int          `json:"samples"`
	Alarmed int          `json:"samples_off"`
	Was     Band         `json:"was"`
	Basis   detect.Basis `json:"basis"`
	Days    int          `json:"days"`
	Normal  Band         `json:"normal"`
	Z       *float64     `json:"z"`
	Month   Band         `json:"month"`
	Year    Band         `json:"year"`
}

// Beside is one hour, known or not, with its references.
func Beside(s *detect.Signal, history *detect.History, start time.Time) Hour {
	ref, context := history.Reference(s, start), history.Context(s, start)
	h := Hour{Signal: s.Name, Unit: s.Unit, Start: start, Basis: ref.Basis, Days: ref.Days, Normal: bandOf(ref.Band),
		Month: bandOf(context.Month), Year: bandOf(context.Year)}
	for _, x := range history.Hours(s.Name, start, start.Add(time.Second)) {
		h.Samples, h.Alarmed = x.N, x.Alarmed
		if x.N > 0 {
			h.Was = bandOf(detect.Band{Hours: 1, Q: x.Q, Extreme: x.Extreme})
			if z := ref.Z(s, x.Q[2]); ref.Basis != detect.Learning {
				h.Z = &z
			}
		}
	}
	return h
}
