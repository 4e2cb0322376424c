package lab

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// CappedDevice is the environment variable that names a block device whose
// limits are known.
const CappedDevice = "IOCAUSE_CAPPED_DEVICE"

// Requirements are the things that a scenario can require.
func Requirements() []string {
	return []string{"root", "bpf", "memcg", "blkio", "cpucg", "loop", "fuse", "fanotify", "nfs", "fio", "swap", "hostmem", "xfs", "btrfs", "sqlite3",
		"postgresql", "python3", "redis", "rocksdb", "rsync", "stress-ng", "vmtouch", "capped-device"}
}

// Lacks says why a requirement is not met here, "" when it is.
func Lacks(h *host.Host, requirement string) string {
	switch requirement {
	case "root":
		if os.Geteuid() != 0 {
			return "not root"
		}
	case "bpf":
		if _, err := os.Stat(h.Sys("kernel/btf/vmlinux")); err != nil || os.Geteuid() != 0 {
			return "BPF programs need root and a kernel with BTF (/sys/kernel/btf/vmlinux)"
		}
	case "memcg":
		return lacksController(h, "memory", "memory")
	case "blkio":
		return lacksController(h, "blkio", "io")
	case "cpucg":
		return lacksController(h, "cpu", "cpu")
	case "loop":
		if _, err := os.Stat("/dev/loop-control"); err != nil {
			return "no loop devices (/dev/loop-control)"
		}
		return lacksCommand("mkfs.ext4")
	case "fuse":
		if _, err := os.Stat("/dev/fuse"); err != nil {
			return "no file systems of programs (/dev/fuse)"
		}
		return lacksFileSystem(h, "fuse")
	case "fanotify":
		fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY)
		if err != nil {
			return fmt.Sprintf("the kernel asks nobody before files are opened (CONFIG_FANOTIFY_ACCESS_PERMISSIONS, root): %v", err)
		}
		_ = unix.Close(fd)
	case "nfs":
		return lacksFileSystem(h, "nfs")
	case "xfs", "btrfs":
		if why := lacksFileSystem(h, requirement); why != "" {
			return why
		}
		return lacksCommand("mkfs." + requirement)
	case "fio", "python3", "rsync", "sqlite3", "stress-ng", "vmtouch":
		return lacksCommand(requirement)
	case "redis": // its tools are the server too, by another name
		return cmp.Or(lacksCommand("redis-check-rdb"), lacksCommand("redis-benchmark"))
	case "rocksdb":
		return lacksCommand("db_bench")
	case "postgresql": // Debian keeps the server out of the path
		if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); err != nil || len(found) == 0 {
			return "the server of PostgreSQL is not installed (/usr/lib/postgresql)"
		}
	case "swap":
		if _, err := os.Stat(h.Proc("swaps")); err != nil {
			return "the kernel cannot swap"
		}
		return lacksCommand("mkswap")
	case "hostmem":
		// Taking all memory but a little is quick on a small host only, and
		// rude on one that others work on.
		const limit = 64 << 30
		var info unix.Sysinfo_t
		if err := unix.Sysinfo(&info); err != nil {
			return fmt.Sprintf("cannot see the memory: %v", err)
		}
		if _, err := os.Stat(h.Proc("sys/vm/nr_hugepages")); err != nil {
			return "the kernel has no huge pages to hold memory with"
		}
		if info.Totalram*uint64(info.Unit) > limit {
			return "the host has more than 64 GiB of memory to take"
		}
	case "capped-device":
		if os.Getenv(CappedDevice) == "" {
			return CappedDevice + " names no block device with known limits"
		}
	default:
		return "there is no check for " + requirement
	}
	return ""
}

// LacksAny names the first requirement that is not met here, and why; "" when all are.
func LacksAny(h *host.Host, requirements []string) string {
	for _, r := range requirements {
		if lacks := Lacks(h, r); lacks != "" {
			return r + ": " + lacks
		}
	}
	return ""
}

func lacksController(h *host.Host, v1, v2 string) string {
	if os.Geteuid() != 0 {
		return "cgroups with limits need root"
	}
	if _, err := findPlace(h, v1, v2); err != nil {
		return err.Error()
	}
	return ""
}

// lacksFileSystem asks the kernel, which loads a module for a file system when
// it is mounted: only one that has no modules is known to lack it.
func lacksFileSystem(h *host.Host, name string) string {
	known, err := os.ReadFile(h.Proc("filesystems"))
	if err != nil || slices.Contains(strings.Fields(string(known)), name) {
		return ""
	}
	if _, err := os.Stat("/lib/modules"); errors.Is(err, os.ErrNotExist) {
		return "the kernel has no file system " + name
	}
	return ""
}

func lacksCommand(name string) string {
	if _, err := exec.LookPath(name); err != nil {
		return name + " is not installed"
	}
	return ""
}

// Demanded tells whether the environment variable IOCAUSE_REQUIRE insists on
// a requirement: "cgroup" there stands for all controllers.
func Demanded(requirement string) bool {
	if requirement == "memcg" || requirement == "blkio" || requirement == "cpucg" {
		requirement = "cgroup"
	}
	return slices.Contains(strings.Split(os.Getenv("IOCAUSE_REQUIRE"), ","), requirement)
}
