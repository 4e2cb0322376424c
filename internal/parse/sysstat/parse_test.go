package sysstat

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestSar(t *testing.T) {
	g := linestest.Fixture(t, tool(), "sar.txt")
	vda := sample.Entity{Device: "vda"}
	g.Want(sample.DiskReads, vda, 86464, 85475*341896/(341896+48.))
	g.Want(sample.DiskReadBytes, vda, 345856<<10, 341896<<10)
	g.Want(sample.DiskWeighted, vda, 4.55, 4.54)
	g.Want(sample.MemAvailable, sample.Entity{}, 24026164<<10, 24026168<<10)
	g.Want(sample.MemDirty, sample.Entity{}, 412<<10, 364<<10)
	g.Want(sample.VMPageIn, sample.Entity{}, 345984<<10, 341896<<10)
	g.Want(sample.ProcsBlocked, sample.Entity{}, 0, 0)
	g.Want(sample.CPUCount, sample.Entity{}, 2, 2)
	if len(g.Ticks) != 2 || g.Ticks[0] != 1 || g.Ticks[1] != 1 {
		t.Errorf("the intervals are %v, want 2 of 1 s", g.Ticks)
	}
	g.WantNote("does not separate reads from writes")
}

func TestMpstat(t *testing.T) {
	g := linestest.Fixture(t, tool(), "mpstat.txt")
	g.Want(sample.CPUUser, sample.Entity{}, 2*.0168, 2*.0166)
	g.Want(sample.CPUSystem, sample.Entity{}, 2*(.2626+.0112), 2*(.2707+.0055))
}

func TestPidstat(t *testing.T) {
	g := linestest.Fixture(t, tool(), "pidstat.txt")
	fio := sample.Entity{PID: 18981}
	g.Want(sample.ProcReadBytes, fio, 344459.41*1024, 341956*1024)
	g.Want(sample.ProcSystem, fio, .6238, .63)
	g.Want(sample.ProcBlkioDelay, fio) // 0 says nothing
	if g.Procs[18981].Comm != "fio" {
		t.Errorf("the process is %q", g.Procs[18981].Comm)
	}
}

// All that was asked for in one row, without the time of the head; and seconds
// since 1970.
func TestPidstatRows(t *testing.T) {
	g := linestest.Fixture(t, tool(), "pidstat-h.txt")
	fio := sample.Entity{PID: 19377}
	g.Want(sample.ProcReadBytes, fio, 3088.89*1024, 3200*1024)
	g.Want(sample.ProcSystem, fio, .0278, .03)
	if len(g.Ticks) != 2 || g.Ticks[0] != 1 || len(g.Faults) > 0 {
		t.Errorf("the intervals are %v, faults %v", g.Ticks, g.Faults)
	}
	g = linestest.Fixture(t, tool(), "pidstat-epoch.txt")
	g.Want(sample.ProcReadBytes, fio, 2*3071.7*1024) // from ...538 to ...540
}

// Shares of the interval, not the averages of longer times beside them.
func TestPressure(t *testing.T) {
	g := linestest.Fixture(t, tool(), "sar-q.txt")
	g.Want(sample.PSISome, sample.Entity{Class: "io"}, .2852, .3166, .0191, .0166)
	g.Want(sample.PSIFull, sample.Entity{Class: "io"}, .001, .0099, .0175, .0166)
	g.Want(sample.PSISome, sample.Entity{Class: "cpu"}, .8678, .8371, .026, .0026)
	g.Want(sample.ProcsRunning, sample.Entity{}, 6, 2, 0, 0)
	if len(g.Faults) > 0 {
		t.Errorf("faults %v", g.Faults)
	}
}

