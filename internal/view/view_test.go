package view

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
	"iocause/internal/table"
)

var (
	begin = time.Unix(1700000000, 0)
	big   = sample.FileID{Dev: 8 << 20, Ino: 11}
	hot   = sample.FileID{Dev: 8 << 20, Ino: 12}
)

// window is two seconds in which a backup (1) pushed out what a database (2)
// then had to read again.
func window() *sample.Window {
	r := sample.NewRecorder(begin)
	r.At(begin.Add(2 * time.Second))
	put := func(m sample.Metric, pid int, file sample.FileID, v float64) {
		r.Put(m, sample.Entity{PID: pid, File: file}, v, "test")
		r.Put(m, sample.Entity{PID: pid}, v, "test")
	}
	put(sample.CacheAccesses, 1, big, 1000)
	put(sample.CacheMisses, 1, big, 1000)
	put(sample.CacheInserted, 1, big, 1100)
	put(sample.CacheWasted, 1, big, 100)
	put(sample.CacheEvicted, 1, hot, 500)
	put(sample.CacheAccesses, 2, hot, 2000)
	put(sample.CacheMisses, 2, hot, 500)
	put(sample.CacheInserted, 2, hot, 500)
	put(sample.CacheReread, 2, hot, 400)
	put(sample.CacheWait, 2, hot, 1)
	put(sample.CacheSlow, 2, hot, 3)
	r.Put(sample.CacheLongest, sample.Entity{PID: 2, File: hot}, .25, "test")
	var all sample.Entity
	r.Put(sample.CacheAccesses, all, 3000, "test")
	r.Put(sample.CacheMisses, all, 1500, "test")
	r.Put(sample.CacheInserted, all, 2000, "test")
	r.PutProcess(1, sample.Process{Comm: "backup", MemoryCgroup: "/batch/night", IOCgroup: "/batch/night"})
	r.PutProcess(2, sample.Process{Comm: "database", MemoryCgroup: "/db", IOCgroup: "/db"})
	r.PutFile(big, sample.File{Path: "/data/big.tar", Size: 1 << 30, Device: "sda"})
	r.PutFile(hot, sample.File{Path: "/var/lib/db/hot.ibd", Size: 1 << 20, Device: "sdb"})

	for _, c := range []struct {
		pid                   int
		cgroup                string
		ops, bytes, in, queue float64
	}{{1, "", 10, 40960, 3, 1}, {2, "", 30, 122880, 1, 0}, {0, "/db", 30, 122880, 1, 0}, {0, "", 40, 163840, 4, 1}} {
		e := sample.Entity{PID: c.pid, Cgroup: c.cgroup, Device: "sda", Class: "read"}
		r.Put(sample.BlockOps, e, c.ops, "test")
		r.Put(sample.BlockBytes, e, c.bytes, "test")
		r.Put(sample.BlockDeviceTime, e, c.in, "test")
		r.Put(sample.BlockQueueTime, e, c.queue, "test")
		r.Put(sample.BlockSequential, e, c.ops/2, "test")
	}
	sda := sample.Entity{Device: "sda"}
	r.Put(sample.DiskReads, sda, 40, "test")
	r.Put(sample.DiskReadTime, sda, 6, "test")
	r.Put(sample.DiskWeighted, sda, 8, "test")
	r.Put(sample.DiskBusy, sda, 1, "test")
	r.Put(sample.MemDirty, all, 30<<20, "test")
	r.Put(sample.MemWriteback, all, 10<<20, "test")
	r.Put(sample.VMDirtyBg, all, 100<<20, "test")
	r.Put(sample.VMDirtyLimit, all, 200<<20, "test")
	return r.Window(begin.Add(2 * time.Second))
}

// at is the cell of a column in the row whose column key has this text.
func at(t *testing.T, tables []table.Table, key, row, column string) table.Cell {
	t.Helper()
	for i := range tables {
		if tables[i].Key != key {
			continue
		}
		for _, cells := range tables[i].Rows {
			found := row == ""
			for _, c := range cells {
				found = found || c.Text == row
			}
			if !found {
				continue
			}
			for j, k := range tables[i].Keys() {
				if k == column {
					return cells[j]
				}
			}
		}
	}
	t.Errorf("no %s of %q in %s", column, row, key)
	return table.Cell{}
}

