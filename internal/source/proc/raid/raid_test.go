package raid

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

func tree(t *testing.T, files map[string]string) *host.Host {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, "sys/block", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return host.Tree(root, time.Now)
}

func observe(t *testing.T, h *host.Host) (*sample.Window, error) {
	t.Helper()
	s, err := Open(h)
	if err != nil {
		t.Fatal(err)
	}
	r := sample.NewRecorder(time.Now())
	err = s.Collect(sample.Last, r)
	return r.Window(time.Now()), err
}

func TestArray(t *testing.T) {
	w, err := observe(t, tree(t, map[string]string{
		"md0/dev": "9:0", "md0/size": "2048", "md0/md/raid_disks": "4 (3)", "md0/md/degraded": "1",
		"md0/md/sync_action": "recover", "md0/md/sync_completed": "512 / 2048", "md0/md/sync_speed": "1000",
		"md0/md/dev-sda1/state": "in_sync", "md0/md/dev-sdb1/state": "spare",
		"md1/dev": "9:1", "md1/size": "2048", "md1/md/raid_disks": "2", // RAID 0
		"md2/dev": "9:2", "md2/size": "2048", "md2/md/raid_disks": "2", "md2/md/degraded": "0",
		"md2/md/sync_action": "idle", "md2/md/sync_completed": "none", "md2/md/sync_speed": "none",
	}))
	if err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		metric        sample.Metric
		device, class string
		want          float64
	}{
		{sample.RaidMembers, "md0", "", 4}, {sample.RaidDegraded, "md0", "", 1}, {sample.RaidAction, "md0", "recover", 1},
		{sample.RaidDone, "md0", "", 0.25}, {sample.RaidSpeed, "md0", "", 1024000},
		{sample.RaidMember, "md0", "sda1 in_sync", 1}, {sample.RaidMember, "md0", "sdb1 spare", 1},
		{sample.RaidMembers, "md1", "", 2}, {sample.RaidDegraded, "md2", "", 0}, {sample.RaidAction, "md2", "idle", 1},
	} {
		if got, ok := w.Value(c.metric, sample.Entity{Device: c.device, Class: c.class}); !ok || got != c.want {
			t.Errorf("%s %q of %s is %v (%v), want %v", c.metric, c.class, c.device, got, ok, c.want)
		}
	}
	for _, m := range []sample.Metric{sample.RaidDegraded, sample.RaidAction} {
		w.Each(m, func(e sample.Entity, _ *sample.Series) {
			if e.Device == "md1" {
				t.Errorf("RAID 0 has %s", m)
			}
		})
	}
	if w.Get(sample.RaidDone, sample.Entity{Device: "md2"}) != nil {
		t.Error("an idle array is done by some share")
	}
}

func TestNotANumber(t *testing.T) {
	_, err := observe(t, tree(t, map[string]string{"md0/dev": "9:0", "md0/size": "8", "md0/md/degraded": "x\x1b[2J"}))
	if err == nil {
		t.Error("a figure that is none was taken")
	}
}

// A thousand devices of device-mapper are looked at in bounded time.
func TestManyDevices(t *testing.T) {
	files := map[string]string{}
	for i := range 1000 {
		at := fmt.Sprintf("dm-%d/", i)
		files[at+"dev"], files[at+"size"], files[at+"dm/name"] = fmt.Sprintf("253:%d", i), "8", fmt.Sprintf("vg-%d", i)
	}
	h := tree(t, files)
	began := time.Now()
	w, err := observe(t, h)
	if took := time.Since(began); err != nil || took > 5*time.Second || !w.Has(sample.RaidMembers) {
		t.Errorf("took %v, %v", took, err)
	}
}
