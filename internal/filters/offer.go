package filters

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// Offer is a value that a shell may offer, and what it is.
type Offer struct{ Value, What string }

// tame are the values that are offered: names are data that anybody on the machine
// can choose, and a shell that completes one obeys what is in it.
var tame = regexp.MustCompile(`^[\w./:@%+,=-]+$`)

// Place is where the values of filters are looked up: this machine, or what was
// recorded of one.
type Place struct {
	Processes func() map[int]string // the names of processes, by their number
	Devices   func() []Offer
	// Cgroups calls f for paths, parents first; what it returns true for is not gone
	// into.
	Cgroups func(f func(path string) bool)
	Were    string // what processes of a name do there: "running"
}

// Here is this machine.
func Here(h *host.Host) Place {
	return Place{
		Processes: func() map[int]string { return processes(h) },
		Devices:   func() []Offer { return disks(h) },
		Cgroups:   func(f func(string) bool) { h.FindCgroups(f) },
		Were:      "running",
	}
}

// Recorded is what was recorded.
func Recorded(processes map[int]string, devices, cgroups []string) Place {
	return Place{
		Processes: func() map[int]string { return processes },
		Devices: func() (all []Offer) {
			for _, d := range devices {
				all = append(all, Offer{Value: d})
			}
			return all
		},
		Cgroups: func(f func(string) bool) {
			seen := map[string]bool{}
			for _, path := range cgroups {
				for i := 1; i <= len(path); i++ { // with those above it, which may have had no figure
					if up := path[:i]; (i == len(path) || path[i] == '/') && !seen[up] {
						seen[up] = true
						f(up)
					}
				}
			}
		},
		Were: "recorded",
	}
}

// Offers are the values of a filter that begin so; nil for a flag that is none.
// What cannot be read is not offered.
func (p *Place) Offers(flag, begin string) []Offer {
	var all []Offer
	switch flag {
	case "pid":
		for pid, comm := range p.Processes() {
			o := Offer{Value: strconv.Itoa(pid)}
			if tame.MatchString(comm) {
				o.What = comm
			}
			all = append(all, o)
		}
	case "comm":
		all = p.commands()
	case "device":
		all = p.Devices()
	case "cgroup":
		all = p.cgroups(begin)
	case "container", "pod", "unit":
		all = p.identities(flag)
	default:
		return nil
	}
	return Begin(all, begin)
}

// Begin are those of the offers that begin so and that a shell cannot obey, in
// order.
func Begin(all []Offer, begin string) []Offer {
	kept := []Offer{}
	for _, o := range all {
		if strings.HasPrefix(o.Value, begin) && tame.MatchString(o.Value) {
			kept = append(kept, o)
		}
	}
	slices.SortFunc(kept, func(a, b Offer) int { return cmp.Compare(a.Value, b.Value) })
	return slices.Compact(kept)
}

// processes are the names of those that run, but our own (/proc/PID/comm).
func processes(h *host.Host) map[int]string {
	names := map[int]string{}
	entries, err := os.ReadDir(h.Proc())
	if err != nil {
		return names
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == h.Self {
			continue
		}
		if comm, err := os.ReadFile(h.Proc(e.Name(), "comm")); err == nil {
			names[pid] = strings.TrimSuffix(string(comm), "\n")
		}
	}
	return names
}

// disks are the devices of this machine that have a size.
func disks(h *host.Host) (all []Offer) {
	devices, err := h.Devices()
	if err != nil {
		return nil
	}
	for _, d := range devices.Disks() {
		if d.Bytes > 0 {
			all = append(all, Offer{d.Name, table.Value(float64(d.Bytes), "bytes")})
		}
	}
	return all
}

// commands are the names of processes, each once.
func (p *Place) commands() []Offer {
	count := map[string]int{}
	for _, comm := range p.Processes() {
		count[comm]++
	}
	var all []Offer
	for comm, n := range count {
		all = append(all, Offer{comm, fmt.Sprintf("%d %s", n, p.Were)})
	}
	return all
}

// cgroups are those that a path which begins so can go on with: a machine has
// thousands, so that each level is offered by itself.
func (p *Place) cgroups(begin string) []Offer {
	depth := max(strings.Count(begin, "/"), 1)
	var all []Offer
	p.Cgroups(func(path string) bool {
		if path != "/" && strings.Count(path, "/") <= depth {
			all = append(all, Offer{Value: path})
		}
		return path != "/" && (strings.Count(path, "/") >= depth || !strings.HasPrefix(begin, path+"/"))
	})
	return all
}

// identities are what the paths of cgroups tell of who they belong to.
func (p *Place) identities(kind string) []Offer {
	var all []Offer
	p.Cgroups(func(path string) bool {
		id := sample.IdentityOf(path)
		if value := map[string]string{"container": id.Container, "pod": id.Pod, "unit": id.Unit}[kind]; value != "" {
			all = append(all, Offer{Value: value})
		}
		return false
	})
	return all
}
