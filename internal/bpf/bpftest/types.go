package bpftest

import (
	"maps"
	"slices"
	"testing"

	"github.com/cilium/ebpf/btf"
)

// Reduced are the types of these names in a file of a kernel's type information, with
// the shapes of functions and tracepoints and the names of members alone.
func Reduced(t testing.TB, file string, names map[string]bool) []byte {
	t.Helper()
	spec, err := btf.LoadSpec(file)
	if err != nil {
		t.Fatal(err)
	}
	number := &btf.Int{Name: "u64", Size: 8}
	shape := func(typ btf.Type) *btf.FuncProto {
		proto, ok := typ.(*btf.FuncProto)
		if !ok {
			t.Fatalf("%v is no function", typ)
		}
		out := &btf.FuncProto{Return: number}
		for range proto.Params {
			out.Params = append(out.Params, btf.FuncParam{Type: number})
		}
		return out
	}
	var types []btf.Type
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all, _ := spec.AnyTypesByName(name) // what a kernel lacks its fixture lacks, too
		for _, typ := range all {
			switch typ := typ.(type) {
			case *btf.Typedef:
				types = append(types, &btf.Typedef{Name: name, Type: &btf.Pointer{Target: shape(typ.Type.(*btf.Pointer).Target)}})
			case *btf.Func:
				types = append(types, &btf.Func{Name: name, Type: shape(typ.Type)})
			case *btf.Struct:
				s := &btf.Struct{Name: name, Size: uint32(8 * len(typ.Members))}
				for i, m := range typ.Members {
					s.Members = append(s.Members, btf.Member{Name: m.Name, Type: number, Offset: btf.Bits(64 * i)})
				}
				types = append(types, s)
			case *btf.Enum:
				types = append(types, typ)
			}
		}
	}
	b, err := btf.NewBuilder(types, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
