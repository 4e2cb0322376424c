package symbol

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

// kernel are the kernel's functions: /proc/kallsyms.
type kernel struct {
	starts []uint64
	names  []string
	module []string
	err    error
}

// Kernel is the kernel's function at an address.
func (r *Resolver) Kernel(ip uint64, isReturn bool) Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kernel == nil {
		r.kernel = readKernel(r.host)
		if err := r.kernel.err; err != nil {
			r.notes[fmt.Sprintf("kernel functions have no names, and waits are classified by their flags only: %v", err)]++
		}
	}
	if isReturn {
		ip--
	}
	return r.kernel.at(ip)
}

func readKernel(h *host.Host) *kernel {
	f, err := os.Open(h.Proc("kallsyms"))
	if err != nil {
		return &kernel{err: fmt.Errorf("reading the kernel's symbols: %w", err)}
	}
	defer f.Close()
	k, err := parseKernel(f)
	if err != nil {
		return &kernel{err: fmt.Errorf("reading the kernel's symbols: %w", host.In(f.Name(), err))}
	}
	return k
}

// parseKernel reads the functions of kallsyms, in order of their addresses.
// Symbols of data end a function, too.
func parseKernel(r io.Reader) (*kernel, error) {
	type symbol struct {
		start        uint64
		name, module string
		text         bool
	}
	var all []symbol
	modules := map[string]string{}
	for s, err := range procfile.Symbols(r) {
		if err != nil {
			return nil, err
		}
		if _, known := modules[string(s.Module)]; !known {
			modules[string(s.Module)] = cmp.Or(string(s.Module), "kernel")
		}
		all = append(all, symbol{s.Start, string(s.Name), modules[string(s.Module)], s.Text})
	}
	slices.SortStableFunc(all, func(a, b symbol) int { return cmp.Compare(a.start, b.start) })
	k := &kernel{}
	for i, s := range all {
		switch last := len(k.starts) - 1; {
		case i > 0 && s.start == all[i-1].start && last >= 0:
			// Of several names the first, unless that is a marker such as _stext.
			if s.text && (k.names[last] == "" || isMarker(k.names[last])) {
				k.names[last], k.module[last] = s.name, s.module
			}
			continue
		case !s.text:
			s.name = ""
		}
		k.starts, k.names, k.module = append(k.starts, s.start), append(k.names, s.name), append(k.module, s.module)
	}
	return k, nil
}

// isMarker tells names that stand for a place and not for a function.
func isMarker(name string) bool {
	switch name {
	case "_stext", "_text", "_etext", "_sinittext", "__sched_text_start", "__sched_text_end", "__lock_text_start", "__lock_text_end",
		"__kprobes_text_start", "__entry_text_start", "__entry_text_end", "__noinstr_text_start", "__noinstr_text_end",
		"__irqentry_text_start", "__irqentry_text_end", "__softirqentry_text_start", "__softirqentry_text_end",
		"__cpuidle_text_start", "__cpuidle_text_end", "__static_call_text_start", "__static_call_text_end":
		return true
	}
	return false
}

// farthest is how far behind its symbol an address may lie: the last function
// of all has no end.
const farthest = 1 << 20

func (k *kernel) at(ip uint64) Frame {
	i := sort.Search(len(k.starts), func(i int) bool { return k.starts[i] > ip }) - 1
	if i < 0 || k.names[i] == "" || ip-k.starts[i] > farthest {
		return Frame{Name: fmt.Sprintf("%#x", ip), Module: "kernel"}
	}
	return Frame{Name: k.names[i], Module: k.module[i], IsSymbol: true}
}
