package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"iocause/internal/bpf/bpftest"
)

func some() []Capability {
	return []Capability{
		{Name: "reads", Ways: []Way{
			{By: ByTracepoint, Programs: []Program{{Name: "a", Tracepoint: "sched_switch"}}},
			{By: ByFunction, Programs: []Program{{Name: "b", Entry: "schedule", Arguments: 0}}},
		}},
		{Name: "direct", Optional: true, Ways: []Way{{By: ByTracepoint, Programs: []Program{{Name: "c", Tracepoint: "no_such_tracepoint"}}}}},
	}
}

func TestChoose(t *testing.T) {
	types, err := LoadTypes()
	bpftest.Need(t, "bpf", err)
	for _, c := range []struct {
		forced, first string
		left          int
	}{
		{"", "a", 2},
		{"function", "b", 1},
		{"tracepoint", "a", 1},
		{"reads=function,direct=tracepoint", "b", 1},
		{"direct=tracepoint", "a", 2},
	} {
		forced, _, err := parseForced(some(), c.forced)
		if err != nil {
			t.Fatal(err)
		}
		all, err := choose(types, some(), forced)
		if err != nil {
			t.Fatal(err)
		}
		if got := all[0].left; len(got) != c.left || got[0].Programs[0].Name != c.first {
			t.Errorf("%q: %+v, want %d with %s first", c.forced, got, c.left, c.first)
		}
		if told := all[1].told(); told.By != "" || len(told.Rejected) != 1 || !strings.Contains(told.Rejected[0], "no_such_tracepoint") {
			t.Errorf("%q: %+v, want that there is no way, and why", c.forced, told)
		}
	}
	if _, _, err := parseForced(some(), "uprobe"); err == nil || !strings.Contains(err.Error(), HooksVariable) {
		t.Errorf("an unknown way gives %v", err)
	}
}

func TestChooseByShape(t *testing.T) {
	types, err := LoadTypes()
	bpftest.Need(t, "bpf", err)
	for want, p := range map[string]Program{
		"fexit:no_such_function: not in this kernel": {Exit: "no_such_function"},
		"tp:task_rename: has 2 arguments, not 7":     {Tracepoint: "task_rename", Arguments: 7},
		"fentry:vfs_read: has 4 arguments, not 11":   {Entry: "vfs_read", Arguments: 11},
		"": {Exit: "vfs_read", Arguments: 4},
	} {
		if got := fmt.Sprint(types.shows(&Way{Programs: []Program{p}})); got != want && (want != "" || got != "<nil>") {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
	required := some()[1:]
	required[0].Optional = false
	if _, err := choose(types, required, nil); !errors.Is(err, ErrNotSupported) || !strings.Contains(err.Error(), "direct") {
		t.Errorf("without any way: %v, want that it is not supported", err)
	}
}

func TestForced(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                          {},
		"function":                  {"reads": ByFunction},
		"tracepoint":                {"reads": ByTracepoint, "direct": ByTracepoint},
		"reads=function":            {"reads": ByFunction},
		"tracepoint,reads=function": {"reads": ByFunction, "direct": ByTracepoint},
	} {
		if got, _, err := parseForced(some(), text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"x", "reads=", "reads", "reads=fexit", ","} {
		if got, _, err := parseForced(some(), text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

func TestForcedWithout(t *testing.T) {
	force, without, err := parseForced(some(), "without-fetch,reads=function,without-loop")
	if err != nil || without != lacksFetch|lacksLoop || force["reads"] != ByFunction {
		t.Errorf("%v, %b, %v", force, without, err)
	}
}

func TestBlame(t *testing.T) {
	programs := []Program{{Name: "fault"}, {Name: "on_fault"}}
	var hook *hookError
	if err := blame(programs, errors.New("loading: program on_fault: load program: no")); !errors.As(err, &hook) || hook.program != "on_fault" {
		t.Errorf("%v blames %+v", err, hook)
	}
	if err := errors.New("loading: map x: no"); blame(programs, err) != err {
		t.Error("a map's failure is blamed on a program")
	}
	c := &choice{Capability: &Capability{Name: "reads"}, left: some()[0].Ways}
	c.reject(errors.New("wrong"))
	if told := c.told(); told.By != ByFunction || !slices.Equal(told.Rejected, []string{"tp:sched_switch: wrong"}) || told.Grade != "exact" {
		t.Errorf("%+v", told)
	}
}

// A way of which one program attaches and the next is refused is left, and the next way
// is taken: nothing of the first stays in the kernel. What is in kernel/trace is built
// so that nothing can be attached to it (x86-64), which shows only when it is tried.
func TestRefusedHalfWay(t *testing.T) {
	bpftest.Root(t)
	program := func(name string, kind ebpf.AttachType, to string) *ebpf.ProgramSpec {
		return &ebpf.ProgramSpec{Name: name, Type: ebpf.Tracing, AttachType: kind, AttachTo: to, License: "Dual BSD/GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}}
	}
	spec := &ebpf.CollectionSpec{ByteOrder: binary.LittleEndian, Maps: map[string]*ebpf.MapSpec{}, Variables: map[string]*ebpf.VariableSpec{}, Programs: map[string]*ebpf.ProgramSpec{
		"half_first": program("half_first", ebpf.AttachTraceFEntry, "vfs_read"), "half_second": program("half_second", ebpf.AttachTraceFEntry, "trace_seq_putmem"),
		"half_other": program("half_other", ebpf.AttachTraceRawTp, "sched_switch"),
	}}
	p, err := OpenWays(spec, nil, []Capability{{Name: "halves", Ways: []Way{
		{By: ByFunction, Programs: []Program{{Name: "half_first", Entry: "vfs_read"}, {Name: "half_second", Entry: "trace_seq_putmem"}}},
		{By: ByTracepoint, Programs: []Program{{Name: "half_other", Tracepoint: "sched_switch"}}},
	}}}, nil)
	bpftest.Need(t, "bpf", err)
	w := p.Ways()[0]
	if w.By != ByTracepoint || len(w.Rejected) > 1 { // none where the types rule the functions out
		t.Errorf("%+v, want the tracepoint, and why not the functions", w)
	}
	t.Logf("%+v", w)
	if left := loaded(t, "half_", 1); !slices.Equal(left, []string{"half_other"}) {
		t.Errorf("in the kernel: %v, want half_other alone", left)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if left := loaded(t, "half_", 0); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// loaded are the programs in the kernel whose names begin so, once there are no
// more than most: the kernel frees one a moment after it was taken off.
func loaded(t *testing.T, prefix string, most int) (names []string) {
	t.Helper()
	for try := 0; try < 50; try++ {
		names = nil
		for id := ebpf.ProgramID(0); ; {
			next, err := ebpf.ProgramGetNextID(id)
			if errors.Is(err, os.ErrPermission) {
				bpftest.Need(t, "bpf", fmt.Errorf("asking which programs are in the kernel (CAP_SYS_ADMIN): %w", err))
			}
			if err != nil {
				break
			}
			id = next
			if p, err := ebpf.NewProgramFromID(id); err == nil {
				info, err := p.Info()
				if err == nil && strings.HasPrefix(info.Name, prefix) {
					names = append(names, info.Name)
				}
				p.Close()
			}
		}
		if len(names) <= most {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return names
}
