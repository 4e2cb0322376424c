package cli

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/source/proc/diskstats"
	"iocause/internal/source/proc/proctest"
	"iocause/internal/table"
	"iocause/internal/view"
)

// longDisk is as long as the kernel lets a disk's name be: 31 bytes.
const longDisk = "vendor-array0-controller1-disk2"

// What the kernel counts on either side of two seconds. The fields are those of
// Documentation/admin-guide/iostats.rst.
const (
	statsBefore = "   8       0 sda 1000 50 80000 9000 500 20 16000 4000 0 7000 13000 0 0 0 0 30 60\n" +
		"   8       1 sda1 1000 50 80000 9000 500 20 16000 4000 0 7000 13000 0 0 0 0 0 0\n" +
		"   8      16 sdb 100 0 800 4294967200 0 0 0 0 0 4294967000 4294966900 0 0 0 0 0 0\n" +
		"   8      32 sdc 77 0 616 77 0 0 0 0 0 77 77 0 0 0 0 0 0\n" +
		"   8      48 sdd 51 0 4216 3107 9 0 72 30 0 41 3086 0 0 0 0 0 0\n" +
		"   8      80 sdf 10 0 80 10 10 0 80 10 0 10 20 5 0 4000 5 0 0\n" +
		"   8      96 sdg 18446744073709551610 0 18446744073709551600 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n" +
		" 259       0 " + longDisk + " 1 0 8 1 1 0 8 1 0 1 2 0 0 0 0 0 0\n"
	statsAfter = "   8       0 sda 1300 60 89600 9450 600 25 19200 4250 2 7800 13700 0 0 0 0 36 72\n" +
		"   8       1 sda1 1300 60 89600 9450 600 25 19200 4250 2 7800 13700 0 0 0 0 0 0\n" +
		"   8      16 sdb 140 0 1120 104 0 0 0 0 0 204 104 0 0 0 0 0 0\n" + // milliseconds wrapped at 32 bits
		"   8      48 sdd 21 0 1412 987 2 0 16 5 0 17 3000 0 0 0 0 0 0\n" + // another disk of that name
		"   8      64 sde 8 0 64 16 0 0 0 0 0 16 16 0 0 0 0 0 0\n" + // plugged in
		"   8      80 sdf 10 0 80 10 10 0 80 10 0 20 40 25 0 204000 45 0 0\n" + // discards alone
		"   8      96 sdg 18446744073709551614 0 18446744073709551608 3 0 0 0 0 0 2 3 0 0 0 0 0 0\n" + // beyond what an int holds
		" 259       0 " + longDisk + " 1 0 8 1 11 0 88 31 0 21 32 0 0 0 0 0 0\n"
)

// Rates of simulated counters are those that iostat -x works out: r/s, w/s,
// kB/s, r_await, w_await, aqu-sz, %util, f/s. What it does not say is said
// here: a disk that was replaced has no rate instead of one from nowhere.
func TestRatesOfSimulatedDisks(t *testing.T) {
	x := proctest.NewTree(t)
	for name, dev := range map[string]string{"sda": "8:0", "sdb": "8:16", "sdc": "8:32", "sdd": "8:48", "sde": "8:64", "sdf": "8:80", "sdg": "8:96", longDisk: "259:0"} {
		x.Write("sys/block/"+name+"/dev", dev+"\n")
	}
	x.Write("sys/block/sda/sda1/dev", "8:1\n")
	x.Write("sys/block/sda/sda1/partition", "1\n")
	x.Write("proc/diskstats", statsBefore)
	s := x.Open(diskstats.Open)
	begin := time.Unix(1700000000, 0)
	r := sample.NewRecorder(begin)
	err := s.Collect(sample.First, r)
	x.Write("proc/diskstats", statsAfter)
	r.At(begin.Add(2 * time.Second))
	if err = errors.Join(err, s.Collect(sample.Last, r), s.Close()); err != nil {
		t.Fatal(err)
	}
	w := r.Window(begin.Add(2 * time.Second))
	devices := view.Disk(w, &view.Query{By: "process"})[0]
	columns := []string{"reads_per_s", "writes_per_s", "read_bytes_per_s", "written_bytes_per_s", "read_await_seconds", "write_await_seconds",
		"queue_depth", "utilisation", "flushes_per_s", "read_size_bytes"}
	none := math.Inf(-1) // "-", where iostat prints 0.00
	want := map[string][]float64{
		"sda":    {150, 50, 2400 << 10, 800 << 10, .0015, .0025, .35, .4, 3, 16 << 10},
		"sdb":    {20, 0, 80 << 10, 0, .005, none, .25, .25, 0, 4 << 10},
		"sde":    {4, 0, 16 << 10, 0, .002, none, .008, .008, 0, 4 << 10},
		"sdf":    {0, 0, 0, 0, none, none, .01, .005, 0, none},
		"sdg":    {2, 0, 2 << 10, 0, .0005, none, .001, .0005, 0, 1 << 10},
		longDisk: {0, 5, 0, 20 << 10, none, .003, .015, .01, 0, none},
	}
	seen := map[string]bool{}
	for _, row := range devices.Rows {
		name := row[0].Text
		seen[name] = true
		for i, key := range devices.Keys() {
			for k, column := range columns {
				if key != column || want[name] == nil {
					continue
				}
				got, figure := row[i].Number, want[name][k]
				if row[i].State != table.Known {
					got = none
				}
				if math.Abs(got-figure) > 1e-9*max(1, math.Abs(figure)) && got != figure {
					t.Errorf("%s of %s: %v, want %v", column, name, got, figure)
				}
			}
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range []string{"sda1", "sdc", "sdd"} {
		if seen[name] {
			t.Errorf("%s has a row: a partition, a disk that is gone, one that was replaced", name)
		}
	}
	if gaps := fmt.Sprint(w.Gaps); !strings.Contains(gaps, `disk.reads of "sdd" fell`) {
		t.Errorf("nothing says that sdd was replaced: %s", gaps)
	}
	var b strings.Builder
	if err := text.WriteTable(&b, &devices, text.Style{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if text.Width(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("more than 80 columns: %q", line)
		}
	}
}
