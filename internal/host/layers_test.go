package host

import (
	"encoding/binary"
	"reflect"
	"testing"
)

// dm-crypt on LVM on md, a loop device, and disks without anything on them.
func TestLayers(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"sys/block/sda/dev": "8:0\n", "sys/block/sda/size": "8", "sys/block/sda/sda1/dev": "8:1\n", "sys/block/sda/sda1/partition": "1\n",
		"sys/block/sdb/dev": "8:16\n",
		"sys/block/md0/dev": "9:0\n", "sys/block/md0/md/level": "raid1\n", "sys/block/md0/slaves/sda1/x": "", "sys/block/md0/slaves/sdb/x": "",
		"sys/block/dm-0/dev": "253:0\n", "sys/block/dm-0/dm/name": "vg-root\n", "sys/block/dm-0/dm/uuid": "LVM-abc\n", "sys/block/dm-0/slaves/md0/x": "",
		"sys/block/dm-1/dev": "253:1\n", "sys/block/dm-1/dm/name": "luks\n", "sys/block/dm-1/dm/uuid": "CRYPT-LUKS2-abc-luks\n", "sys/block/dm-1/slaves/dm-0/x": "",
		"sys/block/loop0/dev": "7:0\n", "sys/block/loop0/loop/backing_file": "/var/disk image\n",
		"sys/block/loop1/dev": "7:1\n",
	})
	h := Tree(dir, nil)
	devices, err := h.Devices()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Layer{
		"md0":   {Kind: "raid1", On: []string{"sda1", "sdb"}},
		"dm-0":  {Kind: "dm", Label: "vg-root", On: []string{"md0"}},
		"dm-1":  {Kind: "dm-crypt", Label: "luks", On: []string{"dm-0"}},
		"loop0": {Kind: "loop", File: "/var/disk image"},
	}
	if got := h.Layers(devices); !reflect.DeepEqual(got, want) {
		t.Errorf("the layers are %+v, want %+v", got, want)
	}
	if !h.Stacked() {
		t.Error("no disk lies on another")
	}
	if tree("poor").Stacked() {
		t.Error("a host without layers has some")
	}
}

func TestTargetKinds(t *testing.T) {
	data := make([]byte, 160)
	put := func(at, next int, kind string) {
		binary.NativeEndian.PutUint32(data[at+20:], uint32(next))
		copy(data[at+24:], kind)
	}
	put(0, 48, "linear")
	put(48, 96, "striped")
	put(96, 144, "linear")
	for _, c := range []struct {
		count int
		full  bool
		want  string
	}{{1, false, "dm-linear"}, {3, false, "dm-linear, dm-striped"}, {9, true, "dm-linear, dm-striped, ..."}, {0, false, ""}} {
		if got := targetKinds(data, c.count, c.full); got != c.want {
			t.Errorf("%d targets are %q, want %q", c.count, got, c.want)
		}
	}
	put(0, 0, "linear") // which does not end
	if got := targetKinds(data, 1<<30, false); got != "dm-linear" {
		t.Errorf("a status that leads nowhere is %q", got)
	}
}
