package bpf

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
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

// Rows with tasks are made within the scheduler only where their memory comes from
// an allocator that takes no lock there. The members are those of 6.1, of 6.12 and
// of 7.2.
func TestStorageOfTasksIsSafe(t *testing.T) {
	for _, c := range []struct {
		members []string
		want    bool
	}{
		{nil, false},
		{[]string{"map", "buckets", "bucket_log", "elem_size", "cache_idx"}, false},
		{[]string{"map", "buckets", "bucket_log", "elem_size", "cache_idx", "selem_ma", "storage_ma", "bpf_ma"}, true},
		{[]string{"map", "buckets", "bucket_log", "elem_size", "cache_idx", "use_kmalloc_nolock"}, true},
	} {
		var types []btf.Type
		if c.members != nil {
			size := &btf.Int{Name: "u32", Size: 4}
			storage := &btf.Struct{Name: "bpf_local_storage_map", Size: uint32(4 * len(c.members))}
			for i, name := range c.members {
				storage.Members = append(storage.Members, btf.Member{Name: name, Type: size, Offset: btf.Bits(32 * i)})
			}
			types = append(types, storage)
		}
		if got := typesOf(t, types).storesSafely(); got != c.want {
			t.Errorf("%v: %v, want %v", c.members, got, c.want)
		}
	}
}

// typesOf is the type information of a kernel that has these.
func typesOf(t *testing.T, all []btf.Type) *Types {
	t.Helper()
	b, err := btf.NewBuilder(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return &Types{spec: spec}
}

// People are told of what is done without where figures depend on it, and of
// nothing else.
func TestWhatIsDoneWithoutIsTold(t *testing.T) {
	object := &ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{"tasks": {Type: ebpf.TaskStorage}},
		Programs: map[string]*ebpf.ProgramSpec{
			"adds": {Instructions: asm.Instructions{asm.AddAtomic.Mem(asm.RFP, asm.R0, asm.DWord, -8), asm.OrAtomic.Mem(asm.RFP, asm.R0, asm.DWord, -8)}},
		},
		Variables: map[string]*ebpf.VariableSpec{"lacks": {}},
	}
	for lacks, want := range map[lack]string{
		0: "", lacksLoop: "", lacksStorage: "a hash", lacksFetch: "a read before the change",
		lacksFetch | lacksStorage: "a hash, a read before the change",
	} {
		var hooks []string
		for _, w := range (&fit{lacks: lacks}).told(object) {
			hooks = append(hooks, w.Hooks...)
			if w.What == "" || w.By == "" || w.Grade == "" || len(w.Rejected) != 1 {
				t.Errorf("%+v", w)
			}
		}
		if got := strings.Join(hooks, ", "); got != want {
			t.Errorf("%b: told of %q, want %q", lacks, got, want)
		}
	}
	object.Maps["tasks"].Type, object.Programs["adds"].Instructions = ebpf.Hash, object.Programs["adds"].Instructions[:1]
	if told := (&fit{lacks: lacksFetch | lacksStorage}).told(object); told != nil {
		t.Errorf("an object that uses neither tells %+v", told)
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