func TestViews(t *testing.T) {
	w := window()
	for _, c := range []struct {
		tables             []table.Table
		table, row, column string
		want               table.Cell
	}{
		{Cache(w, &Query{By: "process"}), "by_process", "database", "hit_ratio", table.Num(.75)},
		{Cache(w, &Query{By: "process"}), "by_process", "backup", "hit_ratio", table.Num(0)},
		{Cache(w, &Query{By: "process"}), "by_process", "backup", "read_amplification", table.Num(1.1)},
		{Cache(w, &Query{By: "process"}), "total", "", "hit_ratio", table.Num(.5)},
		{Cache(w, &Query{By: "process", Comm: "database"}), "total", "", "hit_ratio", table.Num(.75)},
		{Cache(w, &Query{By: "cgroup"}), "by_cgroup", "/batch/night", "from_disk_bytes_per_s", table.Num(500 * 4096)},
		{Cache(w, &Query{By: "device"}), "by_device", "sdb", "reread_bytes_per_s", table.Num(200 * 4096)},
		{Cache(w, &Query{By: "file"}), "by_file", "/var/lib/db/hot.ibd", "wait_seconds_per_s", table.Num(.5)},
		{Files(w, &Query{By: "file"}), "files", "/var/lib/db/hot.ibd", "slow_waits", table.Num(3)},
		{Files(w, &Query{By: "file"}), "files", "/var/lib/db/hot.ibd", "longest_wait_seconds", table.Num(.25)},
		{Files(w, &Query{By: "file"}), "files", "/data/big.tar", "longest_wait_seconds", table.None()},
		{Files(w, &Query{By: "process"}), "files", "backup", "from_disk_bytes_per_s", table.Num(500 * 4096)},
		{Disk(w, &Query{By: "process"}), "devices", "sda", "read_await_seconds", table.Num(.15)},
		{Disk(w, &Query{By: "process"}), "devices", "sda", "queue_depth", table.Num(4)},
		{Disk(w, &Query{By: "process"}), "devices", "sda", "queue_seconds", table.Num(.025)},
		{Disk(w, &Query{By: "process"}), "devices", "sda", "write_await_seconds", table.None()},
		{Disk(w, &Query{By: "process"}), "by_process", "backup", "device_share", table.Num(.75)},
		{Disk(w, &Query{By: "cgroup"}), "by_cgroup", "/db", "mean_size_bytes", table.Num(4096)},
		{Evictions(w, &Query{}), "evictions", "backup", "reread_by", table.Str("database")},
		{Evictions(w, &Query{}), "evictions", "backup", "evicted_bytes_per_s", table.Num(250 * 4096)},
		{Evictions(w, &Query{}), "insertions", "backup", "share", table.Num(.55)},
		{Writeback(w, &Query{}), "state", "writers paused from", "bytes", table.Num(150 << 20)},
		{Writeback(w, &Query{}), "state", "head-room to the first pause", "bytes", table.Num(110 << 20)},
		{Use(w, &Query{}), "resources", "sda", "utilisation", table.Num(.5)},
		{Use(w, &Query{}), "resources", "sda", "await_seconds", table.Num(.15)},
		{Use(w, &Query{}), "resources", "sda", "runnable", table.None()},
	} {
		if got := at(t, c.tables, c.table, c.row, c.column); got != c.want {
			t.Errorf("%s of %q in %s: %+v, want %+v", c.column, c.row, c.table, got, c.want)
		}
	}
}

