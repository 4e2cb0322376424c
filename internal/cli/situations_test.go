package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/store/recording"
)

// situation is a recording of a scenario of the lab, and what somebody who sees
// only the first screen of its diagnosis must read there.
type situation struct {
	name    string // of the scenario, and of testdata/situations/NAME.iocause
	about   string // who is asked about: a command, "" for the whole machine
	cause   string
	culprit string // who is behind it, as both screens name it
	figure  string // the figure that shows it, by its name
	advice  string // the beginning of what to do
}

// situations are the twenty.
func situations() []situation {
	return []situation{
		{"cache-pollution", "service", "cache-pollution", "scan", "page cache hit ratio", "keep the other program's data out of the cache"},
		{"cgroup-cache-limit", "cycler", "cgroup-cache-limit", "cycler", "re-read after eviction", "raise the memory limit of the cgroup from 256 MiB to between 282 MiB and 1.1 GiB"},
		{"cgroup-io-throttle-bps", "scan", "cgroup-io-throttle", "slow", "limit of the cgroup", "raise or remove the limit"},
		{"cold-cache-scan", "scan", "cold-cache", "scan", "page cache hit ratio", "let it warm up, or read the files ahead of use"},
		{"cpu-saturated", "solver", "cpu-saturated", "crowd", "of its time that it could run", "give the victim a larger share of the processors"},
		{"device-degraded", "lookup", "device-degraded", "lookup", "the same requests before", "check what loop0 is made of: its health"},
		{"device-errors", "reader", "device-errors", "reader", "failed requests of loop0", "save the data and replace the device"},
		{"device-latency-bound", "lookup", "device-latency-bound", "vda", "latency", "keep several requests in flight: more threads, asynchronous I/O"},
		{"direct-io", "bypass", "direct-io", "bypass", "of that read before in this window", "read through the page cache (without O_DIRECT)"},
		{"dirty-throttling", "writer", "dirty-throttling", "writer", "time paused", "raise vm.dirty_bytes (or vm.dirty_ratio) to 1.0 GiB"},
		{"fuse-daemon-slow", "writer", "fuse-daemon-slow", "iocause", "time blocked on FUSE", "see what the daemon waits for: its network, its server, its locks"},
		{"healthy-cached-reads", "server", "healthy", "", "longest blocked process", ""},
		{"lock-contention", "scanner", "lock-contention", "scanner", "time waiting for locks", "read the file with read(2) or pread(2) instead of mapping and unmapping"},
		{"microbursts", "fio", "microbursts", "fio", "bursts", "spread the requests"},
		{"noisy-neighbour", "lookup", "noisy-neighbour", "backup", "its request takes", "throttle the other program"},
		{"readahead-waste", "hopper", "readahead-waste", "hopper", "read amplification", "tell the kernel that the access is random"},
		{"reclaim-stall", "writer", "reclaim-stall", "writer", "time stalled in reclaim and compaction", "raise the memory limit of the cgroup above 96.0 MiB"},
		{"swap-thrash", "heap", "swap-thrash", "heap", "swapped in", "raise the memory limit of the cgroup from 200 MiB to at least 432 MiB"},
		{"sync-writes", "log", "sync-writes", "log", "time blocked in fsync", "sync less often: commit in groups"},
		{"writeback-interference", "lookup", "writeback-interference", "writer", "its request takes", "make the writer write less or more slowly"},
	}
}

const situationsIn = "testdata/situations"

