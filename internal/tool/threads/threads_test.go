package threads

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"iocause/internal/present/text"
	"iocause/internal/require"
	"iocause/internal/sample"
	probe "iocause/internal/source/probe/threads"
	"iocause/internal/table"
)

// acted is a thread that was in the states for the given milliseconds.
func acted(serial uint64, comm sample.RawName, in map[probe.State]int) Thread {
	u := Thread{probe.Usage{Serial: serial, TID: int(serial) + 100, PID: 7, Comm: comm, Process: "server", User: 3, System: 1},
		"/system.slice/server.service"}
	for s, ms := range in {
		u.In[s] = time.Duration(ms) * time.Millisecond
		u.Wall += u.In[s]
	}
	return u
}

// tables are those of a second of threads.
func tables(t *testing.T, l *Layout, of ...Thread) []table.Table {
	t.Helper()
	l.Sort, l.Top = "busy_threads", 20
	seen := &Threads{Length: time.Second, Threads: of}
	tables, err := seen.Tables(l)
	require.NoError(t, err)
	return tables
}

func TestThreadTables(t *testing.T) {
	unaccounted := acted(3, "half", map[probe.State]int{probe.Run: 400, probe.Preempted: 100})
	unaccounted.Wall = time.Second
	threads := []Thread{
		acted(1, "quiet\x1b[2J\n", map[probe.State]int{probe.Idle: 1000}),
		acted(2, "worker", map[probe.State]int{probe.Run: 250, probe.Disk: 300, probe.FaultDisk: 50, probe.MmapLock: 125, probe.ReclaimRun: 275}),
		unaccounted,
	}
	for _, width := range []int{80, 110, 159, 160, 250} {
		for _, by := range Groupings() {
			one := tables(t, &Layout{By: by, Width: width}, threads...)[0]
			var b bytes.Buffer
			require.NoError(t, text.WriteTable(&b, &one, text.Style{Width: width}))
			for line := range strings.Lines(b.String()) {
				if text.Width(strings.TrimSuffix(line, "\n")) > width || strings.ContainsRune(line, 0x1b) {
					t.Errorf("%d columns by %s: %q", width, by, line)
				}
			}
			t.Logf("%d columns:\n%s", width, b.String())
		}
	}
	got := tables(t, &Layout{By: "thread", Width: 80}, threads...)[0]
	want := [][]float64{{25, 0, 35, 27.5, 12.5, 0, 0, 0, 0, 0}, {40, 10, 0, 0, 0, 0, 0, 0, 0, 50}, {0, 0, 0, 0, 0, 0, 0, 100, 0, 0}}
	for i, row := range got.Rows {
		var figures []float64
		for _, c := range row[len(row)-10:] {
			figures = append(figures, c.Number)
		}
		if fmt.Sprint(figures) != fmt.Sprint(want[i]) {
			t.Errorf("row %d: %v, want %v", i, figures, want[i])
		}
	}
}

