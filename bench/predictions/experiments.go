package main

import (
	"fmt"
	"strconv"
	"time"
)

const mib = 1 << 20

// experiment is a load, predicted at one limit and measured at others.
type experiment struct {
	Name     string
	Loads    [][]string // flags of runLoad, one for each program; or
	Program  *program   // another program
	Pages    int        // of the file that Loads read
	Limit    int64      // bytes: where it is predicted
	Factors  []float64  // the others, of that
	Mixed    bool       // random reads are read ahead of, or calls read parts of pages: /proc/PID/io does not tell hits
	Unstable string     // why the load itself is not the same all the time; "" where it is
	Guest    bool       // of the machines of test/vm: slow, so that all takes longer
}

// slower is by how much longer everything is watched.
func (e *experiment) slower(d time.Duration) time.Duration {
	if e.Guest {
		return 2 * d
	}
	return d
}

// guestExperiments are those for a machine of test/vm, where a disk gives some
// thousand pages a second: smaller, so that the caches turn over in time. The limit is
// lowered last: MGLRU forgets then what it has kept.
func guestExperiments(lists string) []experiment {
	const m = mib / pageSize
	p := func(mibs int) string { return strconv.Itoa(mibs * m) }
	factors := []float64{1.5, 2, 4, 0.5}
	var all []experiment
	add := func(name string, limit int64, mibs int, loads ...[]string) {
		all = append(all, experiment{Name: lists + ": " + name, Loads: loads, Pages: mibs * m, Limit: limit * mib, Factors: factors, Guest: true})
	}
	load := func(pattern string, mibs int, more ...string) []string {
		return append([]string{"-pattern", pattern, "-pages", p(mibs)}, more...)
	}
	add("uniform 64 MiB", 32, 64, load("uniform", 64))
	for _, skew := range []string{"0.6", "0.9", "1.2"} {
		add("zipf "+skew+" 200 MiB", 32, 200, load("zipf", 200, "-skew", skew))
	}
	add("loop 75 MiB", 32, 75, load("loop", 75, "-threads", "1", "-request", "4", "-read-ahead"))
	add("zipf 1.0 75 MiB and scan 100 MiB", 32, 175, load("mix", 75, "-skew", "1.0", "-scan", p(100), "-every", "4"))
	add("uniform 25 MiB and scan 75 MiB", 32, 100, load("mix", 25, "-skew", "0.0", "-scan", p(75), "-every", "3"))
	add("uniform 40 MiB that moves on through 200 MiB", 32, 200, load("shift", 200, "-hot", p(40), "-step", "64"))
	all[len(all)-1].Unstable = "what it reads moves on"
	add("two programs: uniform 30 MiB, zipf 0.9 100 MiB", 40, 130, load("uniform", 30, "-threads", "2"), load("zipf", 100, "-first", p(30), "-skew", "0.9", "-threads", "2"))
	add("two programs: zipf 1.0 75 MiB, loop 50 MiB", 40, 125, load("zipf", 75, "-skew", "1.0", "-threads", "2"), load("loop", 50, "-first", p(75), "-threads", "1", "-request", "4", "-read-ahead"))
	add("reads of 50 MiB beside 20 MiB through a mapping", 40, 70, load("uniform", 50), load("uniform", 20, "-first", p(50), "-mapped", "-threads", "1"))
	for _, x := range guestPrograms() {
		all = append(all, experiment{Name: lists + ": " + x.name, Program: &x, Limit: x.limit, Factors: factors, Mixed: true, Guest: true})
	}
	return all
}

