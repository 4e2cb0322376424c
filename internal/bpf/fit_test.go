package bpf

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// What takes another's place is as long, or jumps would miss.
func TestInstructionsKeepTheirLength(t *testing.T) {
	call := asm.LoadImm(asm.R2, 0, asm.DWord).WithReference("step")
	call.Src = asm.PseudoFunc
	all := asm.Instructions{
		asm.FetchAdd.Mem(asm.RFP, asm.R0, asm.DWord, -8),
		asm.AddAtomic.Mem(asm.RFP, asm.R0, asm.DWord, -8),
		asm.OrAtomic.Mem(asm.RFP, asm.R0, asm.DWord, -8),
		asm.CmpXchg.Mem(asm.RFP, asm.R1, asm.DWord, -8),
		call,
		asm.Return(),
	}
	length := func(all asm.Instructions) (n int) {
		for i := range all {
			n += int(all[i].Width())
		}
		return n
	}
	out := (&fit{lacks: lacksFetch | lacksLoop}).instructions(all)
	if got, want := length(out), length(all); got != want {
		t.Errorf("%d slots became %d", want, got)
	}
	for i := range out {
		if op := out[i].OpCode.AtomicOp(); op != asm.InvalidAtomic && op != asm.AddAtomic || out[i].IsLoadOfFunctionPointer() {
			t.Errorf("%v is left", out[i])
		}
	}
	if !out[4].IsFunctionCall() || out[4].Reference() != "step" {
		t.Errorf("%v, want a call of step", out[4])
	}
	if out := (&fit{}).instructions(all); len(out) != len(all) || out[0].OpCode != all[0].OpCode {
		t.Errorf("without need %v became %v", all, out)
	}
}

func TestFitMakesTaskStorageAHash(t *testing.T) {
	object := func() *ebpf.CollectionSpec {
		return &ebpf.CollectionSpec{
			Maps: map[string]*ebpf.MapSpec{
				"tasks": {Type: ebpf.TaskStorage, Flags: 1},
				"waits": {Type: ebpf.Hash, Flags: 1},
				"files": {Type: ebpf.Hash, Flags: 1},
			},
			Programs: map[string]*ebpf.ProgramSpec{
				onGone:      {AttachTo: "sched_process_exit"},
				"on_switch": {AttachTo: "sched_switch", Instructions: asm.Instructions{asm.LoadMapPtr(asm.R1, 0).WithReference("waits")}},
				"on_add":    {AttachTo: "mm_filemap_add_to_page_cache", Instructions: asm.Instructions{asm.LoadMapPtr(asm.R1, 0).WithReference("files")}},
			},
			Variables: map[string]*ebpf.VariableSpec{},
		}
	}
	spec := object()
	if more, err := (&fit{lacks: lacksStorage, early: true}).fit(spec); err != nil || len(more) != 0 || spec.Maps["tasks"].Type != ebpf.TaskStorage {
		t.Errorf("an object that has no other way became %+v, %v, %v", spec.Maps["tasks"], more, err)
	}
	spec = object()
	f := fit{lacks: lacksStorage, early: true}
	more := f.hashes(spec)
	if tasks := spec.Maps["tasks"]; len(more) != 1 || more[0].Name != onGone || tasks.Type != ebpf.Hash || tasks.MaxEntries != taskRows || tasks.Flags != 0 {
		t.Errorf("%+v, %+v", more, spec.Maps["tasks"])
	}
	if spec.Maps["waits"].Flags != 0 || spec.Maps["files"].Flags != 1 {
		t.Errorf("rows that the scheduler's programs make are not allocated early, or others are: %+v", spec.Maps)
	}
	spec = object()
	if more := (&fit{}).hashes(spec); len(more) != 0 || spec.Programs[onGone] != nil || spec.Maps["tasks"].Type != ebpf.TaskStorage {
		t.Errorf("with task storage: %+v, %+v", more, spec.Maps["tasks"])
	}
}
