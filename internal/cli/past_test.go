package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/store/recording"
	"iocause/internal/tool/diff"
)

// writeReads makes a recording of four seconds of one reader, whose every read
// takes the time given.
func writeReads(t *testing.T, path string, each time.Duration, f *host.Fingerprint) {
	t.Helper()
	fingerprint, err := json.Marshal(f)
	require.NoError(t, err)
	out, err := os.Create(path)
	require.NoError(t, err)
	defer out.Close()
	w, err := recording.NewWriter(out, recording.Header{Host: fingerprint, Interval: 1})
	require.NoError(t, err)
	start := time.Unix(1_700_000_000, 0)
	for i := range 4 {
		begin := start.Add(time.Duration(i) * time.Second)
		r := sample.NewRecorder(begin)
		n := 0.9 * float64(time.Second) / float64(each)
		r.PutProcess(7, sample.Process{Comm: "reader", MemoryCgroup: "/", IOCgroup: "/"})
		for m, v := range map[sample.Metric]float64{sample.WaitThreads: 1, sample.ProcReadChars: n * 4096, sample.ProcUser: 0.01, sample.ProcSystem: 0.02} {
			r.Put(m, sample.Entity{PID: 7}, v, "test")
		}
		r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "read"}, 0.9, "test")
		for _, e := range []sample.Entity{{Device: "vda", Class: "read"}, {PID: 7, Device: "vda", Class: "read"}} {
			for m, v := range map[sample.Metric]float64{sample.BlockOps: n, sample.BlockBytes: n * 4096, sample.BlockQueueTime: 0, sample.BlockDeviceTime: 0.9} {
				r.Put(m, e, v, "test")
			}
		}
		r.Put(sample.BlockDepthOps, sample.Entity{Device: "vda", Class: "read 4096 1"}, n, "test")
		r.Put(sample.BlockDepthTime, sample.Entity{Device: "vda", Class: "read 4096 1"}, 0.9, "test")
		require.NoError(t, w.Window(&recording.Record{Window: r.Window(begin.Add(time.Second))}))
	}
	require.NoError(t, w.End(recording.End{Windows: 4}))
}

// A recording is judged knowing another one, by diagnose and by diff; without
// it the two causes that compare cannot be told.
func TestAgainst(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	same := &host.Fingerprint{Kernel: "6.12", Devices: []host.BlockDevice{{Name: "vda", Bytes: 1 << 30}}}
	other := &host.Fingerprint{Kernel: "6.18", Devices: []host.BlockDevice{{Name: "vda", Bytes: 1 << 30}}}
	writeReads(t, file("fast"), 200*time.Microsecond, same)
	writeReads(t, file("slow"), time.Millisecond, same)
	writeReads(t, file("new-kernel"), time.Millisecond, other)
	for _, c := range []struct {
		args []string
		want diagnose.ID
	}{
		{[]string{"diagnose", "--recording", file("slow"), "--against", file("fast")}, "device-degraded"},
		{[]string{"diagnose", "--recording", file("fast"), "--against", file("slow")}, "device-latency-bound"},
		{[]string{"diagnose", "--recording", file("slow"), "--against", file("slow"), "--against-to", "+2s"}, "device-latency-bound"},
		{[]string{"diagnose", "--recording", file("new-kernel"), "--against", file("fast")}, "host-difference"},
		{[]string{"diagnose", "--recording", file("new-kernel"), "--against", file("fast"), "--comm", "reader"}, "host-difference"},
		{[]string{"diagnose", "--recording", file("slow")}, "device-latency-bound"},
	} {
		code, out, notes := runApp(t.Context(), nil, append(c.args, "--format", "json")...)
		r := decode(t, out)
		if code != 0 || r.Primary != c.want {
			t.Errorf("%q: code %d, %s, want %s; %s", c.args, code, r.Primary, c.want, notes)
		}
		untold := strings.Contains(out, "--against FILE")
		if untold == (len(c.args) > 3) {
			t.Errorf("%q: says that there is nothing to compare with: %t", c.args, untold)
		}
	}
	code, out, notes := runApp(t.Context(), nil, "diff", file("fast"), file("new-kernel"), "--format", "json")
	var d diff.Difference
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("code %d, %v, %s", code, err, notes)
	}
	if d.Sides[0].Primary != "device-latency-bound" || d.Sides[1].Primary != "host-difference" {
		t.Errorf("A is %s, B is %s, want device-latency-bound and host-difference", d.Sides[0].Primary, d.Sides[1].Primary)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"diagnose", "--against-to", "+1s"}, 2, "give --against FILE"},
		{[]string{"diagnose", "--against", file("none")}, 1, "no such file"},
		{[]string{"diagnose", "--recording", file("slow"), "--against", file("fast"), "--against-from", "noon"}, 2, `reading --against-from: "noon"`},
	} {
		code, _, notes := runApp(t.Context(), nil, c.args...)
		if code != c.code || !strings.Contains(notes, c.want) {
			t.Errorf("%q: code %d, %q, want %d and %q", c.args, code, notes, c.code, c.want)
		}
	}
}
