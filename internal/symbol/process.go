package symbol

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"iocause/internal/host"
)

const deleted = " (deleted)"

// process is what is known of a process's address space. Mappings of several
// readings are kept, the newest first: code may be gone by the time that its
// address is asked for.
type process struct {
	pid     int
	comm    string
	maps    [][]mapping
	missing map[uint64]bool  // addresses that were in no mapping when it was read last
	names   map[uint64]Frame // answers so far
	seen    bool             // that it has no mappings was noted
	jitted  *jitMap
}

// mapping is one executable mapping.
type mapping struct {
	host.Mapping
	file *file // nil when it is no file
}

// most readings of a process that are kept.
const readings = 4

// read reads /proc/PID/maps. The lock of r is held.
func (p *process) read(r *Resolver) {
	text, err := os.ReadFile(r.host.Proc(strconv.Itoa(p.pid), "maps"))
	if err != nil || len(text) == 0 {
		return // it ended, or is a kernel thread
	}
	maps := parseMaps(text)
	if len(p.maps) > 0 && slices.EqualFunc(maps, p.maps[0], mapping.same) {
		return
	}
	for i := range maps {
		m := &maps[i]
		switch {
		case m.Path == "[vdso]":
			m.file = r.readVDSO()
		case m.Inode != 0 && !strings.HasPrefix(m.Path, "/dev/zero"):
			m.file = r.open(p.pid, m)
		}
	}
	p.maps = append([][]mapping{maps}, p.maps[:min(len(p.maps), readings-1)]...)
	p.missing, p.seen = map[uint64]bool{}, true
	clear(p.names)
}

func (m mapping) same(o mapping) bool {
	return m.Start == o.Start && m.End == o.End && m.Offset == o.Offset && m.Inode == o.Inode && m.Dev == o.Dev
}

// find is the mapping of an address, nil for none.
func (p *process) find(at uint64) *mapping {
	for _, maps := range p.maps {
		i := sort.Search(len(maps), func(i int) bool { return maps[i].End > at })
		if i < len(maps) && at >= maps[i].Start {
			return &maps[i]
		}
	}
	return nil
}

// parseMaps keeps the executable mappings.
func parseMaps(text []byte) []mapping {
	var out []mapping
	for m := range host.Mappings(text) {
		if m.Code {
			out = append(out, mapping{Mapping: m})
		}
	}
	return out
}

// root is the process's root directory, for us.
func (r *Resolver) root(pid int) string { return r.host.Proc(strconv.Itoa(pid), "root") }

// innermostPID is the number that a process has in its own name space: the
// last field of NSpid in /proc/PID/status.
func (r *Resolver) innermostPID(pid int) int {
	text, err := os.ReadFile(r.host.Proc(strconv.Itoa(pid), "status"))
	if err != nil {
		return pid
	}
	all, _ := host.StatusField(text, "NSpid")
	if f := strings.Fields(all); len(f) > 0 {
		if n, err := strconv.Atoi(f[len(f)-1]); err == nil {
			return n
		}
	}
	return pid
}

// mapFile is the path of a mapped file that works whatever became of its name.
func (r *Resolver) mapFile(pid int, m *mapping) string {
	return r.host.Proc(strconv.Itoa(pid), "map_files", fmt.Sprintf("%x-%x", m.Start, m.End))
}
