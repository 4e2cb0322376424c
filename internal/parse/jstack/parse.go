// Package jstack reads thread dumps of a JVM, of jstack, jcmd Thread.print and
// kill -3: the states of threads, and who holds the monitors that others want.
package jstack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"iocause/internal/parse/lines"
)

const head = "Full thread dump "

// Find says where in a line a dump begins.
func Find(line string) int { return strings.Index(line, head) }

// maxLocks bounds the locks that are told apart.
const maxLocks = 1 << 16

// lock is an object that threads wait for.
type lock struct {
	class   string
	holder  string // the thread, "" not known
	waiters int
	parked  bool // of java.util.concurrent
}

type reader struct {
	rows     int
	ended    bool   // what follows is on deadlocks
	thread   string // the one under way
	state    string
	frames   int
	resting  string // the object that the thread waits on, and so does not hold
	states   map[string]int
	own      int // threads of the JVM itself
	locks    map[string]*lock
	files    map[string]int // threads in a native call on a file, by that call
	deadlock string
}

// New makes a reader.
func New(string) lines.Reader {
	return lines.Trim(&reader{states: map[string]int{}, locks: map[string]*lock{}, files: map[string]int{}})
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, _ lines.Line, _ lines.Values) (lines.Use, error) {
	switch {
	case Find(text) == 0:
		if r.rows > 0 {
			return lines.Another, nil
		}
		r.rows++
		return lines.Used, nil
	case strings.HasPrefix(text, "Found ") && strings.Contains(text, "deadlock"):
		r.flush()
		r.ended = true
		if r.deadlock == "" {
			r.deadlock = strings.TrimRight(text, ":.")
		}
		return lines.Used, nil
	case r.ended:
		return r.rest(text)
	case text[0] == '"':
		return r.begin(text)
	}
	if state, ok := strings.CutPrefix(text, "java.lang.Thread.State: "); ok {
		r.state, _, _ = strings.Cut(state, " ")
		if !slices.Contains(states(), r.state) {
			state := r.state
			r.state = ""
			return lines.Broken, fmt.Errorf("%.30q is not a state of a Java thread", state)
		}
		return lines.Used, nil
	}
	if frame, ok := strings.CutPrefix(text, "at "); ok {
		r.frame(frame)
		return lines.Used, nil
	}
	if what, ok := strings.CutPrefix(text, "- "); ok {
		return r.monitor(what)
	}
	return r.rest(text)
}

// states are those of java.lang.Thread.State.
func states() []string {
	return []string{"RUNNABLE", "BLOCKED", "WAITING", "TIMED_WAITING", "NEW", "TERMINATED"}
}

// rest tells the other lines of a dump.
func (r *reader) rest(text string) (lines.Use, error) {
	for _, p := range []string{
		"Threads class SMR info", "_java_thread_list=", "0x", "}", "No compile task", "Compiling:", "Locked ownable synchronizers", "JNI global ref",
		"Carrying virtual thread", "Thread: 0x", "Mounted virtual thread",
	} {
		if strings.HasPrefix(text, p) {
			return lines.Skipped, nil
		}
	}
	if r.ended {
		for _, p := range []string{"\"", "=====", "waiting to lock", "waiting for ownable", "which is held by", "in JNI", "Java stack information", "at ", "- "} {
			if strings.HasPrefix(text, p) {
				return lines.Skipped, nil
			}
		}
	}
	return lines.Foreign, nil
}

// begin opens a thread: "name" #12 daemon prio=5 os_prio=0 ... tid=0x... nid=...
func (r *reader) begin(text string) (lines.Use, error) {
	end := len(text)
	for _, mark := range []string{" tid=", " os_prio=", " prio="} {
		if i := strings.LastIndex(text[:end], mark); i > 0 {
			end = i
		}
	}
	last := strings.LastIndexByte(text[:end], '"')
	r.flush()
	if end == len(text) || last == 0 {
		return lines.Broken, fmt.Errorf("no priority follows the name of the thread: the line is cut off")
	}
	r.rows++
	r.thread = text[1:last]
	return lines.Used, nil
}

// flush ends the thread under way.
func (r *reader) flush() {
	switch {
	case r.thread == "":
	case r.state == "":
		r.own++
	default:
		r.states[r.state]++
	}
	r.thread, r.state, r.frames, r.resting = "", "", 0, ""
}

