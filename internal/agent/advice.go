package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/store/advice"
	"iocause/internal/store/incidents"
)

// advised is what was advised in incidents. It looks whether settings change that
// may be what was meant, and has measured then what came of it. It is the watcher's.
type advised struct {
	host      *host.Host
	ledger    *advice.Ledger
	settles   time.Duration // after a change, before it is measured
	measuring int           // number of the entry, 0: none
	tried     time.Time
}

const (
	adviceSettles = time.Minute
	adviceAgain   = 5 * time.Minute     // after it could not be measured
	adviceTries   = 12                  // then it is given up
	adviceStands  = 30 * 24 * time.Hour // so long changes are looked for
	adviceWatched = 20                  // of the newest
	mostSetting   = 4096                // bytes of one
)

// newAdvised goes on with what an agent before this one has kept.
func newAdvised(h *host.Host, dir string, settles time.Duration) (*advised, error) {
	l, err := advice.Begun(dir)
	if err != nil {
		l = &advice.Ledger{}
	}
	return &advised{host: h, ledger: l, settles: settles}, err
}

// given adds the first advice of an incident, with the settings of now.
func (a *advised) given(number int, document json.RawMessage, now time.Time) (added bool, err error) {
	var r struct {
		Victim   struct{ Comm, Cgroup string }
		Findings []struct {
			Cause, Answer string
			Culprit       struct{ Cgroup string }
			Advice        []struct {
				Do, Expect string
				Low        float64 `json:"expect_low"`
				High       float64 `json:"expect_high"`
			}
		}
	}
	if err := json.Unmarshal(document, &r); err != nil || len(r.Findings) == 0 || number == 0 {
		return false, err
	}
	f := &r.Findings[0]
	if f.Answer != "yes" || len(f.Advice) == 0 || r.Victim.Comm == "" {
		return false, nil
	}
	settings, err := a.settings([]string{r.Victim.Cgroup, f.Culprit.Cgroup})
	x := f.Advice[0]
	a.ledger.Add(advice.Entry{Given: now, Incident: number, Program: r.Victim.Comm, Cause: f.Cause,
		Do: x.Do, Expect: x.Expect, Low: x.Low, High: x.High, Settings: settings})
	return true, err
}

