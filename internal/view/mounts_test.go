package view

import (
	"math"
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// Two seconds of an NFS server, a FUSE daemon, a share whose kind the kernel keeps
// no times of, and one of a kind that it does, whose server answers nothing.
func TestMounts(t *testing.T) {
	r := sample.NewRecorder(begin)
	r.At(begin.Add(2 * time.Second))
	mount := func(device, point, kind, from string) {
		for m, class := range map[sample.Metric]string{sample.MountPoint: point, sample.MountKind: kind, sample.MountFrom: from} {
			r.Put(m, sample.Entity{Device: device, Class: class}, 1, "test")
		}
	}
	mount("0:45", "/home", "nfs4", "nas:/vol")
	mount("0:51", "/mnt/cloud", "fuse.sshfs", "me@there:")
	mount("0:53", "/share", "cifs", "//win/share")
	mount("0:54", "/pool", "ceph", "mon:/")
	put := func(m sample.Metric, e sample.Entity, v float64) { r.Put(m, e, v, "test") }
	for _, m := range []sample.Metric{sample.ServedRequests, sample.ServedTime} {
		put(m, sample.Entity{Device: "0:54", Class: "read"}, 0)
	}
	for class, n := range map[string]float64{"READ": 30, "GETATTR": 10} {
		e := sample.Entity{Device: "0:45", Class: class}
		put(sample.NFSRequests, e, n)
		put(sample.NFSTransmissions, e, n+1)
		put(sample.NFSQueueTime, e, 0.01*n)
		put(sample.NFSServerTime, e, 0.02*n)
		put(sample.NFSTime, e, 0.035*n)
	}
	for _, e := range []sample.Entity{{Device: "0:51"}, {Device: "0:51", PID: 7}} {
		put(sample.FuseTime, e, 1.5)
		e.Class = "read"
		put(sample.FuseRequests, e, 100)
		put(sample.FuseQueueTime, e, 0.5)
		put(sample.FuseDaemonTime, e, 1)
	}
	put(sample.FuseAnswers, sample.Entity{Device: "0:51", PID: 9}, 100)
	put(sample.MountWaiting, sample.Entity{Device: "0:51"}, 3)
	put(sample.WaitFor, sample.Entity{PID: 7, Class: "fuse"}, 1)
	put(sample.WaitFor, sample.Entity{PID: 6, Class: "fuse"}, 2)
	r.PutProcess(6, sample.Process{Comm: "hung"})
	put(sample.CacheWait, sample.Entity{PID: 8, File: sample.FileID{Dev: 45, Ino: 5}}, 1.8)
	put(sample.WaitFor, sample.Entity{PID: 8, Class: sample.ClassPage}, 1.8)
	// through the page cache, of which it asks for some pages itself, and from a disk
	put(sample.FuseTime, sample.Entity{Device: "0:51", PID: 5}, 1)
	put(sample.MountWait, sample.Entity{Device: "0:51", PID: 5}, 1)
	put(sample.WaitFor, sample.Entity{PID: 5, Class: "fuse"}, 1)
	put(sample.CacheWait, sample.Entity{PID: 5, File: sample.FileID{Dev: 51, Ino: 7}}, 1.2)
	put(sample.CacheWait, sample.Entity{PID: 5, File: sample.FileID{Dev: 8<<20 | 1, Ino: 7}}, 0.6)
	put(sample.WaitFor, sample.Entity{PID: 5, Class: sample.ClassPage}, 0.8)
	r.PutProcess(5, sample.Process{Comm: "buffered"})
	r.PutProcess(7, sample.Process{Comm: "reader"})
	r.PutProcess(8, sample.Process{Comm: "build"})
	r.PutProcess(9, sample.Process{Comm: "sshfs"})
	w := r.Window(begin.Add(2 * time.Second))
	tables := Mounts(w, &Query{})
	cell := func(key, row, column string) (out table.Cell) {
		t.Helper()
		for i := range tables {
			for c, col := range tables[i].Columns {
				if tables[i].Key != key || col.Key != column {
					continue
				}
				for _, cells := range tables[i].Rows {
					for _, x := range cells {
						if x == table.Str(row) {
							return cells[c]
						}
					}
				}
			}
		}
		t.Errorf("%s has no row %s with %s", key, row, column)
		return out
	}
	for _, c := range []struct {
		key, row, column string
		want             table.Cell
	}{
		{"mounts", "/home", "requests_per_s", table.Num(20)},
		{"mounts", "/home", "request_seconds", table.Num(0.035)},
		{"mounts", "/home", "queue_seconds", table.Num(0.01)},
		{"mounts", "/home", "server_seconds", table.Num(0.02)},
		{"mounts", "/home", "daemon_seconds", table.None()},
		{"mounts", "/home", "sent_again", table.Num(2)},
		{"mounts", "/mnt/cloud", "request_seconds", table.Num(0.015)},
		{"mounts", "/mnt/cloud", "daemon_seconds", table.Num(0.01)},
		{"mounts", "/mnt/cloud", "daemon_comm", table.Str("sshfs")},
		{"mounts", "/mnt/cloud", "waiting", table.Num(3)},
		{"mounts", "/mnt/cloud", "under_way", table.Num(0.75)},
		{"mounts", "/share", "requests_per_s", table.None()},
		{"mounts", "/pool", "requests_per_s", table.Num(0)},
		{"mounts", "/pool", "request_seconds", table.None()},
		{"by_process", "reader", "waiting_threads", table.Num(0.5)},
		{"by_process", "build", "waiting_threads", table.Num(0.9)},
		{"by_process", "buffered", "waiting_threads", table.Num(0.6)},
		{"by_process", "hung", "waiting_threads", table.Num(1)},
		{"by_process", "build", "requests_per_s", table.None()},
	} {
		if got := cell(c.key, c.row, c.column); got.State != c.want.State || got.Text != c.want.Text || math.Abs(got.Number-c.want.Number) > 1e-9 {
			t.Errorf("%s, %s, %s: %+v, want %+v", c.key, c.row, c.column, got, c.want)
		}
	}
	if notes := strings.Join(tables[0].Notes, "\n"); !strings.Contains(notes, "no times of cifs") || strings.Contains(notes, "ceph") {
		t.Errorf("the notes are %q", notes)
	}
	if only := Mounts(w, &Query{File: "/home/me/x"}); len(only[0].Rows) != 1 || len(only[1].Rows) != 1 {
		t.Errorf("of one file: %+v", only)
	}
}
