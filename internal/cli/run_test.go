package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"iocause/internal/bpf"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/version"
)

// calm is a source of a host where nobody waits.
type calm struct{}

func (calm) Collect(phase sample.Phase, into sample.Sink) error {
	if phase != sample.First {
		into.Put(sample.PSISome, sample.Entity{Class: "io"}, 0, "/proc/pressure/io")
		into.Put(sample.WaitIO, sample.Entity{PID: 1, Class: "read"}, 0, "test")
	}
	return nil
}

func (calm) Close() error { return nil }

func working(name string, metrics ...sample.Metric) source.Entry {
	return source.Entry{Name: name, Metrics: metrics, Needs: "nothing", Open: func(*host.Host) (sample.Source, error) { return calm{}, nil }}
}

func fails(name string, err error, metrics ...sample.Metric) source.Entry {
	return source.Entry{Name: name, Metrics: metrics, Needs: "luck", Open: func(*host.Host) (sample.Source, error) { return nil, err }}
}

// runApp runs a command line on these sources.
func runApp(ctx context.Context, entries []source.Entry, args ...string) (code int, stdout, stderr string) {
	var out, err require.Output
	a := &env{streams: streams{stdin: strings.NewReader("given\n"), stdout: &out, stderr: &err}, host: host.Live(), sources: entries}
	code = runLine(ctx, a, args)
	return code, out.String(), err.String()
}

func TestBadUsageIsTwoAndSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--bogus"}, "unknown flag: --bogus; see 'iocause --help'"},
		{[]string{"diagnose", "--bogus"}, "see 'iocause diagnose --help'"},
		{[]string{"diagnos"}, "did you mean 'diagnose'?"},
		{[]string{"help", "diagnos"}, "there is no command \"diagnos\"; did you mean 'diagnose'? See 'iocause --help'"},
		{[]string{"help", "nonsense"}, "there is no command \"nonsense\"; see 'iocause --help'"},
		{[]string{"help", "lab", "loda"}, "there is no command \"loda\"; did you mean 'load'? See 'iocause lab --help'"},
		{[]string{"help", "check", "x"}, "there is no command \"x\"; see 'iocause check --help'"},
		{[]string{"--duration", "soon"}, "\"soon\" is not a time; give seconds, or a time such as 500ms or 2m"},
		{[]string{"--duration", "inf"}, "too many"},
		{[]string{"--duration", "0.01"}, "10ms is too short"},
		{[]string{"dd", "if=x"}, "to watch a program, write 'iocause -- dd if=x'"},
		{[]string{"diagnose", "dd"}, "put -- before a command"},
		{[]string{"diagnose", "5"}, `"5" is not a flag; to watch for that long, write --duration 5`},
		{[]string{"5s"}, `there is no command "5s"; to watch for that long, write --duration 5s`},
		{[]string{"record", "1m"}, "write --duration 1m"},
		{[]string{"offcpu", "2"}, `offcpu takes no arguments, but has "2"; to watch for that long, write --duration 2`},
		{[]string{"top", "2"}, "see 'iocause top --help'"},
		{[]string{"diagnose", "--"}, "no command follows --"},
		{[]string{"--"}, "no command follows --"},
		{[]string{"--pid", "1", "--comm", "x"}, "--pid and --comm cannot be combined; give one of them"},
		{[]string{"--device", "x", "--cgroup", "/"}, "--cgroup and --device cannot be combined"},
		{[]string{"--pid", "1", "--", "true"}, "--pid and a command cannot be combined"},
		{[]string{"--pid", "0"}, "0 is not a process id; give a number"},
		{[]string{"--pid", "x"}, `reading --pid: "x" is not a valid number`},
		{[]string{"--comm", ""}, "the name is empty"},
		{[]string{"--cgroup", ""}, "the path is empty"},
		{[]string{"--duration", "1ms"}, "too short"},
		{[]string{"--duration", "-1s"}, "-1s is below zero; give 100ms or more"},
		{[]string{"--exit-code"}, "--exit-code needs a command"},
		{[]string{"--format", "xml"}, `reading --format: "xml" is not known; use text or json`},
		{[]string{"check", "--format", "xml"}, "use text or json"},
		{[]string{"version", "--format", "xml"}, "use text or json"},
		{[]string{"check", "x"}, `check takes no arguments, but has "x"`},
		{[]string{"version", "x"}, "version takes no arguments"},
		{[]string{"offcpu", "x"}, "offcpu takes no arguments"},
		{[]string{"offcpu", "--state", "disk,sleeping"}, `there is no state "sleeping"; there are disk,`},
		{[]string{"offcpu", "--state", "user"}, `there is no state "user"`},
		{[]string{"offcpu", "--min", "-1s"}, "reading --min: -1s is below zero"},
		{[]string{"offcpu", "--pid", "1", "--comm", "x"}, "--pid and --comm cannot be combined"},
		{[]string{"offcpu", "--duration", "1ms"}, "too short"},
		{[]string{"offcpu", "-o", "x.pdf"}, "end it in .html, .svg, .pb.gz or .folded"},
		{[]string{"offcpu", "-o", "/no/such/place/x.html"}, `"/no/such/place" is not a directory`},
		{[]string{"lab", "load"}, "KIND is missing; give one of read, small, randread,"},
		{[]string{"lab", "compare", "a"}, "B is missing; give two result directories"},
		{[]string{"completion"}, "give bash, zsh or fish"},
		{[]string{"oncpu", "--hz", "0"}, "give a whole number from 1 to 10000"},
		{[]string{"oncpu", "--top", "-1"}, `reading --top: "-1" is out of range; give a whole number, 0 or more`},
		{[]string{"flame"}, "0 files are given, flame takes 1"},
		{[]string{"flame", "diff", "x"}, "1 files are given, diff takes 2"},
		{[]string{"flame", "diff", "x", "y", "-o", "x.svg"}, "a comparison is written as a page"},
		{[]string{"use", "x"}, `reading INTERVAL: "x"`},
		{[]string{"use", "0"}, `reading INTERVAL: "0"`},
		{[]string{"use", "NaN"}, `reading INTERVAL: "NaN"`},
		{[]string{"use", "-1"}, "unknown shorthand flag"},
		{[]string{"use", "1e300"}, `reading INTERVAL: "1e300"`},
		{[]string{"use", "1", "0"}, `reading COUNT: "0"`},
		{[]string{"use", "1", "1", "1"}, "is an unexpected argument"},
		{[]string{"use", "--format", "xml"}, `"xml" is not known; use text, json or csv`},
		{[]string{"cache", "--by", "moon"}, `reading --by: "moon" is not known; use `},
		{[]string{"disk", "0.1", "1", "--sort", "moon"}, "there are device, reads_per_s"},
		{[]string{"trace", "0"}, `"0" is not a time`},
		{[]string{"trace", "1", "0"}, `"0" is not a number of intervals`},
		{[]string{"trace", "1", "2", "3"}, `"3" is an unexpected argument`},
		{[]string{"trace", "1", "-o", "-"}, "no summary is printed"},
		{[]string{"trace", "--file", ""}, "the name is empty"},
		{[]string{"burst", "--file", "x"}, "counted by process and cgroup"},
		{[]string{"trace", "--duration", "-1s"}, "-1s is below zero"},
		{[]string{"trace", "--min", "-1ms"}, "-1ms is below zero"},
		{[]string{"trace", "--buffer", "3"}, "3 MiB is not a power of two"},
		{[]string{"trace", "-i", "x", "-o", "y"}, "cannot be combined"},
		{[]string{"trace", "-i", "x", "--duration", "1s"}, "cannot be combined"},
		{[]string{"trace", "--format", "xml"}, `"xml" is not known; use text, json, csv or perfetto`},
		{[]string{"trace", "--sort", "colour"}, `"colour": no such column`},
		{[]string{"burst", "x"}, `"x" is not a time`},
		{[]string{"burst", "--sort", "colour"}, `"colour": no such column`},
		{[]string{"latency", "--syscall", "reed"}, `there is no system call "reed"; give names as 'man 2 syscalls' lists them, numbers, or all`},
		{[]string{"latency", "--syscall", ""}, "it is empty; give names such as read,fsync, or all"},
		{[]string{"latency", "--sort", "speed"}, "no such column; there are pid, process, syscall, calls, failed, wall_s, wall_p50_s"},
		{[]string{"latency", "--pid", "0"}, "0 is not a process id"},
		{[]string{"latency", "--slow", "-1ms"}, "reading --slow: -1ms is below zero"},
		{[]string{"latency", "1", "0"}, "give 1 or more"},
		{[]string{"threads", "--by", "user"}, `"user" is not known; use thread, process, comm or cgroup`},
		{[]string{"threads", "--sort", "speed"}, `no such column; there are tid, comm, pid, process, cgroup, ended, threads, wall_s`},
		{[]string{"threads", "0.01"}, "give seconds, or a time such as 500ms"},
		{[]string{"threads", "1", "2", "3"}, "give INTERVAL and COUNT at most"},
		{[]string{"threads", "--pid", "0"}, "0 is not a process id"},
		{[]string{"threads", "--comm", ""}, "the name is empty"},
		{[]string{"threads", "--format", "xml"}, "use text, json, csv or perfetto"},
		{[]string{"lab", "list"}, "there is no command \"list\"; see 'iocause lab --help'"},
		{[]string{"lab", "prob"}, "did you mean 'probe'? See 'iocause lab --help'"},
		{[]string{"lab", "eat"}, "exactly one SIZE"},
		{[]string{"lab", "eat", "1M", "--available", "1G"}, "exactly one SIZE"},
		{[]string{"lab", "eat", "lots"}, "not a size"},
		{[]string{"lab", "eat", "1M", "--duration=-1s"}, "below zero"},
		{[]string{"lab", "eat", "1M", "--format=csv"}, "use text or json"},
		{[]string{"lab", "eat", "1000T"}, "MemAvailable leaves room for"},
		{[]string{"lab", "eat", "--available=1M"}, "--force"},
		{[]string{"lab", "run"}, "exactly one experiment"},
		{[]string{"lab", "run", "a", "--list"}, "exactly one experiment"},
		{[]string{"lab", "run", "squeeze", "--scale=0"}, "give more than 0"},
		{[]string{"lab", "run", "squeeze", "--scale=NaN"}, "give more than 0"},
		{[]string{"lab", "run", "squeeze", "--repeat=-1"}, "from 0 to 100"},
		{[]string{"predict", "--memory", "much"}, "not a memory size"},
		{[]string{"predict", "--duration", "0.5"}, "too short"},
		{[]string{"predict", "--format", "xml"}, "text, json or csv"},
		{[]string{"predict", "--file", "/"}, "not a regular file"},
		{[]string{"predict", "--file", "/nowhere/at/all"}, "reading --file"},
		{[]string{"predict", "--pid", "0"}, "not a process id"},
		{[]string{"predict", "--rate", "2G"}, "it needs --writes"},
		{[]string{"predict", "--limit", "2G"}, "reading --limit"},
		{[]string{"predict", "--writes", "--comm", "x"}, "cannot be combined"},
		{[]string{"flame", "-", "--by", "x"}, `reading --by: "x" is not known`},
		{[]string{"flame", "-", "--format", "svg"}, `reading --format: "svg" is not known`},
		{[]string{"flame", "a", "b", "--format", "folded"}, "reading --format: a comparison is written as a page"},
		{[]string{"flame", "a", "b", "-o", "x.svg"}, `reading --output: a comparison is written as a page, which "x.`},
		{[]string{"check", "--duration", "1s"}, "unknown flag: --duration; see 'iocause check --help'"},
	} {
		code, out, err := runApp(t.Context(), nil, c.args...)
		if code != 2 || out != "" || !strings.HasPrefix(err, "iocause: ") || !strings.Contains(err, c.want) || strings.Count(err, "\n") != 1 {
			t.Errorf("%q: code %d, stdout %q, stderr %q; want 2 and %q", c.args, code, out, err, c.want)
		}
	}
}

