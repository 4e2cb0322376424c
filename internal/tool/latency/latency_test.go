package latency

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/present/text"
	"iocause/internal/require"
	"iocause/internal/sample"
	probe "iocause/internal/source/probe/threads"
)

// made is a call of 100 that took 2 ms each, half of it for the disk.
func made(process sample.RawName, name string, number int) *probe.Call {
	c := &probe.Call{PID: 4194000, Process: process, Number: number, Name: name, Count: 100, Failed: 3, Wall: 200 * time.Millisecond}
	c.Walls = &sample.Times{Longest: 2 * time.Millisecond}
	c.Walls.Count(113, 100) // 1.97 to 2.1 ms
	c.In[probe.PartCPU], c.In[probe.PartPreempted], c.In[probe.PartDisk] = 90*time.Millisecond, 10*time.Millisecond, 100*time.Millisecond
	c.Times[probe.PartCPU] = c.Walls
	c.Times[probe.PartDisk] = &sample.Times{Longest: time.Millisecond}
	c.Times[probe.PartDisk].Count(105, 80) // 0.98 to 1.05 ms
	return c
}

func TestLatencyTables(t *testing.T) {
	for _, width := range []int{80, 110, 160} {
		seen := &Calls{Calls: []probe.Call{*made("server\x1b[2J\n", "pread64", 17), *made("a", "call 999", 999)}}
		tables, err := seen.Tables(&Layout{Sort: "wall_s", Width: width, Parts: true})
		require.NoError(t, err)
		for _, one := range tables {
			var b bytes.Buffer
			require.NoError(t, text.WriteTable(&b, &one, text.Style{Width: width}))
			for line := range strings.Lines(b.String()) {
				if text.Width(strings.TrimSuffix(line, "\n")) > width || strings.ContainsRune(line, 0x1b) {
					t.Errorf("%d columns: %q", width, line)
				}
			}
			t.Logf("%d columns:\n%s", width, b.String())
			if !strings.Contains(b.String(), "pread64") || !strings.Contains(b.String(), "call 999") {
				t.Errorf("the names of the calls are missing:\n%s", b.String())
			}
		}
		if tables, err = seen.Tables(&Layout{Sort: "wall_s"}); err != nil {
			t.Fatal(err)
		}
		row := tables[0].Object()["rows"].([]map[string]any)[0]
		for key, want := range map[string]float64{
			"calls": 100, "failed": 3, "wall_s": 0.2, "cpu_s": 0.09, "disk_s": 0.1, "preempted_s": 0.01, "lock_s": 0,
			"wall_max_s": 0.002, "disk_p50_s": 0.001, "disk_max_s": 0.001, "lock_p99_s": 0,
		} {
			if got := row[key].(float64); math.Abs(got-want) > want/50+1e-12 {
				t.Errorf("%s is %g, want %g", key, got, want)
			}
		}
	}
}

// Evidence gives back every figure of system calls, and the stacks of those
// that are slow enough.
func TestCallsJSON(t *testing.T) {
	c := made("s\xff", "pread64", 17)
	c.Slowest = []probe.SlowCall{
		{PID: c.PID, TID: 8, Number: 17, Thread: "t\xfe", Result: -5, Wall: 3 * time.Second, Wait: time.Second, State: probe.Disk},
		{PID: c.PID, TID: 9, Number: 17, Wall: 2 * time.Second},
	}
	for p := range c.Slowest[0].In {
		c.Slowest[0].In[p] = time.Duration(p)
	}
	inner, outer := &sample.Frame{Name: "read_\xff", Kernel: true}, &sample.Frame{Name: "main", Module: "server", File: "/opt/server"}
	c.Slowest[0].Stack, c.Slowest[1].Stack = []*sample.Frame{inner, outer}, []*sample.Frame{outer}
	b, err := json.Marshal(&Calls{Version: 1, Calls: []probe.Call{*c}, StackNotes: []string{"no names"}})
	require.NoError(t, err)
	var again Calls
	require.NoError(t, json.Unmarshal(b, &again))
	if len(again.Calls) != 1 || !reflect.DeepEqual(&again.Calls[0], c) || !slices.Equal(again.StackNotes, []string{"no names"}) {
		t.Errorf("%+v\n%+v", again.Calls, c)
	}
	if again.Keep(&Filter{Slow: 2500 * time.Millisecond}); len(again.Calls[0].Slowest) != 1 {
		t.Errorf("%+v", again.Calls[0].Slowest)
	}
	// What a later version knows more of is not lost, what is damaged no harm.
	replace := strings.NewReplacer(`"in_ns":{"cpu"`, `"in_ns":{"new":60000000000,"cpu"`, `"slots":[[113`, `"slots":[[1152921504606846976,1],[113`, `"frames":[0,1]`, `"frames":[-1,99,1]`)
	var later Calls
	require.NoError(t, json.Unmarshal([]byte(replace.Replace(string(b))), &later))
	got := &later.Calls[0]
	if d := got.In[probe.PartOther]; d != c.In[probe.PartOther]+time.Minute || got.Walls.N() != c.Walls.N()+1 {
		t.Errorf("%v, %d", d, got.Walls.N())
	}
	if stack := got.Slowest[0].Stack; len(stack) != 1 || stack[0].Name != "main" {
		t.Errorf("%+v", stack)
	}
}

// What several intervals saw adds up, for each process and call.
func TestCallsAddUp(t *testing.T) {
	var total Calls
	for range 3 {
		total.Add(&Calls{Calls: []probe.Call{*made("a", "read", 0), *made("a", "write", 1)}})
	}
	if len(total.Calls) != 2 || total.Calls[0].Count != 300 || total.Calls[1].Walls.N() != 300 {
		t.Errorf("%+v", total.Calls)
	}
}
