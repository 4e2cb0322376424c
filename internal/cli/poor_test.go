package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/tool/check"
)

// These tests run the program itself in poor surroundings: it must say what it
// lacks, and claim nothing that it cannot know.

const refusal = "not permitted to load BPF programs: run as root, or with CAP_BPF and CAP_PERFMON"

// probes are the sources that load kernel programs.
func probes() map[string]bool {
	p := map[string]bool{}
	for _, e := range source.List() {
		if e.Plan != nil {
			p[e.Name] = true
		}
	}
	return p
}

func checkOf(t *testing.T, r run) check.Found {
	t.Helper()
	r.args = []string{"check", "--format", "json"}
	code, out, stderr := r.do(t)
	var c check.Found
	if err := json.Unmarshal([]byte(out), &c); err != nil || code != 1 {
		t.Fatalf("code %d, %v: %s%s", code, err, out, stderr)
	}
	return c
}

// reportOf observes for a moment and checks what every report must hold.
func reportOf(t *testing.T, r run) (diagnose.Report, string) {
	t.Helper()
	r.args = []string{"--duration", "300ms", "--format", "json"}
	code, out, stderr := r.do(t)
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	rep := decode(t, out)
	checkReport(t, &rep)
	return rep, stderr
}

// checkReport is what holds for every report, whatever the window.
func checkReport(t *testing.T, r *diagnose.Report) {
	t.Helper()
	seen := map[diagnose.ID]int{}
	for i, f := range r.Findings {
		if seen[f.Cause]++; f.Confidence < 0 || f.Confidence > 1 || f.Weight < 0 || f.Weight > 1 || f.Title == "" || f.Disprove == "" {
			t.Errorf("finding %+v", f)
		}
		if i == 0 && r.Primary != f.Cause && r.Primary != diagnose.Unknown {
			t.Errorf("primary %s, first finding %s", r.Primary, f.Cause)
		}
	}
	for _, x := range r.Excluded {
		seen[x.Cause]++
	}
	for _, m := range r.CannotTell {
		if seen[m.Cause]++; m.Missing == "" {
			t.Errorf("%s cannot be told for no reason", m.Cause)
		}
	}
	for _, c := range diagnose.List() {
		if seen[c.ID] != 1 {
			t.Errorf("%s is answered %d times", c.ID, seen[c.ID])
		}
	}
	if r.Primary == diagnose.Healthy && len(r.CannotTell) >= 5 && r.Findings[0].Confidence > 0.7 {
		t.Errorf("healthy with confidence %g, though %d causes could not be judged", r.Findings[0].Confidence, len(r.CannotTell))
	}
}

func TestWithoutPermission(t *testing.T) {
	t.Parallel() // most of the time it waits
	bpftest.Root(t)
	for _, c := range []struct {
		name, want string
		run        run
	}{
		{"nobody", refusal, run{uid: nobodyID}},
		{"root without capabilities", refusal + " (this root lacks CAP_BPF and CAP_PERFMON)", run{env: []string{dropCaps + "=1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			failedProbes := 0
			for _, s := range checkOf(t, c.run).Sources {
				if !probes()[s.Name] {
					continue
				}
				failedProbes++
				if why := strings.Join(s.Why, "; "); s.State != check.Failed || !strings.HasSuffix(why, c.want) || strings.Contains(why, "MEMLOCK") {
					t.Errorf("%s: %s, because %q; want %q", s.Name, s.State, why, c.want)
				}
			}
			if failedProbes < 5 || failedProbes != len(probes()) {
				t.Errorf("%d probes", failedProbes)
			}
			r, stderr := reportOf(t, c.run)
			if strings.Count(stderr, "not permitted") != 1 || !strings.Contains(stderr, "run as root") || len(r.CannotTell) < 5 {
				t.Errorf("stderr %q, cannot tell %v", stderr, r.CannotTell)
			}
			c.run.args = []string{"--duration", "200ms"}
			if _, out, _ := c.run.do(t); !strings.Contains(out, " undecided") || !strings.Contains(out, "run as root") {
				t.Errorf("the text does not say what could not be judged:\n%s", out)
			}
		})
	}
}

// What cannot watch anything fails, and says why; what reads /proc as well
// shows that.
func TestNothingToWatch(t *testing.T) {
	t.Parallel() // most of the time it waits
	bpftest.Root(t)
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"cache", "0.2", "1"}, 1},
		{[]string{"files", "0.2", "1"}, 1},
		{[]string{"evictions", "0.2", "1"}, 1},
		{[]string{"disk", "--by", "heat", "0.2", "1"}, 1},
		{[]string{"disk", "0.2", "1"}, 0},
		{[]string{"use", "0.2", "1"}, 0},
	} {
		code, out, stderr := run{uid: nobodyID, args: c.args}.do(t)
		if code != c.code || (c.code == 1) != (out == "") {
			t.Errorf("%v: code %d, want %d; %q", c.args, code, c.code, out)
		}
		if c.code == 1 && !strings.Contains(stderr, refusal) {
			t.Errorf("%v: it does not say why: %q", c.args, stderr)
		}
	}
}

