package filesystem

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

// What it says of the file system of / is what the kernel says.
func TestCollect(t *testing.T) {
	mounts, err := host.Live().Mounts()
	require.NoError(t, err)
	all := onDevices(mounts)
	if len(all) == 0 {
		t.Skip("no file system here is on a block device")
	}
	s, err := Opener()(host.Live())
	require.NoError(t, err)
	defer s.Close()
	w := proctest.Collect(t, s, sample.First)
	n := 0
	w.Each(sample.FSSize, func(e sample.Entity, size *sample.Series) {
		n++
		var st unix.Statfs_t
		require.NoError(t, unix.Statfs(e.Class, &st))
		if want := float64(st.Blocks) * float64(st.Frsize); size.Last() != want {
			t.Errorf("%s: size %v, want %v", e.Class, size.Last(), want)
		}
		free, ok := w.Value(sample.FSAvailable, e)
		if want := float64(st.Bavail) * float64(st.Frsize); !ok || math.Abs(free-want) > size.Last()/20 {
			t.Errorf("%s: %v available, want about %v", e.Class, free, want)
		}
	})
	if n != len(all) {
		t.Errorf("%d file systems, want %d", n, len(all))
	}
	if again := proctest.Collect(t, s, sample.Last); again.Has(sample.FSSize) {
		t.Error("it is read at the end too")
	}
}

// A file system with a device number of its own lies on what it is mounted from.
func TestNumbersOfTheirOwn(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/self/mountinfo", "1 0 0:45 / /pool rw - btrfs /dev/nosuch1 rw,compress=zstd\n2 0 254:17 / /data rw - xfs /dev/other1 rw\n3 0 0:46 / /gone rw - btrfs /dev/gone1 rw\n")
	for disk, dev := range map[string]string{"nosuch": "254:", "other": "254:1"} {
		x.Write("sys/block/"+disk+"/dev", dev+"0\n")
		x.Write("sys/block/"+disk+"/"+disk+"1/dev", dev+"7\n")
		x.Write("sys/block/"+disk+"/"+disk+"1/partition", "1\n")
	}
	s := &source{host: x.Host(), asked: &sync.Map{}, statfs: func(_ string, st *unix.Statfs_t) error {
		st.Blocks, st.Frsize = 7, 4096
		return nil
	}}
	w := proctest.Collect(t, s, sample.First)
	for point, device := range map[string]string{"/pool": "nosuch", "/data": "other", "/gone": ""} {
		proctest.Want(t, w, sample.FSSize, sample.Entity{Device: device, Class: point}, 7*4096)
	}
	proctest.Want(t, w, sample.FSOption, sample.Entity{Device: "nosuch", Class: "compress=zstd /pool"}, 1)
}

func TestOnDevices(t *testing.T) {
	dev := host.MakeDev
	got := onDevices(host.Mounts{
		{Dev: dev(0, 5), Point: "/dev", Source: "devtmpfs", Type: "devtmpfs", Root: "/"},
		{Dev: dev(8, 1), Point: "/chroot/etc", Source: "/dev/sda1", Type: "ext4", Root: "/etc"},
		{Dev: dev(8, 1), Point: "/", Source: "/dev/sda1", Type: "ext4", Root: "/"},
		{Dev: dev(0, 40), Point: "/pool", Source: "/dev/sdb", Type: "btrfs", Root: "/"},
		{Dev: dev(0, 50), Point: "/net", Source: "server:/export", Type: "nfs4", Root: "/"},
		{Dev: dev(0, 52), Point: "/etc/pve", Source: "/dev/fuse", Type: "fuse", Root: "/"},
		{Dev: dev(0, 53), Point: "/mnt", Source: "/dev/fuse", Type: "fuse.gcsfuse", Root: "/"},
		{Dev: dev(8, 17), Point: "/usb", Source: "/dev/sdb1", Type: "fuseblk", Root: "/"},
		{Dev: dev(7, 3), Point: "/snap/core20/2318", Source: "/dev/loop3", Type: "squashfs", Root: "/"},
		{Dev: dev(11, 0), Point: "/cdrom", Source: "/dev/sr0", Type: "iso9660", Root: "/"},
		{Dev: dev(0, 51), Point: "/run", Source: "tmpfs", Type: "tmpfs", Root: "/"},
	})
	if len(got) != 2 || got[0].Point != "/" || got[1].Point != "/pool" {
		t.Errorf("%+v", got)
	}
}

func TestCapturedHost(t *testing.T) {
	if _, err := Opener()(host.Tree(t.TempDir(), time.Now)); !errors.Is(err, ErrNotLive) {
		t.Errorf("%v", err)
	}
}

// One that never answers keeps neither the others from it, nor who asks for long.
func TestSilentFileSystem(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	s := &source{asked: &sync.Map{}, statfs: func(point string, st *unix.Statfs_t) error {
		if point == "/hung" {
			<-forever
		}
		st.Blocks = 7
		return nil
	}}
	begun := time.Now()
	got := s.askAll(host.Mounts{{Point: "/a"}, {Point: "/hung"}, {Point: "/b"}})
	if took := time.Since(begun); took > 3*patience {
		t.Errorf("it took %v", took)
	}
	for i, want := range []error{nil, errSilent, nil} {
		if !errors.Is(got[i].err, want) || want == nil && got[i].st.Blocks != 7 {
			t.Errorf("%s: %v, %d blocks", got[i].mount.Point, got[i].err, got[i].st.Blocks)
		}
	}
}

// One that has not answered is not asked again, by nobody, until it has: each question
// keeps a thread. Then it is.
func TestSilentFileSystemIsAskedOnce(t *testing.T) {
	answers := make(chan struct{})
	var calls atomic.Int64
	asked := &sync.Map{}
	statfs := func(string, *unix.Statfs_t) error {
		calls.Add(1)
		<-answers
		return nil
	}
	hung := host.Mounts{{Point: "/hung"}}
	for i := range 5 { // as the agent does every ten seconds, and each diagnosis beside it
		s := &source{statfs: statfs, asked: asked}
		if got, want := s.askAll(hung)[0].err, []error{errSilent, errStill}[min(i, 1)]; !errors.Is(got, want) {
			t.Errorf("time %d: %v, want: %v", i, got, want)
		}
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("it was asked %d times, want once", n)
	}
	close(answers)
	s := &source{statfs: statfs, asked: asked}
	for range 1000 {
		if s.askAll(hung)[0].err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("it is never asked again")
}

// So many that never answer keep their threads; what is behind them is not asked, and
// nobody waits for it any longer.
func TestCrowdOfSilentFileSystems(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	var asked atomic.Int64
	s := &source{asked: &sync.Map{}, statfs: func(string, *unix.Statfs_t) error {
		asked.Add(1)
		<-forever
		return nil
	}}
	begun := time.Now()
	mounts := make(host.Mounts, 5000)
	for i := range mounts {
		mounts[i].Point = fmt.Sprintf("/mnt/%d", i)
	}
	got := s.askAll(mounts)
	if took := time.Since(begun); took > 3*patience {
		t.Errorf("it took %v", took)
	}
	silent, crowd := 0, 0
	for _, a := range got {
		switch {
		case errors.Is(a.err, errSilent):
			silent++
		case errors.Is(a.err, errCrowd):
			crowd++
		}
	}
	if silent != atOnce || crowd != 5000-atOnce || asked.Load() != atOnce {
		t.Errorf("%d did not answer and %d were not asked, want %d and %d; %d were asked", silent, crowd, atOnce, 5000-atOnce, asked.Load())
	}
}