// args are what asks for the diagnosis of the recording.
func (s *situation) args(command ...string) []string {
	args := append(command, filepath.Join(situationsIn, s.name+recording.Suffix))
	if s.about != "" {
		args = append(args, "--comm", s.about)
	}
	if before := filepath.Join(situationsIn, s.name+"-before"+recording.Suffix); exists(before) {
		args = append(args, "--against", before)
	}
	return args
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// report is the finding itself.
func (s *situation) report(t *testing.T) *diagnose.Report {
	t.Helper()
	code, out, stderr := runApp(t.Context(), nil, s.args("diagnose", "--format", "json", "--recording")...)
	if code != exitWell {
		t.Fatalf("%s: code %d: %s", s.name, code, stderr)
	}
	r := decode(t, out)
	return &r
}

// On a terminal of 80 columns and 24 lines the whole answer is above the prompt: the
// cause, who is behind it, the figure that shows it, and what to do first.
func TestSituationsOnOneScreen(t *testing.T) {
	if n := len(situations()); n != 20 {
		t.Errorf("there are %d situations, want 20", n)
	}
	for _, s := range situations() {
		r := s.report(t)
		if string(r.Primary) != s.cause {
			t.Errorf("%s: the cause is %s, want %s", s.name, r.Primary, s.cause)
			continue
		}
		code, out, stderr := runApp(t.Context(), nil, s.args("diagnose", "--recording")...)
		if code != exitWell {
			t.Errorf("%s: code %d: %s", s.name, code, stderr)
			continue
		}
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if len(lines) > 22 { // and the command line, and the prompt
			t.Errorf("%s: %d lines\n%s", s.name, len(lines), out)
		}
		for _, l := range lines {
			if n := text.Width(l); n > 80 && !strings.Contains(l, "iocause diagnose") && !isCommand(r, l) { // these are copied, and never cut
				t.Errorf("%s: a line of %d columns: %s", s.name, n, l)
			}
			if strings.Contains(l, "…") {
				t.Errorf("%s: a line that is cut: %s", s.name, l)
			}
		}
		whole := strings.Join(strings.Fields(out), " ")
		for _, want := range []string{strings.Replace(s.cause, "healthy", "NO PROBLEM", 1), s.culprit, s.figure, s.advice} {
			if !strings.Contains(whole, want) {
				t.Errorf("%s: %q is missing\n%s", s.name, want, out)
			}
		}
		f := &r.Findings[0]
		if s.cause != string(diagnose.Healthy) && (s.advice == "" || s.culprit == "" || len(f.Advice) == 0 || !strings.Contains(whole, "iocause diagnose")) {
			t.Errorf("%s: without culprit, advice or how to verify\n%s", s.name, out)
		}
		if s.figure == "" || !slices.ContainsFunc(f.Evidence[:min(3, len(f.Evidence))], func(e diagnose.Evidence) bool { return strings.Contains(e.Name, s.figure) }) {
			t.Errorf("%s: %q is none of the first three figures: %+v", s.name, s.figure, f.Evidence)
		}
	}
}

// isCommand tells whether a line is one to copy.
func isCommand(r *diagnose.Report, line string) bool {
	return slices.ContainsFunc(r.Findings, func(f diagnose.Finding) bool {
		return slices.ContainsFunc(f.Advice, func(a diagnose.Advice) bool { return a.Command != "" && strings.HasSuffix(line, a.Command) })
	})
}

// TestKeepSituations makes the recordings of the test above from those of the lab
// ('make situations'): what else ran on that machine is left out, and how its
// cgroups, mounts and folders were called.
func TestKeepSituations(t *testing.T) {
	from := os.Getenv("IOCAUSE_SITUATIONS")
	if from == "" {
		t.Skip("IOCAUSE_SITUATIONS names no folder of 'iocause lab score --keep'")
	}
	if err := os.MkdirAll(situationsIn, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, s := range situations() {
		for _, part := range []string{"", "-before"} {
			name := s.name + part + recording.Suffix
			if part != "" && !exists(filepath.Join(from, name)) {
				continue
			}
			if err := slim(filepath.Join(from, name), filepath.Join(situationsIn, name)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// slim copies a recording without what is nothing of the situation's.
func slim(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	r, err := recording.NewReader(in, info.Size())
	if err != nil {
		return err
	}
	header := r.Header()
	var f host.Fingerprint
	if err := json.Unmarshal(header.Host, &f); err != nil {
		return err
	}
	f.FileSystems = nil
	if header.Host, err = json.Marshal(f); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	w, err := recording.NewWriter(out, header)
	for err == nil {
		var next *recording.Record
		if next, err = r.Next(); errors.Is(err, io.EOF) {
			err = w.End(recording.End{Windows: w.Windows()})
			break
		} else if err == nil {
			err = w.Window(&recording.Record{Window: slimWindow(next.Window), Cost: next.Cost})
		}
	}
	return errors.Join(err, out.Close())
}

var (
	ofTheLab  = regexp.MustCompile(`iocause-lab`)
	ourFolder = regexp.MustCompile(`^.*/(iocause-lab[^/]*/)`)
)

// ofASituation tells whether a process is a load of one, or serves its disk.
func ofASituation(p sample.Process) bool {
	return p.Kernel || p.Comm == "iocause" || p.Comm == "fio" || slices.ContainsFunc(situations(), func(s situation) bool { return p.Comm == s.about || p.Comm == s.culprit })
}

// busyThreads are the processes that did anything.
func busyThreads(w *sample.Window) map[int]bool {
	busy := map[int]bool{}
	for _, m := range sample.Catalog() {
		if m.Kind != sample.Counter {
			continue
		}
		w.Each(m.Metric, func(e sample.Entity, s *sample.Series) {
			busy[e.PID] = busy[e.PID] || s.Sum() > 0
		})
	}
	return busy
}

func slimWindow(w *sample.Window) *sample.Window {
	out := sample.NewWindow(w.Start, w.Length)
	out.Gaps = w.Gaps
	cgroup := func(name string) string { // those of others are the root
		if at := ofTheLab.FindStringIndex(name); at != nil {
			return "/" + name[at[0]:]
		}
		return name[:min(len(name), 1)]
	}
	busy := busyThreads(w)
	ours := func(e sample.Entity) bool {
		p, known := w.Processes[e.PID]
		return (e.PID == 0 || known && ofASituation(p) && (!p.Kernel || busy[e.PID])) && (len(e.Cgroup) < 2 || ofTheLab.MatchString(e.Cgroup)) &&
			(!strings.HasPrefix(e.Class, "/") || ofTheLab.MatchString(e.Class))
	}
	renamed := func(e sample.Entity) sample.Entity { e.Cgroup = cgroup(e.Cgroup); return e }
	for _, m := range w.Metrics() {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if ours(e) {
				out.SetSeries(m, renamed(e), s)
			}
		})
		w.EachHistogram(m, func(e sample.Entity, h *sample.Hist) {
			if ours(e) {
				out.SetHistogram(m, renamed(e), h)
			}
		})
		w.Each(m, func(e sample.Entity, _ *sample.Series) {
			if f, known := w.Files[e.File]; known && ours(e) {
				if ofTheLab.MatchString(f.Path) {
					f.Path = ourFolder.ReplaceAllString(f.Path, "/var/tmp/$1")
				} else {
					f.Path = fmt.Sprintf("/else/%d", e.File.Ino)
				}
				out.Files[e.File] = f
			}
		})
	}
	for pid, p := range w.Processes {
		if ofASituation(p) && (!p.Kernel || busy[pid]) {
			p.MemoryCgroup, p.IOCgroup, p.CPUCgroup = cgroup(p.MemoryCgroup), cgroup(p.IOCgroup), cgroup(p.CPUCgroup)
			out.Processes[pid] = p
		}
	}
	return out
}
