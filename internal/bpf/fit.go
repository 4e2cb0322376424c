package bpf

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"iocause/internal/sample"
)

// lack is what programs may not do in a kernel, and do in another way
// (lacks.bpf.h, which has the same bits).
type lack uint32

const (
	lacksFetch   lack = 1 << iota // atomic operations that return what was there
	lacksStorage                  // a row with each task
	lacksTask                     // the current task as one that can be read directly
	lacksRegs                     // the registers of a task
	lacksLoop                     // bpf_loop
	passesOver                    // a processor that is kept for programs at tracepoints
)

// lackNames are as IOCAUSE_HOOKS has them.
var lackNames = []struct {
	lack lack
	name string
}{
	{lacksFetch, "without-fetch"},
	{lacksStorage, "without-storage"},
	{lacksTask, "without-task"},
	{lacksRegs, "without-regs"},
	{lacksLoop, "without-loop"},
	{passesOver, "events"},
}

func lackNamed(name string) (lack, bool) {
	for _, l := range lackNames {
		if l.name == name {
			return l.lack, true
		}
	}
	return 0, false
}

// taskRows is how many threads have a row at once where that is one of a hash.
const taskRows = 16384

// onGone is the program of lacks.bpf.h that takes the rows of threads that end
// out of such a hash.
const onGone = "on_gone"

// fit fits objects to a kernel.
type fit struct {
	lacks lack
	// early: memory for rows of hashes must be there before programs ask for it
	// within the scheduler, where the general allocator, which wakes kswapd, may
	// wait for a lock that is held: bpf_mem_alloc, which does not, is of
	// 7c8199e24fa0 (6.1).
	early bool
	// refused is why events are not asked though programs at tracepoints may be preempted.
	refused error
	again   object // reads the object once more, for late programs; nil: there are none
	parts   bool   // what is for layers is loaded late
}

// events tells whether programs are at events in place of tracepoints.
func (f *fit) events() bool { return f.lacks&passesOver != 0 && f.refused == nil }

// fitFor finds out what the running kernel lacks. without is what it shall do without in
// any case.
func fitFor(types *Types, without lack) (*fit, error) {
	f, err := fitTo(types, without)
	if err == nil && hasNoAtomics() {
		f.lacks |= lacksFetch
	}
	return f, err
}

// fitTo finds out what a kernel lacks as far as its types show it.
func fitTo(types *Types, without lack) (*fit, error) {
	f := &fit{lacks: without, early: !types.hasStruct("bpf_mem_alloc")}
	if !types.storesSafely() {
		f.lacks |= lacksStorage
	}
	if types.preempts() {
		f.lacks |= passesOver
	}
	for helper, lack := range map[string]lack{
		"BPF_FUNC_get_current_task_btf": lacksTask, "BPF_FUNC_task_pt_regs": lacksRegs, "BPF_FUNC_loop": lacksLoop,
	} {
		has, err := types.hasHelper(helper)
		if err != nil {
			return nil, err
		}
		if !has {
			f.lacks |= lack
		}
	}
	if f.lacks&lacksTask != 0 { // which the functions for these two ask for
		f.lacks |= lacksStorage | lacksRegs
	}
	if f.lacks&lacksStorage != 0 { // no kernel without it preempts, and two in a row note what they have counted there
		f.lacks &^= passesOver
	}
	return f, nil
}

// storesSafely tells whether a row with a task may be made inside the scheduler: where
// its memory comes from bpf_mem_alloc, since 08a7ce384e33 (6.4), or from
// kmalloc_nolock, at first where a member says so and later, when owners are counted,
// always; before it was the general allocator's.
func (t *Types) storesSafely() bool {
	return t.hasMember("bpf_local_storage_map", "selem_ma") || t.hasMember("bpf_local_storage_map", "use_kmalloc_nolock") ||
		t.hasMember("bpf_local_storage", "owner_refcnt")
}

// hasHelper tells whether programs can call a function of the kernel, by its name
// in enum bpf_func_id.
func (t *Types) hasHelper(name string) (bool, error) {
	var ids *btf.Enum
	if err := t.spec.TypeByName("bpf_func_id", &ids); err != nil {
		return false, fmt.Errorf("looking for %s: %w", name, err)
	}
	return slices.ContainsFunc(ids.Values, func(v btf.EnumValue) bool { return v.Name == name }), nil
}

// fit changes an object: what the kernel would refuse even where it is never
// reached goes, and rows of tasks become those of a hash. It returns the programs
// that this takes besides.
func (f *fit) fit(spec *ebpf.CollectionSpec) ([]Program, error) {
	v := spec.Variables["lacks"]
	if v == nil {
		return nil, nil // it has no other way
	}
	if err := v.Set(uint32(f.lacks)); err != nil {
		return nil, fmt.Errorf("setting lacks: %w", err)
	}
	for _, p := range spec.Programs {
		p.Instructions = f.instructions(p.Instructions)
	}
	return f.hashes(spec), nil
}

