package picture

import (
	"math"
	"testing"
	"time"

	"iocause/internal/sample"
)

// Each program and cgroup has what it did in each column, a second; processes of
// one name are one, and time that nobody looked at is in no column.
func TestBusiest(t *testing.T) {
	start := time.Unix(1700000000, 0).UTC()
	window := func(after int, bytes map[string]float64) *sample.Window {
		begin := start.Add(time.Duration(after) * time.Second)
		r := sample.NewRecorder(begin)
		r.At(begin.Add(10 * time.Second))
		pid := 1
		for comm, v := range bytes {
			for _, m := range []sample.Metric{sample.ProcReadBytes, sample.ProcWriteBytes} { // two processes of each name
				r.PutProcess(pid, sample.Process{Comm: comm})
				r.Put(m, sample.Entity{PID: pid}, v, "/proc/PID/io")
				pid++
			}
		}
		r.Put(sample.CgroupReadBytes, sample.Entity{Cgroup: "/db", Device: "vda"}, 130, "io.stat")
		return r.Window(begin.Add(10 * time.Second))
	}
	b := NewBusiest(start, start.Add(time.Minute))
	for _, w := range []*sample.Window{window(-20, map[string]float64{"cat": 1}), window(0, map[string]float64{"cat": 70, "dog": 1100}), window(10, map[string]float64{"dog": 1300}), window(40, map[string]float64{"cat": 170}), window(70, map[string]float64{"cat": 1})} {
		b.Add(w)
	}
	s := b.Set("Who did it")
	if len(s.Begin) != 3 || s.Begin[2] != 40 || s.End[2] != 50 {
		t.Fatalf("columns from %v to %v", s.Begin, s.End)
	}
	bytes := chart(t, s, "who:bytes")
	if bytes.Source != "/proc/PID/io" || bytes.Unit != "bytes/s" || len(bytes.Lines) != 2 {
		t.Fatalf("%+v", bytes)
	}
	for i, want := range []struct {
		name   string
		values Figures
	}{{"dog", Figures{220, 260, 0}}, {"cat", Figures{14, 0, 34}}} {
		got := bytes.Lines[i]
		if got.Name != want.name {
			t.Errorf("line %d is of %s", i, got.Name)
		}
		for k := range want.values {
			if math.Abs(got.Values[k]-want.values[k]) > 1e-9 {
				t.Errorf("%s: %v, want %v", want.name, got.Values, want.values)
				break
			}
		}
	}
	if c := chart(t, s, "who:cgroups"); c.Lines[0].Name != "/db" || c.Lines[0].Values[0] != 13 || c.Source != "io.stat" {
		t.Errorf("%+v", c)
	}
	for _, c := range s.Charts {
		if c.Key == "who:cpu" || c.Key == "who:waited" {
			t.Errorf("%s is drawn, and nothing is known of it", c.Key)
		}
	}
}
