// Package threads reads lists of processes or threads with their states: what
// htop and top -b show, BusyBox's top among them, and ps with a state column.
package threads

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line the list begins: at the names of its columns, or at
// top's summary above it.
func Find(line string) int {
	if text := strings.TrimLeft(line, " "); summary(text) || busyBox(text) {
		return len(line) - len(text)
	}
	if strings.Contains(line, "->") || !strings.ContainsAny(line, "ST") {
		return -1
	}
	f := strings.Fields(line)
	c := columns(f)
	if c.state < 0 || c.pid < 0 && !onlyPS(f) {
		return -1
	}
	for _, name := range f {
		if len(name) > 4 && strings.HasSuffix(strings.SplitN(name, ":", 2)[0], "ADDR") { // LADDR and RADDR are of connections
			return -1
		}
	}
	return 0
}

// onlyPS tells a head of ps without processes: ps -eo state,wchan,comm.
func onlyPS(columns []string) bool {
	for _, name := range columns {
		switch name {
		case "F", "S", "STAT", "WCHAN", "COMMAND", "CMD", "USER", "UID", "%CPU", "%MEM", "TIME", "ELAPSED", "TTY", "TT", "NLWP", "PSR", "CLS", "NI", "PRI", "VSZ", "RSS":
		default:
			return false
		}
	}
	return len(columns) > 1
}

// layout is where the columns are; -1 for those that are not there.
type layout struct {
	pid, state, cpu, command, n int
	now                         bool // its shares of processors are those of a moment (top), not since the start (ps)
}

func columns(f []string) layout {
	c := layout{pid: -1, state: -1, cpu: -1, command: -1, n: len(f)}
	for i, name := range f {
		switch name {
		case "TID", "LWP", "SPID":
			c.pid = i
		case "PID":
			if c.pid < 0 {
				c.pid = i
			}
		case "S", "STAT", "STATE":
			c.state = i
		case "CPU%", "%CPU":
			c.cpu = i
		case "Command", "COMMAND", "CMD":
			c.command = i
		case "TIME+", "%VSZ":
			c.now = true
		}
	}
	return c
}

type reader struct {
	layout layout
	count  map[string]float64
	cpu    float64
	hasCPU bool
	comm   map[string]float64
	rows   int
	first  int
	total  float64 // rows of all lists
	waits  float64 // of these in D
	lists  int

	each map[string]float64 // what single processors did in this screen, in processors
	cpus float64            // how many there are

	worker  map[string]float64 // what kernel threads used at most
	open    bool               // top's summary of this screen was seen
	screens int                // that top's summary begins
	seconds float64            // that the screen under way counts
	held    []share            // of the first of them, until it is known whether there is another
}

// share is what a processor or a thread did in a screen.
type share struct {
	metric sample.Metric
	entity sample.Entity
	value  float64
	line   int
}

// hold keeps a share until the screen ends: the first one of top -b shows the time
// since boot.
func (r *reader) hold(m sample.Metric, e sample.Entity, v float64, n int) {
	r.held = append(r.held, share{m, e, v, n})
}

// forget drops the shares of the first screen where another follows.
func (r *reader) forget() { r.held, r.each, r.cpus = nil, nil, 0 }

// New makes a reader.
func New(string) lines.Reader { return lines.Trim(&reader{worker: map[string]float64{}, seconds: 1}) }

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	if summary(text) {
		return r.summarise(text, l.N, into)
	}
	if busyBox(text) {
		return r.summariseBusyBox(text, into)
	}
	if strings.HasPrefix(text, "Load average: ") && r.open {
		return lines.Skipped, nil // of BusyBox
	}
	if strings.HasPrefix(text, "Tasks:") || strings.HasPrefix(text, "Threads:") || strings.HasPrefix(text, "%Cpu") || r.screens > 0 && r.layout.n == 0 && counts(text) {
		return lines.Skipped, nil // of top -1, each processor by itself
	}
	if Find(text) >= 0 {
		if r.rows > 0 {
			r.flush(into)
		}
		r.layout, r.first = columns(strings.Fields(text)), l.N
		r.count, r.comm = map[string]float64{}, map[string]float64{}
		return lines.Used, nil
	}
	f := strings.Fields(text)
	if r.layout.n == 0 || len(f) <= r.layout.pid {
		return lines.Foreign, nil
	}
	stated := r.layout.state < len(f) && isState(f[r.layout.state])
	if r.layout.pid >= 0 {
		if _, err := strconv.Atoi(f[r.layout.pid]); err != nil {
			return lines.Foreign, nil
		}
		if !stated {
			return lines.Broken, fmt.Errorf("no state in column %d", r.layout.state+1)
		}
	} else if !stated || len(f) < r.layout.n {
		return lines.Foreign, nil
	}
	into.At(l.N)
	r.rows++
	r.count[f[r.layout.state][:1]]++
	if share, ok := r.share(f); ok {
		r.cpu, r.hasCPU = max(r.cpu, share), true
		r.kernelThread(f, share, l.N, into)
	}
	if at := r.layout.command; at >= 0 && at < len(f) {
		name := f[at][strings.LastIndexByte(f[at], '/')+1:]
		if len(r.comm) < 1024 || r.comm[name] > 0 {
			r.comm[name]++
		}
	}
	return lines.Used, nil
}

