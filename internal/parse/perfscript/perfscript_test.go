package perfscript

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
)

// stacksOf are a profile's stacks: state, command, functions, weight, count.
func stacksOf(p *sample.Profile) []string {
	var out []string
	for i := range p.Stacks {
		s := &p.Stacks[i]
		names := []string{s.Process}
		for _, f := range s.Frames {
			names = append(names, f.Name)
		}
		out = append(out, fmt.Sprintf("%s|%s|%d|%d", s.State, strings.Join(names, ";"), p.Weight(s), s.Count))
	}
	slices.Sort(out)
	return out
}

func read(t *testing.T, text string, o Options) *Result {
	t.Helper()
	res, err := Read(strings.NewReader(text), o)
	require.NoError(t, err)
	return res
}

func wantLines(t *testing.T, p *sample.Profile, want ...string) {
	t.Helper()
	if got := stacksOf(p); !slices.Equal(got, want) {
		t.Errorf("stacks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func wantNote(t *testing.T, p *sample.Profile, part string) {
	t.Helper()
	if !strings.Contains(strings.Join(p.Notes, "\n"), part) {
		t.Errorf("notes %q, want one with %q", p.Notes, part)
	}
}

const twoEvents = `# captured
V8 Worker 7/9 [001] 12.000001: 250000 cpu-clock: 
	ffff1 do_it+0x1f ([kernel.kallsyms])
	 12 outer(int, char)->inner+0x2 (/usr/bin/a b)
	 13 [unknown] (/lib/libx.so)
	 14 [unknown] ([unknown])

V8 Worker 7/9 [001] 12.000002: 5 faults: 
	ffff1 fault ([kernel.kallsyms])

V8 Worker 9 12.000003: 250000 cpu-clock: 
	ffff1 do_it+0x2a ([kernel.kallsyms])
	 12 outer(int, char)->inner+0x2 (/usr/bin/a b)
	 13 [unknown] (/lib/libx.so (deleted))
	 14 [unknown] ([unknown])

`

func TestTheFirstEventIsAddedUp(t *testing.T) {
	res := read(t, twoEvents, Options{})
	wantLines(t, res.Profile, "|V8 Worker;[unknown];[libx.so];outer;inner_[i];do_it|500000|2")
	if res.Profile.Unit != "" || res.Used != 12 || res.Skipped != 4 || res.Unknown != 0 {
		t.Errorf("unit %q, %d used, %d skipped, %d unknown; want time, 12, 4, 0", res.Profile.Unit, res.Used, res.Skipped, res.Unknown)
	}
	wantNote(t, res.Profile, "1 sample of faults left out")
	frames := res.Profile.Stacks[0].Frames
	if !frames[4].Kernel || frames[1].Kernel || frames[0].Kernel {
		t.Error("do_it alone is of the kernel")
	}
}

func TestAnEventIsChosen(t *testing.T) {
	res := read(t, twoEvents, Options{Event: "faults"})
	wantLines(t, res.Profile, "|V8 Worker;fault|5|5")
	if res.Profile.Unit != "faults" {
		t.Errorf("unit %q, want faults", res.Profile.Unit)
	}
}

func TestEventsThatAreAddedTogetherAreNamed(t *testing.T) {
	res := read(t, "sh 1 2.0: 3 cycles: \n\t1f f (/m)\n\nsh 1 2.1: syscalls:sys_enter_read: fd: 0x1\n\t1f f (/m)\n\n", Options{})
	wantLines(t, res.Profile, "|sh;f|4|4")
	if res.Profile.Unit != "events" {
		t.Errorf("unit %q, want events", res.Profile.Unit)
	}
	wantNote(t, res.Profile, "samples of several events are added together: cycles, syscalls:sys_enter_read")
}

func TestSamplesWithoutAnEvent(t *testing.T) {
	res := read(t, "sh 1 cycles\n1f f (/m)\n1f  (/m)\n\n", Options{})
	wantLines(t, res.Profile, "|sh;;f|1|1")
	if res.Profile.Unit != "samples" {
		t.Errorf("unit %q, want samples", res.Profile.Unit)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ in, comm, want string }{
		{"net/http.(*Client).Do+0x1", "x", "net/http.(*Client).Do"},
		{"(anonymous namespace)::f(int)", "x", ""}, // old versions print processes so
		{"a::(anonymous namespace)::f(int)", "x", "a::(anonymous namespace)::f"},
		{"Lorg/a/B;::run", "java", "org/a/B:::run"},
		{"Lorg/a/B;::run", "x", "Lorg/a/B:::run"},
		{`RegExp:[&<>"']`, "x", "RegExp:[&<>]"},
	} {
		res := read(t, c.comm+" 1 2.5: 3 cycles:\n\t1f "+c.in+" (/m)\n\n", Options{})
		want := fmt.Sprintf("|%s;%s|3|3", c.comm, c.want)
		if c.want == "" {
			want = fmt.Sprintf("|%s|3|3", c.comm)
		}
		wantLines(t, res.Profile, want)
	}
}

func switchAt(at string, prev int, state string, next int) string {
	return fmt.Sprintf("p%d %d [000] %s: sched:sched_switch: prev_comm=p %d ==> x prev_pid=%d prev_prio=120 prev_state=%s ==> next_comm=y next_pid=%d next_prio=120\n\tff schedule+0x1 ([kernel.kallsyms])\n\t1 f%d (/p)\n\n",
		prev, prev, at, prev, prev, state, next, prev)
}

func TestSwitchesAreTime(t *testing.T) {
	text := switchAt("1.000000", 7, "D", 8) +
		switchAt("1.000400", 8, "R+", 9) +
		"swapper 0 [001] 1.000500: sched:sched_wakeup: comm=p pid=7 prio=120 target_cpu=000\n\n" +
		"other 5 [000] 1.000550: 10 cycles: \n\tff spin ([kernel.kallsyms])\n\n" +
		switchAt("1.000600", 9, "X", 7) +
		switchAt("1.000700", 7, "S", 8) +
		switchAt("1.000900", 8, "S", 0) +
		switchAt("1.001000", 8, "S", 0)
	res := read(t, text, Options{})
	wantLines(t, res.Profile,
		"preempted|p8;f8;schedule|300000|1",
		"runnable|p7;f7;schedule|100000|1",
		"uninterruptible|p7;f7;schedule|500000|1")
	wantNote(t, res.Profile, "2 threads off the processor at the end")
	wantNote(t, res.Profile, "1 wait left out")
	wantNote(t, res.Profile, "1 sample of cycles left out")
	if res.Unknown != 0 {
		t.Errorf("not understood: %q", res.Bad)
	}
	counted := read(t, strings.Replace(text, "1.000550: 10", "1.000550: 1", 1), Options{Count: true, Event: switchEvent})
	wantLines(t, counted.Profile, "|p7;f7;schedule|2|2", "|p8;f8;schedule|3|3", "|p9;f9;schedule|1|1")
}

func TestSwitchesOfOneThreadHaveNoEnd(t *testing.T) {
	_, err := Read(strings.NewReader(switchAt("1.0", 7, "D", 8)+switchAt("1.5", 7, "D", 8)), Options{})
	if err == nil || !strings.Contains(err.Error(), "2 waits have no switch back to the thread: record all processors") {
		t.Errorf("error %v", err)
	}
}

// Recorded with -p, a thread is seen to leave only; how long it was gone the
// scheduler's statistics tell.
func TestStatisticsTellTheLength(t *testing.T) {
	stat := func(at, event string, tid, ns int) string {
		return fmt.Sprintf("p%d %d [000] %s: sched:sched_stat_%s: comm=p%d pid=%d delay=%d [ns]\n\n", tid, tid, at, event, tid, tid, ns)
	}
	res := read(t, stat("0.5", "sleep", 9, 1)+switchAt("1.0", 7, "D", 8)+stat("1.4", "blocked", 7, 400)+stat("1.4", "iowait", 7, 400)+stat("1.5", "wait", 7, 100)+
		switchAt("2.0", 7, "S", 8)+stat("2.2", "sleep", 7, 250), Options{})
	wantLines(t, res.Profile, "runnable|p7;f7;schedule|100|1", "sleeping|p7;f7;schedule|250|1", "uninterruptible|p7;f7;schedule|400|1")
	wantNote(t, res.Profile, "2 waits as long as sched_stat events say")
	res = read(t, switchAt("1.0", 7, "D", 8)+stat("1.4", "blocked", 7, 400000000)+switchAt("1.5", 8, "S", 7), Options{})
	wantLines(t, res.Profile, "runnable|p7;f7;schedule|100000000|1", "uninterruptible|p7;f7;schedule|400000000|1")
	if _, err := Read(strings.NewReader(stat("1.4", "blocked", 7, 4)), Options{}); err == nil || !strings.Contains(err.Error(), "sched_stat events but no switches") {
		t.Errorf("%v", err)
	}
}

// Of a thread that is gone perf prints the number -1.
func TestThreadsThatAreGone(t *testing.T) {
	res := read(t, ":-1    -1 [001] 1.0: 5 cycles: \n\t1f f (/m)\n\n:-1 -1/-1 [001] 1.5: 5 cycles: \n\t1f f (/m)\n\n", Options{})
	wantLines(t, res.Profile, "|:-1;f|10|10")
}

func TestThePluginsLayoutOfASwitch(t *testing.T) {
	res := read(t, "a 7 [0] 1.0: sched:sched_switch: a:b:7 [120] S ==> c:8 [120]\n"+
		"c 8 [0] 1.25: sched:sched_switch: c:8 [120] R ==> a:b:7 [120]\n", Options{})
	wantLines(t, res.Profile, "sleeping|a|250000000|1")
}

func TestBrokenLinesAreTold(t *testing.T) {
	res := read(t, "sh 1 2.0: 3 cycles:\r\n\t1f f (/m)\r\n\tgarbage\r\n\r\nwhat is this\nsh 1 2.1: 3 cycles:\n\t1f f (/m)\n", Options{Name: "n"})
	wantLines(t, res.Profile, "|sh;f|6|6")
	want := []string{`n:3: no function of a stack: "\tgarbage"`, `n:5: no sample and no function: "what is this"`}
	if !slices.Equal(res.Bad, want) || res.Unknown != 2 || res.Used != 5 || res.Skipped != 0 {
		t.Errorf("%q, %d unknown, %d used, %d skipped; want %q, 2, 5, 0", res.Bad, res.Unknown, res.Used, res.Skipped, want)
	}
	wantNote(t, res.Profile, "the last sample has no empty line")
}

func TestOneLineSamples(t *testing.T) {
	res := read(t, "      sh  1 2.0:  3 cycles:  ffff f+0x1 (/m)\n      sh  1 2.1:  4 cycles:  ffff f+0x2 (/m)\n", Options{})
	wantLines(t, res.Profile, "|sh;f|7|7")
}

func TestALineWithoutEnd(t *testing.T) {
	res := read(t, strings.Repeat("x", 3<<20)+"\nsh 1 2.0: 3 cycles:\n\t1f f (/m)\n\n", Options{Name: "n"})
	wantLines(t, res.Profile, "|sh;f|3|3")
	if res.Unknown != 1 || !strings.HasPrefix(res.Bad[0], "n:1: longer than 1 MiB") {
		t.Errorf("%q", res.Bad)
	}
}

// Sixteen threads that map, read and unmap parts of a file: they wait for the
// lock of their memory. Recorded with 'perf record -a -g -e sched:sched_switch
// --filter ...' under 'iocause lab load remap --threads 16'; 110 switches of the
// first second. Waits that outlast them are not counted.
func TestTheLockOfAMemoryIsOnTop(t *testing.T) {
	text, err := os.ReadFile("testdata/mmap-lock.script")
	require.NoError(t, err)
	p := read(t, string(text), Options{}).Profile
	var all, lock time.Duration
	for _, s := range p.Stacks {
		if s.Process != "scan" {
			continue
		}
		all += s.Time
		for _, f := range s.Frames {
			if f.Name == "rwsem_down_write_slowpath" && s.State == "uninterruptible" {
				lock += s.Time
			}
		}
	}
	if all == 0 || lock < all/2 {
		t.Errorf("%v of %v are spent in the lock", lock, all)
	}
}

// The file was recorded with 'perf record -e cpu-clock -g -- sh -c ...' and
// printed with 'perf script'; the other one was made of it by
// stackcollapse-perf.pl.
func TestARecording(t *testing.T) {
	text, err := os.ReadFile("testdata/cpu-clock.script")
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/cpu-clock.folded")
	require.NoError(t, err)
	if !Looks(text) {
		t.Error("the text is not recognised")
	}
	var got []string
	p := read(t, string(text), Options{}).Profile
	for _, l := range stacksOf(p) {
		part := strings.Split(l, "|")
		got = append(got, part[1]+" "+part[2])
	}
	wanted := strings.Split(strings.TrimSpace(string(want)), "\n")
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), wanted)
	}
}