func TestFilters(t *testing.T) {
	w := window()
	for _, c := range []struct {
		q    Query
		want string // the rows' files
	}{
		{Query{}, "/data/big.tar /var/lib/db/hot.ibd"},
		{Query{PIDs: []int{1}}, "/data/big.tar /var/lib/db/hot.ibd"}, // it evicted the other
		{Query{PIDs: []int{2}}, "/var/lib/db/hot.ibd"},
		{Query{Cgroup: "/batch"}, "/data/big.tar /var/lib/db/hot.ibd"},
		{Query{Cgroup: "/bat"}, ""},
		{Query{File: "/var/lib"}, "/var/lib/db/hot.ibd"},
		{Query{File: "*.tar"}, "/data/big.tar"},
		{Query{File: "["}, ""},
		{Query{Device: "sdb"}, "/var/lib/db/hot.ibd"},
	} {
		c.q.By = "file"
		tables := Cache(w, &c.q)
		if err := tables[0].Sort("file"); err != nil {
			t.Error(err)
		}
		var names []string
		for _, row := range tables[0].Rows {
			names = append(names, row[0].Text)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%+v shows %q, want %q", c.q, got, c.want)
		}
	}
}

// Rows by process know of the files that are asked for; what goes to a device
// belongs to a file and a cgroup.
func TestFiltersOfProcessesAndFilesMeet(t *testing.T) {
	r := sample.NewRecorder(begin)
	r.At(begin.Add(2 * time.Second))
	for _, x := range []struct {
		pid  int
		file sample.FileID
		v    float64
	}{{1, big, 30}, {1, hot, 10}, {1, sample.FileID{}, 40}, {2, hot, 50}, {2, sample.FileID{}, 50}} {
		r.Put(sample.CacheDirtied, sample.Entity{PID: x.pid, File: x.file}, x.v, "test")
		r.Put(sample.CacheInserted, sample.Entity{PID: x.pid, File: x.file}, x.v, "test")
	}
	for id := 1; id <= 2; id++ {
		r.Put(sample.WaitDirtyPause, sample.Entity{PID: id}, float64(id), "test")
		r.Put(sample.DirtyPauses, sample.Entity{PID: id}, 4, "test")
		r.Put(sample.ReclaimTime, sample.Entity{PID: id, Class: "host"}, float64(id), "test")
	}
	r.PutProcess(1, sample.Process{Comm: "backup"})
	r.PutProcess(2, sample.Process{Comm: "database"})
	r.PutFile(big, sample.File{Path: "/data/big.tar", Device: "sda"})
	r.PutFile(hot, sample.File{Path: "/var/lib/db/hot.ibd", Device: "sdb"})
	for _, x := range []struct {
		e sample.Entity
		v float64
	}{{sample.Entity{Device: "sda"}, 30}, {sample.Entity{Device: "sda", File: big}, 30}, {sample.Entity{Device: "sda", Cgroup: "/batch"}, 30},
		{sample.Entity{Device: "sdb"}, 60}, {sample.Entity{Device: "sdb", File: hot}, 60}} {
		r.Put(sample.WritebackBytes, x.e, x.v, "test")
	}
	w := r.Window(begin.Add(2 * time.Second))
	rows := func(tables []table.Table, key string, columns ...string) string {
		var all []string
		for i := range tables {
			for _, cells := range tables[i].Rows {
				if tables[i].Key != key {
					continue
				}
				var row []string
				for j, k := range tables[i].Keys() {
					if slices.Contains(columns, k) {
						row = append(row, cells[j].Text+strconv.FormatFloat(cells[j].Number, 'g', -1, 64))
					}
				}
				all = append(all, strings.Join(row, " "))
			}
		}
		return strings.Join(all, "; ")
	}
	for _, c := range []struct {
		q                            Query
		writers, insertions, written string
	}{
		{Query{}, "database0 102400 1; backup0 81920 0.5", "database0 102400 1; backup0 81920 0.5", "all0 0 60; file0 /var/lib/db/hot.ibd0 60; all0 0 30; cgroup0 /batch0 30; file0 /data/big.tar0 30"},
		{Query{File: "*.tar"}, "backup0 61440 0.5", "backup0 61440 0.5", "file0 /data/big.tar0 30"},
		{Query{Device: "sdb"}, "database0 102400 1; backup0 20480 0.5", "database0 102400 1; backup0 20480 0.5", "all0 0 60; file0 /var/lib/db/hot.ibd0 60"},
		{Query{Device: "sdb", Comm: "backup"}, "backup0 20480 0.5", "backup0 20480 0.5", "all0 0 60; file0 /var/lib/db/hot.ibd0 60"},
		{Query{Cgroup: "/batch"}, "", "", "cgroup0 /batch0 30"},
	} {
		tables := Writeback(w, &c.q)
		if got := rows(tables, "writers", "comm", "dirtied_bytes_per_s", "paused_seconds_per_s"); got != c.writers {
			t.Errorf("%+v: writers %q, want %q", c.q, got, c.writers)
		}
		if got := rows(tables, "written", "kind", "name", "bytes"); got != c.written {
			t.Errorf("%+v: written out %q, want %q", c.q, got, c.written)
		}
		if got := rows(Evictions(w, &c.q), "insertions", "comm", "inserted_bytes_per_s", "stalled_seconds_per_s"); got != c.insertions {
			t.Errorf("%+v: insertions %q, want %q", c.q, got, c.insertions)
		}
	}
}