func TestThreadsAddedUp(t *testing.T) {
	shown := tables(t, &Layout{By: "process"},
		acted(1, "a", map[probe.State]int{probe.Idle: 900, probe.Run: 100}),
		acted(2, "b", map[probe.State]int{probe.Run: 500, probe.Futex: 500}))[0]
	row := shown.Object()["rows"].([]map[string]any)[0]
	for key, want := range map[string]any{
		"pid": "7", "process": "server", "threads": 2.0, "wall_s": 2.0, "busy_threads": 0.6, "cpu_ratio": 0.3,
		"user_ratio": 0.225, "system_ratio": 0.075, "idle_ratio": 0.45, "futex_ratio": 0.25, "unaccounted_ratio": 0.0,
	} {
		if got := row[key]; fmt.Sprintf("%.6v", got) != fmt.Sprintf("%.6v", want) {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	if shown.Key != "processes" || len(shown.Rows) != 1 {
		t.Errorf("table %s of %d rows", shown.Key, len(shown.Rows))
	}
}

// Cgroups that are gone have no path any more; each is still one of its own.
func TestCgroupsWithoutPaths(t *testing.T) {
	var all []Thread
	for i, id := range []uint64{101, 102, 101} {
		u := acted(uint64(i), "job", map[probe.State]int{probe.Run: 100 * (i + 1)})
		u.CgroupPath, u.Usage.Cgroup = "", id
		all = append(all, u)
	}
	rows := NewRows("cgroup")
	rows.Add(&Threads{Length: time.Second, Threads: all})
	got := map[string]time.Duration{}
	for _, r := range rows.rows {
		got[r.cgroupName()] += r.usage.Wall
	}
	if len(got) != 2 || got["(id 101)"] != 400*time.Millisecond || got["(id 102)"] != 200*time.Millisecond {
		t.Errorf("%v", got)
	}
}

// A watch without end remembers a bounded number of threads and loses none.
func TestThreadRowsAreBounded(t *testing.T) {
	rows := NewRows("thread")
	for i := range mostRows + 13 {
		u := acted(uint64(i+1), "brief", map[probe.State]int{probe.Run: 2})
		rows.add(&u)
	}
	var all time.Duration
	for _, r := range rows.rows {
		all += r.usage.Wall
	}
	if len(rows.rows) != mostRows+1 || rows.merged != 13 || all != (mostRows+13)*2*time.Millisecond {
		t.Errorf("%d rows, %d merged, %v", len(rows.rows), rows.merged, all)
	}
}

func TestBarOf(t *testing.T) {
	groups := groupsOf(80)
	for _, c := range []struct {
		parts []float64
		want  string
	}{
		{[]float64{1, 0, 0, 0, 0, 0, 0, 0, 0}, "CCCCCCCCCC"},
		{[]float64{0.24, 0, 0.26, 0, 0, 0, 0, 0.5, 0}, "CCDDD....."},
		{[]float64{0.04, 0, 0, 0, 0, 0, 0, 0.96, 0}, ".........."},
		{[]float64{0.3, 0, 0, 0, 0, 0, 0, 0, 0}, "CCC"},
		{[]float64{0.7, 0.7, 0, 0, 0, 0, 0, 0, 0}, "CCCCCCCqqq"},
		{[]float64{math.NaN(), 0, 0, 0, 0, 0, 0, 0, 0}, ""},
	} {
		if got := barOf(groups, c.parts, 10); got != c.want {
			t.Errorf("%v: %q, want %q", c.parts, got, c.want)
		}
	}
}

func TestWaitsTable(t *testing.T) {
	var w waitsByState
	x := probe.Waits{State: probe.Disk}
	for range 99 {
		x.Lengths.Add(100_000)
	}
	x.Lengths.Add(20_000_000_000)
	w.add(&x)
	shown := w.table()
	row := shown.Object()["rows"].([]map[string]any)[0]
	if row["state"] != "disk" || row["waits"] != 100.0 || row["lengths"] != "      @                :" && row["lengths"] != "      @                ." {
		t.Errorf("%v", row)
	}
	if p := row["p50_s"].(float64); p < 65e-6 || p > 132e-6 {
		t.Errorf("p50 %g", p)
	}
	if m := row["longest_below_s"].(float64); m < 20 || m > 40 {
		t.Errorf("longest below %g", m)
	}
}

// Evidence gives back every figure of every thread.
func TestThreadsJSON(t *testing.T) {
	u := Thread{probe.Usage{Serial: 1 << 63, TID: 7, PID: 6, Comm: "\xff", Process: "p\xfe", Cgroup: 9, Kernel: true, Ended: true, Wall: 99, Present: probe.Disk,
		Since: 3, User: 1, System: 2, LifeUser: 3, LifeSystem: 4, Exec: 5, RunDelay: 6}, "/c\xff"}
	for s := range probe.States {
		u.In[s] = time.Duration(10 + s)
	}
	b, err := json.Marshal(&Threads{Version: 1, Threads: []Thread{u}})
	require.NoError(t, err)
	var again Threads
	if err := json.Unmarshal(b, &again); err != nil || !reflect.DeepEqual(again.Threads[0], u) {
		t.Errorf("%v\n%+v\n%+v", err, again.Threads[0], u)
	}
	if who := again.MostHeldUp(); who != "" {
		t.Errorf("a kernel thread is the victim: %q", who)
	}
	again.Threads[0].Kernel = false
	if who := again.MostHeldUp(); who != "p\xfe" {
		t.Errorf("the victim is %q", who)
	}
}
