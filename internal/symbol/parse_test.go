package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/require"
)

func TestParseKernel(t *testing.T) {
	k, err := parseKernel(strings.NewReader(`ffffffff81000000 T srso_alias
ffffffff81000000 T _stext
ffffffff81000100 T _stext_end
ffffffff81001000 T __sched_text_start
ffffffff81001000 T __schedule
ffffffff81002000 D data
ffffffff81003000 t helper.cold
ffffffffc0400000 t jbd2_log_wait_commit	[jbd2]
0000000000000000 A per_cpu
`))
	require.NoError(t, err)
	for ip, want := range map[uint64]Frame{
		0xffffffff81000010: {Name: "srso_alias", Module: "kernel", IsSymbol: true},
		0xffffffff81001fff: {Name: "__schedule", Module: "kernel", IsSymbol: true},
		0xffffffff81002010: {Name: "0xffffffff81002010", Module: "kernel"},
		0xffffffff81003001: {Name: "helper.cold", Module: "kernel", IsSymbol: true},
		0xffffffffc0400010: {Name: "jbd2_log_wait_commit", Module: "jbd2", IsSymbol: true},
		0xffffffffd0400010: {Name: "0xffffffffd0400010", Module: "kernel"},
		0x1000:             {Name: "0x1000", Module: "kernel"},
	} {
		if got := k.at(ip); got != want {
			t.Errorf("%#x: %+v, want %+v", ip, got, want)
		}
	}
	if _, err := parseKernel(strings.NewReader("0000000000000000 T _stext\n")); !errors.Is(err, procfile.ErrHidden) {
		t.Errorf("hidden addresses: %v", err)
	}
	if _, err := parseKernel(strings.NewReader("nothing\n")); err == nil {
		t.Error("no error for nonsense")
	}
}