// A unit at every figure.
func TestHuman(t *testing.T) {
	g := linestest.Fixture(t, tool(), "sar-human.txt")
	vda := sample.Entity{Device: "vda"}
	g.Want(sample.DiskReadBytes, vda, 1.1*(1<<30), 1.1*(1<<30), 3.1*(1<<20), 3.1*(1<<20))
	g.Want(sample.DiskWriteBytes, vda, 0, 0, 168<<10, 0)
	g.Want(sample.MemAvailable, sample.Entity{}, 22.8*(1<<30), 22.8*(1<<30), 22.8*(1<<30), 22.8*(1<<30))
}

// Times and means as they are written in other languages.
func TestLanguages(t *testing.T) {
	for _, file := range []string{"sar-ja_JP.txt", "sar-fr_FR.txt"} {
		g := linestest.Fixture(t, tool(), file)
		g.Want(sample.DiskWeighted, sample.Entity{Device: "vda"}, .74, .82, .04, .04)
		if len(g.Faults) > 0 || g.Uses[lines.Foreign] > 0 {
			t.Errorf("%s: faults %v, lines %v", file, g.Faults, g.Uses)
		}
	}
	linestest.Fixture(t, tool(), "sar-fr_FR.txt").Want(sample.CPUCount, sample.Entity{}, 2, 2)
}

// Tables that are not read in between those that are: their rows are no rows of
// the table before.
func TestOtherTables(t *testing.T) {
	g := linestest.Fixture(t, tool(), "mpstat-all.txt")
	g.Want(sample.CPUIdle, sample.Entity{}, 2*.8687, 2*.8818)
	if len(g.Faults) > 0 {
		t.Errorf("faults %v", g.Faults)
	}
	g = linestest.Fixture(t, tool(), "mpstat-json.txt")
	g.Want(sample.CPUIdle, sample.Entity{}, 2*.87, 2*.8762)
	if len(g.Faults) > 0 || len(g.Ticks) != 2 {
		t.Errorf("the intervals are %v, faults %v", g.Ticks, g.Faults)
	}
}

// Rows of other tools begin with a time as well.
func TestOthers(t *testing.T) {
	if Find("22:25:55 %CPU  98.88%, unclaimed idle 0.12%") >= 0 {
		t.Error("a row of cpuunclaimed is taken for pidstat's head")
	}
}

// Over midnight, and with a clock of twelve hours.
func TestTimes(t *testing.T) {
	g := linestest.Read(t, tool(), "11:59:50 PM CPU %user %nice %system %iowait %steal %idle\n12:00:00 AM all 10 0 0 0 0 90\n12:00:30 AM all 20 0 0 0 0 80\n")
	if len(g.Ticks) != 2 || g.Ticks[0] != 10 || g.Ticks[1] != 30 {
		t.Errorf("the intervals are %v, want 10 and 30 s", g.Ticks)
	}
	g.Want(sample.CPUUser, sample.Entity{}, 1, 6)
}

// Tables of a recording come one after the other, each from its beginning:
// as sar prints them, and as sadf does with -d and -j. All say the same.
func TestRecordings(t *testing.T) {
	for _, name := range []string{"sar-f.txt", "sadf-db.txt", "sadf-json.txt"} {
		g := linestest.Fixture(t, tool(), name)
		vda := sample.Entity{Device: "vda"}
		g.Want(sample.DiskWriteBytes, vda, 400<<10, 0, 730175.70*1024)
		g.Want(sample.DiskWeighted, vda, .05, .92, 1.58)
		g.Want(sample.MemAvailable, sample.Entity{}, 23580872<<10, 23552092<<10, 23514644<<10)
		if len(g.Ticks) != 3 || g.Ticks[0] != 1 || g.Ticks[2] != 1 || len(g.Faults) > 0 {
			t.Errorf("%s: the intervals are %v, want 3 of 1 s; faults %q", name, g.Ticks, g.Faults)
		}
		if name == "sar-f.txt" {
			continue
		}
		g.Want(sample.VMPageIn, sample.Entity{}, 2564<<10, 117351.72*1024, 63170.09*1024)
		g.Want(sample.ProcsBlocked, sample.Entity{}, 0, 0, 2)
		if name == "sadf-json.txt" {
			g.Want(sample.CPUSystem, sample.Entity{}, 2*.1759, 2*.1391, 2*.1697)
		}
	}
}