func TestNobodyIsToldOfHiddenProcesses(t *testing.T) {
	bpftest.Root(t)
	for _, mode := range []string{"1", "2"} {
		r, _ := reportOf(t, run{mount: true, env: []string{hideOther + "=" + mode}})
		gaps := strings.Join(r.Gaps, "\n")
		if !strings.Contains(gaps, "hidden, because /proc is mounted with hidepid") || strings.Contains(gaps, "pid: failed") {
			t.Errorf("hidepid=%s: gaps\n%s", mode, gaps)
		}
	}
}

func TestWithoutFiles(t *testing.T) {
	t.Parallel() // most of the time it waits
	bpftest.Root(t)
	for _, c := range []struct {
		hide, source, want string
		state              check.State
	}{
		{"/sys/kernel/btf", "blockio", "the kernel has no type information in /sys/kernel/btf/vmlinux: use a kernel built with CONFIG_DEBUG_INFO_BTF=y", check.NotSupported},
		{"/sys", "queue", "/sys/class/block", check.NotSupported},
		{"/proc/pressure", "pressure", "psi=1", check.NotSupported},
		{"/sys/fs/cgroup", "cgroup", "cgroup", check.NotSupported},
	} {
		if _, err := os.Stat(c.hide); err != nil {
			t.Logf("%s is not there to be hidden: %v", c.hide, err)
			continue
		}
		t.Run(filepath.Base(c.hide), func(t *testing.T) {
			t.Parallel()
			r := run{mount: true, env: []string{hidePaths + "=" + c.hide}, args: []string{"check", "--format", "json"}}
			_, out, stderr := r.do(t)
			var got check.Found
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatal(err, stderr)
			}
			for _, s := range got.Sources {
				if why := strings.Join(s.Why, "; "); s.Name == c.source && (s.State != c.state || !strings.Contains(why, c.want)) {
					t.Errorf("%s: %s, because %q; want %s and %q", s.Name, s.State, why, c.state, c.want)
				}
			}
			reportOf(t, r)
		})
	}
}

// Without kernel programs it is still said who waits, and never that all is well.
func TestBlindBesideALoad(t *testing.T) {
	bpftest.Root(t)
	dir, err := os.MkdirTemp("/var/tmp", "blind")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	load := exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(dir, "f"), "bs=4k", "count=10000000", "oflag=sync")
	require.NoError(t, load.Start())
	defer func() { _ = load.Process.Kill(); _ = load.Wait() }()
	r := run{mount: true, env: []string{hidePaths + "=/sys/kernel/btf"}, args: []string{"--duration", "2s", "--format", "json"}}
	code, out, stderr := r.do(t)
	if code != 0 {
		t.Fatal(code, stderr)
	}
	rep := decode(t, out)
	checkReport(t, &rep)
	if rep.Primary == diagnose.Healthy || rep.Blind == "" {
		t.Errorf("%s (%s), blind %q", rep.Primary, rep.Title, rep.Blind)
	}
	for _, f := range rep.Findings {
		if !f.Likely || f.Confidence > 0.7 {
			t.Errorf("%s is said with confidence %g", f.Cause, f.Confidence)
		}
	}
	if !slices.ContainsFunc(rep.Waiters, func(w diagnose.Waiter) bool { return w.Who.PID == load.Process.Pid && w.Seconds > 0.2 }) {
		t.Errorf("dd is not among those that wait: %+v", rep.Waiters)
	}
}

// Every captured host, whole and with parts missing, gets a valid report.
func TestReportsOnCapturedHosts(t *testing.T) {
	trees, err := filepath.Glob("../../testdata/hosts/*/proc")
	if err != nil || len(trees) < 3 {
		t.Fatalf("%d captured hosts: %v", len(trees), err)
	}
	readers := slices.DeleteFunc(source.List(), func(e source.Entry) bool { return probes()[e.Name] })
	for _, tree := range trees {
		for _, lacks := range []string{"", "proc/pressure", "sys", "proc/self", "proc/diskstats", "proc/vmstat", "proc/stat", "proc"} {
			t.Run(filepath.Base(filepath.Dir(tree))+" without "+lacks, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Dir(tree))))
				if lacks != "" {
					require.NoError(t, os.RemoveAll(filepath.Join(dir, lacks)))
				}
				reportsOnTree(t, dir, readers, lacks == "proc")
			})
		}
	}
}

