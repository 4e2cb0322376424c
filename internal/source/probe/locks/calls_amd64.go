package locks

import "golang.org/x/sys/unix"

// oldCallNames are calls that only x86-64 still has: other machines have those with
// a directory ("at") alone.
func oldCallNames() map[int]string {
	return map[int]string{
		unix.SYS_OPEN: "open", unix.SYS_CREAT: "creat", unix.SYS_UNLINK: "unlink", unix.SYS_RENAME: "rename",
		unix.SYS_MKDIR: "mkdir", unix.SYS_RMDIR: "rmdir", unix.SYS_LINK: "link", unix.SYS_SYMLINK: "symlink",
		unix.SYS_STAT: "stat", unix.SYS_LSTAT: "lstat", unix.SYS_ACCESS: "access", unix.SYS_GETDENTS: "getdents",
	}
}
