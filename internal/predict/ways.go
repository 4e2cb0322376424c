package predict

import "fmt"

// Way is a way to keep in the cache what is read from disk again and again, other than
// a change of the memory: what to do, and what it costs.
type Way struct{ Do, Price string }

// Bound keeps another program's data out; brings is its share of what comes in, hits
// what it finds in the cache now of what it asks for, both as texts.
func Bound(comm string, pid int, brings, hits string) Way {
	price := "not known: no reads of it were seen"
	if hits != "" {
		price = fmt.Sprintf("it then reads from disk what it finds in the cache now, %s of what it asks for", hits)
	}
	return Way{fmt.Sprintf("keep what %s (pid %d) reads out of the cache (%s of what comes in): a memory cgroup of its own with a small limit; or in the program POSIX_FADV_DONTNEED behind its reads, POSIX_FADV_NOREUSE, or O_DIRECT", comm, pid, brings), price}
}

// Lock pins a file of such a size, as a text.
func Lock(path, size string) Way {
	return Way{fmt.Sprintf("lock %s in memory (vmtouch -dl, or mlock of a mapping)", path), size + " that nothing else can use"}
}

// LessAhead reads less ahead, of which such a share, as a text, is not used.
func LessAhead(unused string) Way {
	return Way{fmt.Sprintf("read less ahead (POSIX_FADV_RANDOM in the program, or read_ahead_kb of the device): %s of the pages from disk are not used, and take room in the cache", unused), "sequential readers become slower"}
}

// Past reads past the cache, whose bytes, as a text, others can then have; then is what
// becomes of the reads.
func Past(cache, then string) Way {
	return Way{fmt.Sprintf("read past the cache (O_DIRECT): %s of it are then free for others", cache), then}
}

// Swap raises vm.swappiness.
func Swap() Way {
	return Way{"raise vm.swappiness: programs' memory is swapped out rather than files dropped", "programs wait for what was swapped out"}
}

// DropInodes raises vm.vfs_cache_pressure.
func DropInodes() Way {
	return Way{"raise vm.vfs_cache_pressure: inodes and directories are dropped rather than files", "opening files and listing directories reads from disk again"}
}

// KeepLessFree lowers vm.min_free_kbytes.
func KeepLessFree(to uint64) Way {
	return Way{fmt.Sprintf("lower vm.min_free_kbytes to %d, the kernel's own choice for this memory: less is kept free", to), "the network and programs that need memory at once wait for reclaim more often"}
}
