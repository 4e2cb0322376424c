package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/symbol"
	"iocause/internal/table"
)

// profileOptions are the flags that offcpu and oncpu share.
type profileOptions struct {
	duration time.Duration
	filter   filter
	show     intervals // --top, --sort and --format
	output   string
	playback playback
	missing  string // nobody of those that are asked for was there at the start
}

func (o *profileOptions) bind(c *cobra.Command, verb string) {
	f := c.Flags()
	f.Var(timeIn(&o.duration, 10*time.Second), "duration", "how long to watch")
	f.IntVar(&o.filter.pid, "pid", 0, "where does this process "+verb+"?")
	f.StringVar(&o.filter.comm, "comm", "", "where do processes and threads of this name "+verb+"?")
	f.StringVar(&o.filter.cgroup, "cgroup", "", "where do the processes below this cgroup "+verb+"?")
}

func (o *profileOptions) bindOutput(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "write all to a .html or .svg (flame graph),\n.pb.gz (pprof) or .folded file; - for stdout")
	f.IntVar(&o.show.top, "top", 20, "rows of the table, 0 for all")
	f.StringVar(&o.show.sort, "sort", "time_s", "column to sort by")
	f.StringVar(&o.show.format, "format", "text", "of the table: text, json or csv")
	f.SortFlags = false
}

// check finds out whether the options make sense, and what they ask of the probe.
func (o *profileOptions) check(a *app, c *cobra.Command) (stacks.Options, error) {
	var ask stacks.Options
	if err := o.show.args(nil); err != nil {
		return ask, err
	}
	if o.duration < shortest {
		return ask, &usageError{fmt.Errorf("reading --duration: %v is too short to see anything", o.duration),
			"use 100ms or more; 10s is a good start"}
	}
	if err := checkOutput(o.output); err != nil {
		return ask, err
	}
	given := o.filter.given(c)
	if len(given) > 1 {
		return ask, &usageError{fmt.Errorf("reading the flags: --%s and --%s exclude each other", given[0], given[1]), "give one of them"}
	}
	target, err := o.filter.target(a.host, given)
	if err != nil {
		return ask, err
	}
	if len(target.PIDs) > 0 {
		ask.PID = target.PIDs[0]
	}
	ask.Comm = target.Comm
	if target.Cgroup != "" {
		ask.Tree, ask.Cgroup, err = a.cgroupInode(target.Cgroup)
	}
	if o.missing = nobody(a.host, target); err == nil && o.missing != "" {
		fmt.Fprintf(a.stderr, "iocause: %s now; watching whether that changes\n", o.missing)
	}
	return ask, err
}

// cgroupInode is the number of a cgroup's directory, which the kernel knows it
// by, and the hierarchy that it is of.
func (a *app) cgroupInode(name string) (tree string, inode uint64, err error) {
	cgroups, err := a.host.Cgroups()
	if err != nil {
		return "", 0, fmt.Errorf("looking for cgroup %q: %w", name, err)
	}
	for _, tree := range []string{"memory", "io", ""} {
		at, ok := cgroups.Controller(tree)
		if !ok && tree == "io" {
			at, ok = cgroups.Controller("blkio")
		}
		if tree == "" && cgroups.Unified != nil {
			at, ok = *cgroups.Unified, true
		}
		if !ok {
			continue
		}
		dir, err := at.Join(name)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(dir, &st) == nil {
			return tree, st.Ino, nil
		}
	}
	return "", 0, fmt.Errorf("looking for cgroup %q: it has no directory; see 'systemd-cgls'", name)
}

// profiled is what was observed, before it has names.
type profiled struct {
	rows    []stacks.Row
	losses  stacks.Losses
	begin   time.Time
	length  time.Duration
	cost    float64 // seconds that the kernel programs took, NaN unknown
	hasCost bool
	event   string
	eager   bool
}

