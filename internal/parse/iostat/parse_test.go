package iostat

import (
	"testing"
	"time"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func on(device string) sample.Entity { return sample.Entity{Device: device} }

func TestOldColumns(t *testing.T) {
	g := linestest.Fixture(t, tool(), "old-xz.txt")
	g.Want(sample.DiskReads, on("xvdb"), 745, 739, 734, 750)
	g.Want(sample.DiskReadBytes, on("xvdb"), 91656*1024, 92152*1024, 91704*1024, 92104*1024)
	g.Want(sample.DiskReadTime, on("xvdb"), 745*.03384, 739*.03349, 734*.03404, 750*.03337)
	g.Want(sample.DiskWeighted, on("xvdb"), 25.32, 24.75, 24.93, 25.14)
	g.Want(sample.DiskBusy, on("xvdb"), 1, 1, 1, 1)
	g.Want(sample.CPUCount, sample.Entity{}, 16, 16, 16, 16)
	g.Want(sample.CPUIOWait, sample.Entity{}, .2994*16, .2476*16, .2875*16, .2940*16)
	g.WantNote("since boot")
	if _, ok := g.Values[linestest.Key{Metric: sample.DiskReads, Entity: on("xvda")}]; ok {
		t.Error("a device that is in the mean since boot only has values")
	}
	if at := g.Lines[linestest.Key{Metric: sample.DiskReads, Entity: on("xvdb")}][0]; at != 14 {
		t.Errorf("the first value is from line %d, want 14", at)
	}
}

func TestDiscards(t *testing.T) {
	g := linestest.Read(t, tool(), "avg-cpu: %user %nice %system %iowait %steal %idle\n 1 0 1 0 0 98\n\nDevice r/s rkB/s r_await w/s wkB/s w_await d/s dkB/s d_await aqu-sz %util\nsda 3 12 40 1 4 50 20 2048 45 1 99\n")
	g.Want(sample.DiskDiscards, on("sda"), 20)
	g.Want(sample.DiskDiscardTime, on("sda"), 0.9)
}

// -z leaves out what is idle: that is zero, not absent.
func TestLeftOutIsIdle(t *testing.T) {
	g := linestest.Read(t, tool(), "avg-cpu: %user %nice %system %iowait %steal %idle\n 1 0 1 0 0 98\n\nDevice: r/s w/s rkB/s wkB/s avgqu-sz await svctm %util\nsda 3 1 12 4 0.5 10 1 5\n\n"+
		"avg-cpu: %user %nice %system %iowait %steal %idle\n 1 0 1 0 0 98\n\nDevice: r/s w/s rkB/s wkB/s avgqu-sz await svctm %util\n")
	g.Want(sample.DiskReads, on("sda"), 3, 0)
	g.Want(sample.DiskReadTime, on("sda"), 0.03, 0)
	g.Want(sample.DiskWriteTime, on("sda"), 0.01, 0)
	g.WantNote("1 s is assumed")
}

func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		file        string
		reads, size float64
	}{
		{"new-x.txt", 85699, 343264 << 10}, {"new-xmt.txt", 86350, 337.84 * (1 << 20)}, {"new-xh.txt", 86440, 338.2 * (1 << 20)},
		{"json.txt", 86415, 346224 << 10}, {"short.txt", -1, 346388 << 10}, {"short-md.txt", -1, 337.58 * (1 << 20)},
	} {
		t.Run(c.file, func(t *testing.T) {
			g := linestest.Fixture(t, tool(), c.file)
			g.Want(sample.DiskReadBytes, on("vda"), c.size)
			if c.reads < 0 {
				g.Want(sample.DiskReads, on("vda"))
				return
			}
			g.Want(sample.DiskReads, on("vda"), c.reads)
			g.Want(sample.DiskWrites, on("vda"), 0)
			g.Want(sample.DiskReadTime, on("vda"), c.reads*50e-6)
		})
	}
}

// Times in other languages part reports of one run; its first is still the mean
// since boot.
func TestLanguages(t *testing.T) {
	for file, busy := range map[string]float64{"ja_JP.txt": 0.224, "es_ES.txt": 0.168, "de_DE.txt": 0.276} {
		g := linestest.Fixture(t, tool(), file)
		g.Want(sample.DiskBusy, on("vda"), busy)
		g.WantNote("since boot")
		if len(g.Ticks) != 1 || g.Ticks[0] != 1 || g.Uses[lines.Foreign] > 0 {
			t.Errorf("%s: the intervals are %v, lines %v", file, g.Ticks, g.Uses)
		}
	}
	for _, s := range []string{"12:00:01 up 3 days", "see 12:00:01", "12:00:01", "9 things at 12:00:01"} {
		if _, ok := new(reader).stamped(s); ok {
			t.Errorf("%q is taken for a time", s)
		}
	}
	for _, pair := range [][2]string{
		{"11/22/26 11:59:59 AM", "11/22/26 12:00:01 PM"},
		{"30/11/2026 23:59:59", "01/12/2026 00:00:01"}, // the first tells that days come before months
	} {
		var r reader
		a, ok1 := r.stamped(pair[0])
		b, ok2 := r.stamped(pair[1])
		if !ok1 || !ok2 || b.Sub(a) != 2*time.Second {
			t.Errorf("from %v to %v", a, b)
		}
	}
}

// Sums of reads and writes are no reads.
func TestSums(t *testing.T) {
	g := linestest.Fixture(t, tool(), "sums.txt")
	g.Want(sample.DiskBusy, on("vda"), .308)
	g.Want(sample.DiskReads, on("vda"))
	g.Want(sample.DiskReadTime, on("vda"))
	g.WantNote("does not separate reads from writes")
}

// Decimal commas, and lines that are cut off.
func TestDamage(t *testing.T) {
	const head = "Device            r/s     rkB/s   r_await  w/s     wkB/s  w_await  aqu-sz  %util\n"
	g := linestest.Read(t, tool(), head+"sda  1234,50  8000,00  0,50  0,00  0,00  0,00  0,61  40,20\nsdb 1,0 2,0 3,0\n")
	g.Want(sample.DiskReads, on("sda"), 1234.5)
	g.Want(sample.DiskBusy, on("sda"), 0.402)
	if len(g.Faults) != 1 {
		t.Errorf("faults %q, want one for the line that is cut off", g.Faults)
	}
	g = linestest.Read(t, tool(), head+"as you can see sda is busy\n")
	if len(g.Faults) != 0 || len(g.Values) != 0 {
		t.Errorf("prose was read: %v, %v", g.Faults, g.Values)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

// Tables that a mail or a book has broken into narrower ones.
func TestWrapped(t *testing.T) {
	for name, text := range map[string]string{
		"tables": "Device: rrqm/s wrqm/s r/s w/s rMB/s\nsda 0.00 0.20 1.00 160.00 0.00\nsdb 0.00 0.00 0.00 0.00 0.00\nwMB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n80.00 1010.00 140.00 860.00 90.00 870.00 6.00 100.00\n0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n",
		"rows":   "Device: rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz\nawait r_await w_await svctm %util\nsda 0.00 0.20 1.00 160.00 0.00 80.00 1010.00 140.00\n860.00 90.00 870.00 6.00 100.00\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := linestest.Read(t, tool(), text)
			g.Want(sample.DiskWrites, sample.Entity{Device: "sda"}, 160)
			g.Want(sample.DiskWriteTime, sample.Entity{Device: "sda"}, 160*.87)
			g.Want(sample.DiskBusy, sample.Entity{Device: "sda"}, 1)
			g.Want(sample.DiskWriteBytes, sample.Entity{Device: "sda"}, 80<<20)
		})
	}
}
