package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/source/probe/threads"
)

func TestThreadsUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--by", "user"}, `nothing is called "user"; use thread, process, comm, cgroup`},
		{[]string{"--sort", "speed"}, `no such column; there are tid, comm, pid, process, cgroup, ended, threads, wall_s`},
		{[]string{"0.01"}, "give seconds, or a time such as 500ms"},
		{[]string{"1", "2", "3"}, "give INTERVAL and COUNT at most"},
		{[]string{"--pid", "0"}, "0 is no process id"},
		{[]string{"--comm", ""}, "the name is empty"},
		{[]string{"--format", "xml"}, "use text, json or csv"},
	} {
		code, out, err := runApp(t.Context(), nil, append([]string{"threads"}, c.args...)...)
		if code != exitUsage || out != "" || !strings.Contains(err, c.want) {
			t.Errorf("%q: code %d, stdout %q, stderr %q; want 2 and %q", c.args, code, out, err, c.want)
		}
	}
}

// acted is a thread that was in the states for the given milliseconds.
func acted(serial uint64, comm string, in map[threads.State]int) threads.Usage {
	u := threads.Usage{Serial: serial, TID: int(serial) + 100, PID: 7, Comm: comm, Process: "server", User: 3, System: 1}
	for s, ms := range in {
		u.In[s] = time.Duration(ms) * time.Millisecond
		u.Wall += u.In[s]
	}
	return u
}

func shares(by, format string, width int, usages ...threads.Usage) (*threadShares, *threadRows) {
	o := &threadsOptions{by: by}
	o.format, o.sort, o.top = format, "busy_threads", 20
	rows := newThreadRows()
	for i := range usages {
		rows.add(by, &usages[i], "/system.slice/server.service")
	}
	return &threadShares{o: o, lookup: host.NewLookup(host.Live()), style: text.Style{Width: width}, total: newThreadRows()}, rows
}

func TestThreadTables(t *testing.T) {
	unaccounted := acted(3, "half", map[threads.State]int{threads.Run: 400, threads.Preempted: 100})
	unaccounted.Wall = time.Second
	usages := []threads.Usage{
		acted(1, "quiet\x1b[2J\n", map[threads.State]int{threads.Idle: 1000}),
		acted(2, "worker", map[threads.State]int{threads.Run: 250, threads.Disk: 300, threads.FaultDisk: 50, threads.MmapLock: 125, threads.ReclaimRun: 275}),
		unaccounted,
	}
	for _, width := range []int{80, 110, 159, 160, 250} {
		for _, by := range groupings() {
			s, rows := shares(by, "text", width, usages...)
			tables := s.tables(rows, time.Second, &waitsByState{})
			var b bytes.Buffer
			if err := text.WriteTable(&b, &tables[0], s.style); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if text.Width(strings.TrimSuffix(line, "\n")) > width || strings.ContainsRune(line, 0x1b) {
					t.Errorf("%d columns by %s: %q", width, by, line)
				}
			}
			t.Logf("%d columns:\n%s", width, b.String())
		}
	}
	s, rows := shares("thread", "text", 80, usages...)
	got := s.tables(rows, time.Second, &waitsByState{})[0]
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
	s, rows := shares("process", "json", 80,
		acted(1, "a", map[threads.State]int{threads.Idle: 900, threads.Run: 100}),
		acted(2, "b", map[threads.State]int{threads.Run: 500, threads.Futex: 500}))
	shown := s.tables(rows, time.Second, &waitsByState{})[0]
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

// A watch without end remembers a bounded number of threads and loses none.
func TestThreadRowsAreBounded(t *testing.T) {
	rows := newThreadRows()
	for i := range maxThreadRows + 13 {
		u := acted(uint64(i+1), "brief", map[threads.State]int{threads.Run: 2})
		rows.add("thread", &u, "")
	}
	var all time.Duration
	for _, r := range rows.rows {
		all += r.usage.Wall
	}
	if len(rows.rows) != maxThreadRows+1 || rows.merged != 13 || all != (maxThreadRows+13)*2*time.Millisecond {
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
	x := threads.Waits{State: threads.Disk}
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

// This host as the command shows it: every row adds up to 1. A child that
// naps sees to it that there are waits, on the quietest of hosts.
func TestThreadsForReal(t *testing.T) {
	napper := exec.Command("sh", "-c", "while :; do sleep 0.02; done")
	if err := napper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = napper.Process.Kill(), napper.Wait() }()
	code, out, notes := runApp(t.Context(), nil, "threads", "0.3", "2", "--format", "json", "--top", "0", "--histogram")
	if code != exitWell {
		bpftest.Need(t, "bpf", errors.New(notes))
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines: %s", len(lines), notes)
	}
	for _, line := range lines {
		var doc struct {
			Seconds float64
			Threads struct{ Rows []map[string]any }
			Waits   struct{ Rows []map[string]any }
		}
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Threads.Rows) < 10 || len(doc.Waits.Rows) == 0 {
			t.Errorf("%d threads, %d kinds of waits", len(doc.Threads.Rows), len(doc.Waits.Rows))
		}
		for _, row := range doc.Threads.Rows {
			sum := row["unaccounted_ratio"].(float64)
			for s := threads.Run; s < threads.States; s++ {
				sum += row[s.Key()+"_ratio"].(float64)
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("%v adds up to %v", row["comm"], sum)
			}
		}
	}
	pid := fmt.Sprint(os.Getppid())
	code, out, notes = runApp(t.Context(), nil, "threads", "0.2", "1", "--format", "csv", "--pid", pid, "--top", "0")
	records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || code != exitWell || len(records) < 2 {
		t.Fatalf("code %d, %v, %d records, %s", code, err, len(records), notes)
	}
	for _, r := range records[1:] {
		if r[3] != pid {
			t.Errorf("a thread of process %s is shown", r[3])
		}
	}
}
