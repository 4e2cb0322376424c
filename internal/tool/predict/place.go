package predict

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"iocause/internal/bpf"
	"iocause/internal/figure"
	"iocause/internal/host"
	"iocause/internal/predict"
	"iocause/internal/procfile"
	"iocause/internal/source/proc/meminfo"
)

// Place is what bounds a page cache: a memory cgroup with a limit, or the host.
type Place struct {
	Cgroup string `json:"cgroup"` // "" for the host
	Memory int64  `json:"memory_bytes"`
	Used   int64  `json:"used_bytes"`  // of it, the cache included
	Cache  int64  `json:"cache_bytes"` // pages of files that could be evicted
	Room   int64  `json:"room_bytes"`  // what the cache can have: Memory without what is no cache
	Active int64  `json:"active_bytes"`

	lists predict.Lists // how the kernel keeps it
}

// setting is the place in the words of the model.
func (p *Place) setting() predict.Setting {
	s := predict.Setting{Memory: p.Memory, Cache: p.Cache, Room: p.Room, Host: p.Cgroup == "", Lists: p.lists}
	if p.Cache > 0 {
		s.Active = float64(p.Active) / float64(p.Cache)
	}
	return s
}

// listsOf is how the kernel keeps its cache. Bit 0 of the file is LRU_GEN_CORE. tiers
// tells whether its generations know those of every page (bpf.GenerationsKnowTiers).
func listsOf(h *host.Host, tiers func() (bool, error)) (predict.Lists, error) {
	b, err := os.ReadFile(h.Sys("kernel/mm/lru_gen/enabled"))
	if err != nil { // without CONFIG_LRU_GEN
		return predict.TwoLists, nil
	}
	if caps, err := strconv.ParseUint(strings.TrimSpace(string(b)), 0, 64); err != nil || caps&1 == 0 {
		return predict.TwoLists, nil
	}
	if known, err := tiers(); err != nil || known {
		return predict.MGLRUSince614, err
	}
	return predict.MGLRU, nil
}

// knowTiers asks the running kernel.
func knowTiers() (bool, error) {
	types, err := bpf.LoadTypes()
	if err != nil {
		return false, err
	}
	return types.GenerationsKnowTiers(), nil
}

// full tells whether nothing new fits without something being evicted.
func (p *Place) full() bool { return float64(p.Cache) > 0.9*float64(p.Room) }

func (p *Place) String() string {
	if p.Cgroup == "" {
		return "the host"
	}
	return "cgroup " + p.Cgroup
}

// hostPlace is the host's memory, of /proc/meminfo and /proc/zoneinfo.
func hostPlace(h *host.Host) (*Place, error) {
	m, err := procfile.ReadMeminfo(h)
	if err != nil {
		return nil, err
	}
	zones, err := meminfo.ReadZones(h)
	if err != nil {
		return nil, err
	}
	if m.Total == nil || m.Free == nil || m.ActiveFile == nil || m.InactiveFile == nil {
		return nil, errors.New("looking for the size of the cache: /proc/meminfo lacks MemTotal, MemFree, Active(file) or Inactive(file)")
	}
	cache := int64(*m.ActiveFile + *m.InactiveFile)
	free := max(0, int64(*m.Free)-int64(zones.Low)*int64(os.Getpagesize()))
	return &Place{Memory: int64(*m.Total), Used: int64(*m.Total) - free, Cache: cache, Room: cache + free, Active: int64(*m.ActiveFile)}, nil
}

// placeOf is what bounds the cache of a memory cgroup: of those above it, itself
// and the host what has least left.
func placeOf(h *host.Host, cgroup string) (*Place, error) {
	best, err := hostPlace(h)
	if err != nil {
		return nil, err
	}
	groups, err := h.Cgroups()
	if err != nil {
		return best, nil // without cgroups the host is all there is
	}
	tree, ok := groups.Controller("memory")
	if !ok {
		return best, nil
	}
	for at := cgroup; at != "" && at != "/"; at = figure.Above(at) {
		dir, err := tree.Join(at)
		if err != nil {
			break
		}
		p, err := readPlace(dir, at, tree.V2)
		if err != nil {
			return nil, err
		}
		if p != nil && p.Memory-p.Used < best.Memory-best.Used {
			best = p
		}
	}
	return best, nil
}

// readPlace is a cgroup with a limit; nil where it has none.
func readPlace(dir, cgroup string, v2 bool) (*Place, error) {
	limit, _, err := procfile.MemoryLimit(dir, v2)
	if err != nil || limit == nil {
		return nil, err
	}
	used, err := procfile.ReadMemoryUsage(dir, v2)
	if err != nil {
		return nil, err
	}
	_, below, err := procfile.ReadMemoryStat(dir)
	if err != nil {
		return nil, err
	}
	p := &Place{Cgroup: cgroup, Memory: int64(*limit), Used: int64(used)}
	if below.ActiveFile != nil && below.InactiveFile != nil {
		p.Active, p.Cache = int64(*below.ActiveFile), int64(*below.ActiveFile+*below.InactiveFile)
	}
	p.Room = max(p.Cache, p.Memory-(p.Used-p.Cache))
	return p, nil
}
