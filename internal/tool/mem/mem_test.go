package mem

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/require"
	"iocause/internal/source/proc/meminfo"
	"iocause/internal/source/proc/proctest"
	"iocause/internal/table"
)

// look is what a machine of 100 kB shows.
func look(t *testing.T) *Memory {
	t.Helper()
	x := proctest.NewTree(t)
	x.Write("proc/meminfo", "MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable: 60 kB\nBuffers: 4 kB\nCached: 40 kB\nAnonPages: 20 kB\nShmem: 5 kB\nDirty: 2 kB\nWriteback: 1 kB\n")
	x.Write("proc/7/status", "Name:\ta\nRssAnon: 3 kB\nRssFile: 4 kB\nRssShmem: 0 kB\nVmSwap: 1 kB\n")
	x.Write("proc/7/comm", "a\xff\n")
	x.Write("proc/7/smaps_rollup", "Pss: 5 kB\nPss_File: 2 kB\n")
	x.Write("proc/8/status", "Name:\tb\nRssAnon: 9 kB\n")
	x.Write("proc/8/comm", "b\n")
	m, err := Observe(x.Host(), Options{})
	require.NoError(t, err)
	return m
}

func cells(t *testing.T, tables []table.Table, key string) [][]table.Cell {
	t.Helper()
	for _, x := range tables {
		if x.Key == key {
			return x.Rows
		}
	}
	t.Fatalf("no table %s", key)
	return nil
}

// What an incident keeps shows the same tables as the look did, odd bytes of
// names included.
func TestEvidenceIsTheLook(t *testing.T) {
	m := look(t)
	if len(m.Processes) != 2 || len(m.Unread) == 0 {
		t.Fatalf("%+v", m)
	}
	kept, err := json.Marshal(m)
	require.NoError(t, err)
	var again Memory
	if err := json.Unmarshal(kept, &again); err != nil || again.Check() != nil {
		t.Fatal(err, again.Check())
	}
	for _, f := range []Form{{}, {People: true, Narrow: true}} {
		want, got := Tables(m, nil, f), Tables(&again, nil, f)
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if !bytes.Equal(a, b) {
			t.Errorf("seen\n%s\nkept\n%s", a, b)
		}
	}
	sum := 0.0
	parts := cells(t, Tables(&again, nil, Form{}), "memory")
	for _, row := range parts[:len(parts)-1] {
		sum += row[0].Number
	}
	if sum != 100<<10 {
		t.Errorf("the parts are %g bytes", sum)
	}
}

// Evidence of versions before this one opens.
func TestOldEvidence(t *testing.T) {
	const old = `{"version":1,"at":"2026-01-02T03:04:05Z","meminfo":{"Total":102400,"Free":10240,"Available":null,"Buffers":4096,"Cached":40960,"Anon":20480,"Shmem":5120},
		"beside":{"PerCPU":null,"Stacks":null,"Zram":0,"Files":null,"Page":4096,"Zones":null,"Errors":null},"unread":["no zones"],
		"parts":[{"Key":"free","Name":"free","Bytes":10240,"Known":true,"Source":"x"}],
		"processes":[{"pid":7,"comm":"a","anon_bytes":3072,"file_bytes":4096,"shmem_bytes":0,"swap_bytes":1024,"shares":{"All":5120,"Anon":0,"File":2048,"Shmem":0,"Locked":0}},
		{"pid":8,"comm":"b","anon_bytes":1,"file_bytes":0,"shmem_bytes":0,"swap_bytes":0,"shares":null,"unread":"it hid"}]}`
	var m Memory
	if err := json.Unmarshal([]byte(old), &m); err != nil || m.Check() != nil {
		t.Fatal(err, m.Check())
	}
	tables := Tables(&m, nil, Form{})
	rows := cells(t, tables, "processes")
	if len(rows) != 2 || rows[0][0].Number != 5120 || rows[1][0].State != table.Failed {
		t.Errorf("%+v", rows)
	}
	all, _ := json.Marshal(tables)
	for _, want := range []string{"no zones: its part is missing", "1 process could not be read: it hid"} {
		if !strings.Contains(string(all), want) {
			t.Errorf("%q is missing in %s", want, all)
		}
	}
	if err := new(Memory).Check(); err == nil {
		t.Error("evidence of nothing is believed")
	}
	m.Choose(host.Live(), Choice{Comm: "b", None: "nobody"})
	if tables = Tables(&m, nil, Form{}); tables[0].Key != "processes" || len(tables[0].Rows) != 1 || strings.Contains(strings.Join(tables[0].Notes, " "), "nobody") {
		t.Errorf("%+v", tables[0])
	}
	if m.Choose(host.Live(), Choice{PIDs: []int{9}, None: "nobody"}); !strings.Contains(strings.Join(Tables(&m, nil, Form{})[0].Notes, " "), "nobody") {
		t.Error("nobody is left, and it is not said")
	}
}

// Changes are those of the same process.
func TestChanges(t *testing.T) {
	now, old := look(t), look(t)
	for i := range old.Processes {
		if p := &old.Processes[i]; p.PID == 7 {
			p.Anon -= 1024
		} else {
			p.Comm = "another"
		}
	}
	for _, row := range cells(t, Tables(now, old, Form{}), "processes") {
		change, pid := row[4], row[len(row)-2].Text
		if pid == "7" && change.Number != 1024 || pid == "8" && change.State != table.Absent {
			t.Errorf("process %s: %+v", pid, change)
		}
	}
}

// A real drop_caches, that every program on the machine pays for: only when it
// is asked for.
func TestDropFreesWhatIsSaid(t *testing.T) {
	bpftest.Root(t)
	if os.Getenv("IOCAUSE_DROP") == "" {
		t.Skip("empties this machine's page cache: set IOCAUSE_DROP=1")
	}
	look := func() *Memory {
		now := &Memory{}
		var err error
		if now.Info, err = procfile.ReadMeminfo(host.Live()); err != nil {
			t.Fatal(err)
		}
		now.Beside, _ = meminfo.ReadBeside(host.Live(), &now.Info, 0)
		return now
	}
	before := look()
	said := drop(before)
	require.NoError(t, os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0))
	after := drop(look())
	freed := said.all - after.all
	t.Logf("said %.0f of %.0f bytes, freed %.0f (%+.2f %%); stays: shmem %.0f, mapped %.0f, dirty %.0f, writeback %.0f, pinned %.0f; stayed %.0f, clean among it %.0f",
		said.freed, said.all, freed, (freed/said.freed-1)*100, said.shmem, said.mapped, said.dirty, said.writing, said.pinned, after.all, after.freed)
	if math.Abs(freed/said.freed-1) > 0.05 {
		t.Errorf("said %.0f bytes, freed %.0f", said.freed, freed)
	}
}
