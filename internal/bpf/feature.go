package bpf

import (
	"errors"
	"fmt"
	"sync"
	"weak"

	"github.com/cilium/ebpf/btf"

	"iocause/internal/host"
)

// Answer is what a feature check found out.
type Answer int

// A check that failed to run has not shown that the feature is absent.
const (
	CouldNotTell Answer = iota
	Supported
	NotSupported
)

// Types is the kernel's own type information (BTF). Safe for concurrent use.
type Types struct {
	cache *btf.Cache // for the loader: modules as well
	spec  *btf.Spec
}

// decoded is what LoadTypes read last, for as long as anybody keeps it: a file
// that does not change while the kernel runs, which takes 30 ms to decode and
// fills 10 MB when probes have asked for their types.
var decoded struct {
	sync.Mutex
	types weak.Pointer[Types]
}

// LoadTypes reads the kernel's type information. Probes that are opened at the
// same time share it.
func LoadTypes() (*Types, error) {
	decoded.Lock()
	defer decoded.Unlock()
	if t := decoded.types.Value(); t != nil {
		return t, nil
	}
	_ = host.ReleaseProgram() // of what starting needed, and loading does not; what cannot be given back is resident
	cache := btf.NewCache()
	spec, err := cache.Kernel()
	if err != nil {
		return nil, fmt.Errorf("reading the kernel's type information: %w", err)
	}
	t := &Types{cache, spec}
	decoded.types = weak.Make(t)
	return t, nil
}

// HasTracepoint tells whether the kernel has a tracepoint. The error says why
// when the answer is not Supported.
func (t *Types) HasTracepoint(name string) (Answer, error) {
	_, err := t.TracepointArguments(name)
	if errors.Is(err, btf.ErrNotFound) {
		return NotSupported, fmt.Errorf("the kernel has no tracepoint %s", name)
	}
	if err != nil {
		return CouldNotTell, err
	}
	return Supported, nil
}

// TracepointArguments is how many arguments a tracepoint passes, without the
// context pointer. It tells shapes apart, which kernel versions do not.
func (t *Types) TracepointArguments(name string) (int, error) {
	var def *btf.Typedef
	if err := t.spec.TypeByName("btf_trace_"+name, &def); err != nil {
		return 0, fmt.Errorf("looking for tracepoint %s: %w", name, err)
	}
	if ptr, ok := def.Type.(*btf.Pointer); ok {
		if proto, ok := ptr.Target.(*btf.FuncProto); ok {
			return len(proto.Params) - 1, nil
		}
	}
	return 0, fmt.Errorf("looking for tracepoint %s: its type is not a function", name)
}

// FunctionArguments is how many arguments a function of the kernel has: one that
// a program can be attached to, unless the kernel refuses that in spite of it.
func (t *Types) FunctionArguments(name string) (int, error) {
	var f *btf.Func
	if err := t.spec.TypeByName(name, &f); err != nil {
		return 0, fmt.Errorf("looking for function %s: %w", name, err)
	}
	proto, ok := f.Type.(*btf.FuncProto)
	if !ok {
		return 0, fmt.Errorf("looking for function %s: it has no prototype", name)
	}
	return len(proto.Params), nil
}

// hasStruct tells whether the kernel has a struct of that name.
func (t *Types) hasStruct(name string) bool {
	var s *btf.Struct
	return t.spec.TypeByName(name, &s) == nil
}

// GenerationsKnowTiers tells whether the kernel, where it keeps its cache by generations,
// follows the rules of Linux 6.14: it then counts what it protects of every tier,
// and before that of all but the first (lru_gen_folio.protected).
func (t *Types) GenerationsKnowTiers() bool {
	var s *btf.Struct
	if t.spec.TypeByName("lru_gen_folio", &s) != nil {
		return false
	}
	rows := map[string]uint32{}
	for _, m := range s.Members {
		for of := m.Type; ; {
			a, ok := of.(*btf.Array)
			if !ok {
				break
			}
			rows[m.Name], of = a.Nelems, a.Type
		}
	}
	return rows["protected"] > 0 && rows["protected"] == rows["evicted"]
}