func TestParseMaps(t *testing.T) {
	got := parseMaps([]byte(`55d0c0000000-55d0c0001000 r--p 00000000 fe:00 1234 /bin/x
55d0c0001000-55d0c0002000 r-xp 00001000 fe:00 1234 /bin/x
7f0000000000-7f0000001000 rwxp 00000000 00:00 0 
7f0000002000-7f0000003000 r-xp 00002000 fe:00 99                         /tmp/a b\012c (deleted)
7fff00000000-7fff00001000 r-xp 00000000 00:00 0                          [vdso]
garbage
`))
	want := []mapping{
		{Mapping: host.Mapping{Start: 0x55d0c0001000, End: 0x55d0c0002000, Offset: 0x1000, Code: true, Dev: host.MakeDev(0xfe, 0), Inode: 1234, Path: "/bin/x"}},
		{Mapping: host.Mapping{Start: 0x7f0000000000, End: 0x7f0000001000, Code: true, Writable: true}},
		{Mapping: host.Mapping{Start: 0x7f0000002000, End: 0x7f0000003000, Offset: 0x2000, Code: true, Dev: host.MakeDev(0xfe, 0), Inode: 99, Path: "/tmp/a b\nc (deleted)"}},
		{Mapping: host.Mapping{Start: 0x7fff00000000, End: 0x7fff00001000, Code: true, Path: "[vdso]"}},
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	if m := got[2].module(); m != "a b\nc" {
		t.Errorf("module %q", m)
	}
	if m := got[1].module(); m != "[anonymous]" {
		t.Errorf("module %q", m)
	}
}

func TestParseJIT(t *testing.T) {
	table := parseJIT(strings.NewReader("7f10 20 Interpreter\n0x7f40 0x10 LJava/lang/Object;::wait (long)\n7f10 8 thrown away\nnonsense\n7f60 0 empty\n"))
	for at, want := range map[uint64]string{
		0x7f12: "thrown away", 0x7f1f: "", 0x7f45: "LJava/lang/Object;::wait (long)", 0x7f50: "", 0x7f60: "",
	} {
		if got, _ := table.at(at); got != want {
			t.Errorf("%#x: %q, want %q", at, got, want)
		}
	}
}

// A function inside another one does not hide what follows it there.
func TestNestedFunctions(t *testing.T) {
	table := table{{100, 100, "outer"}, {120, 10, "inner"}, {300, 5, "last"}}
	for at, want := range map[uint64]string{99: "", 100: "outer", 125: "inner", 140: "outer", 199: "outer", 200: "", 304: "last", 305: ""} {
		if got, _ := table.at(at); got != want {
			t.Errorf("%d: %q, want %q", at, got, want)
		}
	}
}

// In a container a process has another number, and its own /tmp.
func TestJITInAContainer(t *testing.T) {
	dir := t.TempDir()
	h := host.Tree(dir, time.Now)
	tmp := filepath.Join(dir, "proc/4321/root/tmp")
	require.NoError(t, os.MkdirAll(tmp, 0o755))
	for name, text := range map[string]string{
		"proc/4321/status":               "Name:\tjava\nNSpid:\t4321\t17\n",
		"proc/4321/maps":                 "7f0000000000-7f0000100000 rwxp 00000000 00:00 0 \n",
		"proc/4321/root/tmp/perf-17.map": "7f0000000100 40 Lapp/Main;::waitForIt\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	r := New(h)
	defer r.Close()
	r.Meet(4321)
	if f := r.User(4321, 0x7f0000000120, false); f.Name != "Lapp/Main;::waitForIt" || !f.IsSymbol {
		t.Errorf("%+v", f)
	}
	if f := r.User(4321, 0x7f0000000400, false); f.Name != "[anonymous]+0x400" || f.IsSymbol {
		t.Errorf("%+v", f)
	}
}

// Where compiled functions have no names it is said, once, what gives them some.
func TestHowCompiledFunctionsGetNames(t *testing.T) {
	dir := t.TempDir()
	r := New(host.Tree(dir, time.Now))
	defer r.Close()
	for pid, library := range map[int]string{11: "/jdk/libjvm.so", 12: "/opt/node", 13: "/usr/bin/luajit", 14: "/jdk/libjvm.so"} {
		at := filepath.Join(dir, "proc", strconv.Itoa(pid))
		require.NoError(t, os.MkdirAll(filepath.Join(at, "root/tmp"), 0o755))
		maps := "7f0000000000-7f0000100000 rwxp 00000000 00:00 0 \n7f0000200000-7f0000300000 r-xp 00000000 00:00 0 " + library + "\n7f0000400000-7f0000500000 r-xp 00000000 00:00 0 [uprobes]\n"
		require.NoError(t, os.WriteFile(filepath.Join(at, "maps"), []byte(maps), 0o600))
	}
	written := "1000 40 somewhere_else\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "proc/12/root/tmp/perf-12.map"), []byte(written), 0o600))
	r.User(11, 0x7f0000400010, false)
	r.User(11, 8, false)
	if notes := r.Notes(); len(notes) > 0 {
		t.Errorf("none of these was compiled by a program: %q", notes)
	}
	for _, pid := range []int{11, 12, 13, 14, 11} {
		r.User(pid, 0x7f0000000010, false)
		r.User(pid, 0x7f0000000080, true)
	}
	notes := r.Notes()
	slices.Sort(notes)
	for i, want := range []string{
		"functions that Java compiled while it ran have no names: 'jcmd PID Compiler.perfmap' (JDK 17) writes them",
		"functions that Node.js compiled after it wrote its map have no names: start it with --perf-basic-prof",
		"functions that luajit compiled while it ran have no names",
	} {
		if len(notes) != 3 || !strings.HasPrefix(notes[i], want) {
			t.Fatalf("notes %q, want %q", notes, want)
		}
	}
}

// New code shows up in mappings that are read again when an address asks.
func TestMappingsThatChange(t *testing.T) {
	dir := t.TempDir()
	h := host.Tree(dir, time.Now)
	write := func(text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "proc/7"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "proc/7/maps"), []byte(text), 0o600))
	}
	const first, second = "400000-500000 r-xp 00000000 fe:00 11 /bin/first\n", "400000-500000 r-xp 00000000 fe:00 12 /bin/second\n"
	write(first)
	r := New(h)
	defer r.Close()
	r.Check(7, "first", []uint64{0x400010})
	if f := r.User(7, 0x400010, false); f.Module != "first" {
		t.Errorf("%+v", f)
	}
	write(second + "7f0000000000-7f0000001000 r-xp 00000000 fe:00 13 /lib/loaded.so\n")
	r.Check(7, "first", []uint64{0x400010})
	if f := r.User(7, 0x400010, false); f.Module != "first" {
		t.Errorf("nothing asked for a new reading: %+v", f)
	}
	r.Check(7, "second", []uint64{0x400010}) // another program has another name
	if f := r.User(7, 0x400010, false); f.Module != "second" {
		t.Errorf("%+v", f)
	}
	write("")
	r.Check(7, "third", []uint64{0x7f0000000010}) // it has ended: what is known stays
	if f := r.User(7, 0x7f0000000010, false); f.Name != "loaded.so+0x10" {
		t.Errorf("%+v", f)
	}
}