// share is how much of a processor a row says is used.
func (r *reader) share(f []string) (float64, bool) {
	at := r.layout.cpu
	if at < 0 || at >= len(f) {
		return 0, false
	}
	if v, ok := lines.Percent(f[at]); ok {
		return v, true
	}
	v, ok := lines.Number(strings.TrimSuffix(f[at], "."))
	return v / 100, ok
}

// kernelThread keeps what a thread that works for the kernel uses of a processor.
func (r *reader) kernelThread(f []string, share float64, n int, into lines.Values) {
	at := r.layout.command
	if !r.layout.now || at < 0 || at >= len(f) || share == 0 {
		return
	}
	name := strings.Trim(f[at], "[]")
	if !worksForKernel(name) {
		return
	}
	if len(r.worker) < 1024 || r.worker[name] > 0 {
		r.worker[name] = max(r.worker[name], share)
	}
	if pid, err := strconv.Atoi(f[max(r.layout.pid, 0)]); err == nil && strings.HasPrefix(name, "kswapd") {
		r.hold(sample.ProcSystem, sample.Entity{PID: pid}, share, n) // of a list, which counts as a second
		into.Process(pid, sample.Process{Comm: name, Kernel: true})
	}
}

// worksForKernel tells the names of threads that do for programs what they ask the
// kernel for: memory, block I/O, encryption, arrays, journals.
func worksForKernel(name string) bool {
	array, ok := strings.CutPrefix(name, "md")
	if digits := strings.TrimLeft(array, "0123456789"); ok && digits != array && (strings.HasPrefix(digits, "_raid") || strings.HasPrefix(digits, "_resync")) {
		return true
	}
	return slices.ContainsFunc([]string{
		"kswapd", "kcompactd", "khugepaged", "ksmd", "kworker/", "ksoftirqd/", "kcryptd", "dmcrypt_write", "jbd2/", "xfsaild/", "btrfs-",
		"txg_sync", "z_wr_", "z_rd_", "arc_prune", "arc_evict", "nfsd", "bcache_", "migration/",
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// workers are the kernel's threads that use a tenth of a processor or more, those that use most first.
func (r *reader) workers() string {
	names := slices.SortedFunc(maps.Keys(r.worker), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.worker[b], r.worker[a]), strings.Compare(a, b))
	})
	var said []string
	for _, name := range names {
		if r.worker[name] >= 0.1 && len(said) < 5 {
			said = append(said, fmt.Sprintf("%s %.0f %%", name, 100*r.worker[name]))
		}
	}
	return strings.Join(said, ", ")
}

// isState tells a state with its flags, as ps writes them (D, Ssl, R<+), and BusyBox (SW<).
func isState(s string) bool {
	return len(s) <= 8 && strings.IndexByte("RSDITtZXWPNK", s[0]) >= 0 && strings.Trim(s[1:], "<NLsl+W") == ""
}

// counts tells top's line on tasks, whatever its language:
// "Tareas: 104 total,   3 running, ...".
func counts(text string) bool {
	name, rest, ok := strings.Cut(text, ":")
	return ok && len(name) < 24 && strings.Count(rest, ",") == 4 && strings.Contains(rest, " total,")
}

// flush ends a list: one look at the machine.
func (r *reader) flush(into lines.Values) {
	if r.rows == 0 && !r.open {
		return
	}
	r.putProcessors(into)
	for _, x := range r.held {
		into.At(x.line)
		into.Put(x.metric, x.entity, x.value)
	}
	r.held = nil
	if r.open = false; r.rows == 0 {
		into.Tick(r.seconds)
		return
	}
	for state, n := range r.count {
		into.Put(sample.ThreadsInState, sample.Entity{Class: state}, n)
	}
	for _, state := range []string{sample.ClassBlocked, sample.ClassRunning} {
		if r.count[state] == 0 {
			into.Put(sample.ThreadsInState, sample.Entity{Class: state}, 0)
		}
	}
	for name, n := range r.comm {
		if 2*n > float64(r.rows) {
			into.Process(0, sample.Process{Comm: name})
		}
	}
	r.total, r.waits = r.total+float64(r.rows), r.waits+r.count["D"]
	r.rows = 0
	r.lists++
	into.Tick(r.seconds)
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	r.flush(into)
	if r.screens == 1 {
		into.Note("the first screen of top -b shows processor time since boot, not now: use top -b -n 2")
	}
	if w := r.workers(); w != "" {
		into.Note("of a processor, at most, threads of the kernel used: " + w)
	}
	if r.total == 0 {
		return
	}
	if r.waits == 0 {
		into.Note(fmt.Sprintf("none of the %.0f threads listed is in uninterruptible sleep (D)", r.total))
		return
	}
	into.Note(fmt.Sprintf("%.0f of %.0f threads listed are in uninterruptible sleep (D): that is I/O or a lock inside the kernel, such as a process's mmap lock; the state alone does not show which", r.waits, r.total))
	into.Note("to find out, take off-CPU stacks of the process (bcc's offcputime -p PID 10, or perf record -g -e sched:sched_switch -p PID -- sleep 10): they name the function that sleeps; /proc/PID/task/*/wchan is a quick check")
	if r.lists == 1 {
		into.Note("one snapshot of thread states shows threads, not shares of time: take several")
	}
}
