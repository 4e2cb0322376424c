package fio

import (
	"os"
	"strings"
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/require"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func of(pid int) sample.Entity { return sample.Entity{PID: pid} }

func calls(pid int, class string) sample.Entity { return sample.Entity{PID: pid, Class: class} }

// Every read came from the device; the report has lost a digit of its requests.
func TestUncachedReads(t *testing.T) {
	g := linestest.Fixture(t, tool(), "read-2g.txt")
	g.Want(sample.CallTime, calls(725, "read"), 382.22e-6*262144)
	g.Want(sample.ProcReadCalls, of(725), 262144)
	g.Want(sample.CacheAccesses, of(725), 0, 2<<30/4096)
	g.Want(sample.CacheMisses, of(725), 0, 2<<30/4096)
	g.Want(sample.DiskReads, sample.Entity{Device: "nvme0n1"}, 262144)
	g.Want(sample.DiskReadTime, sample.Entity{Device: "nvme0n1"}, 97.587)
	g.WantNote("a digit is missing")
	if g.Doubts != 1 || g.Identity != "read 2147483648/100465" || len(g.Ticks) != 1 || g.Ticks[0] != 100.465 {
		t.Errorf("doubts %d, identity %q, intervals %v", g.Doubts, g.Identity, g.Ticks)
	}
}

func TestCachedReads(t *testing.T) {
	g := linestest.Fixture(t, tool(), "read-2g-cached.txt")
	g.Want(sample.CacheMisses, of(0), 0, 0)
	g.Want(sample.DiskReads, sample.Entity{Device: "device"}, 0)
}

func TestPartlyCachedReads(t *testing.T) {
	g := linestest.Fixture(t, tool(), "read-4g-partly.txt")
	accesses := g.Values[linestest.Key{Metric: sample.CacheAccesses, Entity: of(22616)}][1]
	misses := g.Values[linestest.Key{Metric: sample.CacheMisses, Entity: of(22616)}][1]
	// 330920 of 524288 reads reached the device: 36.9 % did not
	if hits := 1 - misses/accesses; hits < 0.365 || hits > 0.375 {
		t.Errorf("the share of hits is %.3f, want 0.37", hits)
	}
	for id, f := range g.Files {
		if f.Path != "/tmp/fiotest" || f.Size != 4<<30 || id.Ino == 0 {
			t.Errorf("the file is %+v", f)
		}
	}
}

func TestWrites(t *testing.T) {
	g := linestest.Fixture(t, tool(), "write-2g.txt")
	g.Want(sample.CallTime, calls(14088, "write"), 151.04e-6*262144)
	g.Want(sample.ProcWriteChars, of(14088), 2<<30)
	g.Want(sample.ProcSystem, of(14088), .0317*39.832)
	g.Want(sample.DiskWeighted, sample.Entity{Device: "nvme0n1"}, 1491.142)
}

// Newer reports have the sectors of each disk: what it really moved.
func TestSectors(t *testing.T) {
	b, err := os.ReadFile("testdata/mixed-3.33.txt")
	require.NoError(t, err)
	vda := sample.Entity{Device: "vda"}
	g := linestest.Read(t, tool(), strings.Replace(string(b), "ios=12304/6141, merge", "ios=12304/6141, sectors=98440/49136, merge", 1))
	g.Want(sample.DiskReads, vda, 12304)
	g.Want(sample.DiskReadBytes, vda, 98440*512)
	g.Want(sample.DiskWriteBytes, vda, 49136*512)
	g.Want(sample.DiskWriteTime, vda, 2.072)
	g.Want(sample.DiskBusy, vda, .569*1.001)
	g = linestest.Fixture(t, tool(), "mixed-3.33.txt") // without, what did not come from the cache
	g.Want(sample.DiskWriteTime, vda, 2.072)
	g.Want(sample.DiskWriteBytes, vda)
}

func TestMixed(t *testing.T) {
	g := linestest.Fixture(t, tool(), "mixed-3.33.txt")
	g.Want(sample.ProcReadCalls, of(19019), 14799)
	g.Want(sample.ProcWriteCalls, of(19019), 14745)
	g.Want(sample.CallTime, calls(19019, "read"), 57.13e-6*14799)
	g.Want(sample.CallTime, calls(19019, "write"), 3.46e-6*14745)
}

func TestJSON(t *testing.T) {
	g := linestest.Fixture(t, tool(), "json-3.33.txt")
	g.Want(sample.ProcReadCalls, of(0), 16883)
	g.Want(sample.ProcReadChars, of(0), 69152768)
	g.Want(sample.CallTime, calls(0, "read"), 57.258673e-6*16883)
	g = linestest.Read(t, tool(), "\"fio version\" : \"fio-3.33\",\n\"jobs\" : [\n[root@host ~]# ls\n")
	g.WantNote("cut off")
}

// Version 2 counts amounts in KiB and latencies in microseconds.
func TestVersion2JSON(t *testing.T) {
	b, err := os.ReadFile("testdata/json-3.33.txt")
	require.NoError(t, err)
	g := linestest.Read(t, tool(), strings.NewReplacer("fio-3.33", "fio-2.16", `"io_bytes" : 69152768`, `"io_bytes" : 67532`, `        "io_kbytes" : 67532,`+"\n", "",
		`"clat_ns" : {
          "min" : 36184,
          "max" : 2018076,
          "mean" : 57258.673222`, `"clat" : {
          "min" : 36,
          "max" : 2018,
          "mean" : 57.26`).Replace(string(b)))
	g.Want(sample.ProcReadChars, of(0), 69152768)
	g.Want(sample.CallTime, calls(0, "read"), 57.26e-6*16883)
	g.Want(sample.CacheAccesses, of(0), 0, 69152768/4096)
	if g.Doubts > 0 {
		t.Errorf("doubts: %q", g.Notes)
	}
}

func TestVersion2(t *testing.T) {
	g := linestest.Read(t, tool(), `seq: (g=0): rw=read, bs=64K-64K/64K-64K/64K-64K, ioengine=libaio, iodepth=32
fio-2.1.10
Starting 1 process

seq: (groupid=0, jobs=1): err= 0: pid=77: Thu Apr 14 10:00:21 2022
  read : io=1024.0MB, bw=102400KB/s, iops=1600, runt= 10240msec
    slat (usec): min=2, max=40, avg=3.00, stdev= 1.00
    clat (msec): min=1, max=90, avg=20.00, stdev= 5.00
  cpu          : usr=1.00%, sys=5.00%, ctx=1, majf=0, minf=1
     issued    : total=r=16384/w=0/d=0, short=r=0/w=0/d=0
`)
	g.Want(sample.ProcReadCalls, of(77), 16384)
	g.Want(sample.CallTime, calls(77, "flight"), 0.020*16384) // 32 at a time: no time of the caller's
	g.Want(sample.CallTime, calls(77, "read"))
}

// Direct writes fill no page of the cache.
func TestDirectWrites(t *testing.T) {
	b, err := os.ReadFile("testdata/mixed-3.33.txt")
	require.NoError(t, err)
	g := linestest.Read(t, tool(), "$ fio --name=t --rw=randrw --bs=4k --direct=1\n"+string(b))
	g.Want(sample.DirectWrites, of(19019), 14745)
	linestest.Read(t, tool(), string(b)).Want(sample.DirectWrites, of(19019))
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

// The time of fdatasync is that of the program, not of its writes.
func TestSyncs(t *testing.T) {
	g := linestest.Fixture(t, tool(), "fdatasync-3.33.txt")
	pid := 3389
	g.Want(sample.ProcSyncCalls, sample.Entity{PID: pid}, 911)
	g.Want(sample.CallTime, sample.Entity{PID: pid, Class: "sync"}, 911*587.65e-6)
	g.Want(sample.CallTime, sample.Entity{PID: pid, Class: "write"}, 911*6966.81e-9)
}

// In JSON all jobs are of one process, whose threads they are.
func TestThreadsInJSON(t *testing.T) {
	const job = `{"jobname":"a","read":{"io_bytes":40960000,"io_kbytes":40000,"iops":1000,"runtime":10000,"total_ios":10000,"clat_ns":{"min":900000,"max":1100000,"mean":999000}}}`
	document := func(options, jobs string) string {
		return "{\n\"fio version\" : \"fio-3.33\",\n\"global options\" : {" + options + "},\n\"jobs\" : [" + jobs + "]\n}\n"
	}
	linestest.Read(t, tool(), document(`"rw":"randread","ioengine":"psync"`, job+","+job)).Want(sample.WaitThreads, of(0), 2)
	eight := strings.NewReplacer("40960000", "327680000", "40000", "320000", `"total_ios":10000`, `"total_ios":80000`, `"iops":1000`, `"iops":8000`).Replace(job)
	g := linestest.Read(t, tool(), document(`"rw":"randread","ioengine":"psync","numjobs":"8"`, eight))
	g.Want(sample.CallTime, calls(0, "read"), 80000*999e-6)
	g.Want(sample.WaitThreads, of(0), 8)
	if g.Doubts > 0 {
		t.Errorf("doubts: %q", g.Notes)
	}
}