// experiments are all. Programs take some 5 to 50 MiB of each limit, beside the cache.
func experiments() []experiment {
	const m = mib / pageSize // pages of a MiB
	p := func(mibs int) string { return strconv.Itoa(mibs * m) }
	factors := []float64{0.5, 1.5, 2, 4}
	var all []experiment
	add := func(name string, limit int64, mibs int, loads ...[]string) {
		all = append(all, experiment{Name: name, Loads: loads, Pages: mibs * m, Limit: limit * mib, Factors: factors})
	}
	last := func() *experiment { return &all[len(all)-1] }
	load := func(pattern string, mibs int, more ...string) []string {
		return append([]string{"-pattern", pattern, "-pages", p(mibs)}, more...)
	}
	add("uniform 128 MiB", 64, 128, load("uniform", 128))
	add("uniform 300 MiB", 80, 300, load("uniform", 300))
	add("uniform 128 MiB with read-ahead", 64, 128, load("uniform", 128, "-read-ahead"))
	last().Mixed = true
	for _, skew := range []string{"0.6", "0.9", "1.2"} {
		add("zipf "+skew+" 400 MiB", 64, 400, load("zipf", 400, "-skew", skew))
	}
	add("zipf 0.9 of 16 KiB 400 MiB", 64, 400, load("zipf", 400, "-skew", "0.9", "-request", "4"))
	add("zipf 1.0 400 MiB with read-ahead", 64, 400, load("zipf", 400, "-skew", "1.0", "-read-ahead"))
	last().Mixed = true
	add("loop 80 MiB", 64, 80, load("loop", 80, "-threads", "1", "-request", "4", "-read-ahead"))
	last().Factors = []float64{0.5, 0.75, 1.5, 2, 4}
	add("loop 150 MiB", 64, 150, load("loop", 150, "-threads", "1", "-request", "16", "-read-ahead"))
	add("two loops of 60 MiB by turns", 64, 120, load("loop", 60, "-threads", "1", "-request", "4", "-read-ahead"), load("loop", 60, "-first", p(60), "-threads", "1", "-request", "4", "-read-ahead"))
	add("zipf 1.0 150 MiB and scan 200 MiB", 64, 350, load("mix", 150, "-skew", "1.0", "-scan", p(200), "-every", "4"))
	add("zipf 0.8 100 MiB and scan 100 MiB", 80, 200, load("mix", 100, "-skew", "0.8", "-scan", p(100), "-every", "2"))
	add("uniform 50 MiB and scan 150 MiB", 64, 200, load("mix", 50, "-skew", "0.0", "-scan", p(150), "-every", "3"))
	add("uniform 80 MiB that moves on through 400 MiB", 64, 400, load("shift", 400, "-hot", p(80), "-step", "64"))
	last().Unstable = "what it reads moves on"
	add("uniform 80 MiB that jumps every 7 s", 64, 400, load("shift", 400, "-hot", p(80), "-every-seconds", "7"))
	last().Unstable = "what it reads changes every 7 s"
	add("two programs: uniform 60 MiB, zipf 0.9 200 MiB", 80, 260, load("uniform", 60, "-threads", "2"), load("zipf", 200, "-first", p(60), "-skew", "0.9", "-threads", "2"))
	add("two programs: zipf 1.0 150 MiB, loop 100 MiB", 80, 250, load("zipf", 150, "-skew", "1.0", "-threads", "2"), load("loop", 100, "-first", p(150), "-threads", "1", "-request", "4", "-read-ahead"))
	add("reads of 100 MiB beside 40 MiB through a mapping", 80, 140, load("uniform", 100), load("uniform", 40, "-first", p(100), "-mapped", "-threads", "1"))
	// for speeds, on a quiet machine
	add("uniform 256 MiB", 128, 256, load("uniform", 256))
	add("zipf 1.0 800 MiB", 128, 800, load("zipf", 800, "-skew", "1.0"))
	add("loop 160 MiB", 128, 160, load("loop", 160, "-threads", "1", "-request", "4", "-read-ahead"))
	add("zipf 0.8 800 MiB", 128, 800, load("zipf", 800, "-skew", "0.8"))
	add("zipf 1.0 300 MiB and scan 400 MiB", 128, 700, load("mix", 300, "-skew", "1.0", "-scan", p(400), "-every", "4"))
	for _, x := range programs() {
		all = append(all, experiment{Name: x.name, Program: &x, Limit: x.limit, Factors: factors, Mixed: true, Unstable: x.unstable})
	}
	return all
}

// program is a load that others wrote.
type program struct {
	name     string
	limit    int64
	setup    string // shell, in an empty directory
	run      string // shell, in that directory, until it is killed
	unstable string // why it is not the same all the time
}

