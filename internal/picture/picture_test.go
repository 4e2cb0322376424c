package picture

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"iocause/internal/sample"
)

// windows are n seconds of one device and two programs: second i has 10+i reads
// of 1 ms each in the device, half of them lookup's.
func windows(n int) []*sample.Window {
	var all []*sample.Window
	start := time.Unix(1700000000, 0).UTC()
	for i := range n {
		begin := start.Add(time.Duration(i) * time.Second)
		r := sample.NewRecorder(begin)
		r.At(begin)
		r.At(begin.Add(time.Second))
		ops := float64(10 + i)
		r.Put(sample.DiskReads, sample.Entity{Device: "vda"}, ops, "/proc/diskstats")
		r.Put(sample.DiskReadTime, sample.Entity{Device: "vda"}, ops*1e-3, "/proc/diskstats")
		r.Put(sample.DiskWeighted, sample.Entity{Device: "vda"}, ops*1e-3, "/proc/diskstats")
		r.Put(sample.MemCache, sample.Entity{}, float64(i), "/proc/meminfo")
		for pid, comm := range map[int]string{1: "lookup", 2: "backup", 3: "idle"} {
			r.PutProcess(pid, sample.Process{Comm: comm})
			if pid == 3 {
				continue
			}
			e := sample.Entity{PID: pid, Device: "vda", Class: "read"}
			r.Put(sample.BlockOps, e, ops/2, "tp:block_rq_complete")
			r.Put(sample.BlockDeviceTime, e, ops/2*1e-3, "tp:block_rq_complete")
			r.Put(sample.WaitFor, sample.Entity{PID: pid, Class: "direct"}, ops/2*1e-3, "tp:sched_switch")
		}
		var h sample.Histogram
		h.Unit = "nanoseconds"
		h.Counts[sample.Bucket(1e6)] = uint64(ops)
		h.Sum = ops * 1e6
		r.PutHistogram(sample.HistDevice, sample.Entity{Device: "vda", Class: "read"}, h, "tp:block_rq_complete")
		all = append(all, r.Window(begin.Add(time.Second)))
	}
	return all
}

func taken(all []*sample.Window) *Course {
	c := &Course{}
	for _, w := range all {
		c.Add(w)
	}
	return c
}

func chart(t *testing.T, s *Set, key string) *Chart {
	t.Helper()
	for i := range s.Charts {
		if s.Charts[i].Key == key {
			return &s.Charts[i]
		}
	}
	t.Fatalf("no chart %s", key)
	return nil
}

// However many windows there are, columns stay within their bound, and neither an
// I/O nor a second is lost or counted twice.
func TestColumnsKeepEveryIO(t *testing.T) {
	for _, n := range []int{2, 37, mostColumns, 2 * mostColumns, 2*mostColumns + 1, 5003} {
		s := taken(windows(n)).Set("", Victim{PID: 1, Comm: "lookup"})
		want, got, ops, seconds := uint64(0), uint64(0), 0.0, 0.0
		for i := range n {
			want += uint64(10 + i)
		}
		for _, c := range s.Heats[0].Cells {
			for _, v := range c[1:] {
				got += v
			}
			if c[0] != uint64(sample.Bucket(1e6)) {
				t.Errorf("of %d: a latency of 1 ms is in row %d", n, c[0])
			}
		}
		reads := chart(t, s, "device:vda:ops").Lines[0].Values
		for i := range s.Begin {
			ops += reads[i] * (s.End[i] - s.Begin[i])
			seconds += s.End[i] - s.Begin[i]
		}
		if len(s.Begin) > mostColumns || got != want || s.Heats[0].Count != want || math.Abs(ops-float64(want)) > 1e-6*ops || seconds != float64(n) {
			t.Errorf("of %d windows %d columns: %d I/Os in cells, %g in the course, want %d; %g s", n, len(s.Begin), got, ops, want, seconds)
		}
	}
}