func TestLooks(t *testing.T) {
	for text, want := range map[string]bool{
		"sh;main;f 12\n":                    false,
		"":                                  false,
		"java 12 34;main 5\n":               false,
		"sh 1 2.0: 3 cycles:\n":             true,
		"# x\n\nsh 1 cycles:\nff f ([k])\n": true,
		"sh 1 9\n\tff f (/m)\n":             true,
		"\tff cut (/m)\n\nsh 1/2 [0] 2.0: c:u: \n": true,
	} {
		if Looks([]byte(text)) != want {
			t.Errorf("Looks(%q) is not %v", text, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(twoEvents, "", false)
	f.Add(switchAt("1.0", 7, "D", 8)+switchAt("1.5", 8, "S", 7), "", false)
	f.Add("a 7 [0] 1.0: sched:sched_switch: a:7 [120] S ==> c:8 [120]\n", switchEvent, true)
	f.Fuzz(func(t *testing.T, text, event string, count bool) {
		Looks([]byte(text))
		res, err := Read(strings.NewReader(text), Options{Name: "n", Event: event, Count: count})
		if err != nil && errors.Is(err, ErrNone) != (len(res.Profile.Stacks) == 0) && !strings.Contains(err.Error(), "waits") {
			t.Fatal(err)
		}
		total := strings.Count(text, "\n")
		if text != "" && !strings.HasSuffix(text, "\n") {
			total++
		}
		if sum := res.Used + res.Skipped + res.Unknown; sum != total {
			t.Fatalf("%d used, %d skipped, %d unknown of %d lines", res.Used, res.Skipped, res.Unknown, total)
		}
		for i := range res.Profile.Stacks {
			if s := &res.Profile.Stacks[i]; res.Profile.Weight(s) < 0 || s.Process == "" {
				t.Fatalf("%+v", s)
			}
		}
	})
}
