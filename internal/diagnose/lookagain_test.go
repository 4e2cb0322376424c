package diagnose

import "testing"

func TestLookAgain(t *testing.T) {
	for _, c := range []struct {
		asked  string
		victim Culprit
		want   string
	}{
		{"--pid 12", Culprit{Comm: "fio"}, "iocause diagnose --pid 12"},
		{"", Culprit{PID: 12, Comm: "fio", Cgroup: "/db"}, "iocause diagnose --cgroup /db"},
		{"", Culprit{PID: 12, Comm: "fio", Cgroup: "/"}, "iocause diagnose --comm fio"},
		{"", Culprit{Comm: "a b", Device: "vda"}, "iocause diagnose --device vda"},
		{"--comm x;y", Culprit{Comm: "-rf"}, "iocause diagnose"},
	} {
		r := Report{Victim: c.victim}
		if got := r.LookAgain(c.asked); got != c.want {
			t.Errorf("%q, %+v: %q, want %q", c.asked, c.victim, got, c.want)
		}
	}
}
