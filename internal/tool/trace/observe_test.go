package trace

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/store/tracefile"
)

// file is a trace of n I/Os of 1 ms, one every 10 ms; the end is missing where
// ended is false.
func file(t *testing.T, n int, ended bool) *tracefile.Reader {
	t.Helper()
	var b bytes.Buffer
	w, err := tracefile.NewWriter(&b, tracefile.Header{Began: time.Unix(1700000000, 0), Filter: "comm x"})
	require.NoError(t, err)
	for i := range n {
		x := sample.IO{Start: time.Duration(i) * 10 * time.Millisecond, Device: time.Millisecond, Disk: "sda", Bytes: 4096, PID: 7, Comm: "x"}
		require.NoError(t, w.Add(&x))
	}
	require.NoError(t, w.Flush())
	if ended {
		require.NoError(t, w.End(time.Duration(n)*10*time.Millisecond))
	}
	r, err := tracefile.NewReader(&b)
	require.NoError(t, err)
	return r
}

func TestIntervals(t *testing.T) {
	all := func(*sample.IO) bool { return true }
	for _, c := range []struct {
		o    Observer
		want []string // start, length and I/Os
	}{
		{Observer{}, []string{"0s 2.5s 250"}},
		{Observer{Every: time.Second}, []string{"0s 1s 100", "1s 1s 100", "2s 500ms 50", "whole 0s 2.5s 250"}},
		{Observer{Every: time.Second, Count: 2}, []string{"0s 1s 100", "1s 1s 100"}},
		{Observer{Every: time.Second, Count: 9}, []string{"0s 1s 100", "1s 1s 100", "2s 500ms 50"}},
	} {
		var got []string
		c.o.Summary = func(s *Summary) error {
			whole := ""
			if s.Whole {
				whole = "whole "
			}
			got = append(got, fmt.Sprintf("%s%v %v %d", whole, s.Since, s.Length, s.IOs()))
			if s.IOs() > 0 && s.Tables()[0].Rows[0][0].Text != "x" {
				t.Errorf("processes %+v", s.Tables()[0].Rows)
			}
			return nil
		}
		require.NoError(t, Read(t.Context(), file(t, 250, true), all, &c.o))
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, %d: %q, want %q", c.o.Every, c.o.Count, got, c.want)
		}
	}
}

// What a reader must know is said, and an error of who takes it ends it.
func TestReadSaysWhatIsMissing(t *testing.T) {
	none := func(*sample.IO) bool { return false }
	var notes []string
	o := &Observer{Summary: func(s *Summary) error { notes = s.Tables()[0].Notes; return nil }}
	if err := Read(t.Context(), file(t, 5, false), none, o); err != nil || o.Taken() != 0 {
		t.Errorf("%d I/Os, %v", o.Taken(), err)
	}
	if want := []string{"recorded with a filter: comm x", "the trace was not closed cleanly: its last I/Os may be missing"}; !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	sorry := errors.New("sorry")
	o = &Observer{IO: func(*sample.IO) error { return sorry }}
	if err := Read(t.Context(), file(t, 5, true), func(*sample.IO) bool { return true }, o); !errors.Is(err, sorry) {
		t.Errorf("%v", err)
	}
}