// What is shown at first is not a device beside, whatever its name.
func TestTheHeatMapOfTheMostIOsIsFirst(t *testing.T) {
	begin := time.Unix(1700000000, 0).UTC()
	r := sample.NewRecorder(begin)
	r.At(begin)
	r.At(begin.Add(time.Second))
	for _, x := range []struct {
		device, class string
		ios           uint64
	}{{"loop0", "read", 37}, {"vda", "read", 142}, {"vda", "flush", 8153}, {"vda", "write", 9100}} {
		h := sample.Histogram{Unit: "nanoseconds", Sum: float64(x.ios) * 1e6}
		h.Counts[sample.Bucket(1e6)] = x.ios
		r.Put(sample.DiskWeighted, sample.Entity{Device: x.device}, 1, "/proc/diskstats")
		e := sample.Entity{Device: x.device, Class: x.class}
		r.Put(sample.BlockOps, e, float64(x.ios), "tp:block_rq_complete")
		r.PutHistogram(sample.HistDevice, e, h, "tp:block_rq_complete")
	}
	var got []string
	for _, h := range taken([]*sample.Window{r.Window(begin.Add(time.Second))}).Set("", Victim{}).Heats {
		got = append(got, h.Device+" "+h.Op)
	}
	if want := []string{"vda write", "vda flush", "vda read", "loop0 read"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCharts(t *testing.T) {
	s := taken(windows(3)).Set("", Victim{PID: 1, Comm: "lookup"})
	if c := chart(t, s, "device:vda:latency"); c.Lines[0].Name != "reads" || math.Abs(c.Lines[0].Values[1]-1e-3) > 1e-12 || len(c.Lines) != 1 {
		t.Errorf("%+v", c)
	}
	if c := chart(t, s, "waiting:victim"); len(c.Lines) != 1 || c.Lines[0].Name != "direct I/O" || math.Abs(c.Lines[0].Values[0]-5e-3) > 1e-12 {
		t.Errorf("%+v", c)
	}
	if c := chart(t, s, "waiting:who"); len(c.Lines) != 2 {
		t.Errorf("who waits: %+v", c)
	}
	if c := chart(t, s, "memory"); c.Lines[0].Values[2] != 2 {
		t.Errorf("%+v", c)
	}
	u := s.Uses["vda"]
	if got := u.Processes[2]; len(got) != 8 || s.Names[int(got[0])] != "lookup (1)" || got[2] != 6 || got[3] != 1000 {
		t.Errorf("who used vda: %v of %q", got, s.Names)
	}
}

// Time that nobody observed is in no column, and a figure that nobody measured in
// no chart.
func TestWhatWasNotObserved(t *testing.T) {
	all := windows(4)
	s := taken([]*sample.Window{all[0], all[3]}).Set("", Victim{})
	if len(s.Begin) != 2 || s.Begin[1] != 3 || s.End[0] != 1 {
		t.Errorf("%v to %v", s.Begin, s.End)
	}
	for _, c := range s.Charts {
		if c.Key == "pressure" || c.Key == "cpu" || c.Key == "waiting:victim" {
			t.Errorf("there is a chart of %s", c.Key)
		}
	}
}

// Within a single window there is a course of what was read several times in it.
func TestASingleWindow(t *testing.T) {
	start := time.Unix(1700000000, 0)
	r := sample.NewRecorder(start)
	for i := 1; i <= 5; i++ {
		r.At(start.Add(time.Duration(i) * time.Second))
		r.Put(sample.PSISome, sample.Entity{Class: "io"}, float64(i)/10, "/proc/pressure/io")
	}
	r.Put(sample.CacheAccesses, sample.Entity{}, 7, "probe")
	s := taken([]*sample.Window{r.Window(start.Add(5 * time.Second))}).Set("", Victim{})
	got := chart(t, s, "pressure").Lines[0].Values
	if len(got) != 5 || got[0] != .1 || got[4] != .5 || len(s.Charts) != 1 {
		t.Errorf("%v of %d charts", got, len(s.Charts))
	}
}

func TestTraced(t *testing.T) {
	var ios []sample.IO
	for i := range 997 {
		ios = append(ios, sample.IO{Start: time.Duration(i) * time.Millisecond, Queue: -1, Device: time.Duration(1+i%7) * 100 * time.Microsecond, Disk: "vda", PID: 7, Comm: "db", File: "/data", Bytes: 4096})
	}
	s := Traced("", "", time.Unix(0, 0), ios)
	sum, bytes := uint64(0), 0.0
	for i, c := range s.Heats[0].Cells {
		for k, n := range c {
			if k > 0 {
				sum += n
			}
		}
		if f := s.Uses["vda"].Files[i]; len(f) > 0 {
			bytes += f[2]
		}
	}
	if sum != 997 || s.Heats[0].Count != 997 || bytes != 997*4096 || len(s.Begin) > mostColumns+1 {
		t.Errorf("%d I/Os, %g bytes in %d columns", sum, bytes, len(s.Begin))
	}
	if row := tracedRow(1024 * time.Nanosecond); row != 10*tracedPerOctave {
		t.Errorf("1024 ns is in row %d", row)
	}
}

func TestFiguresAreWrittenAsTheyAreShown(t *testing.T) {
	b, err := json.Marshal(Figures{0, 12, 0.123456, 1234567.8, math.NaN(), 1e-9})
	if err != nil || string(b) != "[0,12,0.1235,1.235e+06,null,1e-09]" {
		t.Errorf("%s, %v", b, err)
	}
	var back Figures
	if err := json.Unmarshal(b, &back); err != nil || len(back) != 6 || !math.IsNaN(back[4]) || back[1] != 12 {
		t.Errorf("%v, %v", back, err)
	}
}

func TestAround(t *testing.T) {
	at := time.Unix(1700000000, 0)
	sets := Around("", []Signal{
		{Name: "disk.busy", Of: "vda", Unit: "ratio", Start: at, Step: time.Second, Values: Figures{1, 2, 3}, Normal: &Band{0, 1}},
		{Name: "psi.io", Unit: "ratio", Start: at.Add(time.Second), Step: time.Second, Values: Figures{5, 6, 7}},
		{Name: "memory", Unit: "bytes", Start: at, Step: time.Minute, Values: Figures{9, 9}},
	}, at.Add(time.Second), at.Add(2*time.Second))
	if len(sets) != 2 || len(sets[0].Charts) != 2 || sets[0].Marks[0] != (Mark{1, 2, "the incident"}) {
		t.Fatalf("%d sets: %+v", len(sets), sets[0])
	}
	if v := sets[0].Charts[1].Lines[0].Values; !math.IsNaN(v[0]) || v[1] != 5 || v[2] != 6 {
		t.Errorf("a signal that began a second later: %v", v)
	}
}
