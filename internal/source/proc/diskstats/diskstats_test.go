package diskstats

import (
	"testing"

	"iocause/internal/host"
	"iocause/internal/sample"
)

func TestParse(t *testing.T) {
	old := Disk{Dev: host.MakeDev(8, 0), Name: "sda", Fields: 11,
		Reads: 11, ReadsMerged: 12, ReadSectors: 13, ReadTime: 14, Writes: 15, WritesMerged: 16, WriteSectors: 17, WriteTime: 18,
		InFlight: 19, Busy: 20, Weighted: 21}
	d, err := parse(fixture(t, "4.4"), nil)
	if err != nil || len(d) != 2 || d[0] != old {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = parse(fixture(t, "4.19"), d)
	old.Dev, old.Name, old.Fields = host.MakeDev(259, 0), "nvme0n1", 15
	if err != nil || len(d) != 2 || d[0] != old || d[1].Name != "cciss!c0d0" {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = parse(fixture(t, "6.18"), d)
	if err != nil || len(d) != 10 || d[8].Name != "vda" || d[8].Fields != 17 || d[8].Flushes == 0 || !d[9].idle() {
		t.Errorf("%+v, %v", d, err)
	}
	for _, s := range []string{"8 0", "8 0 sda", "x 0 sda 1 2 3 4 5 6 7 8 9 10 11", "8 0 sda 1 2 3 4 5 6 7 8 9 10", "8 0 sda 1 2 3 4 5 6 7 8 9 10 -1"} {
		_, err := parse([]byte("\n"+s), nil)
		wantLine(t, err, 2)
	}
}

func TestCollect(t *testing.T) {
	x := newTree(t)
	x.write("sys/block/sda/dev", "8:0\n")
	x.write("sys/block/sda/sda1/dev", "8:1\n")
	x.write("sys/block/sda/sda1/partition", "1\n")
	x.write("sys/block/loop0/dev", "7:0\n")
	const part = "8 1 sda1 1 0 1 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
	x.write("proc/diskstats", "8 0 sda 100 0 1000 4294967290 5 0 50 60 3 70 80 0 0 0 0 9 1\n"+part+
		"7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n1 0 ram0 1 1 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0\n")
	s := x.open(Open)
	w := collect(t, s, sample.First)
	sda, loop := sample.Entity{Device: "sda"}, sample.Entity{Device: "loop0"}
	want(t, w, sample.DiskInFlight, sda, 3)
	wantAbsent(t, w, sample.DiskInFlight, loop)
	wantAbsent(t, w, sample.DiskReads, sda)
	x.write("sys/block/sdb/dev", "8:16\n") // plugged in
	x.write("proc/diskstats", "8 0 sda 110 0 1008 1994 5 0 40 60 0 1070 2080 0 0 0 0 11 1\n"+part+
		"7 0 loop0 2 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n8 16 sdb 7 0 56 4 0 0 0 0 0 1 1 0 0 0 0 0 0\n")
	w = collect(t, s, sample.Tick)
	want(t, w, sample.DiskReads, sda, 10)
	want(t, w, sample.DiskReadBytes, sda, 4096)
	want(t, w, sample.DiskReadTime, sda, 2) // it wrapped
	want(t, w, sample.DiskBusy, sda, 1)
	want(t, w, sample.DiskWeighted, sda, 2)
	want(t, w, sample.DiskFlushes, sda, 2)
	want(t, w, sample.DiskWrites, sda, 0)
	wantAbsent(t, w, sample.DiskWriteBytes, sda) // it fell
	want(t, w, sample.DiskReads, loop, 2)
	want(t, w, sample.DiskReadBytes, sample.Entity{Device: "sdb"}, 28672)
	for _, name := range []string{"sda1", "ram0"} {
		wantAbsent(t, w, sample.DiskReads, sample.Entity{Device: name})
	}
	if len(w.Gaps) != 1 || w.Gaps[0].Metrics[0] != sample.DiskWriteBytes {
		t.Errorf("gaps %+v, want one for the counter that fell", w.Gaps)
	}
}

func TestPartitionOf(t *testing.T) {
	for _, c := range []struct {
		name, disk string
		want       bool
	}{
		{"sda1", "sda", true}, {"sda", "sda", false}, {"sdaa", "sda", false}, {"nvme0n1p2", "nvme0n1", true}, {"nvme0n12", "nvme0n1", false},
		{"nvme0n1", "nvme0n", true}, {"md127p1", "md127", true}, {"dm-10", "dm-1", false}, {"x", "", false},
	} {
		if got := partitionOf(c.name, c.disk); got != c.want {
			t.Errorf("%q of %q: %v", c.name, c.disk, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		d, _ := parse(b, nil)
		for _, x := range d {
			if x.Name == "" || x.Fields < least {
				t.Errorf("%+v", x)
			}
		}
	})
}