// observeStacks watches until the time is over or it is interrupted.
func (a *app) observeStacks(watch context.Context, o *profileOptions, ask stacks.Options, names *symbol.Resolver) (*profiled, error) {
	probe, err := stacks.Open(a.host, ask)
	if err != nil {
		return nil, err
	}
	defer probe.Close()
	go probe.Fresh(names.Meet)
	p := &profiled{begin: a.host.Now(), event: probe.Event(), eager: probe.Eager()}
	into := sample.NewRecorder(p.begin)
	if err := probe.Begin(into); err != nil {
		return nil, err
	}
	line := a.newProgress(o.duration, nil)
	defer line.Erase()
	const perSecond = 4 // stacks that are new in between must find room
	n := 0
	loop := session.Loop{Every: o.duration, Count: 1, Tick: time.Second / perSecond,
		During: func() error {
			n++
			into.At(a.host.Now())
			if err := probe.Tick(into, n%perSecond == 0); err != nil {
				return err
			}
			a.meetRows(probe, names)
			return nil
		},
		Show: func(elapsed time.Duration) {
			line.Draw(func() string { return observing(source.Progress{Elapsed: elapsed, Length: o.duration}) })
		}}
	err = loop.Run(watch, func(session.Interval) (err error) {
		into.At(a.host.Now())
		p.length, err = probe.End(into)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.meetRows(probe, names)
	if watch.Err() != nil && p.length < shortest {
		return nil, session.TooEarly(watch)
	}
	p.rows = probe.Rows()
	if p.losses, err = probe.Losses(); err != nil {
		return nil, err
	}
	w := into.Window(a.host.Now())
	w.Each(sample.CostBPFTime, func(_ sample.Entity, s *sample.Series) { p.cost, p.hasCost = p.cost+s.Sum(), true })
	return p, nil
}

// meetRows reads the mappings of processes whose code has moved on.
func (a *app) meetRows(probe *stacks.Probe, names *symbol.Resolver) {
	for _, r := range probe.Added() {
		if len(r.User.IPs) > 0 {
			names.Check(r.TGID, r.Process, r.User.IPs)
		}
		if r.Waker != nil && len(r.Waker.User.IPs) > 0 {
			names.Check(r.Waker.TGID, "", r.Waker.User.IPs)
		}
	}
}

// runProfile is what offcpu and oncpu do after they have read their flags.
func (a *app) runProfile(c *cobra.Command, o *profileOptions, ask stacks.Options, build func(*profiled, *symbol.Resolver) (*sample.Profile, error)) error {
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	p, err := a.profile(watch, o, ask, build)
	if err != nil {
		return err
	}
	return a.showProfile(p, o)
}

// profile observes, and gives what was seen its names.
func (a *app) profile(watch context.Context, o *profileOptions, ask stacks.Options, build func(*profiled, *symbol.Resolver) (*sample.Profile, error)) (*sample.Profile, error) {
	names := symbol.New(a.host)
	defer names.Close()
	ask.Unwind = unwinder(names)
	seen, err := a.observeStacks(watch, o, ask, names)
	if err != nil {
		return nil, err
	}
	if o.missing != "" && len(seen.rows) == 0 {
		return nil, fmt.Errorf("looking for whom to watch: %s, nor was there in the %s watched; see 'ps -e -o pid,comm,cgroup'",
			o.missing, table.Duration(seen.length.Seconds()))
	}
	if ask.Comm != "" || ask.Cgroup != 0 {
		seen.losses.ShortTime = 0 // that is of all threads
	}
	p, err := build(seen, names)
	if err != nil {
		return nil, err
	}
	p.Notes = append(p.Notes, lossNotes(seen)...)
	p.Notes = append(p.Notes, sorted(names.Notes())...)
	return p, nil
}

// showProfile writes a profile to the file that is asked for, or prints it.
func (a *app) showProfile(p *sample.Profile, o *profileOptions) error {
	if o.output != "" {
		return a.writeProfile(p, o.output)
	}
	printer := a.newPrinter(&o.show)
	label := fmt.Sprintf("%s: %s of all threads together, watched for %s", p.Title, table.Duration(p.Total().Seconds()), table.Duration(p.Length.Seconds()))
	return printer.print(p.Begin, p.Length, label, []table.Table{stackTable(p, o.show.format == "text", printer.style.Width < wideTable)})
}

// unwinder follows user stacks by the files that a resolver knows.
func unwinder(names *symbol.Resolver) bpf.Unwinder {
	return func(pid int, regs bpf.Registers, read func(uint64) (uint64, bool)) ([]uint64, bool) {
		return names.Unwind(pid, symbol.Registers(regs), read)
	}
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// lossNotes say what is not in the figures.
func lossNotes(seen *profiled) []string {
	var notes []string
	l := &seen.losses
	say := func(n uint64, format string, args ...any) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	say(l.Rows, "%d of the waits or samples, %s in all, found no room in the kernel's table: they are missing here", l.LostCount, table.Duration(l.LostTime.Seconds()))
	say(l.Stacks, "%s found no room in the kernel's table: the time is there, under [stack lost]", sample.Counted(l.Stacks, "stack"))
	say(l.Threads, "%s the kernel had no memory to time a thread: its wait is missing here", sample.Counted(l.Threads, "time"))
	say(uint64(l.Folded), "%s, %s in all, added up for want of memory under [stack lost]", sample.Counted(l.Folded, "small stack"), table.Duration(l.FoldedTime.Seconds()))
	say(l.Unstalled, "of %s the user part was followed by frame pointers alone, for want of room to copy it: it may be incomplete", sample.Counted(l.Unstalled, "stack"))
	say(l.Unmet, "the mappings of %s could not be read at once: functions of those that ended have no names", sample.Counted(l.Unmet, "process"))
	if l.ShortTime > time.Millisecond {
		notes = append(notes, fmt.Sprintf("%s of waits shorter than --min had not added up to one that is kept", table.Duration(l.ShortTime.Seconds())))
	}
	if seen.eager {
		notes = append(notes, "this kernel does not tell when a thread comes back (sched_exit_tp): user stacks were taken of every wait, which costs more")
	}
	if seen.hasCost {
		notes = append(notes, fmt.Sprintf("the kernel programs took %s of CPU time in %s", table.Duration(seen.cost), table.Duration(seen.length.Seconds())))
	}
	return notes
}

// stackTable are the stacks by state and process. For people they are told by
// their innermost functions, and narrow ones leave the counts out: functions
// need the room.
func stackTable(p *sample.Profile, forPeople, isNarrow bool) table.Table {
	t := table.Table{
		Key: "stacks",
		Columns: []table.Column{
			{Key: "state", Head: "STATE"},
			{Key: "time_s", Head: "TIME", Unit: "seconds"},
			{Key: "share", Head: "SHARE", Unit: "ratio"},
			{Key: p.Counts, Head: strings.ToUpper(p.Counts), Unit: "count", Drop: 2},
			{Key: "process", Head: "PROCESS"},
			{Key: "stack", Head: "FROM THE INNERMOST FUNCTION OUTWARDS", Flex: true},
		},
		Notes: p.Notes,
	}
	total := p.Total().Seconds()
	type place struct{ state, process, stack string }
	rows := map[place]int{}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		at := place{s.State, s.Process, everyFunction(s)}
		if forPeople {
			at.stack = innermost(s)
		}
		n, ok := rows[at]
		if !ok {
			n = len(t.Rows)
			rows[at] = n
			t.Rows = append(t.Rows, []table.Cell{table.Str(at.state), table.Num(0), table.Num(0), table.Num(0), table.Str(at.process), table.Str(at.stack)})
		}
		row := t.Rows[n]
		row[1].Number += s.Time.Seconds()
		row[3].Number += float64(s.Count)
		if total > 0 {
			row[2].Number = row[1].Number / total
		}
	}
	if forPeople && isNarrow {
		const counts = 3
		t.Columns = slices.Delete(t.Columns, counts, counts+1)
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], counts, counts+1)
		}
	}
	return t
}

