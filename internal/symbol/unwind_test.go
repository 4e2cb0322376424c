package symbol

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
)

// asleep is where a process waits in a system call: /proc/PID/syscall.
func asleep(t *testing.T, pid int) (sp, ip uint64) {
	t.Helper()
	for range 200 {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/syscall")
		require.NoError(t, err)
		if f := strings.Fields(string(text)); len(f) > 2 && f[0] != "-1" {
			sp, err1 := strconv.ParseUint(f[len(f)-2], 0, 64)
			ip, err2 := strconv.ParseUint(f[len(f)-1], 0, 64)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			return sp, ip
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the program does not wait")
	return 0, 0
}

// A program without frame pointers, and the C library, are unwound to the
// function that the process begins in.
func TestUnwindWithoutFramePointers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "wait")
	run(t, "g++", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", name, "testdata/wait.cc")
	pid, _ := running(t, name)
	sp, ip := asleep(t, pid)
	mem, err := os.Open("/proc/" + strconv.Itoa(pid) + "/mem")
	require.NoError(t, err)
	defer mem.Close()
	r := New(host.Live())
	defer r.Close()
	ips, isWhole := r.Unwind(pid, Registers{IP: ip, SP: sp}, func(at uint64) (uint64, bool) {
		var b [8]byte
		_, err := mem.ReadAt(b[:], int64(at))
		return binary.LittleEndian.Uint64(b[:]), err == nil
	})
	var got []string
	for i, ip := range ips {
		got = append(got, r.User(pid, ip, i > 0).Name)
	}
	all := strings.Join(got, " ")
	if !isWhole || got[len(got)-1] != "_start" || !strings.Contains(all, "iocause::wait_here<long> hidden_helper main ") {
		t.Errorf("whole %v: %q", isWhole, got)
	}
	if notes := r.Notes(); len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
}

// Where a C library's entry has no table the stack ends in it all the same.
func TestUnwindToAnEntryWithoutTable(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("its entry is for amd64")
	}
	name := filepath.Join(t.TempDir(), "start")
	run(t, "gcc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-fasynchronous-unwind-tables", "-static", "-nostdlib", "-o", name, "testdata/start.c")
	c := exec.Command(name)
	require.NoError(t, c.Start())
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	sp, ip := asleep(t, c.Process.Pid)
	mem, err := os.Open("/proc/" + strconv.Itoa(c.Process.Pid) + "/mem")
	require.NoError(t, err)
	defer mem.Close()
	r := New(host.Live())
	defer r.Close()
	for _, marked := range []bool{true, false} { // nothing in the program changes rbp
		regs := Registers{IP: ip, SP: sp}
		if !marked {
			regs.FP = 3
		}
		ips, isWhole := r.Unwind(c.Process.Pid, regs, func(at uint64) (uint64, bool) {
			var b [8]byte
			_, err := mem.ReadAt(b[:], int64(at))
			return binary.LittleEndian.Uint64(b[:]), err == nil
		})
		var got []string
		for i, ip := range ips {
			got = append(got, r.User(c.Process.Pid, ip, i > 0).Name)
		}
		if isWhole != marked || len(got) != 3 || got[0] != "wait_here" || got[1] != "begin" {
			t.Errorf("marked %v, whole %v: %q", marked, isWhole, got)
		}
	}
}

// Each entry of the library that the test itself may need is understood.
func TestUnwindTablesOfLibraries(t *testing.T) {
	found, _ := filepath.Glob("/usr/lib/*-linux-gnu/lib*.so.*")
	if len(found) > 40 {
		found = found[:40]
	}
	tables := 0
	for _, name := range found {
		e, err := elf.Open(name)
		if err != nil {
			continue
		}
		u, err := readUnwindTable(e, thisMachine())
		e.Close()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range u.entries {
			f := &u.entries[i]
			for _, at := range []uint64{f.start, (f.start + f.end) / 2, f.end - 1} {
				rules, err := u.rulesAt(f, at)
				if err != nil || rules.cfa.kind != ruleIsRegister && rules.cfa.kind != ruleIsExpr {
					t.Fatalf("%s: code at %#x: %+v, %v", name, at, rules.cfa, err)
				}
			}
		}
		if len(u.entries) > 0 {
			tables++
		}
	}
	if tables == 0 {
		t.Skip("needs libraries with .eh_frame")
	}
}

