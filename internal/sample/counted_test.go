package sample

import "testing"

func TestCounted(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Counted(1, "process"), "1 process"},
		{Counted(2, "process"), "2 processes"},
		{Counted(0, "thing"), "0 things"},
		{Counted(1.0, "event"), "1 event"},
		{Counted(3.0, "event"), "3 events"},
		{Counted(1.5, "processor"), "1.5 processors"},
		{Counted(uint64(7), "entry"), "7 entries"},
		{Counted(2, "day"), "2 days"},
		{Counted(2, "switch"), "2 switches"},
		{Counted(123456789, "file"), "123456789 files"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