// What was asked for is the first table, which is what CSV has.
func TestTheChosenRowsComeFirst(t *testing.T) {
	w := window()
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{By: "process"}, "devices"}, {Query{By: "process", Comm: "backup"}, "by_process"},
		{Query{By: "cgroup"}, "by_cgroup"}, {Query{By: "file", File: "/data"}, "by_file"}, {Query{By: "process", Device: "sda"}, "devices"},
	} {
		if got := Disk(w, &c.q)[0].Key; got != c.want {
			t.Errorf("%+v: %s comes first, want %s", c.q, got, c.want)
		}
	}
}

// What a probe could not give is said, not shown as zero.
func TestAbsentIsNotZero(t *testing.T) {
	r := sample.NewRecorder(begin)
	r.PutGap(sample.Gap{Why: "no type information", Metrics: []sample.Metric{sample.CacheAccesses, sample.BlockOps}})
	w := r.Window(begin.Add(time.Second))
	tables := Cache(w, &Query{By: "process"})
	if got := at(t, tables, "total", "", "hit_ratio"); got != table.None() {
		t.Errorf("hit ratio %+v without a probe", got)
	}
	for _, c := range []struct {
		tables []table.Table
		table  int
	}{{tables, 1}, {Disk(w, &Query{By: "process"}), 0}} {
		if notes := strings.Join(c.tables[c.table].Notes, " "); !strings.Contains(notes, "no type information") {
			t.Errorf("notes %q do not say why", notes)
		}
	}
}

// A file that two push out of the cache has one amount of re-reads, in two rows.
func TestSharedRereadsAreSaid(t *testing.T) {
	for evictors, want := range map[int]int{1: 0, 2: 1} {
		r := sample.NewRecorder(begin)
		r.At(begin.Add(time.Second))
		for pid := 1; pid <= evictors; pid++ {
			r.Put(sample.CacheEvicted, sample.Entity{PID: pid, File: hot}, 10, "test")
		}
		r.Put(sample.CacheReread, sample.Entity{PID: 3, File: hot}, 5, "test")
		said := 0
		for _, note := range Evictions(r.Window(begin.Add(time.Second)), &Query{})[0].Notes {
			if strings.Contains(note, "REREAD/s is the file's") {
				said++
			}
		}
		if said != want {
			t.Errorf("%d who evict: said %d times", evictors, said)
		}
	}
}

