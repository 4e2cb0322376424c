package symbol

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// jitMap are functions that were compiled while the program ran: the file
// perf-PID.map that the Java, Node.js, Python and .NET run-times can write, as
// "START SIZE NAME" in hexadecimal, with "0x" before the numbers or without.
type jitMap struct {
	symbols table
	found   bool // there is such a file
	noted   bool // that it lacks a function, or is not there
}

// jit names a function of a just-in-time compiler, "" for none. The file is
// read once, when the first address asks for it.
func (p *process) jit(r *Resolver, at uint64) string {
	if p.jitted == nil {
		p.jitted = r.readJIT(p.pid)
	}
	name, _ := p.jitted.symbols.at(at)
	return name
}

// noteUnnamed says, once for a kind of process, how functions that it compiled
// get names. The lock of r is held.
func (p *process) noteUnnamed(r *Resolver) {
	if p.jitted == nil || p.jitted.noted {
		return
	}
	p.jitted.noted = true
	what, how := "", ""
	for _, m := range p.maps[0] {
		name := m.module()
		switch {
		case name == "libjvm.so":
			what, how = "Java", "'jcmd PID Compiler.perfmap' (JDK 17) writes them, with -XX:+PreserveFramePointer their callers are found"
		case name == "node" || strings.HasPrefix(name, "libnode.so"):
			what, how = "Node.js", "start it with --perf-basic-prof"
		case name == "libcoreclr.so":
			what, how = ".NET", "start it with DOTNET_PerfMapEnabled=1"
		case what == "" && name != anonymous: // the lowest is the program
			what = name
		}
	}
	if what == "" {
		what = "a program"
	}
	text := "functions that " + what + " compiled while it ran have no names"
	if p.jitted.found {
		text = "functions that " + what + " compiled after it wrote its map have no names"
	}
	if how != "" {
		text += ": " + how
	}
	r.notes[text]++
}

func (r *Resolver) readJIT(pid int) *jitMap {
	for _, at := range []struct {
		root string
		pid  int
	}{{r.root(pid), r.innermostPID(pid)}, {r.host.Root + "/", pid}} {
		// It may be a pipe, or lead somewhere else: neither is opened.
		f, err := host.OpenInside(at.root, fmt.Sprintf("/tmp/perf-%d.map", at.pid), unix.O_NOFOLLOW)
		if err != nil {
			continue
		}
		defer f.Close()
		return &jitMap{symbols: parseJIT(io.LimitReader(f, 256<<20)), found: true}
	}
	return &jitMap{}
}

// parseJIT reads the lines that make sense. Of functions at one place the last
// counts: code is thrown away and its place used again.
func parseJIT(r io.Reader) table {
	var t table
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f := strings.SplitN(lines.Text(), " ", 3)
		if len(f) < 3 {
			continue
		}
		start, err := strconv.ParseUint(strings.TrimPrefix(f[0], "0x"), 16, 64)
		size, err2 := strconv.ParseUint(strings.TrimPrefix(f[1], "0x"), 16, 64)
		if err == nil && err2 == nil && size > 0 && start+size > start {
			t = append(t, function{start, size, f[2]})
		}
	}
	slices.Reverse(t)
	t.sort()
	return t
}

// function is one function with its size in bytes.
type function struct {
	start, size uint64
	name        string
}

// table are functions in order of their addresses.
type table []function

// sort orders the table; of functions at one address the first stays.
func (t *table) sort() {
	slices.SortStableFunc(*t, func(a, b function) int {
		switch {
		case a.start < b.start:
			return -1
		case a.start > b.start:
			return 1
		}
		return 0
	})
	*t = slices.CompactFunc(*t, func(a, b function) bool { return a.start == b.start })
}

// at is the function that covers an address. Functions may lie inside others:
// some are looked at before the address's own place is given up.
func (t table) at(addr uint64) (string, bool) {
	i := sort.Search(len(t), func(i int) bool { return t[i].start > addr }) - 1
	for n := 0; i >= 0 && n < 16; i, n = i-1, n+1 {
		if addr-t[i].start < t[i].size {
			return t[i].name, true
		}
	}
	return "", false
}
