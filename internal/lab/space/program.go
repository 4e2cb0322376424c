package space

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/lab/load"
	"iocause/internal/lab/prove"
)

// program is one that is installed, or not, and what it can do.
type program struct {
	name      string
	needs     []string // commands
	works     []Work
	later     []Work // drawn in the second space, too
	threads   int    // most; 0: always one
	processes int    // most
	thinks    bool   // it can pause between two calls
	files     layout
	comms     []string // that its processes go by
	// start is the command lines of its processes, and how what they print is read.
	start func(st *Standing, v variant) ([]launch, error)
	// quiet makes what is running not sync any more; nil where it must be started again.
	live func(st *Standing, on bool) error
}

// layout is what is made for it before it starts.
type layout int

const (
	nothing layout = iota
	oneFile        // of Size
	folders        // of small files, Size together
)

// launch is one process of a program.
type launch struct {
	argv   []string
	read   func(string) (float64, bool) // what it prints; nil: nothing of work
	server bool                         // the work is that of its clients
	chars  bool                         // its work is what it passes to write calls, in bytes
	env    []string
}

// variant is how a program is started otherwise than it was drawn.
type variant struct {
	noSync   bool
	buffered bool
	wider    int  // times as many requests in flight; 0: as drawn
	larger   int  // times as many bytes a call
	apart    bool // a process for each thread, with a file of its own where it writes; databases: a directory for each
}

// programs is the list; a new program is one more row, which the seeds that were scored
// must not draw (see second).
func programs() []program {
	file := []Work{ReadRand, ReadSeq, Commit, Compute}
	own := program{name: "own", works: []Work{ReadRand, ReadSeq, MapRand, Direct, Ring, DirectWrite, Commit, Write, Small, Compute},
		later: []Work{RingCached}, threads: 200, processes: 4, thinks: true, files: oneFile, comms: []string{"victim"}, start: startOwn}
	return []program{
		own,
		{name: "fio", needs: []string{"fio"}, works: []Work{ReadRand, Direct, Ring, Commit, MapRand}, later: []Work{RingCached}, threads: 16, files: oneFile, comms: []string{"fio"}, start: startFio},
		{name: "python", works: append([]Work{MapRand, Write}, file...), threads: 100, processes: 500, thinks: true, files: oneFile, comms: []string{"python3", "python3.11"}, start: startPython},
		{name: "node", needs: []string{"node"}, works: file, threads: 16, thinks: true, files: oneFile, comms: []string{"node", "MainThread", "libuv-worker"}, start: startNode},
		{name: "sqlite", works: []Work{Commit}, processes: 50, thinks: true, comms: []string{"python3", "python3.11"}, start: startPython},
		{name: "rocksdb", needs: []string{"db_bench"}, works: []Work{Commit, Write}, threads: 8, comms: []string{"db_bench"}, start: startRocksDB},
		{name: "postgresql", works: []Work{Commit}, threads: 16, comms: []string{"postgres"}, start: startPostgres, live: quietPostgres},
		{name: "mariadb", needs: []string{"mariadbd", "mariadb", "mariadb-install-db"}, works: []Work{Commit}, threads: 16, comms: []string{"mariadbd"}, start: startMariaDB, live: quietMariaDB},
		{name: "redis", needs: []string{"redis-server"}, works: []Work{Commit, Cached}, threads: 16, comms: []string{"redis-server"}, start: startRedis},
		{name: "etcd", needs: []string{"etcd"}, works: []Work{Commit}, threads: 16, comms: []string{"etcd"}, start: startEtcd},
		{name: "nginx", needs: []string{"nginx"}, works: []Work{Tree, Cached}, threads: 16, files: folders, comms: []string{"nginx"}, start: startNginx},
		{name: "tar", needs: []string{"tar"}, works: []Work{Tree}, threads: 8, files: folders, comms: []string{"tar"}, start: startEach("tar", "cf", "-", "{}")},
		{name: "grep", needs: []string{"grep"}, works: []Work{Tree}, threads: 8, files: folders, comms: []string{"grep"}, start: startEach("grep", "-r", "nothing like this", "{}")},
		{name: "rsync", needs: []string{"rsync"}, works: []Work{Tree}, threads: 4, files: folders, comms: []string{"rsync"}, start: startEach("rsync", "-rcn", "{}", "/var/empty-lab")},
		{name: "git", needs: []string{"git"}, works: []Work{Tree}, threads: 4, files: folders, comms: []string{"git"}, start: startEach("git", "grep", "--no-index", "-c", "nothing like this", "--", "{}")},
		{name: "sha256sum", needs: []string{"sha256sum", "sh"}, works: []Work{Tree}, threads: 16, files: folders, comms: []string{"sha256sum"}, start: startEach("sh", "-c", "exec sha256sum {}/*")},
		{name: "lmdb", needs: []string{"mdb_dump", "mdb_load"}, works: []Work{Tree}, threads: 4, files: folders, comms: []string{"mdb_dump"}, start: startLMDB},
		{name: "java", needs: []string{"java", "javac"}, works: file, threads: 64, thinks: true, files: oneFile, comms: []string{"java"}, start: startJava},
	}
}

