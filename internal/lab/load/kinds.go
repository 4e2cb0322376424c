package load

// kind is one row of the table of what the generator can do.
type kind struct {
	name      Kind
	help      string
	blockSize Size
	order     Order
	file      bool // works on a file
	direct    bool // O_DIRECT: never touches the page cache
	write     bool // opens for writing
	grow      bool // makes its file by writing it
	mapped    bool // through mmap
	memory    bool // works on anonymous memory of --size
	ring      bool // through an io_uring
	permit    bool // answers the kernel, which asks before the file is opened
	mixed     bool // some calls read and some write
	step      step
}

// step makes one call (or touches what one call would) at an offset of the
// region and says how many bytes it covered.
type step func(w *worker, off, length int64) (int64, error)

// kinds is the list; a new kind is one more line.
func kinds() []kind {
	return []kind{
		{name: "read", help: "sequential pread", blockSize: 128 << 10, order: Sequential, file: true, step: pread},
		{name: "small", help: "sequential pread of a few bytes", blockSize: 1000, order: Sequential, file: true, step: pread},
		{name: "randread", help: "random pread", blockSize: 8 << 10, order: Random, file: true, step: pread},
		{name: "clustered", help: "a random position, then a run of small preads", blockSize: 4 << 10, order: Clustered, file: true, step: pread},
		{name: "preadv2", help: "random preadv2", blockSize: 8 << 10, order: Random, file: true, step: preadv2},
		{name: "direct", help: "random O_DIRECT pread", blockSize: 4 << 10, order: Random, file: true, direct: true, step: pread},
		{name: "io_uring", help: "random reads through an io_uring, --depth of them in flight", blockSize: 4 << 10, order: Random, file: true, ring: true},
		{name: "reopen", help: "open, random pread, close", blockSize: 4 << 10, order: Random, file: true, step: reopen},
		{name: "permit", help: "let others open the file, each time after --think (fanotify)", blockSize: 4 << 10, order: Random, file: true, permit: true},
		{name: "sendfile", help: "sequential sendfile to /dev/null", blockSize: 128 << 10, order: Sequential, file: true, step: sendfile},
		{name: "splice", help: "sequential splice through a pipe to /dev/null", blockSize: 128 << 10, order: Sequential, file: true, step: splice},
		{name: "copy_file_range", help: "sequential copy to --to", blockSize: 1 << 20, order: Sequential, file: true, step: copyFileRange},
		{name: "mmap-seq", help: "read a mapped file in sequence", blockSize: 4 << 10, order: Sequential, file: true, mapped: true, step: touchRead},
		{name: "mmap-rand", help: "read random pages of a mapped file", blockSize: 4 << 10, order: Random, file: true, mapped: true, step: touchRead},
		{name: "mmap-write", help: "change random pages of a mapped file", blockSize: 4 << 10, order: Random, file: true, write: true, mapped: true, step: touchWrite},
		{name: "remap", help: "map a block, read it, unmap it, and so on in sequence", blockSize: 64 << 10, order: Sequential, file: true, step: remap},
		{name: "write", help: "sequential pwrite", blockSize: 128 << 10, order: Sequential, file: true, write: true, grow: true, step: pwrite},
		{name: "randwrite", help: "random pwrite", blockSize: 8 << 10, order: Random, file: true, write: true, step: pwrite},
		{name: "rmw", help: "random pread, then pwrite of the same block", blockSize: 8 << 10, order: Random, file: true, write: true, step: readModifyWrite},
		{name: "mixed", help: "random pread, or, --writes of a hundred times, pwrite", blockSize: 8 << 10, order: Random, file: true, write: true, mixed: true, step: mixed},
		{name: "direct-write", help: "random O_DIRECT pwrite", blockSize: 4 << 10, order: Random, file: true, direct: true, write: true, step: pwrite},
		{name: "anon", help: "write to anonymous memory, page by page", blockSize: 4 << 10, order: Sequential, memory: true, step: touchWrite},
		{name: "eat", help: "take and keep memory: --size, or all but --leave", blockSize: 64 << 20, order: Sequential, memory: true, step: nil},
		{name: "turns", help: "threads in turn hold a lock of the program for 1 ms", blockSize: 4 << 10, order: Random, step: takeTurn},
		{name: "spin", help: "compute, with one pread a step when --path is given", blockSize: 4 << 10, order: Random, step: spin},
	}
}

func lookup(name Kind) *kind {
	for _, k := range kinds() {
		if k.name == name {
			return &k
		}
	}
	return nil
}

// KindNames lists the kinds in the order of the help text.
func KindNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, string(k.name))
	}
	return names
}

// KindHelp says in one line what a kind does, "" when there is no such kind.
func KindHelp(name Kind) string {
	if k := lookup(name); k != nil {
		return k.help
	}
	return ""
}
