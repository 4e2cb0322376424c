package symbol

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/require"
)

// run runs a tool of the test.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		bpftest.Need(t, "gcc", err)
	}
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// build makes the test program, with its symbols.
func build(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "wait")
	run(t, "g++", "-O1", "-Wl,--build-id", "-o", name, "testdata/wait.cc")
	return name
}

// places are where the test program's functions are, from its own symbols.
func places(t *testing.T, name string) map[string]function {
	t.Helper()
	e, err := elf.Open(name)
	require.NoError(t, err)
	defer e.Close()
	all, err := e.Symbols()
	require.NoError(t, err)
	found := map[string]function{}
	for _, s := range all {
		for _, part := range []string{"wait_here", "hidden_helper", "main"} {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && strings.Contains(s.Name, part) && !strings.Contains(s.Name, "libc") {
				found[part] = function{s.Value, s.Size, s.Name}
			}
		}
	}
	if len(found) != 3 {
		t.Fatalf("functions of %s: %v", name, found)
	}
	return found
}

// running starts the program and is its number and the mapping of its code.
func running(t *testing.T, name string) (pid int, code mapping) {
	t.Helper()
	return runningAs(t, name, exec.Command(name))
}

// runningAs starts the program by a command that becomes it.
func runningAs(t *testing.T, name string, c *exec.Cmd) (pid int, code mapping) {
	t.Helper()
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	for range 6000 {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(c.Process.Pid) + "/maps")
		require.NoError(t, err)
		maps := parseMaps(text)
		for _, m := range maps {
			if strings.TrimSuffix(m.Path, deleted) == name && strings.Contains(string(text), "libc.so") {
				return c.Process.Pid, m
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the program did not start")
	return 0, code
}

// look resolves the middle of the three functions.
func look(t *testing.T, r *Resolver, pid int, code mapping, at map[string]function) map[string]Frame {
	t.Helper()
	e, err := os.Open("/proc/" + strconv.Itoa(pid) + "/exe")
	require.NoError(t, err)
	defer e.Close()
	file, err := elf.NewFile(e)
	require.NoError(t, err)
	got := map[string]Frame{}
	for part, f := range at {
		for _, p := range file.Progs {
			if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
				got[part] = r.User(pid, f.start+f.size/2-p.Vaddr+p.Off-code.Offset+code.Start, false)
			}
		}
	}
	return got
}

func names(frames map[string]Frame) map[string]string {
	out := map[string]string{}
	for part, f := range frames {
		out[part] = f.Name
	}
	return out
}

// The ways to the names of a program's functions.
func TestPrograms(t *testing.T) {
	all := map[string]string{"wait_here": "iocause::wait_here<long>", "hidden_helper": "hidden_helper", "main": "main"}
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, name string)
		named   bool
	}{
		{"own symbols", func(*testing.T, string) {}, true},
		{"stripped", func(t *testing.T, name string) { run(t, "strip", "-s", name) }, false},
		{"debug link beside it", func(t *testing.T, name string) {
			run(t, "objcopy", "--only-keep-debug", name, name+".debug")
			run(t, "strip", "-s", name)
			run(t, "objcopy", "--add-gnu-debuglink="+name+".debug", name)
		}, true},
		{"debug link of another build", func(t *testing.T, name string) {
			other := build(t)
			run(t, "g++", "-O0", "-Wl,--build-id", "-o", other, "testdata/wait.cc")
			run(t, "objcopy", "--only-keep-debug", other, name+".debug")
			run(t, "strip", "-s", name)
			run(t, "objcopy", "--add-gnu-debuglink="+name+".debug", name)
		}, false},
		{"mini debug info", func(t *testing.T, name string) {
			if _, err := exec.LookPath("xz"); err != nil {
				bpftest.Need(t, "gcc", err)
			}
			run(t, "objcopy", "--only-keep-debug", name, name+".mini")
			run(t, "xz", "-k", name+".mini")
			run(t, "strip", "-s", name)
			run(t, "objcopy", "--add-section", ".gnu_debugdata="+name+".mini.xz", name)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := build(t)
			at := places(t, name)
			c.prepare(t, name)
			pid, code := running(t, name)
			r := New(host.Live())
			defer r.Close()
			got := look(t, r, pid, code, at)
			if c.named {
				if !reflect.DeepEqual(names(got), all) {
					t.Errorf("got %q, want %q", names(got), all)
				}
				return
			}
			for part, f := range got {
				if f.IsSymbol || !strings.HasPrefix(f.Name, "wait+0x") {
					t.Errorf("%s is called %q, want its place in the file", part, f.Name)
				}
			}
		})
	}
}

// What a debug link leads to is not even opened when it is no file: some devices begin to
// do something by that.
func TestDebugLinkToADevice(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	name := build(t)
	run(t, "objcopy", "--only-keep-debug", name, name+".debug")
	run(t, "strip", "-s", name)
	run(t, "objcopy", "--add-gnu-debuglink="+name+".debug", name)
	require.NoError(t, errors.Join(os.Remove(name+".debug"), os.Symlink(pipe, name+".debug"), unix.Mkfifo(pipe, 0o600)))
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			f.Close()
		}
	}()
	pid, code := running(t, name)
	r := New(host.Live())
	defer r.Close()
	if f := r.User(pid, code.Start+8, false); f.IsSymbol {
		t.Errorf("%+v", f)
	}
	select {
	case <-opened:
		t.Error("the pipe was opened")
	case <-time.After(100 * time.Millisecond):
	}
	other, err := os.OpenFile(pipe, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	<-opened
	require.NoError(t, other.Close())
}