func reportsOnTree(t *testing.T, dir string, readers []source.Entry, empty bool) {
	t.Helper()
	// The clock that stands still is the worst case of a short window.
	for _, now := range []func() time.Time{time.Now, func() time.Time { return time.Unix(1700000000, 0) }} {
		var out, notes require.Output
		a := &env{streams: streams{stdin: strings.NewReader(""), stdout: &out, stderr: &notes}, host: host.Tree(dir, now), sources: readers}
		if code := runLine(t.Context(), a, []string{"--duration", "100ms", "--format", "json"}); code != 0 {
			t.Fatalf("code %d, %s", code, notes.String())
		}
		r := decode(t, out.String())
		checkReport(t, &r)
		if empty && r.Primary != diagnose.Unknown {
			t.Errorf("%s on a host without any file", r.Primary)
		}
		var page require.Output
		a.stdout = &page
		if code := runLine(t.Context(), a, []string{"--duration", "100ms"}); code != 0 || !strings.Contains(page.String(), " undecided") {
			t.Errorf("code %d, %s", code, page.String())
		}
	}
}

// A host that only its pressure figures call calm is not healthy: one thread that
// waits does not show in them on a large machine. The text names what was not judged.
func TestCalmIsNotCertain(t *testing.T) {
	quiet := source.Entry{Name: "pressure", Metrics: []sample.Metric{sample.PSISome}, Needs: "nothing",
		Open: func(*host.Host) (sample.Source, error) { return onlyPressure{}, nil }}
	entries := []source.Entry{quiet, fails("probe", os.ErrPermission, sample.WaitIO, sample.CacheAccesses, sample.BlockDeviceTime)}
	_, out, _ := runApp(t.Context(), entries, "--duration", "100ms", "--format", "json")
	r := decode(t, out)
	checkReport(t, &r)
	if r.Primary != diagnose.Unknown || !strings.HasPrefix(r.Title, "no problem seen, ") || r.Blind == "" || len(r.CannotTell) < 5 {
		t.Errorf("primary %s, cannot tell %v", r.Primary, r.CannotTell)
	}
	_, out, _ = runApp(t.Context(), entries, "--duration", "100ms")
	if !strings.HasPrefix(out, "CANNOT TELL: no problem seen, ") || !strings.Contains(out, " undecided") || !strings.Contains(out, "permission denied") {
		t.Errorf("text:\n%s", out)
	}
}

type onlyPressure struct{}

func (onlyPressure) Collect(_ sample.Phase, into sample.Sink) error {
	into.Put(sample.PSISome, sample.Entity{Class: "io"}, 0, "/proc/pressure/io")
	return nil
}

func (onlyPressure) Close() error { return nil }

// In a container without --pid=host the kernel's programs and /proc call a process by two
// numbers: a diagnosis of one would find that nothing waits, and be wrong.
func TestNumbersOfAContainer(t *testing.T) {
	bpftest.Root(t)
	unshare, err := exec.LookPath("unshare")
	bpftest.Need(t, "bpf", err)
	within := func(args ...string) (code int, stdout, stderr string) {
		c, out, notes := run{args: args}.command(t)
		c.Args = append([]string{unshare, "--mount", "--pid", "--cgroup", "--fork", "--mount-proc", c.Path}, args...)
		c.Path = unshare
		_ = c.Run() // its code is looked at
		return c.ProcessState.ExitCode(), out.String(), notes.String()
	}
	for _, args := range [][]string{
		{"diagnose", "--pid", "1", "--duration", "1s"}, {"threads", "--pid", "1", "1", "1"}, {"latency", "--pid", "1", "1", "1"},
		{"offcpu", "--pid", "1", "--duration", "1s"}, {"files", "--pid", "1", "1", "1"}, {"trace", "--pid", "1", "--duration", "1s"},
		{"predict", "--pid", "1", "--duration", "1s"}, {"burst", "--pid", "1", "1", "1"},
	} {
		if code, out, stderr := within(args...); code != 2 || out != "" || !strings.Contains(stderr, "PID namespace of its own") || !strings.Contains(stderr, "--pid=host") {
			t.Errorf("%q: code %d, %s%s", args, code, out, stderr)
		}
	}
	for _, args := range [][]string{{"resident", "--pid", "1"}, {"mem", "--pid", "1"}} { // of /proc alone
		if code, out, stderr := within(args...); code != 0 || out == "" {
			t.Errorf("%q: code %d, %s%s", args, code, out, stderr)
		}
	}
	if code, out, stderr := within("--duration", "1s", "--format", "json"); code != 0 || !strings.Contains(out, "hostPID: true") || !strings.Contains(out, "--cgroupns=host") {
		t.Errorf("a diagnosis does not say so: code %d, %.2000s%s", code, out, stderr)
	}
}