// wideTable is the width in which a table of stacks has room for all.
const wideTable = 100

// leaves are how many functions of each half of a stack a row shows.
const (
	kernelLeaves = 1
	userLeaves   = 4
)

// innermost is what is most telling of a stack, on one line: the innermost
// functions of the kernel, the system call, the innermost functions of the
// program.
func innermost(s *sample.Stack) string {
	var parts []string
	kernel, user := 0, 0
	for i := len(s.Frames) - 1; i >= 0 && user < userLeaves; i-- {
		f := s.Frames[i]
		call, isCall := systemCall(f)
		switch {
		case isCall:
			parts = append(parts, call+"()")
		case f.Kernel && kernel < kernelLeaves && !isPassage(f.Name):
			kernel++
			parts = append(parts, f.Name)
		case !f.Kernel && !(f.Note && i == 0 && user > 0) && !isWrapper(f.Name):
			user++
			parts = append(parts, withoutPath(f.Name))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, " < ")
}

// withoutPath is a Go function's name with its package's last element alone.
func withoutPath(name string) string {
	before, _, _ := strings.Cut(name, "[") // of a generic function: paths of types follow
	before, _, _ = strings.Cut(before, "(")
	if at := strings.LastIndexByte(before, '/'); at >= 0 && at < len(before)-1 && !strings.ContainsAny(before, " <>:") {
		return name[at+1:]
	}
	return name
}

// everyFunction is a whole stack on one line, innermost function first.
func everyFunction(s *sample.Stack) string {
	names := make([]string, len(s.Frames))
	for i := range s.Frames {
		names[len(names)-1-i] = s.Frames[i].Name
	}
	return strings.Join(names, " < ")
}

// isWrapper tells functions of Go's own between a program and the kernel.
func isWrapper(name string) bool {
	for _, prefix := range []string{"internal/runtime/syscall/", "syscall.Syscall", "syscall.RawSyscall", "syscall.read", "syscall.write",
		"internal/poll.", "golang.org/x/sys/unix.", "runtime.futex", "runtime.notesleep"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// systemCall is the call that a function of the kernel serves.
func systemCall(f *sample.Frame) (string, bool) {
	if !f.Kernel {
		return "", false
	}
	for _, prefix := range []string{"__x64_sys_", "__arm64_sys_", "__do_sys_", "__se_sys_"} {
		if name, ok := strings.CutPrefix(f.Name, prefix); ok {
			return name, !strings.HasPrefix(prefix, "__do") && !strings.HasPrefix(prefix, "__se")
		}
	}
	return "", false
}

// isPassage tells functions that every entry into the kernel, and every sleep,
// passes.
func isPassage(name string) bool {
	for _, prefix := range []string{"do_syscall_64", "entry_SYSCALL", "x64_sys_call", "el0", "do_el0_svc", "invoke_syscall", "ret_from_fork",
		"kthread", "schedule", "io_schedule", "vfs_", "ksys_", "do_sys", "do_futex", "__futex_wait", "futex_wait"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
