package perfetto

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/picture"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// read is a document, held against the rules of the format: each phase has what it
// needs, lanes and processes are named, and what overlaps in a lane is nested.
func read(t *testing.T, text []byte) []event {
	t.Helper()
	var got struct {
		DisplayTimeUnit string
		TraceEvents     []event
	}
	if err := json.Unmarshal(text, &got); err != nil || got.DisplayTimeUnit != "ns" || len(got.TraceEvents) == 0 {
		t.Fatalf("%v: %.300s", err, text)
	}
	named, lanes := map[int]bool{}, map[int][]event{}
	for _, e := range got.TraceEvents {
		switch {
		case e.Phase == "M":
			if e.Name == "process_name" {
				if named[e.PID] {
					t.Errorf("process %d is named twice", e.PID)
				}
				named[e.PID] = true
			}
		case e.Phase == "C":
			if len(e.Args) == 0 || !named[e.PID] {
				t.Errorf("a counter without figures, or of nobody: %+v", e)
			}
			for name, v := range e.Args {
				if _, number := v.(float64); !number {
					t.Errorf("%s of %+v is no number", name, e)
				}
			}
		case e.Phase == "X":
			const rounded = 0.001 // us
			open := lanes[e.TID]
			for len(open) > 0 && open[len(open)-1].At+open[len(open)-1].Length <= e.At+rounded {
				open = open[:len(open)-1]
			}
			if n := len(open); n > 0 && e.At+e.Length > open[n-1].At+open[n-1].Length+rounded {
				t.Errorf("%+v goes on after %+v, which it is in", e, open[n-1])
			}
			if e.Name == "" || e.At < 0 || e.Length < 0 || !named[e.PID] {
				t.Errorf("%+v", e)
			}
			lanes[e.TID] = append(open, e)
		default:
			t.Errorf("phase %q", e.Phase)
		}
	}
	return got.TraceEvents
}

const odd = "</script>\x1b[31m\n\"\xff\u202e"

// Each thread's time is there once, and its functions are inside those that called
// them: 97 stacks of prime lengths of two threads.
func TestStacks(t *testing.T) {
	p := &sample.Profile{Counts: "waits", Begin: time.Unix(1700000000, 0)}
	whole := time.Duration(0)
	names := []string{"read", "write", odd}
	for i := range 97 {
		took := time.Duration(i*i+1) * 101 * time.Microsecond
		whole += took
		p.Stacks = append(p.Stacks, sample.Stack{PID: 7, TID: 7 + i%2, Process: odd, Thread: "t", State: "disk", Time: took, Count: 1,
			Frames: []*sample.Frame{{Name: "main"}, {Name: names[i%3]}, {Name: names[i%2]}}})
	}
	var b bytes.Buffer
	require.NoError(t, Stacks(&b, "test", p))
	sums := map[string]float64{}
	for _, e := range read(t, b.Bytes()) {
		if e.Phase == "X" {
			sums[e.Name] += e.Length
		}
	}
	if want := micros(whole); math.Abs(sums["main"]-want) > 1 || math.Abs(sums["[disk]"]-want) > 1 {
		t.Errorf("%v us in main and %v in the states, want %v", sums["main"], sums["[disk]"], want)
	}
	if err := Stacks(&bytes.Buffer{}, "test", &sample.Profile{}); err != nil {
		t.Error(err)
	}
}

// Figures of a counter: what is missing after it was told is 0, what is no number is
// left out, and what never was is not there.
func TestCount(t *testing.T) {
	var b bytes.Buffer
	w, err := New(&b, "test", time.Unix(1700000000, 0))
	require.NoError(t, err)
	for i, figures := range [][]Figure{{{"a", 0}}, {{"a", 2}, {"b", 3}}, {{"b", math.NaN()}}, {{odd, 5}, {"b", 7}}, {}} {
		require.NoError(t, w.Count(11, odd, "c", time.Duration(i)*time.Second, figures))
	}
	require.NoError(t, w.Close())
	var got []map[string]any
	for _, e := range read(t, b.Bytes()) {
		if e.Phase == "C" {
			got = append(got, e.Args)
		}
	}
	text, err := json.Marshal(got)
	const want = `[{"a":2,"b":3},{"a":0},{"\u003c/script\u003e�[31m�\"��":5,"a":0,"b":7},{"\u003c/script\u003e�[31m�\"��":0,"a":0,"b":0}]`
	if err != nil || string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// The course of two sets: their charts as counters, the finding and marks as slices,
// and what was not observed.
func TestCourse(t *testing.T) {
	start := time.Unix(1700000000, 0)
	set := &picture.Set{Title: odd, Start: start, Begin: picture.Figures{0, 1, 5}, End: picture.Figures{1, 2, 6}, Marks: []picture.Mark{{From: 1, To: 2, Name: odd}},
		Charts: []picture.Chart{{Group: "Device vda", Title: "Operations", Unit: "count/s", Lines: []picture.Line{{Name: "reads", Values: picture.Figures{13, math.NaN(), 17}}}}}}
	later := &picture.Set{Title: "later", Start: start.Add(time.Minute), Begin: picture.Figures{0}, End: picture.Figures{1}, Charts: set.Charts}
	var b bytes.Buffer
	require.NoError(t, Course(&b, &picture.Page{Report: &diagnose.Report{Primary: "cold-cache", Title: odd}, Sets: []*picture.Set{set, later}}))
	slices, counts := map[string]int{}, 0
	for _, e := range read(t, b.Bytes()) {
		switch {
		case e.Phase == "X":
			slices[e.Name]++
			if e.Name == "not observed: counters keep their last value" && (e.At != 2e6 || e.Length != 3e6) {
				t.Errorf("the gap is at %v for %v us", e.At, e.Length)
			}
		case e.Phase == "C":
			counts++
		}
	}
	if counts != 3 || len(slices) != 3 || slices["cold-cache: "+plain(odd)] != 2 {
		t.Errorf("%d figures, slices %v", counts, slices)
	}
}