// The looks of an agent make an estimate of the host, of the time between the
// first look and the last.
func TestCacheEstimate(t *testing.T) {
	looks := func(n int) *sample.Window {
		r := sample.NewRecorder(begin)
		for i := range n {
			r.At(begin.Add(time.Duration(i+1) * 20 * time.Second))
			for m, v := range map[sample.Metric]float64{
				sample.CacheSampledTime: .2, sample.CacheSampledCalls: 100, sample.CacheSampledAccesses: 2000, sample.CacheSampledHits: 1500,
				sample.CacheSampledMisses: 500, sample.CacheSampledBytes: 2000 * PageBytes, sample.CacheSampledIn: 600, sample.CacheSampledOut: 0,
			} {
				r.Put(m, sample.Entity{}, v, "test")
			}
			r.At(begin.Add(time.Duration(i+1)*20*time.Second + 7*time.Second)) // between two looks nothing new is known
			r.Put(sample.CacheSampledTime, sample.Entity{}, 0, "test")
		}
		return r.Window(begin.Add(5 * time.Minute))
	}
	some := Cache(looks(4), &Query{By: "process"})
	for column, want := range map[string]table.Cell{
		"hit_ratio": table.Num(.75), "read_bytes_per_s": table.Num(100 * PageBytes), "from_disk_bytes_per_s": table.Num(25 * PageBytes),
		"inserted_bytes_per_s": table.Num(30 * PageBytes), "evicted_bytes_per_s": table.Num(0), "mapped_from_disk_bytes_per_s": table.None(),
		"read_calls_per_s": table.Num(5), "of_seconds": table.Num(60),
	} {
		if got := at(t, some, "estimate", "", column); got != want {
			t.Errorf("%s is %+v, want %+v", column, got, want)
		}
	}
	if got := at(t, some, "estimate", "", "sampled_seconds").Number; math.Abs(got-.6) > 1e-9 || !strings.HasSuffix(some[0].Title, "samples of 1 % of the time") {
		t.Errorf("%g s: %s", got, some[0].Title)
	}
	if one := Cache(looks(1), &Query{By: "process"}); at(t, one, "estimate", "", "read_bytes_per_s") != table.None() || !strings.Contains(one[0].Notes[0], "fewer than two samples") {
		t.Errorf("%+v", one[0])
	}
	var all sample.Total
	all.Add(looks(4))
	summed := Cache(all.Window(), &Query{By: "process"})
	if got := at(t, summed, "estimate", "", "read_bytes_per_s"); got != table.Num(8000.0/300*PageBytes) || at(t, summed, "estimate", "", "of_seconds") != table.Num(300) {
		t.Errorf("%+v", got)
	}
	// It is of nobody in particular, and nobody needs it who has the account.
	for _, tables := range [][]table.Table{Cache(looks(4), &Query{By: "file", Device: "sda"}), Cache(window(), &Query{By: "process"})} {
		if tables[0].Key == "estimate" || tables[1].Key == "estimate" {
			t.Errorf("%+v", tables)
		}
	}
}

// Cgroups that waited are listed, the most first, with what is not known left out.
func TestUseHasTheCgroupsThatWaited(t *testing.T) {
	w := window()
	if all := Use(w, &Query{}); len(all) != 1 {
		t.Fatalf("%d tables of a host without pressure of cgroups", len(all))
	}
	r := sample.NewRecorder(begin)
	r.At(begin.Add(2 * time.Second))
	for _, p := range []struct {
		cgroup, class string
		some, full    float64
	}{{"/calm", "io", 0, 0}, {"/a", "io", .5, .25}, {"/b", "io", 1, 0}, {"/b", "cpu", .5, 0}} {
		e := sample.Entity{Cgroup: p.cgroup, Class: p.class}
		r.Put(sample.CgroupPSISome, e, p.some, "test")
		r.Put(sample.CgroupPSIFull, e, p.full, "test")
	}
	w = r.Window(begin.Add(2 * time.Second))
	all := Use(w, &Query{})
	if len(all) != 2 {
		t.Fatalf("%d tables", len(all))
	}
	got := all[1]
	if len(got.Rows) != 2 || got.Rows[0][0] != table.Str("/b") || got.Rows[1][0] != table.Str("/a") || !slices.Equal(got.Notes, []string{"1 cgroup waited for nothing"}) {
		t.Fatalf("%+v", got)
	}
	want := []table.Cell{table.Str("/a"), table.None(), table.None(), table.None(), table.None(), table.Num(.25), table.Num(.125)}
	if !slices.Equal(got.Rows[1], want) {
		t.Errorf("%+v, want %+v", got.Rows[1], want)
	}
	if one := Use(w, &Query{Device: "sda"}); len(one) != 1 {
		t.Errorf("%d tables of one device", len(one))
	}
}
