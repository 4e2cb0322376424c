package view

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// A volume on two mirrors: 10 writes of 100 ms at the top, of which the volume itself
// took 60, the array 10 and each disk 30, beside each other.
func stacked(more ...func(*sample.Recorder)) *sample.Window {
	start := time.Unix(1_700_000_000, 0)
	r := sample.NewRecorder(start)
	put := func(m sample.Metric, device, class string, v float64) {
		r.Put(m, sample.Entity{Device: device, Class: class}, v, "test")
	}
	put(sample.DeviceKind, "dm-0", "dm-delay", 1)
	put(sample.DeviceLabel, "dm-0", "slow", 1)
	put(sample.DeviceMount, "dm-0", "/mnt", 1)
	put(sample.DeviceKind, "md0", "raid1", 1)
	put(sample.DeviceOn, "dm-0", "md0", 1)
	put(sample.DeviceOn, "md0", "vda", 1)
	put(sample.DeviceOn, "md0", "vdb", 1)
	for device, own := range map[string][2]float64{"dm-0": {1.0, 0.6}, "md0": {0.4, 0.1}, "vda": {0.3, 0.3}, "vdb": {0.3, 0.3}} {
		put(sample.LayerOps, device, "write dm-0", 10)
		put(sample.LayerBytes, device, "write dm-0", 40960)
		put(sample.LayerTime, device, "write dm-0", own[0])
		put(sample.LayerOwnTime, device, "write dm-0", own[1])
	}
	put(sample.LayerBeside, "md0", "write dm-0", 0.3)
	put(sample.BlockNoOrigin, "vda", "write", 3)
	for _, also := range more {
		also(r)
	}
	return r.Window(start.Add(time.Second))
}

func TestStack(t *testing.T) {
	w := stacked()
	tables := Disk(w, &Query{By: "stack"})
	if tables[0].Key != "stack" || len(tables[0].Rows) != 4 {
		t.Fatalf("%q has %d rows, want the four of the stack", tables[0].Key, len(tables[0].Rows))
	}
	object := tables[0].Object()["rows"].([]map[string]any)
	for i, want := range []struct {
		name         string
		each, own, n float64
	}{{"dm-0 (dm-delay slow) at /mnt", 0.1, 0.06, 0}, {"  md0 (raid1)", 0.04, 0.01, 0}, {"    vda", 0.03, 0.03, 3}, {"    vdb", 0.03, 0.03, 0}} {
		got := object[i]
		if got["stack"] != want.name || got["unknown_per_s"] != want.n {
			t.Errorf("row %d is %v, want %+v", i, got, want)
		}
		for key, v := range map[string]float64{"seconds": want.each, "own_seconds": want.own} {
			if f, ok := got[key].(float64); !ok || f < 0.999*v || f > 1.001*v {
				t.Errorf("%s of %s is %v, want %g", key, want.name, got[key], v)
			}
		}
	}
	if rest, ok := figure.Stacks(w)[0].Residual(); !ok || rest > 1e-9 || rest < -1e-9 {
		t.Errorf("%g of the time is of no layer, want none", rest)
	}
	if notes := strings.Join(tables[0].Notes, "\n"); !strings.Contains(notes, "0.0 % of the time is of no layer") {
		t.Errorf("notes %q", notes)
	}
	if n := len(Disk(w, &Query{By: "stack", Device: "sdz"})[0].Rows); n != 0 {
		t.Errorf("%d rows of a disk that is not there", n)
	}
}

// A file tells the layer that takes most of the time of the device that it is on.
func TestSlowestLayer(t *testing.T) {
	for _, c := range []struct {
		device, want string
	}{{"dm-0", "dm-0 (dm-delay slow)"}, {"vdb", "dm-0 (dm-delay slow)"}, {"vdc", ""}} {
		w := stacked(func(r *sample.Recorder) {
			f := sample.FileID{Dev: 1, Ino: 2}
			r.Put(sample.CacheAccesses, sample.Entity{PID: 7, File: f}, 10, "test")
			r.PutFile(f, sample.File{Path: "/mnt/data", Device: c.device})
		})
		row := Files(w, &Query{By: "file"})[0].Object()["rows"].([]map[string]any)[0]
		layer, _ := row["slowest_layer"].(string)
		share, _ := row["slowest_layer_share"].(float64)
		if layer != c.want || c.want != "" && (share < 0.599 || share > 0.601) || c.want == "" && row["slowest_layer_share"] != nil {
			t.Errorf("on %s: %q with %v, want %q with 0.6", c.device, layer, row["slowest_layer_share"], c.want)
		}
	}
}

// Two devices that are said to lie on each other do not go on for ever.
func TestStackInACircle(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	r := sample.NewRecorder(start)
	for _, pair := range [][2]string{{"dm-0", "dm-1"}, {"dm-1", "dm-2"}, {"dm-2", "dm-1"}} {
		r.Put(sample.DeviceOn, sample.Entity{Device: pair[0], Class: pair[1]}, 1, "test")
	}
	if s := figure.Stacks(r.Window(start.Add(time.Second))); len(s) != 1 || len(s[0]) != 3 {
		t.Errorf("%+v", s)
	}
}
