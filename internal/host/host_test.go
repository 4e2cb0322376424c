package host

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/require"
)

const trees = "../../testdata/hosts"

func tree(name string) *Host {
	return Tree(filepath.Join(trees, name), func() time.Time { return time.Unix(1700000000, 0) })
}

// write makes files below dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(content), 0o644))
	}
}

func TestDevices(t *testing.T) {
	d, err := tree("nvme-cgroup2").Devices()
	require.NoError(t, err)
	for _, c := range []struct {
		dev  string
		disk string
	}{{"259:0", "nvme0n1"}, {"259:1", "nvme0n1"}, {"8:0", "sda"}, {"253:0", "dm-0"}, {"8:1", ""}} {
		n, ok := ParseDev([]byte(c.dev))
		if !ok || n.String() != c.dev {
			t.Errorf("ParseDev(%q) = %v, %v", c.dev, n, ok)
		}
		if disk, _ := d.Disk(n); disk != c.disk {
			t.Errorf("disk of %s = %q, want %q", c.dev, disk, c.disk)
		}
	}
	if n, ok := d.Number("nvme0n1p1"); !ok || n != 259<<20|1 {
		t.Errorf("number of nvme0n1p1 = %v, %v", n, ok)
	}
	if len(d.All()) != 5 || len(d.Disks()) != 4 {
		t.Errorf("%d devices, %d disks", len(d.All()), len(d.Disks()))
	}
	if x, _ := d.Lookup(MakeDev(259, 1)); x.Bytes != 900000*512 || x.Whole() {
		t.Errorf("%+v", x)
	}
}

func TestDevicesInClassBlock(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"sys/class/block/sda/dev": "8:0\n", "sys/class/block/sda/sda1/dev": "8:1\n", "sys/class/block/sda/sda1/partition": "1\n",
		"sys/class/block/sda1/dev": "8:1\n", "sys/class/block/sda1/partition": "1\n",
		"sys/class/block/hidden/size": "8\n", "sys/class/block/broken/dev": "x:y\n",
	})
	d, err := Tree(dir, nil).Devices()
	if err != nil || len(d.All()) != 2 {
		t.Errorf("%+v, %v", d.All(), err)
	}
}

func TestParseDev(t *testing.T) {
	for _, s := range []string{"", ":", "8", "8:", ":0", "4096:0", "0:1048576", "-1:0", "8:0 ", "99999999999999999999:0"} {
		if d, ok := ParseDev([]byte(s)); ok {
			t.Errorf("%q was taken for %v", s, d)
		}
	}
}

func TestMounts(t *testing.T) {
	m, err := tree("nvme-cgroup2").Mounts()
	require.NoError(t, err)
	if x, ok := m.Find(MakeDev(253, 0)); !ok || x.Point != "/mnt/big data" || x.Type != "xfs" || !x.HasOption("attr2") {
		t.Errorf("%+v, %v", x, ok)
	}
	if x, _ := m.Find(MakeDev(259, 1)); x.Point != "/" {
		t.Errorf("found the bind mount %q, not the file system's top", x.Point)
	}
	if n := len(m.At(MakeDev(259, 1))); n != 2 {
		t.Errorf("%d mounts of the root file system", n)
	}
}

func TestParseMounts(t *testing.T) {
	m, err := parseMounts([]byte("1 0 0:5 /a\\134040b /p\\011\\012\\999\\77 rw - tmpfs  rw,size=4k\n" +
		"2 1 8:1 / /x rw,noatime shared:1 master:2 unbindable - ext4 /dev/sda1 rw\n\n3 1 0:9 / /y rw - fuse.x src\n"))
	require.NoError(t, err)
	if m[0].Root != `/a\040b` || m[0].Point != "/p\t\n\\999\\77" || m[0].Source != "" || m[0].Super[1] != "size=4k" {
		t.Errorf("%+v", m[0])
	}
	if m[1].Source != "/dev/sda1" || m[1].Options[1] != "noatime" || m[2].Source != "src" || m[2].Super != nil {
		t.Errorf("%+v", m[1:])
	}
	for _, s := range []string{"1 0 x / / rw - a b c", "1 0 8:1 / / rw", "1 0 8:1 / / rw -", "1 0 8:1 / / rw - ext4"} {
		_, err := parseMounts([]byte("1 0 8:1 / / rw - a b c\n" + s))
		var l *LineError
		if !errors.As(err, &l) || l.Line != 2 {
			t.Errorf("%q: %v", s, err)
		}
		if got := In("/proc/self/mountinfo", err).Error(); !strings.Contains(got, "/proc/self/mountinfo:2: ") {
			t.Errorf("%q", got)
		}
	}
}

