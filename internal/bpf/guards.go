package bpf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// ErrGuarded is that the kernel refuses what the capabilities of this process allow:
// an ErrNotPermitted that says who may have, and what to do about it.
var ErrGuarded = errors.New("refused despite the capabilities")

type refusal struct {
	by  []string // who may have
	err error
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%v (%v): %s", ErrGuarded, r.err, strings.Join(r.by, "; "))
}

func (r *refusal) Is(target error) bool { return target == ErrGuarded || target == ErrNotPermitted }

func (r *refusal) Unwrap() error { return r.err }

// WhyNone says why no program can be loaded at all, and what to do about it; nothing
// where it is not for that that a source did not open.
func WhyNone(err error) string {
	var r *refusal
	if errors.As(err, &r) {
		return "loading BPF programs is " + r.Error()
	}
	for _, why := range []error{ErrNotPermitted, ErrFiles, ErrMemory} {
		if errors.Is(err, why) {
			return why.Error()
		}
	}
	return ""
}

// guards are those who may have refused bpf(2) or perf_event_open(2) to this process
// with an error, each with what to do about it. SELinux says EACCES to these calls, all
// others EPERM, as it does itself where it denies a capability.
func guards(h *host.Host, err error) []string {
	modules := strings.Split(line(h.Sys("kernel/security/lsm")), ",")
	selinux := selinuxRefuses(h, slices.Contains(modules, "selinux"))
	if selinux != "" && errors.Is(err, unix.EACCES) {
		return []string{selinux}
	}
	var all []string
	if ids := strings.Fields(line(h.Proc("self/uid_map"))); len(ids) > 0 && !slices.Equal(ids, []string{"0", "0", "4294967295"}) {
		all = append(all, "they are of a user namespace, as in a rootless container, and do not count here: run it on the host")
	}
	if filtered(h) {
		all = append(all, "a seccomp filter is set, as a container's or a service's: run it on the host, or without (docker: --security-opt seccomp=unconfined)")
	}
	if selinux != "" {
		all = append(all, selinux)
	}
	if apparmor := appArmorRefuses(h, slices.Contains(modules, "apparmor")); apparmor != "" {
		all = append(all, apparmor)
	}
	for _, m := range []string{"bpf", "smack", "tomoyo"} {
		if len(all) == 0 && slices.Contains(modules, m) {
			all = append(all, "the security module "+m+" may: ask whoever set its rules")
		}
	}
	if len(all) == 0 {
		all = append(all, "as in a container: run it on the host")
	}
	return all
}

// line is the first line of a file, empty where it cannot be read.
func line(path string) string {
	b, _ := os.ReadFile(path)
	first, _ := host.Line(b)
	return strings.Trim(string(first), " \t\x00")
}

// selinuxRefuses says what SELinux may refuse to this process: nothing where it only
// notes what it would (permissive), and before it has rules, when every process has the
// context "kernel".
func selinuxRefuses(h *host.Host, there bool) string {
	enforce, context := line(h.Sys("fs/selinux/enforce")), line(h.Proc("self/attr/current"))
	var is string
	switch {
	case enforce == "0" || context == "kernel":
		return ""
	case enforce != "":
		is = "SELinux is enforcing"
	case there: // a container has no /sys/fs/selinux
		is = "SELinux may be enforcing"
	default:
		return ""
	}
	return is + ", this process being " + context + ": allow its type bpf { map_create map_read map_write prog_load prog_run } " +
		"and perf_event { open cpu kernel tracepoint read write } (ausearch -m avc says what was denied), or run it unconfined (docker: --security-opt label=disable)"
}

// appArmorRefuses says the same of AppArmor, whose profiles are by name and mode, as in
// "docker-default (enforce)". Before Linux 5.8 they are where SELinux has its contexts.
func appArmorRefuses(h *host.Host, there bool) string {
	profile := line(h.Proc("self/attr/apparmor/current"))
	if profile == "" && there {
		profile = line(h.Proc("self/attr/current"))
	}
	name, enforced := strings.CutSuffix(profile, " (enforce)")
	if !enforced {
		return ""
	}
	return "AppArmor confines this process by the profile " + name + ": allow it the capabilities bpf and perfmon, or run it unconfined (docker: --security-opt apparmor=unconfined)"
}

// filtered tells that a filter decides on this process's system calls.
func filtered(h *host.Host) bool {
	b, _ := os.ReadFile(h.Proc("self/status"))
	mode, _ := host.StatusField(b, "Seccomp")
	return mode == "2" // SECCOMP_MODE_FILTER
}