func lookup(name string) *program {
	for _, p := range programs() {
		if p.name == name {
			return &p
		}
	}
	return nil
}

// Lacks says what of the program is not installed here, "" when all is.
func (s *Situation) Lacks() string {
	p := lookup(s.Program)
	for _, c := range append(slices.Clone(p.needs), "python3") {
		if _, err := exec.LookPath(c); err != nil {
			return c + " is not installed"
		}
	}
	if s.Plant == Shared && runtime.NumCPU() < 2 {
		return "there is one processor only"
	}
	if s.Program == "postgresql" && postgresBin() == "" {
		return "the server of PostgreSQL is not installed"
	}
	if fs := strings.Replace(s.FS, "overlay", "ext4", 1); fs != "tmpfs" {
		if _, err := exec.LookPath("mkfs." + fs); err != nil {
			return "mkfs." + fs + " is not installed"
		}
	}
	return ""
}

// startOwn is iocause lab load.
func startOwn(st *Standing, v variant) ([]launch, error) {
	s := st.Situation
	spec := load.Spec{Path: st.data(), BlockSize: load.Size(s.Block), Threads: s.Threads, Think: s.Think, Comm: "victim", Tell: 1, Seed: s.Seed + 1}
	switch s.Work {
	case ReadRand:
		spec.Kind = "randread"
	case ReadSeq:
		spec.Kind, spec.Passes = "read", 1<<30
	case MapRand:
		spec.Kind, spec.Advice = "mmap-rand", "random"
	case Direct:
		spec.Kind, spec.Direct = "randread", true
	case Ring, RingCached:
		spec.Kind, spec.Direct, spec.Depth, spec.Think = "io_uring", s.Work == Ring, 4, 0
		spec.Threads = min(spec.Threads, 16)
	case DirectWrite:
		spec.Kind, spec.Direct = "randwrite", true
	case Commit:
		spec.Kind, spec.SyncEvery = "randwrite", 1
	case Write:
		spec.Kind = "randwrite"
	case Small:
		spec.Kind, spec.Passes = "small", 1<<30
	case Compute:
		spec.Kind, spec.Path = "spin", ""
	}
	if v.noSync {
		spec.SyncEvery = 0
	}
	spec.Direct = spec.Direct && !v.buffered
	spec.Threads *= max(1, v.wider)
	spec.BlockSize *= load.Size(max(1, v.larger))
	processes := s.Processes
	if v.apart {
		processes, spec.Threads = processes*spec.Threads, 1
	}
	var all []launch
	for i := range processes {
		if v.apart && (s.Work == Write || s.Work == Commit) {
			spec.Path = fmt.Sprintf("%s.%d", st.data(), i)
			if err := st.atFullSpeed(func() error { return load.Create(spec.Path, max(4<<20, s.Size/int64(processes)&^(1<<20-1))) }); err != nil {
				return nil, err
			}
		}
		all = append(all, launch{argv: st.load(spec), read: prove.Number})
	}
	return all, nil
}

