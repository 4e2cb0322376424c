package host

import (
	"encoding/binary"
	"reflect"
	"slices"
	"testing"
	"time"
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
	lies := []On{{MakeDev(253, 0), MakeDev(9, 0)}, {MakeDev(253, 1), MakeDev(253, 0)}, {MakeDev(9, 0), MakeDev(8, 0)}, {MakeDev(9, 0), MakeDev(8, 16)}}
	if got := h.LiesOn(devices); !slices.Equal(got, lies) {
		t.Errorf("%v, want %v", got, lies)
	}
	if !h.Stacked() {
		t.Error("no disk lies on another")
	}
	if tree("poor").Stacked() {
		t.Error("a host without layers has some")
	}
}

// Loop devices past the page cache whose file lies on a disk of this machine are
// layers; others, and those that only read, are not.
func TestDirectLoops(t *testing.T) {
	for _, c := range []struct {
		file, dio, readOnly, on string
	}{
		{"/var/image", "1", "0", "sda1"}, {"/var/image", "0", "0", ""}, {"/var/image", "1", "1", ""}, {"/mnt/image", "1", "0", ""}, {"/mntimage", "1", "0", "sda1"},
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{
			"sys/block/sda/dev": "8:0\n", "sys/block/sda/sda1/dev": "8:1\n", "sys/block/sda/sda1/partition": "1\n",
			"sys/block/loop0/dev": "7:0\n", "sys/block/loop0/ro": c.readOnly + "\n",
			"sys/block/loop0/loop/backing_file": c.file + "\n", "sys/block/loop0/loop/dio": c.dio + "\n",
			"proc/self/mountinfo": "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 21 0:40 / /mnt rw - fuse.x x rw\n",
		})
		h := Tree(dir, nil)
		devices, err := h.Devices()
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if c.on != "" {
			want = []string{c.on}
		}
		kind := map[string]string{"0": "loop", "1": "loop-direct"}[c.dio]
		if l := h.Layers(devices)["loop0"]; !reflect.DeepEqual(l.On, want) || l.Kind != kind || h.Stacked() != (c.on != "") {
			t.Errorf("%+v: it is a %q on %q, stacked is %v", c, l.Kind, l.On, h.Stacked())
		}
		if lies := h.LiesOn(devices); len(lies) != len(want) || len(lies) > 0 && lies[0] != (On{MakeDev(7, 0), MakeDev(8, 0)}) {
			t.Errorf("%+v: it lies on %v", c, lies)
		}
	}
}

// Some volume of device-mapper with requests of its own tells their major number.
func TestRequestsOfDM(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"sys/block/dm-0/dev": "253:0\n"})
	if got := Tree(dir, nil).RequestsOfDM(); got != 0 {
		t.Errorf("the major number is %d where all take bios", got)
	}
	write(t, dir, map[string]string{"sys/block/dm-1/dev": "253:1\n", "sys/block/dm-1/mq/x": ""})
	if got := Tree(dir, nil).RequestsOfDM(); got != 253 {
		t.Errorf("the major number is %d, want 253", got)
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

// What was read of the devices holds until the kernel announces something, or for some
// seconds: not everything is announced.
func TestDevicesAreRemembered(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1700000000, 0)
	write(t, dir, map[string]string{"sys/block/sda/dev": "8:0\n", "sys/block/sda/sda1/dev": "8:1\n", "sys/block/sda/sda1/partition": "1\n", "sys/kernel/uevent_seqnum": "70\n"})
	h := Tree(dir, func() time.Time { return now })
	h.IsLive = true
	want := func(why string, want int) {
		t.Helper()
		d, err := h.Devices()
		if err != nil || len(d.All()) != want {
			t.Errorf("%s: %d devices, %v, want %d", why, len(d.All()), err, want)
		}
	}
	want("at first", 2)
	write(t, dir, map[string]string{"sys/block/sdb/dev": "8:16\n"})
	want("nothing is announced", 2)
	write(t, dir, map[string]string{"sys/kernel/uevent_seqnum": "71\n"})
	want("announced", 3)
	write(t, dir, map[string]string{"sys/block/sdc/dev": "8:32\n"})
	want("nothing is announced", 3)
	now = now.Add(rememberDevices)
	want("later", 4)
	d, _ := h.Devices()
	if got := d.Partitions("sda"); len(got) != 1 || got[0].Name != "sda1" || len(d.Partitions("sdb"))+len(d.Partitions("none")) > 0 {
		t.Errorf("the partitions of sda are %v", got)
	}
}

// Paths of NVMe have numbers by which requests are found, and are no disks of their own.
func TestPathsAreFound(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"sys/block/nvme0n1/dev": "259:1\n", "sys/block/nvme0n1/size": "8", "sys/block/nvme0c0n1/ana_state": "optimized\n", "sys/block/nvme0c1n1/ana_state": "optimized\n",
		"proc/diskstats": " 259       1 nvme0n1 1 2 3\n 259       0 nvme0c0n1 1 2 3\n 259       2 nvme0c1n1 1 2 3\n",
	})
	h := Tree(dir, nil)
	d, err := h.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if name, ok := d.Disk(MakeDev(259, 2)); !ok || name != "nvme0c1n1" || len(d.Disks()) != 1 || len(d.All()) != 1 {
		t.Errorf("259:2 is %q; the disks are %v", name, d.Disks())
	}
	if l := h.Layers(d)["nvme0n1"]; l.Kind != "nvme-multipath" || !reflect.DeepEqual(l.On, []string{"nvme0c0n1", "nvme0c1n1"}) || !h.Stacked() {
		t.Errorf("it lies on %+v", l)
	}
}

func TestStripes(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	array := func(name, dev, level, members string, offsets ...string) {
		at := "sys/block/" + name
		files[at+"/dev"], files[at+"/md/level"], files[at+"/md/raid_disks"], files[at+"/md/chunk_size"] = dev+"\n", level+"\n", members+"\n", "524288\n"
		for i, o := range offsets {
			files[at+"/md/rd"+string(rune('0'+i))+"/offset"] = o + "\n"
		}
	}
	array("md0", "9:0", "raid5", "3", "2048", "2048") // one of its members is missing
	array("md1", "9:1", "raid6", "6", "0", "0", "0")
	array("md2", "9:2", "raid5", "3", "2048", "4096", "2048")
	array("md3", "9:3", "raid5", "4 (3)", "2048")
	array("md4", "9:4", "raid1", "2", "2048", "2048")
	write(t, dir, files)
	want := map[DevNumber]Stripes{MakeDev(9, 0): {2048, 1024, 2}, MakeDev(9, 1): {0, 1024, 4}}
	if got := Tree(dir, nil).Stripes(); !reflect.DeepEqual(got, want) {
		t.Errorf("the stripes are %+v, want %+v", got, want)
	}
}
