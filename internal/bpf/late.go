package bpf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
)

// leave takes what is to be loaded late out of an object.
func (p *Probe) leave(spec *ebpf.CollectionSpec, programs []Program) {
	for i := range programs {
		if prog := &programs[i]; prog.Late && p.fit.again != nil {
			delete(spec.Programs, prog.Name)
			p.hooks[prog.Name] = prog
		}
	}
}

// has tells whether this kernel can have a program, loaded or not yet.
func (p *Probe) has(program string) bool {
	return p.collection.Programs[program] != nil || p.hooks[program] != nil
}

// loadLate loads the programs that were left, with the maps and constants of the
// others: those that come after another one, or all but those.
func (p *Probe) loadLate(after bool) error {
	spec, err := p.fit.again(nil)
	if err != nil {
		return fmt.Errorf("reading the BPF object again: %w", err)
	}
	if _, err := p.fit.fit(spec); err != nil {
		return err
	}
	var all, late []Program
	for name, hook := range p.hooks {
		if strings.HasSuffix(name, second) {
			continue
		}
		all = append(all, *hook)
		if hook.Late {
			late = append(late, *hook)
		}
	}
	copies(spec, all)
	p.fit.parted(spec, all, true)
	p.fit.pairs(spec, late)
	for name, m := range p.collection.Maps { // whatever they were made to be for this kernel
		to := spec.Maps[name]
		to.Type, to.KeySize, to.ValueSize, to.MaxEntries, to.Flags = m.Type(), m.KeySize(), m.ValueSize(), m.MaxEntries(), m.Flags()
	}
	var names []string
	for name := range spec.Programs {
		if hook := p.hooks[name]; hook == nil || p.collection.Programs[name] != nil || (hook.After != "") != after {
			delete(spec.Programs, name)
		} else {
			names = append(names, name)
		}
	}
	types, err := LoadTypes()
	if err != nil {
		return err
	}
	c, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Cache: types.cache, MapReplacements: p.collection.Maps})
	if err != nil {
		return explain("loading what this machine's devices need", err)
	}
	defer c.Close()
	p.cost.mu.Lock() // which measures the programs
	defer p.cost.mu.Unlock()
	for _, name := range slices.Sorted(slices.Values(names)) {
		p.collection.Programs[name] = c.DetachProgram(name)
		p.programs = append(p.programs, name)
	}
	return nil
}