func TestCgroups(t *testing.T) {
	for name, want := range map[string]CgroupMode{"nvme-cgroup2": CgroupV2, "virtio-cgroup1": CgroupHybrid, "poor": CgroupNone} {
		h := tree(name)
		c, err := h.Cgroups()
		if err != nil || c.Mode != want {
			t.Errorf("%s: mode %v, %v, want %v", name, c.Mode, err, want)
		}
	}
	h := tree("virtio-cgroup1")
	c, _ := h.Cgroups()
	if dir, err := c.Join("memory", "/batch/job"); err != nil || dir != filepath.Join(h.Root, "sys/fs/cgroup/memory/batch/job") {
		t.Errorf("%q, %v", dir, err)
	}
	if _, err := c.Join("io", "/"); !errors.Is(err, ErrNoController) {
		t.Errorf("%v", err)
	}
	if x, ok := c.Controller("memory"); !ok || x.V2 || x.Path(filepath.Join(x.Dir, "a/b")) != "/a/b" || x.Path(x.Dir) != "/" {
		t.Errorf("%+v, %v", x, ok)
	}
}

// TestCgroupsOfSubtree is what a container without a cgroup name space sees.
func TestCgroupsOfSubtree(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"proc/self/mountinfo": "1 0 0:9 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n" +
		"2 0 0:8 /../.. /sys/fs/cgroup/unified ro - cgroup2 cgroup rw\n3 0 0:7 / /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct,xattr\n",
		"sys/fs/cgroup/unified/cgroup.controllers": "io pids\n"})
	c, err := Tree(dir, nil).Cgroups()
	if err != nil || c.Mode != CgroupHybrid {
		t.Fatalf("%+v, %v", c, err)
	}
	if p, err := c.Join("memory", "/docker/abc/x"); err != nil || p != filepath.Join(dir, "sys/fs/cgroup/memory/x") {
		t.Errorf("%q, %v", p, err)
	}
	for _, cg := range []string{"/docker/abcd", "/", "/docker/abc/../../x"} {
		if p, err := c.Join("memory", cg); err == nil {
			t.Errorf("%q leads to %q", cg, p)
		}
	}
	if p, err := c.Join("io", "/a"); err != nil || p != filepath.Join(dir, "sys/fs/cgroup/unified/a") {
		t.Errorf("%q, %v", p, err)
	}
	if _, err := c.Join("io", "/../b"); err == nil {
		t.Error("a path outside of the name space was joined")
	}
	if _, err := c.Join("cpuacct", "/"); err != nil {
		t.Error(err)
	}
	x, _ := c.Controller("memory")
	if p := x.Path(filepath.Join(x.Dir, "y z")); p != "/docker/abc/y z" {
		t.Errorf("%q", p)
	}
}

func TestCgroupIDs(t *testing.T) {
	dir := t.TempDir()
	now := time.Unix(1700000000, 0)
	h := Tree(dir, func() time.Time { return now })
	ids := h.IDs(Hierarchy{root: "/", Dir: dir})
	ino := func(name string) uint64 {
		p := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(p, 0o755))
		var st syscall.Stat_t
		require.NoError(t, syscall.Stat(p, &st))
		return st.Ino
	}
	odd := "a b\n\"c\" (deleted)"
	a := ino(odd)
	if p, ok := ids.Path(a); !ok || p != "/"+odd {
		t.Errorf("%q, %v", p, ok)
	}
	b := ino(odd + "/new")
	if p, ok := ids.Path(b); ok {
		t.Errorf("%q was found without a walk: a miss a moment later must not walk again", p)
	}
	now = now.Add(2 * time.Second)
	if p, ok := ids.Path(b); !ok || p != "/"+odd+"/new" {
		t.Errorf("%q, %v", p, ok)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, odd)))
	now = now.Add(2 * time.Second)
	ids.Path(1 << 60)
	if p, ok := ids.Path(a); !ok || p != "/"+odd || ids.Full() {
		t.Errorf("a removed cgroup is forgotten: %q, %v", p, ok)
	}
}