// A record that is cut off is told, and the next one counts.
func TestCutRecord(t *testing.T) {
	const whole = `"timestamp": {"date": "2026-11-21", "time": "12:34:20", "utc": 1, "interval": 10}, "queue": {"runq-sz": 7}}`
	g := linestest.Read(t, tool(), "{"+whole[:len(whole)-10]+"\n{\n"+whole+"\n]\n")
	g.Want(sample.ProcsRunning, sample.Entity{}, 7)
	if len(g.Faults) != 1 || len(g.Ticks) != 1 || g.Ticks[0] != 10 {
		t.Errorf("faults %q, intervals %v", g.Faults, g.Ticks)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

// XML has what JSON has; a record that is cut off or no XML is told.
func TestXML(t *testing.T) {
	g := linestest.Fixture(t, tool(), "sadf-xml.txt")
	vda := sample.Entity{Device: "vda"}
	g.Want(sample.DiskWriteBytes, vda, 0, 4<<10)
	g.Want(sample.DiskWeighted, vda, 0, .04)
	g.Want(sample.DiskBusy, vda, 0, .02)
	g.Want(sample.MemAvailable, sample.Entity{}, 22826464<<10, 22803552<<10)
	g.Want(sample.VMPageIn, sample.Entity{}, 36<<10, 1068<<10)
	g.Want(sample.ProcsRunning, sample.Entity{}, 16, 14)
	g.Want(sample.CPUSystem, sample.Entity{}, 2*.28, 2*.21)
	if len(g.Ticks) != 2 || g.Ticks[0] != 1 || g.Ticks[1] != 1 || len(g.Faults) > 0 || g.Uses[lines.Foreign] > 0 {
		t.Errorf("the intervals are %v, want 2 of 1 s; faults %q, uses %v", g.Ticks, g.Faults, g.Uses)
	}
	const head = `<timestamp date="2026-11-21" time="12:34:20" utc="1" interval="10">` + "\n"
	g = linestest.Read(t, tool(), head+"<queue runq-sz=\"7\"\n"+head+"<queue runq-sz=\"7\"/>\n</timestamp>\n")
	g.Want(sample.ProcsRunning, sample.Entity{}, 7)
	if len(g.Faults) != 1 || len(g.Ticks) != 1 {
		t.Errorf("faults %q, intervals %v", g.Faults, g.Ticks)
	}
	if g = linestest.Read(t, tool(), head+"<queue runq-sz=7/></timestamp>\n"); len(g.Faults) != 1 {
		t.Errorf("faults %q, want one", g.Faults)
	}
}

// Without an interval pidstat and mpstat show the mean since boot.
func TestSinceBoot(t *testing.T) {
	const head = "10:28:04 PM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
	g := linestest.Read(t, tool(), "$ mpstat\n"+head+"10:28:04 PM  all 1.00 0.00 1.00 0.30 0.00 0.00 0.00 0.00 0.00 97.70\n")
	g.WantNote("since boot")
	g = linestest.Read(t, tool(), "$ mpstat 1 1\n"+head+"10:28:05 PM  all 1.00 0.00 1.00 0.30 0.00 0.00 0.00 0.00 0.00 97.70\n")
	if len(g.Notes) > 0 {
		t.Errorf("notes of an interval: %q", g.Notes)
	}
	const rows = "# Time        UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n10:28:04 PM     0      1234    100.00      0.00      0.00       0  dd\n"
	linestest.Read(t, tool(), "$ pidstat -d -h -p 1234\n"+rows).WantNote("since boot")
	g = linestest.Read(t, tool(), "$ pidstat -h -p 1234 -d 2 1\n"+rows)
	if len(g.Ticks) != 1 || g.Ticks[0] != 2 || len(g.Notes) > 0 {
		t.Errorf("the intervals are %v, want one of 2 s; notes %q", g.Ticks, g.Notes)
	}
}