// A file that says that a table of it has a tebibyte, and is as long, is refused, and soon.
func TestEndlessTables(t *testing.T) {
	const huge = 1 << 40
	for name, sections := range map[string][]elf.Section64{
		"symbols":          {{}, {Type: uint32(elf.SHT_SYMTAB), Off: 4096, Size: huge, Link: 2, Entsize: 24}, {Type: uint32(elf.SHT_STRTAB), Off: 512, Size: 16}},
		"names of symbols": {{}, {Type: uint32(elf.SHT_SYMTAB), Off: 4096, Size: 48, Link: 2, Entsize: 24}, {Type: uint32(elf.SHT_STRTAB), Off: 4096, Size: huge}},
		"packed": {{}, {Type: uint32(elf.SHT_SYMTAB), Flags: uint64(elf.SHF_COMPRESSED), Off: 1024, Size: 100, Link: 2, Entsize: 24},
			{Type: uint32(elf.SHT_STRTAB), Off: 512, Size: 16}},
	} {
		t.Run(name, func(t *testing.T) {
			head := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Shoff: 64, Ehsize: 64,
				Phentsize: 56, Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 2}
			copy(head.Ident[:], "\x7fELF\x02\x01\x01")
			var text bytes.Buffer
			require.NoError(t, errors.Join(binary.Write(&text, binary.LittleEndian, head), binary.Write(&text, binary.LittleEndian, sections)))
			var packed bytes.Buffer
			require.NoError(t, binary.Write(&packed, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: huge, Addralign: 1}))
			fd, err := unix.MemfdCreate("endless", unix.MFD_CLOEXEC)
			require.NoError(t, err)
			f := os.NewFile(uintptr(fd), "endless")
			defer f.Close()
			require.NoError(t, f.Truncate(2*huge))
			for at, part := range map[int64][]byte{0: text.Bytes(), 1024: packed.Bytes()} {
				if _, err := f.WriteAt(part, at); err != nil {
					t.Fatal(err)
				}
			}
			done := make(chan error, 1)
			go func() {
				x := &file{open: f, plain: map[string]string{}}
				done <- x.readSymbols(New(host.Tree(t.TempDir(), time.Now)), 1, nil)
			}()
			select {
			case err := <-done:
				if err == nil {
					t.Error("it was read")
				}
			case <-time.After(2 * time.Second):
				t.Fatal("it takes more than two seconds")
			}
		})
	}
}

// A program of operations that does nothing does not do so for long.
func TestEndlessOperations(t *testing.T) {
	u := &unwindTable{data: make([]byte, 32<<20), machine: thisMachine()}
	e := &unwindEntry{common: &commonEntry{}, end: 1, program: [2]int{0, len(u.data)}}
	if _, err := u.rulesAt(e, 0); !errors.Is(err, errLong) {
		t.Errorf("%v", err)
	}
	if _, err := u.evaluate(e.program, &registers{}, nil, nil); !errors.Is(err, errLong) {
		t.Errorf("%v", err)
	}
}

// Whatever a file holds, it is read or refused.
func FuzzFunctions(f *testing.F) {
	if self, err := os.ReadFile("/proc/self/exe"); err == nil {
		f.Add(self[:4096])
	}
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x := &file{memory: data, plain: map[string]string{}}
		if err := x.readSymbols(New(host.Tree(t.TempDir(), time.Now)), 1, nil); err == nil {
			if _, err := elf.NewFile(bytes.NewReader(data)); err != nil {
				t.Error("read what is no ELF file")
			}
		}
	})
}

func FuzzParseJIT(f *testing.F) {
	f.Add([]byte("7f10 20 x\n0x7f40 0x10 y\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table := parseJIT(bytes.NewReader(data))
		for i := range table {
			if i > 0 && table[i].start <= table[i-1].start {
				t.Fatal("not in order")
			}
		}
	})
}