func TestWhatIsNotThereIsOne(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--pid", "99999999"}, "looking for process 99999999: "},
		{[]string{"lab", "run", "nonsense"}, "finding the experiment: open nonsense.yaml: file does not exist; see 'iocause lab run --list'"},
		{[]string{"lab", "run", "/nowhere.yaml"}, "finding the experiment: open /nowhere.yaml: no such file or directory; see"},
		{[]string{"flame", "/no/such/file"}, "reading folded stacks: open /no/such/file: no such file or directory; record some"},
		{[]string{"--device", "no-such-device"}, `looking for block device "no-such-device": no such device; see 'lsblk'`},
		{[]string{"--cgroup", "/no/such/group"}, `looking for cgroup "/no/such/group": `},
		{[]string{"--", "no-such-command"}, `starting "no-such-command": `},
		{[]string{"--", "/etc/passwd"}, `starting "/etc/passwd": permission denied; check that`},
	} {
		code, out, err := runApp(t.Context(), nil, c.args...)
		if code != 1 || out != "" || !strings.Contains(err, "iocause: "+c.want) {
			t.Errorf("%q: code %d, stdout %q, stderr %q; want 1 and %q", c.args, code, out, err, c.want)
		}
	}
}

func TestEveryHelpEndsInExamples(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" || c.Hidden {
			return
		}
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		code, out, err := runApp(t.Context(), nil, args...)
		_, examples, found := strings.Cut(out, "\nEXAMPLES\n")
		if code != 0 || err != "" || (!found || !strings.Contains(examples, "  iocause")) {
			t.Errorf("%q: code %d, stderr %q, stdout %q", args, code, err, out)
		}
		for _, line := range strings.Split(out, "\n") {
			if len(line) > 80 {
				t.Errorf("%q: %q is %d columns wide", args, line, len(line))
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.Contains(f.Usage, "\n") {
				t.Errorf("%q: the text of --%s breaks its lines itself: %q", args, f.Name, f.Usage)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRootCommand(&env{host: host.Live()}))
}

// Advice is not given twice, and a folder named root is no advice.
func TestAsRoot(t *testing.T) {
	denied := func(what string) error { return fmt.Errorf("%s: %w", what, fs.ErrPermission) }
	for _, c := range []struct {
		err  error
		user int
		want string
	}{
		{denied("open /root/night.iocause"), 1000, "; run it as root"},
		{denied("open /root/night.iocause"), 0, ""},
		{denied("the kernel hides its addresses: run as root"), 1000, ""},
		{fs.ErrNotExist, 1000, ""},
	} {
		if got := asRoot(c.err, c.user); got != c.want {
			t.Errorf("%v, user %d: %q", c.err, c.user, got)
		}
	}
}

func TestVersion(t *testing.T) {
	code, out, _ := runApp(t.Context(), nil, "version")
	if code != 0 || !strings.HasPrefix(out, "iocause ") || !strings.Contains(out, " go1.") || strings.Count(out, "\n") != 1 {
		t.Errorf("code %d, %q", code, out)
	}
	var v version.Version
	code, out, _ = runApp(t.Context(), nil, "version", "--format", "json")
	if err := json.Unmarshal([]byte(out), &v); code != 0 || err != nil || !strings.HasPrefix(v.Go, "go1.") {
		t.Errorf("code %d, %v, %q", code, err, out)
	}
}

func TestCompletion(t *testing.T) {
	code, out, _ := runApp(t.Context(), nil, "completion", "bash")
	if code != 0 || !strings.Contains(out, "__start_iocause") {
		t.Errorf("code %d, %.200q", code, out)
	}
}

// decode reads exactly one report.
func decode(t *testing.T, out string) diagnose.Report {
	t.Helper()
	var r diagnose.Report
	d := json.NewDecoder(strings.NewReader(out))
	if err := d.Decode(&r); err != nil || d.More() || !strings.HasSuffix(out, "}\n") {
		t.Fatalf("not one JSON document and a newline: %v\n%s", err, out)
	}
	return r
}

func TestDiagnoseJSON(t *testing.T) {
	entries := []source.Entry{working("calm", sample.WaitIO), fails("broken", errors.New("opening it: no"), sample.BlockOps)}
	code, out, err := runApp(t.Context(), entries, "--duration", "200ms", "--format", "json")
	r := decode(t, out)
	if code != 0 || r.Version != 1 || r.Primary != diagnose.Healthy || r.Window.Seconds < 0.2 || r.Window.Seconds > 2 {
		t.Errorf("code %d, %+v", code, r)
	}
	if !slices.Contains(r.Gaps, "broken: opening it: no") {
		t.Errorf("gaps %q", r.Gaps)
	}
	if h, ok := r.Host.(map[string]any); !ok || h["kernel"] == nil {
		t.Errorf("host %v", r.Host)
	}
	if r.Cost.RSSBytes == 0 || r.Cost.CPUSeconds == 0 {
		t.Errorf("cost %+v", r.Cost)
	}
	if strings.Contains(out, "null") {
		t.Errorf("a list is null:\n%s", out)
	}
	if err != "iocause: observing for 200 ms\n" {
		t.Errorf("stderr %q", err)
	}
}

func TestDiagnoseText(t *testing.T) {
	code, out, _ := runApp(t.Context(), []source.Entry{working("calm", sample.WaitIO)}, "diagnose", "--duration", "100ms")
	if code != 0 || !strings.HasPrefix(out, "NO PROBLEM: ") || !strings.Contains(out, ", cost CPU ") || strings.Contains(out, "\x1b") {
		t.Errorf("code %d, %s", code, out)
	}
}

func TestMissingPrivilegesAreSaidOnce(t *testing.T) {
	refused := fmt.Errorf("opening: %w", bpf.ErrNotPermitted)
	entries := []source.Entry{fails("a", refused, sample.BlockOps), fails("b", refused, sample.WaitIO)}
	code, _, err := runApp(t.Context(), entries, "--duration", "100ms")
	if code != 0 || strings.Count(err, "not permitted") != 1 || !strings.Contains(err, "run as root") {
		t.Errorf("code %d, stderr %q", code, err)
	}
}

func TestCancelEndsTheObservation(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	code, out, _ := runApp(ctx, []source.Entry{working("calm", sample.WaitIO)}, "--duration", "1h", "--format", "json")
	if r := decode(t, out); code != 0 || r.Window.Seconds > 20 || time.Since(began) > 20*time.Second {
		t.Errorf("code %d after %v, window %v s", code, time.Since(began), r.Window.Seconds)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestOutputThatCannotBeWrittenIsOne(t *testing.T) {
	for _, args := range [][]string{
		{"--duration", "100ms"}, {"--duration", "100ms", "--format", "json"}, {"check"}, {"check", "--format", "json"}, {"version"},
	} {
		var err require.Output
		a := &env{streams: streams{stdin: os.Stdin, stdout: full{}, stderr: &err}, host: host.Live(), sources: []source.Entry{working("calm", sample.WaitIO)}}
		if code := runLine(t.Context(), a, args); code != 1 || !strings.Contains(err.String(), "no space left") {
			t.Errorf("%q: code %d, stderr %q", args, code, err.String())
		}
	}
}