// What lies on a server is read as other files are, and where that hangs, not waited for.
func TestProgramOnAServer(t *testing.T) {
	name := build(t)
	at := places(t, name)
	pid, code := running(t, name)
	r := New(host.Live())
	defer r.Close()
	r.served[code.Dev] = &server{}
	if got := look(t, r, pid, code, at); got["main"].Name != "main" {
		t.Errorf("%+v, %q", got, r.Notes())
	}
	f := r.files[fileID{code.Dev, code.Inode}]
	if f.open != nil {
		t.Error("it is kept open")
	}
	never, start := make(chan struct{}), time.Now()
	defer close(never)
	for range 2 {
		err := f.patiently(func(*file) error {
			<-never
			return nil
		})
		if took := time.Since(start); !errors.Is(err, errHangs) || took > serverPatience+time.Second {
			t.Errorf("%v after %v", err, took)
		}
	}
}

// The files of a container are in a file system of its own: the program, and its
// debug file beside it.
func TestProgramInAnotherMountNamespace(t *testing.T) {
	bpftest.Root(t) // for another mount namespace
	built := build(t)
	at := places(t, built)
	run(t, "objcopy", "--only-keep-debug", built, built+".debug")
	run(t, "strip", "-s", built)
	run(t, "objcopy", "--add-gnu-debuglink="+built+".debug", built)
	inside := t.TempDir()
	const script = `mount -t tmpfs none "$2" && cp "$1" "$1.debug" "$2" && exec "$2/wait"`
	name := filepath.Join(inside, "wait")
	pid, code := runningAs(t, name, exec.Command("unshare", "--mount", "sh", "-c", script, "sh", built, inside))
	for _, f := range []string{built, built + ".debug"} {
		require.NoError(t, os.Remove(f))
	}
	if _, err := os.Stat(name); err == nil {
		t.Fatal("the file is here, too")
	}
	r := New(host.Live())
	defer r.Close()
	got := look(t, r, pid, code, at)
	if want := map[string]string{"wait_here": "iocause::wait_here<long>", "hidden_helper": "hidden_helper", "main": "main"}; !reflect.DeepEqual(names(got), want) {
		t.Errorf("got %q, want %q: %q", names(got), want, r.Notes())
	}
}

// A program that was deleted and has ended is known if it was met before.
func TestDeletedAndGone(t *testing.T) {
	name := build(t)
	at := places(t, name)
	pid, code := running(t, name)
	require.NoError(t, os.Remove(name))
	r := New(host.Live())
	defer r.Close()
	r.Meet(pid)
	got := look(t, r, pid, code, map[string]function{"main": at["main"]}) // opens its file while it is there
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, p.Kill())
	if _, err := p.Wait(); err != nil {
		t.Log(err) // the cleanup of running may be first
	}
	if got["main"].Name != "main" || got["main"].Module != "wait" {
		t.Errorf("%+v", got["main"])
	}
	base := code.Start - code.Offset
	if f := r.User(pid, base+code.Offset, false); f.Module != "wait" {
		t.Errorf("after its end: %+v", f)
	}
}

// Our own functions, the vDSO, and what is no code.
func TestThisProcess(t *testing.T) {
	r := New(host.Live())
	defer r.Close()
	pc := uint64(reflect.ValueOf(TestThisProcess).Pointer())
	if f := r.User(os.Getpid(), pc, false); f.Name != "iocause/internal/symbol.TestThisProcess" {
		t.Errorf("%+v", f)
	}
	if f := r.User(os.Getpid(), pc, true); f.Name == "iocause/internal/symbol.TestThisProcess" {
		t.Error("a call that returns to a function's first byte lies in the function before it")
	}
	if f := r.User(os.Getpid(), 8, false); f.Name != "0x8" || !f.NoCode {
		t.Errorf("%+v", f)
	}
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for _, m := range parseMaps(text) {
		if m.Path != "[vdso]" {
			continue
		}
		v := r.readVDSO()
		if err := v.readSymbols(r, os.Getpid(), nil); err != nil || len(v.table) == 0 {
			t.Fatalf("%d functions in the vDSO: %v", len(v.table), err)
		}
		found := false
		for _, f := range v.table {
			name := r.User(os.Getpid(), m.Start+f.start, false).Name
			found = found || strings.HasSuffix(name, "clock_gettime")
		}
		if !found {
			t.Error("no clock_gettime in the vDSO")
		}
	}
}

// A Go program keeps its functions when it is stripped.
func TestStrippedGo(t *testing.T) {
	dir := t.TempDir()
	source := "package main\n\nfunc main() { wait() }\n\n//go:noinline\nfunc wait() { select {} }\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600))
	for _, mode := range []string{"exe", "pie"} {
		name := filepath.Join(dir, mode)
		c := exec.Command("go", "build", "-buildmode="+mode, "-ldflags=-s -w", "-o", name, filepath.Join(dir, "main.go"))
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		e, err := elf.Open(name)
		require.NoError(t, err)
		defer e.Close()
		if all, err := e.Symbols(); err == nil && len(all) > 0 {
			t.Fatalf("%s: %d symbols are left", mode, len(all))
		}
		table, err := functions(e, func() table { return nil })
		require.NoError(t, err)
		found := map[string]uint64{}
		for _, f := range table {
			found[f.name] = f.start
		}
		if found["main.wait"] == 0 || found["runtime.goexit"]+found["runtime.goexit.abi0"] == 0 {
			t.Errorf("%s: no main.wait or runtime.goexit among %d functions", mode, len(table))
		}
		if name, _ := table.at(found["main.wait"] + 4); name != "main.wait" {
			t.Errorf("%s: in main.wait is %q", mode, name)
		}
	}
}