// programs are all. They need pgbench and a server of PostgreSQL, sqlite3, db_bench
// (rocksdb-tools), tar, rsync and grep, as Debian has them.
func programs() []program {
	const postgres = `export PATH=$(echo /usr/lib/postgresql/*/bin):$PATH PGHOST=$PWD
`
	cluster := func(scale int) string {
		return postgres + fmt.Sprintf(`chown postgres . && setpriv --reuid postgres --clear-groups initdb -D data -A trust >/dev/null
cat >> data/postgresql.conf <<X
shared_buffers = 8MB
max_connections = 20
listen_addresses = ''
unix_socket_directories = '$PWD'
synchronous_commit = off
checkpoint_timeout = 30min
autovacuum = off
X
setpriv --reuid postgres --clear-groups pg_ctl -w -D data start >/dev/null
setpriv --reuid postgres --clear-groups pgbench -q -i -s %d postgres 2>/dev/null >/dev/null
setpriv --reuid postgres --clear-groups psql -qc checkpoint postgres
setpriv --reuid postgres --clear-groups pg_ctl -w -D data stop >/dev/null`, scale)
	}
	pgbench := func(flags string) string {
		return postgres + `setpriv --reuid postgres --clear-groups postgres -D data & sleep 2
setpriv --reuid postgres --clear-groups pgbench -n -c 4 -T 1000 -M prepared ` + flags + ` postgres >/dev/null 2>&1`
	}
	const rocks = `db_bench --db=db --num=300000 --value_size=1000 --compression_type=none --cache_size=1048576 --max_background_jobs=2 --disable_wal `
	return []program{
		{name: "PostgreSQL, pgbench -S, 300 MiB", limit: 112 * mib, setup: cluster(20), run: pgbench("-S")},
		{name: "PostgreSQL, pgbench -N, 150 MiB", limit: 96 * mib, setup: cluster(10), run: pgbench("-N"), unstable: "its tables grow"},
		{name: "SQLite, rows at random, 170 MiB", limit: 64 * mib, setup: table(250000), run: sqlite(evenly(250000))},
		{name: "SQLite, rows with a skew, 170 MiB", limit: 64 * mib, setup: table(250000), run: sqlite(skewed(500))},
		{name: "RocksDB, readrandom, 300 MiB", limit: 112 * mib, setup: rocks + "--benchmarks=fillrandom,compact >/dev/null 2>&1; sync", run: rocks + "--use_existing_db --benchmarks=readrandom --threads=3 --duration=1000 >/dev/null 2>&1"},
		{name: "RocksDB, readrandom with a skew, 300 MiB", limit: 112 * mib, setup: rocks + "--benchmarks=fillrandom,compact >/dev/null 2>&1; sync", run: rocks + "--use_existing_db --benchmarks=readrandom --read_random_exp_range=12 --threads=3 --duration=1000 >/dev/null 2>&1"},
		{name: "grep -r, 4,000 small files, 96 MiB, over and over", limit: 80 * mib, setup: tree(100), run: "while :; do grep -rc nothing-like-this tree >/dev/null; done"},
		{name: "tar, 4,000 small files, 96 MiB, over and over", limit: 80 * mib, setup: tree(100), run: "while :; do tar cf - tree | cat >/dev/null; done"},
		{name: "rsync --checksum, two trees of 4,000 small files, 192 MiB, over and over", limit: 80 * mib, setup: tree(100) + "; cp -a tree copy; sync", run: "while :; do rsync -rcn tree/ copy/ >/dev/null; done"},
	}
}

// guestPrograms are the smaller ones for a machine of test/vm.
func guestPrograms() []program {
	return []program{
		{name: "SQLite, rows at random, 55 MiB", limit: 32 * mib, setup: table(80000), run: sqlite(evenly(80000))},
		{name: "SQLite, rows with a skew, 55 MiB", limit: 32 * mib, setup: table(80000), run: sqlite(skewed(283))},
		{name: "grep -r, 1,600 small files, 38 MiB, over and over", limit: 32 * mib, setup: tree(40), run: "while :; do grep -rc nothing-like-this tree >/dev/null; done"},
		{name: "tar, 1,600 small files, 38 MiB, over and over", limit: 32 * mib, setup: tree(40), run: "while :; do tar cf - tree | cat >/dev/null; done"},
	}
}

// tree makes so many folders of 40 files of 4 to 43 KiB.
func tree(folders int) string {
	return fmt.Sprintf(`for d in $(seq %d); do mkdir -p tree/$d; for f in $(seq 40); do head -c $((1024 * (4 + (d * f) %% 40))) /dev/urandom > tree/$d/$f; done; done; sync`, folders)
}

// table makes one of so many rows of 600 bytes.
func table(rows int) string {
	return fmt.Sprintf(`sqlite3 db "PRAGMA journal_mode=off; CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB); WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c WHERE x<%d) INSERT INTO t SELECT x, randomblob(600) FROM c;" >/dev/null; sync`, rows)
}

// sqlite has three processes look rows up, one after the other.
func sqlite(id string) string {
	return "for i in 1 2 3; do " + lookUp(id) + " & done; wait"
}

// lookUp is one of them.
func lookUp(id string) string {
	const rows = `PRAGMA cache_size=-512; WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c WHERE x<1000000000) SELECT sum((SELECT length(v) FROM t WHERE id=%s)) FROM c;`
	return fmt.Sprintf("sqlite3 db \"%s\" >/dev/null", fmt.Sprintf(rows, id))
}

// evenly is a row's number, each of so many as likely as any other.
func evenly(rows int) string { return fmt.Sprintf("1 + abs(random() / 2 + x) %% %d", rows) }

// skewed is a product of two numbers of up to so much.
func skewed(root int) string {
	return fmt.Sprintf("1 + (abs(random() / 2 + x) %% %d) * (abs(random()) %% %d)", root, root)
}
