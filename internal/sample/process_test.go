package sample

import "testing"

func TestCgroupOfAProcess(t *testing.T) {
	for _, c := range []struct {
		p    Process
		want string
	}{
		{Process{}, ""},
		{Process{MemoryCgroup: "/", IOCgroup: "/"}, "/"},
		{Process{MemoryCgroup: "/a", IOCgroup: "/"}, "/a"},
		{Process{MemoryCgroup: "/", IOCgroup: "/b"}, "/b"},
		{Process{MemoryCgroup: "/a", IOCgroup: "/b"}, "/a"},
		{Process{CPUCgroup: "/c", IOCgroup: "/"}, "/c"},
		{Process{IOCgroup: "/"}, "/"},
	} {
		if got := c.p.Cgroup(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.p, got, c.want)
		}
	}
}
