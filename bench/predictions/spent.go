package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"iocause/internal/host"
)

// spent is what the processes of a cgroup that are there now have done in their lives,
// in seconds of all of their threads: on a processor, by themselves and in the kernel,
// and waiting for one.
type spent struct{ user, system, queued float64 }

// spent reads it from /proc. The kernel counts in ticks of a processor.
func (g *group) spent() (s spent, err error) {
	const user, system, tick = 11, 12, 0.01 // fields behind the name; USER_HZ is 100
	members, err := g.members()
	if err != nil {
		return s, err
	}
	h := host.Live()
	for _, line := range members {
		pid, err := strconv.Atoi(line)
		if err != nil {
			return s, err
		}
		f, err := h.StatFields(pid)
		if err != nil {
			continue // it has ended
		}
		u, _ := strconv.ParseFloat(f[user], 64)
		k, _ := strconv.ParseFloat(f[system], 64)
		s.user, s.system = s.user+u*tick, s.system+k*tick
		tasks, _ := filepath.Glob(h.Proc(line, "task", "*", "schedstat"))
		for _, t := range tasks {
			b, err := os.ReadFile(t)
			if f := strings.Fields(string(b)); err == nil && len(f) > 1 {
				ns, _ := strconv.ParseFloat(f[1], 64)
				s.queued += ns / 1e9
			}
		}
	}
	return s, nil
}

// members are the processes of a cgroup, by number.
func (g *group) members() ([]string, error) {
	b, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	return strings.Fields(string(b)), err
}

// each is that for each page that was asked for, in words.
func (s spent) each(since spent, pages float64) string {
	us := func(a, b float64) float64 { return 1e6 * (a - b) / max(1, pages) }
	return fmt.Sprintf("of each page: %.2f us by the program, %.2f in the kernel, %.2f queued", us(s.user, since.user), us(s.system, since.system), us(s.queued, since.queued))
}