// startFio is fio, which prints what it has done so far, in KiB.
func startFio(st *Standing, v variant) ([]launch, error) {
	s := st.Situation
	engine, rw := "psync", "randread"
	var more []string
	switch s.Work {
	case MapRand:
		engine = "mmap"
	case Direct:
		more = append(more, "--direct=1")
	case Ring, RingCached:
		engine, more = "io_uring", append(more, "--iodepth="+strconv.Itoa(4*max(1, v.wider)))
		if s.Work == Ring {
			more = append(more, "--direct=1")
		}
	case Commit:
		rw = "randwrite"
		if !v.noSync {
			more = append(more, "--fdatasync=1")
		}
	}
	if v.buffered {
		more = slices.DeleteFunc(more, func(a string) bool { return a == "--direct=1" })
	}
	jobs := s.Threads
	if s.Work != Ring && s.Work != RingCached {
		jobs *= max(1, v.wider)
	}
	argv := append([]string{"fio", "--name=job", "--filename=" + st.data(), "--size=" + strconv.FormatInt(s.Size, 10), "--rw=" + rw,
		"--ioengine=" + engine, "--bs=" + strconv.FormatInt(max(s.Block, 4096), 10), "--thread", "--numjobs=" + strconv.Itoa(jobs), "--group_reporting",
		"--invalidate=0", "--randrepeat=0", "--time_based", "--runtime=600", "--norandommap", "--minimal", "--status-interval=200ms"}, more...)
	before := 0.0
	return []launch{{argv: argv, read: func(line string) (float64, bool) {
		f := strings.Split(line, ";")
		if len(f) < 50 {
			return 0, false
		}
		read, err1 := strconv.ParseFloat(f[5], 64)
		written, err2 := strconv.ParseFloat(f[46], 64)
		if err1 != nil || err2 != nil {
			return 0, false
		}
		done := read + written - before
		before += done
		return done, true
	}}}, nil
}

// python is the interpreter itself, not what chooses one.
func python() string {
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		return "/usr/bin/python3"
	}
	return "python3"
}

// drive is the command line of drive.py.
func (st *Standing) drive(work string, threads int, more ...string) []string {
	return append([]string{python(), st.script("drive.py"), work, "--threads=" + strconv.Itoa(threads)}, more...)
}

func startPython(st *Standing, v variant) ([]launch, error) {
	s := st.Situation
	work := strings.ReplaceAll(string(s.Work), "-", "_")
	if s.Program == "sqlite" {
		work = "sqlite"
	}
	threads, processes := s.Threads*max(1, v.wider), s.Processes
	if v.apart && s.Program != "sqlite" {
		threads, processes = 1, threads*processes
	}
	argv := st.drive(work, threads, "--path="+st.data(), "--processes="+strconv.Itoa(processes),
		"--size="+strconv.FormatInt(s.Size, 10), "--bs="+strconv.FormatInt(s.Block, 10), fmt.Sprintf("--think=%g", s.Think.Seconds()))
	if v.noSync {
		argv = append(argv, "--nosync")
	}
	if v.apart && s.Program == "sqlite" {
		argv = append(argv, "--folders")
	}
	return []launch{{argv: argv, read: prove.Number}}, nil
}

func startNode(st *Standing, v variant) ([]launch, error) {
	s := st.Situation
	return []launch{{argv: []string{"node", st.script("drive.js"), string(s.Work), st.data(), strconv.FormatInt(s.Size, 10), strconv.FormatInt(s.Block, 10),
		strconv.Itoa(s.Threads * max(1, v.wider)), map[bool]string{true: "1", false: "0"}[v.noSync], strconv.FormatInt(s.Think.Milliseconds(), 10)}, read: prove.Number}}, nil
}

// startJava compiles the program when it is started for the first time. The options
// keep the heap and its collector small beside what the data takes.
func startJava(st *Standing, v variant) ([]launch, error) {
	s := st.Situation
	if _, err := os.Stat(st.script("Drive.class")); err != nil {
		if out, err := exec.Command("javac", "-d", st.env.Scratch(), st.script("Drive.java")).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("compile Drive.java: %w: %s", err, out)
		}
	}
	return []launch{{argv: []string{"java", "-Xmx32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", st.env.Scratch(), "Drive",
		string(s.Work), st.data(), strconv.FormatInt(s.Size, 10), strconv.FormatInt(s.Block, 10),
		strconv.Itoa(s.Threads * max(1, v.wider)), map[bool]string{true: "1", false: "0"}[v.noSync], strconv.FormatInt(s.Think.Milliseconds(), 10)}, read: prove.Number}}, nil
}

// startEach runs a program on each folder of the data, one process after another.
func startEach(argv ...string) func(*Standing, variant) ([]launch, error) {
	return func(st *Standing, v variant) ([]launch, error) {
		full := append(st.drive("spawn", st.Situation.Threads*max(1, v.wider), "--path="+st.data(), "--"), argv...)
		return []launch{{argv: full, read: prove.Number}}, nil
	}
}

// startLMDB dumps databases that were loaded before.
func startLMDB(st *Standing, v variant) ([]launch, error) {
	return startEach("mdb_dump", "-n", "{}/db")(st, v)
}

func postgresBin() string {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}