func TestBoot(t *testing.T) {
	h := tree("nvme-cgroup2")
	if b, err := h.BootTime(); err != nil || b.Unix() != 1700000000 {
		t.Errorf("%v, %v", b, err)
	}
	if u, err := h.Uptime(); err != nil || u != 1000500*time.Millisecond {
		t.Errorf("%v, %v", u, err)
	}
	if n := tree("virtio-cgroup1").PageSize(); n != 4096 {
		t.Errorf("page of %d bytes", n)
	}
	dir := t.TempDir()
	for _, s := range []string{"", "x", "1.2.3", "-5 1", "99999999999999999999"} {
		write(t, dir, map[string]string{"proc/uptime": s, "proc/stat": "cpu 1\nbtime " + s + "\n"})
		if u, err := Tree(dir, nil).Uptime(); err == nil {
			t.Errorf("%q is %v", s, u)
		}
		if u, err := Tree(dir, nil).BootTime(); err == nil {
			t.Errorf("%q is %v", s, u)
		}
	}
}

func TestFingerprint(t *testing.T) {
	f, err := tree("nvme-cgroup2").Fingerprint()
	if err != nil {
		t.Error(err)
	}
	num := func(n uint64) *uint64 { return &n }
	no := false
	want := BlockDevice{Name: "nvme0n1", Bytes: 512000000, Model: "Amazon Elastic Block Store", Queue: Queue{
		Scheduler: "none", ReadAheadBytes: num(128 << 10), Rotational: &no, NrRequests: num(1023), WBTLatUsec: num(2000), MaxSectorsKB: num(1280),
	}}
	if len(f.Devices) != 3 || !reflect.DeepEqual(f.Devices[1], want) {
		t.Errorf("devices %+v", f.Devices)
	}
	if len(f.FileSystems) != 2 || f.FileSystems[1].Mount != "/mnt/big data" || f.FileSystems[1].Disk != "dm-0" {
		t.Errorf("file systems %+v", f.FileSystems)
	}
	if f.CPUs != 2 || f.MemoryBytes != 8192000000 || *f.SwapBytes != 2048000000 || f.VM["swappiness"] != 60 || f.CgroupMode != CgroupV2 ||
		f.Lockdown != "none" || f.THP != "madvise" || f.MGLRU != "0x0007" || f.Virtual.Product != "m5.large" || *f.Virtual.Hypervisor {
		t.Errorf("%+v", f)
	}
	if v, ok := f.VM["dirty_bytes"]; !ok || v != 0 {
		t.Error("a setting of zero was lost")
	}
}

// TestFingerprintOfPoorHost holds nothing that was not read.
func TestFingerprintOfPoorHost(t *testing.T) {
	f, err := tree("poor").Fingerprint()
	if err != nil {
		t.Error(err)
	}
	b, err := json.Marshal(f)
	require.NoError(t, err)
	const want = `{"kernel":"4.19.0","memory_bytes":524288000,"file_systems":[{"mount":"/","type":"ext4","device":"/dev/sda2","options":["rw"]}],"cgroup_mode":"none"}`
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
}

func TestLiveFingerprint(t *testing.T) {
	f, err := Live().Fingerprint()
	if err != nil {
		t.Log(err)
	}
	if f.Kernel == "" || f.Arch == "" || f.CPUs < 1 || f.MemoryBytes == 0 || f.PageSize == 0 {
		t.Errorf("%+v", f)
	}
}

func TestChosen(t *testing.T) {
	for in, want := range map[string]string{"none [mq-deadline] kyber": "mq-deadline", "[none]": "none", "none\n": "none", "": "", "a b": "", "x ]y[": ""} {
		if got := Chosen(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestQueueWithoutAttributes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"sys/block/x/queue/wbt_lat_usec": "-1\n", "sys/block/x/queue/nr_requests": "many\n", "sys/block/x/queue/rotational": "0\n"})
	q, err := Tree(dir, nil).Queue("x")
	if err == nil || !strings.Contains(err.Error(), "nr_requests:1: ") {
		t.Errorf("%v does not name the file and the line", err)
	}
	if q.WBTLatUsec != nil || q.NrRequests != nil || q.ReadAheadBytes != nil || q.Rotational == nil || *q.Rotational {
		t.Errorf("%+v", q)
	}
}

func TestUint(t *testing.T) {
	for s, want := range map[string]uint64{"0": 0, "18446744073709551615": 1<<64 - 1, "007": 7} {
		if n, ok := Uint([]byte(s)); !ok || n != want {
			t.Errorf("%q: %d, %v", s, n, ok)
		}
	}
	for _, s := range []string{"", "-1", "+1", "1 ", "0x1", "18446744073709551616", "99999999999999999999999"} {
		if n, ok := Uint([]byte(s)); ok {
			t.Errorf("%q was taken for %d", s, n)
		}
	}
}

