package session

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/host"
)

// How often the tree is looked at: its own children files every time, which
// takes microseconds; all processes, for those whose parent has ended, once a
// second.
const (
	lookEvery = 50 * time.Millisecond
	scanEvery = 20 // updates
)

// tree follows a process and everything that it starts. A process that begins
// and ends between two updates is missed.
type tree struct {
	host  *host.Host
	group int            // process group of the first process
	seen  map[int]string // comm, as last read; "" when it ended before that
	end   chan struct{}
	ended chan struct{}
}

// follow starts to follow the process, which leads its process group.
func follow(h *host.Host, pid int) *tree {
	t := &tree{host: h, group: pid, seen: map[int]string{pid: ""}, end: make(chan struct{}), ended: make(chan struct{})}
	t.update()
	go func() {
		defer close(t.ended)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-t.end:
				t.scan()
				t.update()
				return
			case <-tick.C:
			}
			t.update()
			if n%scanEvery == 0 {
				t.scan()
			}
		}
	}()
	return t
}

// stop ends the following and returns all that were seen, with their names.
// It is called once.
func (t *tree) stop() map[int]string {
	close(t.end)
	<-t.ended
	return t.seen
}

// update walks down from every process that was seen.
func (t *tree) update() {
	todo := slices.Collect(maps.Keys(t.seen))
	for len(todo) > 0 {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		// Read every time: between fork and exec it is still the parent's.
		if comm, err := t.host.CommOf(pid); err == nil {
			t.seen[pid] = comm
		}
		for _, child := range t.children(pid) {
			if _, ok := t.seen[child]; !ok {
				t.seen[child] = ""
				todo = append(todo, child)
			}
		}
	}
}

// children reads /proc/PID/task/*/children (CONFIG_PROC_CHILDREN); a process
// that has ended, or a kernel without it, has none.
func (t *tree) children(pid int) []int {
	tasks, err := os.ReadDir(t.host.Proc(strconv.Itoa(pid), "task"))
	if err != nil {
		return nil
	}
	var out []int
	for _, task := range tasks {
		text, err := os.ReadFile(t.host.Proc(strconv.Itoa(pid), "task", task.Name(), "children"))
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}

// scan reads /proc/*/stat for processes of the first one's group, and for
// children of those that were seen.
func (t *tree) scan() {
	entries, err := os.ReadDir(t.host.Proc())
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if _, ok := t.seen[pid]; ok {
			continue
		}
		fields, err := t.host.StatFields(pid)
		if err != nil {
			continue
		}
		parent, err1 := strconv.Atoi(fields[host.StatParent])
		group, err2 := strconv.Atoi(fields[host.StatGroup])
		if err1 != nil || err2 != nil {
			continue
		}
		if _, ours := t.seen[parent]; ours || group == t.group {
			t.seen[pid] = ""
		}
	}
}
