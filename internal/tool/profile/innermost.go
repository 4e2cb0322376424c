package profile

import (
	"strings"

	"iocause/internal/sample"
)

// leaves are how many functions of each half of a stack a row shows.
const (
	kernelLeaves = 1
	userLeaves   = 4
)

// innermost is what is most telling of a stack, on one line: the innermost
// functions of the kernel, the system call, the innermost functions of the
// program.
func innermost(s *sample.Stack) string {
	var parts []string
	kernel, user := 0, 0
	for i := len(s.Frames) - 1; i >= 0 && user < userLeaves; i-- {
		f := s.Frames[i]
		call, isCall := systemCall(f)
		switch {
		case isCall:
			parts = append(parts, call+"()")
		case f.Kernel && kernel < kernelLeaves && !isPassage(f.Name):
			kernel++
			parts = append(parts, f.Name)
		case !f.Kernel && !(f.Note && i == 0 && user > 0) && !isWrapper(f.Name):
			user++
			parts = append(parts, withoutPath(f.Name))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, " < ")
}

// withoutPath is a Go function's name with its package's last element alone.
func withoutPath(name string) string {
	before, _, _ := strings.Cut(name, "[") // of a generic function: paths of types follow
	before, _, _ = strings.Cut(before, "(")
	if at := strings.LastIndexByte(before, '/'); at >= 0 && at < len(before)-1 && !strings.ContainsAny(before, " <>:") {
		return name[at+1:]
	}
	return name
}

// everyFunction is a whole stack on one line, innermost function first.
func everyFunction(s *sample.Stack) string {
	names := make([]string, len(s.Frames))
	for i := range s.Frames {
		names[len(names)-1-i] = s.Frames[i].Name
	}
	return strings.Join(names, " < ")
}

// isWrapper tells functions of Go's own between a program and the kernel.
func isWrapper(name string) bool {
	for _, prefix := range []string{"internal/runtime/syscall/", "syscall.Syscall", "syscall.RawSyscall", "syscall.read", "syscall.write",
		"internal/poll.", "golang.org/x/sys/unix.", "runtime.futex", "runtime.notesleep"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// systemCall is the call that a function of the kernel serves.
func systemCall(f *sample.Frame) (string, bool) {
	if !f.Kernel {
		return "", false
	}
	for _, prefix := range []string{"__x64_sys_", "__arm64_sys_", "__do_sys_", "__se_sys_"} {
		if name, ok := strings.CutPrefix(f.Name, prefix); ok {
			return name, !strings.HasPrefix(prefix, "__do") && !strings.HasPrefix(prefix, "__se")
		}
	}
	return "", false
}

// isPassage tells functions that every entry into the kernel, and every sleep,
// passes.
func isPassage(name string) bool {
	for _, prefix := range []string{"do_syscall_64", "entry_SYSCALL", "x64_sys_call", "el0", "do_el0_svc", "invoke_syscall", "ret_from_fork",
		"kthread", "schedule", "io_schedule", "vfs_", "ksys_", "do_sys", "do_futex", "__futex_wait", "futex_wait"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