func TestCounters(t *testing.T) {
	var c Counters[string]
	step := func(f func(string, uint64) (uint64, Step), now, want uint64, how Step) {
		t.Helper()
		if r, h := f("x", now); r != want || h != how {
			t.Errorf("to %d: %d, %v; want %d, %v", now, r, h, want, how)
		}
	}
	step(c.Step, 5, 0, Begun)
	step(c.Step, 7, 2, Rose)
	step(c.Step, 3, 0, Fell)
	step(c.Step, 4, 1, Rose)
	step(c.Step, 1<<32-10, 1<<32-14, Rose)
	step(c.Step32, 5, 15, Rose) // wrapped
	step(c.Step32, 2, 0, Fell)  // reset
	step(c.Step32, 1<<33, 1<<33-2, Rose)
	step(c.Step32, 1, 0, Fell) // never was 32 bits
	c.Reset()
	c.New("x")
	step(c.Step, 9, 9, Rose)
	c.New("x")
	step(c.Step, 9, 0, Rose)
	c.Sweep()
	step(c.Step, 10, 1, Rose) // was looked at before the sweep
	c.Sweep()
	c.Sweep()
	step(c.Step, 12, 0, Begun)
	if c.Sweep(); len(c.last) != 1 {
		t.Errorf("%d are remembered", len(c.last))
	}
	if c.Sweep(); len(c.last) != 0 {
		t.Errorf("%d are remembered", len(c.last))
	}
}

func TestRead(t *testing.T) {
	p := filepath.Join(t.TempDir(), "f")
	long := strings.Repeat("0123456789", 2000)
	require.NoError(t, os.WriteFile(p, []byte(long), 0o644))
	buf := make([]byte, 3, 7)
	b, err := Read(p, buf)
	if err != nil || string(b) != long {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	for room := range 9 {
		if b, err := ReadRecord(p, make([]byte, 0, room)); err != nil || string(b) != long {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	}
	if _, err := Read(p+"x", b); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Read("/dev/zero", nil); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"nvme-cgroup2", "virtio-cgroup1"} {
		b, err := os.ReadFile(filepath.Join(trees, name, "proc/self/mountinfo"))
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte("1 0 8:1 /\\0 /\\777 rw - a  b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMounts(b)
		var l *LineError
		if err != nil && !errors.As(err, &l) {
			t.Errorf("%v has no line", err)
		}
		for _, x := range m {
			m.Find(x.Dev)
		}
		fileSystems(m, &Devices{})
		Chosen(string(b))
		ParseDev(b)
		if field, rest := Field(b); len(field)+len(rest) > len(b) {
			t.Error("more came out than went in")
		}
	})
}

func TestOverlayOptions(t *testing.T) {
	m, err := parseMounts([]byte(`9 1 0:40 / /m rw - overlay overlay rw,lowerdir=/a\134:b:/c\054d::/data,upperdir=/u\134:v,workdir=/w` + "\n" +
		`9 1 0:41 / /m rw - overlay overlay ro,lowerdir+=/x:y,lowerdir+=/z,datadir+=/e` + "\n"))
	require.NoError(t, err)
	for i, want := range [][]string{{"/u:v", "/a:b", "/c,d", "/data"}, {"/x:y", "/z", "/e"}} {
		if got := m[i].layers(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A file may wait for its own server, or for that of a directory on the way.
func TestMayWait(t *testing.T) {
	all := Mounts{{Dev: 1, Point: "/", Type: "ext4"}, {Dev: 2, Point: "/srv/nfs", Type: "nfs4"}, {Dev: 3, Point: "/srv/nfs/local", Type: "xfs"}, {Dev: 4, Point: "/mnt", Type: "fuse.sshfs"}}
	for _, c := range []struct {
		dev  DevNumber
		path string
		want bool
	}{{1, "/etc/passwd", false}, {1, "/srv/nfsdata", false}, {2, "/elsewhere/x", true}, {3, "/srv/nfs/local/x", true}, {4, "", true}, {5, "", false}} {
		if got := all.MayWait(c.dev, c.path); got != c.want {
			t.Errorf("%d %q: %v", c.dev, c.path, got)
		}
	}
}