// settings are those that advice is about, by file: limits of cgroups and of those
// above them, of dirty memory, of devices; and how much memory there is.
func (a *advised) settings(cgroups []string) (map[string]string, error) {
	patterns := []string{a.host.Proc("meminfo")}
	for _, name := range []string{"dirty_bytes", "dirty_ratio", "dirty_background_bytes", "dirty_background_ratio", "swappiness", "vfs_cache_pressure", "min_free_kbytes"} {
		patterns = append(patterns, a.host.Proc("sys/vm", name))
	}
	for _, name := range []string{"read_ahead_kb", "scheduler", "nr_requests", "wbt_lat_usec"} {
		patterns = append(patterns, a.host.Sys("block/*/queue", name))
	}
	all, err := a.host.Cgroups()
	if err == nil {
		for controller, files := range map[string][]string{
			"memory": {"memory.limit_in_bytes", "memory.max", "memory.high"},
			"io":     {"io.max"}, "blkio": {"blkio.throttle.*_device"},
			"cpu": {"cpu.max", "cpu.cfs_quota_us"},
		} {
			h, ok := all.Controller(controller)
			for _, cgroup := range cgroups {
				for depth := 0; ok && cgroup != "" && cgroup != "/" && depth < 16; cgroup, depth = path.Dir(cgroup), depth+1 {
					dir, err := h.Join(cgroup)
					if err != nil || strings.ContainsAny(dir, `*?[\`) {
						break
					}
					for _, f := range files {
						patterns = append(patterns, filepath.Join(dir, f))
					}
				}
			}
		}
	}
	out := map[string]string{}
	for _, p := range patterns {
		names, _ := filepath.Glob(p) // no pattern of ours is bad
		for _, name := range names {
			if text, ok := settingOf(name); ok {
				out[name] = text
			}
		}
	}
	return out, err
}

// settingOf is what a file says; of meminfo only the first line, MemTotal.
func settingOf(name string) (string, bool) {
	b, err := os.ReadFile(name)
	if filepath.Base(name) == "meminfo" {
		b, _, _ = bytes.Cut(b, []byte("\n"))
	}
	if err != nil || len(b) > mostSetting {
		return "", false
	}
	return strings.Join(strings.Fields(string(b)), " "), true
}

// see looks for settings that are others than they were; it tells whether any is. What
// cannot be read any more, as of a cgroup that is gone, is no change.
func (a *advised) see(now time.Time) (changed bool) {
	read := map[string]*string{} // most settings are of several entries
	first := max(0, len(a.ledger.Entries)-adviceWatched)
	for i := first; i < len(a.ledger.Entries); i++ {
		e := &a.ledger.Entries[i]
		if e.Outcome != nil || e.Number == a.measuring || now.Sub(e.Given).Abs() > adviceStands {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(e.Settings)) {
			text, known := read[name]
			if !known {
				if now, ok := settingOf(name); ok {
					text = &now
				}
				read[name] = text
			}
			if text == nil || *text == e.Settings[name] {
				continue
			}
			e.Changes = append(e.Changes, advice.Change{At: now, What: name, From: e.Settings[name], To: *text})
			e.Settings[name] = *text
			changed = true
		}
	}
	return changed
}

// due is the entry to be measured now, nil for none.
func (a *advised) due(now time.Time) *advice.Entry {
	if a.measuring != 0 {
		return nil
	}
	for i := range a.ledger.Entries {
		e := &a.ledger.Entries[i]
		if len(e.Changes) == 0 || e.Outcome != nil || e.Incident == 0 {
			continue
		}
		if now.Sub(e.Changes[len(e.Changes)-1].At) >= a.settles && (e.Tries == 0 || now.Sub(a.tried) >= adviceAgain) {
			return e
		}
	}
	return nil
}

// measured takes what came of the entry that was measured. What cannot be told yet,
// as when the program does not run, is tried again.
func (a *advised) measured(o *advice.Outcome, now time.Time) {
	for i := range a.ledger.Entries {
		e := &a.ledger.Entries[i]
		if e.Number != a.measuring {
			continue
		}
		a.tried = now
		if e.Tries++; o.Factor != nil || e.Tries >= adviceTries {
			e.Outcome, e.Settings = o, nil
		}
	}
	a.measuring = 0
}

// followAdvice looks after what was advised: what was changed, and what came of it.
func (w *watcher) followAdvice(ctx context.Context, now time.Time) {
	a := w.advised
	if a == nil {
		return
	}
	if a.see(now) {
		w.saveAdvice()
	}
	e := a.due(now)
	if e == nil || !w.judges() || w.looking || w.judging != nil {
		return
	}
	a.measuring, w.looking = e.Number, true
	ask := Ask{Length: w.config.Incidents.Diagnose, Again: incidents.Path(w.dir(), e.Incident)}
	go func() { w.found <- w.judge(ctx, ask) }()
}

// cameOf takes what was measured.
func (w *watcher) cameOf(f *Finding) {
	w.looking = false
	o := f.Again
	if o == nil {
		o = &advice.Outcome{Result: "cannot tell", Notes: f.Notes}
	}
	o.At = w.host.Now()
	w.advised.measured(o, o.At)
	w.log.Info("an advice was followed", "came", o.Result, "notes", fmt.Sprintf("%q", o.Notes))
	w.saveAdvice()
}

// adviseIn adds the advice of an incident that is judged.
func (w *watcher) adviseIn(x *openIncident) {
	if w.advised == nil {
		return
	}
	added, err := w.advised.given(int(x.number.Load()), x.Finding, w.host.Now())
	if err != nil {
		w.log.Error("some cgroups or settings of earlier advice are not watched", "why", err)
	}
	if added {
		w.saveAdvice()
	}
}

// saveAdvice has the ledger written as it is now.
func (w *watcher) saveAdvice() {
	b, err := w.advised.ledger.Bytes()
	w.keeper.put(job{of: "advice", bytes: len(b), fails: "advice cannot be saved", do: func() error {
		return errors.Join(err, advice.Save(w.config.Dir, b))
	}})
}