// tell is told of an object that is read for it, whole, where there is anything to tell.
func (f *fit) tell(read object) ([]sample.Way, error) {
	if f.refused == nil && f.lacks&(lacksStorage|lacksFetch) == 0 {
		return nil, nil
	}
	spec, err := read(nil)
	if err != nil {
		return nil, err
	}
	return f.told(spec), nil
}

// told is what an object does without of which the figures depend, for people.
func (f *fit) told(spec *ebpf.CollectionSpec) (all []sample.Way) {
	if spec.Variables["lacks"] == nil {
		return nil
	}
	all = f.toldRefused(spec)
	if f.lacks&lacksStorage != 0 && slices.ContainsFunc(slices.Collect(maps.Values(spec.Maps)), func(m *ebpf.MapSpec) bool { return m.Type == ebpf.TaskStorage }) {
		all = append(all, sample.Way{
			What: "figures of each thread", By: "hash", Hooks: []string{"a hash"},
			Grade:    fmt.Sprintf("exact for up to %d threads at a time; those beyond are counted as lost", taskRows),
			Rejected: []string{"task storage: creating a row in the scheduler could deadlock this kernel (before 6.4)"},
		})
	}
	if f.lacks&lacksFetch != 0 && slices.ContainsFunc(slices.Collect(maps.Values(spec.Programs)), fetches) {
		all = append(all, sample.Way{
			What: "the value before a change", By: "read", Hooks: []string{"a read before the change"},
			Grade:    "exact unless two processors change the same number within nanoseconds",
			Rejected: []string{"atomic operations that return a value: not in this kernel (before 5.12; arm64: 5.18)"},
		})
	}
	return all
}

// fetches tells whether a program has atomic operations that return what was there.
func fetches(p *ebpf.ProgramSpec) bool {
	return slices.ContainsFunc(p.Instructions, func(ins asm.Instruction) bool { return isFetch(&ins) })
}

func isFetch(ins *asm.Instruction) bool {
	op := ins.OpCode.AtomicOp()
	return op != asm.InvalidAtomic && op != asm.AddAtomic
}

// hashes changes an object's maps, and returns the program that this takes.
func (f *fit) hashes(spec *ebpf.CollectionSpec) []Program {
	if f.early {
		allocateEarly(spec)
	}
	if f.lacks&lacksStorage == 0 {
		delete(spec.Programs, onGone)
		return nil
	}
	for _, m := range spec.Maps {
		if m.Type == ebpf.TaskStorage {
			m.Type, m.MaxEntries, m.Flags = ebpf.Hash, taskRows, 0
		}
	}
	if spec.Programs[onGone] == nil {
		return nil
	}
	return []Program{{Name: onGone, Tracepoint: "sched_process_exit"}}
}

// notReached is the number of a function that no kernel has: the verifier says so
// if it is reached.
const notReached = 0xfe7c4

// instructions replaces those that the kernel refuses when it has not followed the
// program yet. They are behind branches on lacks that are never taken, and keep
// their lengths.
func (f *fit) instructions(all asm.Instructions) asm.Instructions {
	if f.lacks&(lacksFetch|lacksLoop) == 0 {
		return all
	}
	var out asm.Instructions
	for _, ins := range all {
		switch {
		case f.lacks&lacksFetch != 0 && isFetch(&ins):
			never := asm.BuiltinFunc(notReached).Call()
			never.Metadata = ins.Metadata
			out = append(out, never)
		case f.lacks&lacksLoop != 0 && ins.IsLoadOfFunctionPointer():
			// Who is called by nobody is refused as well: a call in its place,
			// and as it is half as long, something behind it.
			call := asm.Call.Label(ins.Reference())
			out = append(out, call, asm.Mov.Imm(asm.R0, 0))
		default:
			out = append(out, ins)
		}
	}
	return out
}

// allocateEarly has the memory of all hash maps allocated at once that programs use
// which are called while the scheduler's locks are held.
func allocateEarly(spec *ebpf.CollectionSpec) {
	const noPrealloc = 1 // BPF_F_NO_PREALLOC
	for _, p := range spec.Programs {
		switch p.AttachTo {
		case "sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new":
		default:
			continue
		}
		for i := range p.Instructions {
			ins := &p.Instructions[i]
			if m := spec.Maps[ins.Reference()]; ins.IsLoadFromMap() && m != nil && m.Type == ebpf.Hash {
				m.Flags &^= noPrealloc
			}
		}
	}
}

// ForgetTasks empties a map of rows of tasks where that is a hash: threads that
// ended while no program looked have left theirs.
func (p *Probe) ForgetTasks(name string) error {
	m := p.Map(name)
	if m.Type() != ebpf.Hash {
		return nil
	}
	for {
		var tid uint32
		err := m.NextKey(nil, &tid)
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil
		}
		if err == nil {
			err = m.Delete(tid)
		}
		if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("emptying %s: %w", name, err)
		}
	}
}
