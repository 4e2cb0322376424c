package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"iocause/internal/ask"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
)

var began = time.Unix(1_700_000_000, 0)

// fiveSeconds is a recording of five windows of a second, in which a process
// reads 1, 2, 3, 4 and 5 bytes.
func fiveSeconds(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := recording.NewWriter(&out, recording.Header{Interval: 1, Sources: []recording.Source{{Name: "odd", Gaps: []sample.Gap{{Why: "from the start on"}}}}})
	require.NoError(t, err)
	for i := range 5 {
		r := sample.NewRecorder(began.Add(time.Duration(i) * time.Second))
		r.PutProcess(7, sample.Process{Comm: "reader"})
		r.Put(sample.ProcReadBytes, sample.Entity{PID: 7}, float64(i+1), "test")
		require.NoError(t, w.Window(&recording.Record{Window: r.Window(began.Add(time.Duration(i+1) * time.Second)), Cost: recording.Cost{CPUSeconds: 1}}))
	}
	require.NoError(t, w.End(recording.End{}))
	return out.Bytes()
}

func opener(t *testing.T, dir string) *Opener {
	return &Opener{Dir: dir, Now: func() time.Time { return began.Add(time.Hour) }, Note: func(err error) { t.Errorf("noted: %v", err) }}
}

// What a recording has is the same in a file, in memory and as the evidence of
// an incident, by its file and by its number.
func TestSameWindowsFromEverywhere(t *testing.T) {
	dir, data := t.TempDir(), fiveSeconds(t)
	file := filepath.Join(dir, "x.iocause")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	x := &incidents.Incident{Finding: json.RawMessage("{}"), Sections: []incidents.Section{{Name: SectionRecording, Data: data}},
		Meta: incidents.Meta{Cause: "x", What: sample.Incident{Start: began, End: began.Add(5 * time.Second)}}}
	require.NoError(t, incidents.Save(filepath.Join(dir, IncidentsIn), x))
	o, span := opener(t, dir), &Interval{From: "+1s", To: "+3s"}
	read := func(p *Playback, err error) (w *sample.Window) {
		t.Helper()
		require.NoError(t, err)
		var all Join
		require.NoError(t, errors.Join(p.Each(all.Add), p.Close()))
		if all.Cost.CPUSeconds != 2 {
			t.Errorf("the windows cost %g s", all.Cost.CPUSeconds)
		}
		return all.Window()
	}
	want := read(o.Data("x", data, span))
	if sum, _ := want.Sum(sample.ProcReadBytes, sample.Entity{PID: 7}); sum != 2+3 || want.Length != 2*time.Second || len(want.Gaps) != 1 {
		t.Errorf("%g bytes in %v, gaps %v", sum, want.Length, want.Gaps)
	}
	for _, name := range []string{file, "1", incidents.Path(filepath.Join(dir, IncidentsIn), 1)} {
		if got := read(o.File(name, span)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has\n%+v, want\n%+v", name, got, want)
		}
	}
	if evidence, err := (&Opener{Dir: dir, Now: o.Now, Note: func(error) {}}).Evidence(&Interval{From: "2 hours ago"}, SectionRecording); err != nil || !bytes.Equal(evidence, data) {
		t.Errorf("%d bytes, %v", len(evidence), err)
	}
}

// An interval that makes no sense says which flag is wrong, and what to do.
func TestBadSpans(t *testing.T) {
	o, data := opener(t, t.TempDir()), fiveSeconds(t)
	for _, c := range []struct {
		span Interval
		want string
	}{
		{Interval{From: "soon"}, `reading --from: "soon"`},
		{Interval{To: "+x", FromFlag: "from-b", ToFlag: "to-b"}, `reading --to-b: "+x"`},
		{Interval{From: "+3s", To: "+1s"}, "reading --to: "},
	} {
		var bad *ask.Error
		if _, err := o.Data("x", data, &c.span); !errors.As(err, &bad) || bad.Next == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.span, err)
		}
	}
	p, err := o.Data("a\nb", data, &Interval{From: "+1h"})
	require.NoError(t, err)
	if err := p.Each(func(*recording.Record) error { return nil }); err == nil || !strings.Contains(err.Error(), `replaying a\nb: nothing was recorded in that time`) {
		t.Errorf("%v", err)
	}
}

// Windows are put together to the intervals that are asked for; what is left and
// the sum of all come last.
func TestIntervals(t *testing.T) {
	nobody := func(*sample.Window) string { return "" }
	for _, c := range []struct {
		every time.Duration
		count int
		want  []float64
		all   float64 // 0: no sum
	}{
		{0, 0, []float64{15}, 0},
		{time.Second, 0, []float64{1, 2, 3, 4, 5}, 15},
		{2 * time.Second, 0, []float64{3, 7, 5}, 15},
		{2 * time.Second, 2, []float64{3, 7}, 0},
		{time.Minute, 0, []float64{15}, 0},
	} {
		p, err := opener(t, "").Data("x", fiveSeconds(t), &Interval{})
		require.NoError(t, err)
		read := func(w *sample.Window) float64 {
			sum, _ := w.Sum(sample.ProcReadBytes, sample.Entity{PID: 7})
			return sum
		}
		var got []float64
		s := Intervals{Every: c.every, Count: c.count, Missing: nobody, Show: func(w *sample.Window) error {
			got = append(got, read(w))
			return nil
		}}
		all, err := s.Play(p)
		if err != nil || !reflect.DeepEqual(got, c.want) || (all != nil) != (c.all > 0) || all != nil && read(all) != c.all {
			t.Errorf("every %v, %d of them: %v, %v, in all %v; want %v and %g", c.every, c.count, err, got, all, c.want, c.all)
		}
	}
	p, err := opener(t, "").Data("x", fiveSeconds(t), &Interval{})
	require.NoError(t, err)
	s := Intervals{Missing: func(*sample.Window) string { return "nobody is there" }, Show: func(*sample.Window) error { return nil }}
	if _, err := s.Play(p); err == nil || !strings.Contains(err.Error(), "nobody is there in that time") {
		t.Errorf("%v", err)
	}
	s = Intervals{Every: 100 * time.Millisecond, Missing: nobody}
	var bad *ask.Error
	if _, err := s.Play(p); !errors.As(err, &bad) {
		t.Errorf("shorter than a window: %v", err)
	}
}
