package diskstats

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestCollect(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("sys/block/sda/dev", "8:0\n")
	x.Write("sys/block/sda/sda1/dev", "8:1\n")
	x.Write("sys/block/sda/sda1/partition", "1\n")
	x.Write("sys/block/loop0/dev", "7:0\n")
	const part = "8 1 sda1 1 0 1 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
	x.Write("proc/diskstats", "8 0 sda 100 0 1000 4294967290 5 0 50 60 3 70 80 0 0 0 0 9 1\n"+part+
		"7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n1 0 ram0 1 1 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0\n")
	s := x.Open(Open)
	w := proctest.Collect(t, s, sample.First)
	sda, loop := sample.Entity{Device: "sda"}, sample.Entity{Device: "loop0"}
	proctest.Want(t, w, sample.DiskInFlight, sda, 3)
	proctest.WantAbsent(t, w, sample.DiskInFlight, loop)
	proctest.WantAbsent(t, w, sample.DiskReads, sda)
	x.Write("sys/block/sdb/dev", "8:16\n") // plugged in
	x.Write("proc/diskstats", "8 0 sda 110 0 1008 1994 5 0 40 60 0 1070 2080 0 0 0 0 11 1\n"+part+
		"7 0 loop0 2 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n8 16 sdb 7 0 56 4 0 0 0 0 0 1 1 0 0 0 0 0 0\n")
	w = proctest.Collect(t, s, sample.Tick)
	proctest.Want(t, w, sample.DiskReads, sda, 10)
	proctest.Want(t, w, sample.DiskReadBytes, sda, 4096)
	proctest.Want(t, w, sample.DiskReadTime, sda, 2) // it wrapped
	proctest.Want(t, w, sample.DiskBusy, sda, 1)
	proctest.Want(t, w, sample.DiskWeighted, sda, 2)
	proctest.Want(t, w, sample.DiskFlushes, sda, 2)
	proctest.Want(t, w, sample.DiskWrites, sda, 0)
	proctest.WantAbsent(t, w, sample.DiskWriteBytes, sda) // it fell
	proctest.Want(t, w, sample.DiskReads, loop, 2)
	proctest.Want(t, w, sample.DiskReadBytes, sample.Entity{Device: "sdb"}, 28672)
	for _, name := range []string{"sda1", "ram0"} {
		proctest.WantAbsent(t, w, sample.DiskReads, sample.Entity{Device: name})
	}
	if len(w.Gaps) != 1 || w.Gaps[0].Metrics[0] != sample.DiskWriteBytes {
		t.Errorf("gaps %+v, want one for the counter that fell", w.Gaps)
	}
}

// The kernel writes the slash of a name here, and "!" in its place in /sys.
func TestSlashInName(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("sys/block/etherd!e0.0/dev", "152:0\n")
	x.Write("sys/block/etherd!e0.0/etherd!e0.0p1/dev", "152:1\n")
	x.Write("sys/block/etherd!e0.0/etherd!e0.0p1/partition", "1\n")
	write := func(reads string) {
		x.Write("proc/diskstats", "152 0 etherd/e0.0 "+reads+" 0 800 1 0 0 0 0 0 1 1\n152 1 etherd/e0.0p1 "+reads+" 0 800 1 0 0 0 0 0 1 1\n")
	}
	write("100")
	s := x.Open(Open)
	proctest.Collect(t, s, sample.First)
	write("107")
	w := proctest.Collect(t, s, sample.Last)
	proctest.Want(t, w, sample.DiskReads, sample.Entity{Device: "etherd!e0.0"}, 7)
	n := 0
	w.Each(sample.DiskReads, func(sample.Entity, *sample.Series) { n++ })
	if n != 1 {
		t.Errorf("%d disks, want 1", n)
	}
}

// A disk is taken away, and another comes by its name.
func TestDisksComeAndGo(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("sys/block/vdb/dev", "254:16\n")
	write := func(reads, sectors string) {
		text := ""
		if reads != "" {
			text = "254 16 vdb " + reads + " 0 " + sectors + " 1 0 0 0 0 0 1 1\n"
		}
		x.Write("proc/diskstats", text)
	}
	vdb := sample.Entity{Device: "vdb"}
	write("100", "800")
	s := x.Open(Open)
	proctest.Collect(t, s, sample.First)
	write("110", "880")
	proctest.Want(t, proctest.Collect(t, s, sample.Tick), sample.DiskReadBytes, vdb, 40960)
	write("", "")
	proctest.WantAbsent(t, proctest.Collect(t, s, sample.Tick), sample.DiskReadBytes, vdb)
	write("7", "56")
	w := proctest.Collect(t, s, sample.Tick)
	proctest.Want(t, w, sample.DiskReadBytes, vdb, 28672)
	proctest.Want(t, w, sample.DiskReads, vdb, 7)
	if len(w.Gaps) != 0 {
		t.Errorf("gaps %+v: it is another disk", w.Gaps)
	}
	x.Write("sys/block/vdb/diskseq", "12\n")
	write("", "")
	proctest.Collect(t, s, sample.Tick)
	write("8", "64")
	proctest.Want(t, proctest.Collect(t, s, sample.Tick), sample.DiskReads, vdb, 8) // more, but another one
	write("", "")
	proctest.Collect(t, s, sample.Tick)
	write("8", "64")
	proctest.Want(t, proctest.Collect(t, s, sample.Tick), sample.DiskReads, vdb, 0) // the same, left out of a reading
	write("9", "72")
	proctest.Want(t, proctest.Collect(t, s, sample.Tick), sample.DiskReads, vdb, 1)
}

// Start values that cannot be read make the next ones the start: what was
// counted since the boot is no increase.
func TestLateFirstReading(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("sys/block/vda/dev", "254:0\n")
	good := "254 0 vda 1000 0 800000 1 0 0 0 0 0 1 1\n"
	x.Write("proc/diskstats", good)
	s := x.Open(Open)
	x.Write("proc/diskstats", "254 0 vda nonsense\n")
	if err := s.Collect(sample.First, sample.NewRecorder(x.Host().Now())); err == nil {
		t.Fatal("nonsense was read")
	}
	vda := sample.Entity{Device: "vda"}
	x.Write("proc/diskstats", good)
	proctest.WantAbsent(t, proctest.Collect(t, s, sample.Tick), sample.DiskReadBytes, vda)
	x.Write("proc/diskstats", "254 0 vda 1003 0 800024 1 0 0 0 0 0 1 1\n")
	proctest.Want(t, proctest.Collect(t, s, sample.Tick), sample.DiskReadBytes, vda, 12288)
}