// Frame pointers are followed where no table tells.
func TestByFramePointer(t *testing.T) {
	memory := map[uint64]uint64{0x1010: 0x1040, 0x1018: 0xa1, 0x1040: 0x900, 0x1048: 0xa2}
	read := func(at uint64) (uint64, bool) { v, ok := memory[at]; return v, ok }
	r := New(host.Live())
	ips, isWhole := r.Unwind(1<<30, Registers{IP: 7, SP: 0x1000, FP: 0x1010}, read)
	if want := []uint64{7, 0xa1, 0xa2}; !slices.Equal(ips, want) || isWhole {
		t.Errorf("%#x, %v", ips, isWhole)
	}
}

// A function of arm64 puts what it has to give back below where the stack was, signs
// its return address before, and one that calls nobody has that in a register alone.
func TestUnwindArm64(t *testing.T) {
	m := arm64()
	u := &unwindTable{addr: 0x1000, machine: m, data: []byte{
		// CIE: "zR", code in fours, data in minus eights, returns by x30, addresses of 8 bytes; cfa is sp
		16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0, 0x0c, 31, 0,
		// FDE of 0x400000, 64 bytes
		36, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0,
		0x41, 0x2d, // paciasp
		0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x93, 2, // stp x29, x30, [sp, -32]!; str x19, [sp, 16]
		0, 0, 0, 0,
	}}
	if err := u.parse(); err != nil || len(u.entries) != 1 {
		t.Fatalf("%d entries, %v", len(u.entries), err)
	}
	e := &u.entries[0]
	const stack, signed = 0x7ffff000, 0x002b000000401234
	memory := map[uint64]uint64{stack: 0x7ffff100, stack + 8: signed, stack + 16: 19}
	read := func(at uint64) (uint64, bool) { v, ok := memory[at]; return v, ok }
	for _, c := range []struct{ at, fp, x19, want uint64 }{
		{0x400000, 5, 7, stack}, // its beginning: nothing is on the stack
		{0x400004, 5, 7, stack}, // the address is signed
		{0x400020, 0x7ffff100, 19, stack + 32},
	} {
		var now registers
		now.set(m.ip, c.at)
		now.set(m.sp, stack)
		now.set(m.fp, 5)
		now.set(19, 7)
		now.set(30, signed)
		rules, err := u.rulesAt(e, c.at)
		if err != nil {
			t.Fatal(err)
		}
		out, isLast, err := u.caller(&rules, e.common.returns, &now, read)
		if err != nil || isLast || out.v[m.ip] != 0x401234 || out.v[m.sp] != c.want || out.v[m.fp] != c.fp || out.v[19] != c.x19 {
			t.Errorf("at %#x: ip %#x, sp %#x, fp %#x, x19 %d, last %v, %v", c.at, out.v[m.ip], out.v[m.sp], out.v[m.fp], out.v[19], isLast, err)
		}
	}
}

func FuzzUnwindTable(f *testing.F) {
	for _, name := range []string{"/proc/self/exe", "/usr/lib/x86_64-linux-gnu/libc.so.6"} {
		if e, err := elf.Open(name); err == nil {
			if s := e.Section(".eh_frame"); s != nil {
				if data, err := s.Data(); err == nil {
					f.Add(data[:min(len(data), 4096)])
				}
			}
			e.Close()
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		u := &unwindTable{data: data, addr: 0x1000, machine: [...]*machine{x86(), arm64()}[len(data)%2]}
		_ = u.parse()
		var r registers
		for n := range r.v {
			r.set(n, uint64(n)<<12)
		}
		read := func(at uint64) (uint64, bool) { return at * 3, at%5 != 0 }
		for i := range u.entries {
			e := &u.entries[i]
			if rules, err := u.rulesAt(e, e.end-1); err == nil {
				_, _, _ = u.caller(&rules, e.common.returns, &r, read)
			}
		}
	})
}
