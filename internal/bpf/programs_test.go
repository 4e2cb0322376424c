package bpf

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
)

var update = flag.Bool("update", false, "write the table of programs anew")

// The table of all programs: how long each is, how many instructions the verifier
// looks at, which is what loading costs (it looks at the same piece once for each way
// that leads there), and how many the longest way through it has, which is what an event
// can cost at most.
const table = "testdata/programs.tsv"

// verifiedBy is the kernel that the last two columns are of; others look at more or less.
const verifiedBy = "6.18."

// growth is how much more a program may be than the table has, in percent. Who
// means it to be more writes the table anew (go test ./internal/bpf -run
// TestPrograms -update) and says why in that commit.
const growth = 5

// manyLooks is what no program may take on any kernel.
const manyLooks = 50000

// size is a row of the table; verified and longest are 0 where the program cannot be
// loaded by itself, as at a function whose name only its probe knows.
type size struct{ instructions, verified, longest int }

func TestProgramsDoNotGrow(t *testing.T) {
	now := programs(t)
	if release := verify(t, now); *update {
		if !strings.HasPrefix(release, verifiedBy) {
			t.Fatalf("the table is of Linux %s, this is %s", verifiedBy, release)
		}
		writeTable(t, now)
	}
	before := readTable(t)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := now[name]; !ok {
			t.Errorf("%s is in %s and in no object", name, table)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		was, ok := before[name]
		if !ok {
			t.Errorf("%s is not in %s: write it anew with -update", name, table)
			continue
		}
		is := now[name]
		if is.instructions*100 > was.instructions*(100+growth) {
			t.Errorf("%s has %d instructions, %d before: more than %d %%", name, is.instructions, was.instructions, growth)
		}
		if was.verified > 0 && is.verified*100 > was.verified*(100+growth) {
			t.Errorf("the verifier looks at %d instructions of %s, at %d before: more than %d %%", is.verified, name, was.verified, growth)
		}
		if was.longest > 0 && is.longest*100 > was.longest*(100+growth) {
			t.Errorf("the longest way through %s has %d instructions, %d before: more than %d %%", name, is.longest, was.longest, growth)
		}
	}
}

// programs are those of the committed objects, by object and name.
func programs(t *testing.T) map[string]*size {
	t.Helper()
	all := map[string]*size{}
	for object, spec := range objects(t) {
		for name, p := range spec.Programs {
			all[object+"."+name] = &size{instructions: int(p.Instructions.Size()) / 8}
		}
	}
	return all
}

func objects(t *testing.T) map[string]*ebpf.CollectionSpec {
	t.Helper()
	files, err := filepath.Glob("../source/probe/*/*_bpfel.o")
	if err != nil || len(files) < 10 {
		t.Fatalf("found objects %q, %v", files, err)
	}
	all := map[string]*ebpf.CollectionSpec{}
	parts := fit{parts: true} // as where programs are loaded late
	for _, file := range files {
		spec, err := ebpf.LoadCollectionSpec(file)
		if err != nil {
			t.Fatal(err)
		}
		var named []Program
		for name := range spec.Programs {
			named = append(named, Program{Name: name})
		}
		parts.parted(spec, named, true)
		all[strings.TrimSuffix(filepath.Base(file), "_bpfel.o")] = spec
	}
	return all
}

// verify loads the programs and notes what the verifier looked at, where this
// kernel is the table's; elsewhere no program may take very many looks. It returns
// the kernel's release.
func verify(t *testing.T, all map[string]*size) string {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	release := unix.ByteSliceToString(name.Release[:])
	types, err := prepared()
	if err != nil {
		if *update || !errors.Is(err, ErrNotPermitted) {
			bpftest.Need(t, "bpf", err)
		}
		return release
	}
	for object, spec := range objects(t) {
		for program := range spec.Programs {
			is, err := measure(types, spec, program)
			if err != nil {
				t.Log(object, program, err)
				continue
			}
			if is.verified > manyLooks {
				t.Errorf("the verifier looks at %d instructions of %s.%s", is.verified, object, program)
			}
			if strings.HasPrefix(release, verifiedBy) {
				row := all[object+"."+program]
				row.verified, row.longest = is.verified, is.longest
			}
		}
	}
	return release
}

// measure loads one program by itself, with maps of one entry.
func measure(types *Types, spec *ebpf.CollectionSpec, program string) (is size, err error) {
	spec = spec.Copy()
	one := spec.Programs[program]
	spec.Programs = map[string]*ebpf.ProgramSpec{program: one}
	used := one.Instructions.ReferenceOffsets()
	for name, m := range spec.Maps {
		if _, ok := used[name]; !ok {
			delete(spec.Maps, name)
		} else if m.Type == ebpf.Hash || m.Type == ebpf.LRUHash {
			m.MaxEntries = 1
		}
	}
	for name, v := range spec.Variables {
		if spec.Maps[v.SectionName] == nil {
			delete(spec.Variables, name)
		}
	}
	if rules := spec.Variables["rule_count"]; rules != nil { // else the search for one is left out
		if err := rules.Set(uint32(MaxRules)); err != nil {
			return is, err
		}
	}
	c, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Cache: types.cache, Programs: ebpf.ProgramOptions{LogDisabled: true}})
	if err != nil {
		return is, err
	}
	defer c.Close()
	info, err := c.Programs[program].Info()
	if err != nil {
		return is, err
	}
	n, ok := info.VerifiedInstructions()
	if !ok {
		return is, errors.New("this kernel does not tell (it does since 5.16)")
	}
	all, err := info.Instructions()
	if err != nil {
		return is, err
	}
	return size{verified: int(n), longest: longestWay(all)}, nil
}

func readTable(t *testing.T) map[string]size {
	t.Helper()
	b, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]size{}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
		var name string
		var s size
		if _, err := fmt.Sscanf(line, "%s\t%d\t%d\t%d", &name, &s.instructions, &s.verified, &s.longest); err != nil {
			t.Fatalf("%s: %q: %v", table, line, err)
		}
		all[name] = s
	}
	return all
}

func writeTable(t *testing.T, all map[string]*size) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "program\tinstructions\tverified by Linux %s\tlongest way\n", strings.TrimSuffix(verifiedBy, "."))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s\t%d\t%d\t%d\n", name, all[name].instructions, all[name].verified, all[name].longest)
	}
	if err := os.WriteFile(table, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
