package filters

import (
	"cmp"
	"fmt"
	"maps"
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

// Offers are the values of a filter on this machine that begin so; nil for a flag
// that is none. What cannot be read is not offered.
func Offers(h *host.Host, flag, begin string) []Offer {
	var all []Offer
	switch flag {
	case "pid":
		for pid, comm := range processes(h) {
			o := Offer{Value: strconv.Itoa(pid)}
			if tame.MatchString(comm) {
				o.What = comm
			}
			all = append(all, o)
		}
	case "comm":
		all = commands(h)
	case "device":
		devices, err := h.Devices()
		if err != nil {
			return nil
		}
		for _, d := range devices.Disks() {
			if d.Bytes > 0 {
				all = append(all, Offer{d.Name, table.Value(float64(d.Bytes), "bytes")})
			}
		}
	case "cgroup":
		all = cgroups(h, begin)
	case "container", "pod", "unit":
		all = identities(h, flag)
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

// commands are their names, each once.
func commands(h *host.Host) []Offer {
	count := map[string]int{}
	for _, comm := range processes(h) {
		count[comm]++
	}
	var all []Offer
	for _, comm := range slices.Collect(maps.Keys(count)) {
		all = append(all, Offer{comm, fmt.Sprintf("%d running", count[comm])})
	}
	return all
}

// cgroups are those that a path which begins so can go on with: a machine has
// thousands, so that each level is offered by itself.
func cgroups(h *host.Host, begin string) []Offer {
	depth := max(strings.Count(begin, "/"), 1)
	var all []Offer
	h.FindCgroups(func(path string) bool {
		if path != "/" && strings.Count(path, "/") <= depth {
			all = append(all, Offer{Value: path})
		}
		return path != "/" && (strings.Count(path, "/") >= depth || !strings.HasPrefix(begin, path+"/"))
	})
	return all
}

// identities are what the paths of cgroups tell of who they belong to.
func identities(h *host.Host, kind string) []Offer {
	var all []Offer
	h.FindCgroups(func(path string) bool {
		id := sample.IdentityOf(path)
		if value := map[string]string{"container": id.Container, "pod": id.Pod, "unit": id.Unit}[kind]; value != "" {
			all = append(all, Offer{Value: value})
		}
		return false
	})
	return all
}