// frame takes a frame of a stack: the first one tells what a thread that runs
// does.
func (r *reader) frame(frame string) {
	if r.frames++; r.frames > 1 || r.state != "RUNNABLE" || !strings.Contains(frame, "Native Method") {
		return
	}
	name, _, _ := strings.Cut(frame, "(")
	if onFile(name) && len(r.files) < maxLocks {
		r.files[name[strings.LastIndexByte(name, '/')+1:]]++
	}
}

// onFile tells the native calls of the JDK that a device may hold up.
func onFile(name string) bool {
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, p := range []string{
		"java.io.FileInputStream.", "java.io.FileOutputStream.", "java.io.RandomAccessFile.", "java.io.FileDescriptor.sync", "java.io.UnixFileSystem.",
		"sun.nio.ch.FileDispatcherImpl.", "sun.nio.ch.UnixFileDispatcherImpl.", "sun.nio.ch.FileChannelImpl.", "sun.nio.fs.UnixNativeDispatcher.",
		"java.nio.MappedByteBuffer.force", "java.nio.MappedMemoryUtils.force",
	} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// monitor reads "waiting to lock <0x...> (a java.lang.Object)" and its kin.
func (r *reader) monitor(what string) (lines.Use, error) {
	if what == "None" {
		return lines.Skipped, nil
	}
	verb, object, ok := strings.Cut(what, "<")
	address, class, closed := strings.Cut(object, ">")
	verb = strings.TrimSpace(verb)
	if verb == "waiting on" && strings.HasPrefix(object, "no object") {
		return lines.Skipped, nil
	}
	if !ok || !closed || address == "" {
		return lines.Broken, fmt.Errorf("%.30q names no object: the line is cut off", what)
	}
	k := r.locks[address]
	if k == nil {
		k = &lock{class: strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(class), "(a "), ")")}
		if len(r.locks) < maxLocks {
			r.locks[address] = k
		}
	}
	switch verb {
	case "waiting to lock", "waiting to re-lock in wait()":
		k.waiters++
		r.resting = address
	case "parking to wait for":
		k.waiters, k.parked = k.waiters+1, true
	case "waiting on":
		r.resting = address
	case "locked", "": // without a word, in the list of ownable synchronizers
		if address != r.resting {
			k.holder = r.thread
		}
	default:
		return lines.Skipped, nil
	}
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	r.flush()
	all := 0
	for _, n := range r.states {
		all += n
	}
	if all == 0 {
		return
	}
	into.State()
	var parts []string
	for _, s := range states() {
		if n := r.states[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s (%.0f %%)", n, s, 100*float64(n)/float64(all)))
		}
	}
	into.Note(fmt.Sprintf("of %d Java threads at one instant: %s; %d threads of the JVM itself", all, strings.Join(parts, ", "), r.own))
	into.Note("RUNNABLE is the JVM's view: such a thread may be blocked in the kernel, which iocause offcpu shows")
	r.waits(into)
	n := 0
	for _, k := range r.files {
		n += k
	}
	if n > 0 {
		into.Note(fmt.Sprintf("%d threads are in a call on a file: %s", n, strings.Join(most(r.files), ", ")))
	}
	if r.deadlock != "" {
		into.Note("the JVM says: " + r.deadlock + "; threads in it wait for each other, not for I/O")
	}
}

// waits says who holds what others want.
func (r *reader) waits(into lines.Values) {
	const shown = 5
	wanted := slices.DeleteFunc(slices.Sorted(maps.Keys(r.locks)), func(a string) bool { return r.locks[a].waiters == 0 })
	slices.SortStableFunc(wanted, func(a, b string) int { return cmp.Compare(r.locks[b].waiters, r.locks[a].waiters) })
	said := 0
	for _, address := range wanted {
		k := r.locks[address]
		what, holder := "blocked on the monitor", "a thread that the dump does not show as its holder"
		if k.parked {
			if k.holder == "" { // idle workers park on a condition that nobody holds
				continue
			}
			what = "parked for the lock"
		}
		if k.holder != "" {
			holder = fmt.Sprintf("%q", k.holder)
		}
		if said++; said <= shown {
			into.Note(fmt.Sprintf("%d threads are %s %s (%s), held by %s", k.waiters, what, address, k.class, holder))
		}
	}
	if said > shown {
		into.Note(fmt.Sprintf("%d more locks are waited for", said-shown))
	}
}

// most is the names with the highest counts.
func most(by map[string]int) []string {
	order := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(by[b]-by[a], strings.Compare(a, b)) })
	var out []string
	for _, n := range order[:min(5, len(order))] {
		out = append(out, fmt.Sprintf("%s %d", n, by[n]))
	}
	return out
}
