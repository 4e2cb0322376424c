package blockio

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
)

// What finds its place taken is counted in the hash tables, and is the same.
func TestPlacesAreTaken(t *testing.T) {
	const count = 499
	for _, taken := range []bool{false, true} {
		t.Run("taken "+strconv.FormatBool(taken), func(t *testing.T) {
			path := bpftest.File(t, 4*count)
			buf, offsets := bpftest.Aligned(t, 4096), stride(count, 16384)
			used := map[string]bool{}
			w, hidden := bpftest.ObserveSeen(t, 4096, func(h *host.Host) (sample.Source, error) {
				s, err := Open(h)
				if err == nil && taken {
					takeAll(t, s.(*Probe))
				}
				return &counted{s, used}, err
			}, func() {
				directReads(t, path, buf, offsets)
				directReads(t, path, buf, offsets)
			})
			e := sample.Entity{PID: os.Getpid(), Device: device(t, w), Class: "read"}
			for m, want := range map[sample.Metric]float64{sample.BlockOps: 2 * count, sample.BlockBytes: 2 * count * 4096} {
				if got, _ := w.Sum(m, e); got > want || got < want-hidden*want/(2*count) {
					t.Errorf("%s is %g, want %g; %g completions were hidden", m, got, want, hidden)
				}
			}
			if got, _ := w.Sum(sample.BlockDirectAgn, sample.Entity{PID: e.PID}); got > count*4096 || got < (count-hidden)*4096 {
				t.Errorf("%g bytes read again, want %d; %g completions were hidden", got, count*4096, hidden)
			}
			dev := sample.Entity{Device: e.Device, Class: "read"}
			ops, _ := w.Sum(sample.BlockOps, dev)
			const besides = count / 2 // others may read between the reading of one table and of another
			if h := w.Histogram(sample.HistDevice, dev); h == nil || float64(h.N()) < ops || float64(h.N()) > ops+besides {
				t.Errorf("the histogram %+v is not of the %g reads of the device", h, ops)
			}
			for _, m := range []sample.Metric{sample.BlockBinOps, sample.BlockFineOps} {
				bins, _ := w.SumWhere(m, func(b sample.Entity) bool { return b.Device == e.Device })
				all, _ := w.SumWhere(sample.BlockOps, func(o sample.Entity) bool {
					return o.Device == e.Device && o.PID == 0 && o.Cgroup == "" && (o.Class == "read" || o.Class == "write")
				})
				if bins > all || bins < all-besides {
					t.Errorf("%s is %g of %g operations", m, bins, all)
				}
			}
			for table, used := range used {
				if taken && !used {
					t.Errorf("nothing is in %s, where all places are taken", table)
				}
			}
		})
	}
}

// counted notes which hash tables had rows in the end.
type counted struct {
	sample.Source
	used map[string]bool
}

func (c *counted) Close() error {
	p := c.Source.(*Probe).probe
	for table, key := range map[string]any{"by_owner": &blockioOwnerKey{}, "devices": new(uint32), "direct_seen": &blockioChunkKey{}} {
		c.used[table] = p.Map(table).NextKey(nil, key) == nil
	}
	return c.Source.Close()
}

// takeAll takes all places for what is not there.
func takeAll(t *testing.T, p *Probe) {
	t.Helper()
	owner := blockioNearOwner{Id: 2} // no key has that number
	for place := range p.probe.Map("near_owners").MaxEntries() {
		if err := p.probe.Map("near_owners").Put(place, owner); err != nil {
			t.Fatal(err)
		}
	}
	set := blockioNearSet{Ids: [8]uint64{1, 1, 1, 1, 1, 1, 1, 1}} // of device 0
	for i := range p.probe.Map("near_seen").MaxEntries() {
		if err := p.probe.Map("near_seen").Put(i, set); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.probe.SetVariable("taken_devices", uint64(1000)); err != nil {
		t.Fatal(err)
	}
}

// The place of a process that has ended is told to the end, and is free when it rests.
func TestPlacesAreFreed(t *testing.T) {
	const count = 211
	path := bpftest.File(t, count)
	p := opened(t)
	r := sample.NewRecorder(time.Now())
	collect := func(phase sample.Phase) { collectDue(t, p, phase, r) }
	places := func(pid int) (n int) {
		err := bpf.Each(p.probe.Map("near_owners"), func(_ uint32, o blockioNearOwner) {
			if o.Id != 0 && int(o.Key.Tgid) == pid {
				n++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	collect(sample.First)
	var unseen func() float64
	pid := 0
	for try := 0; try < 5 && (pid == 0 || places(pid) == 0); try++ { // another may have its place, but not each time
		unseen = bpftest.Hidden(t, 4096)
		cmd := exec.Command("dd", "if="+path, "of=/dev/null", "bs=4k", "iflag=direct")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		pid = cmd.Process.Pid
	}
	hidden := unseen()
	if places(pid) == 0 {
		t.Error("no process had a place")
	}
	reads := func(w *sample.Window) (n float64) {
		n, _ = w.SumWhere(sample.BlockBytes, func(e sample.Entity) bool { return e.PID == pid && e.Class == "read" })
		return n / 4096
	}
	collect(sample.Tick) // seen first
	collect(sample.IntervalEnd)
	if got := reads(r.NextWindow(time.Now())); got < count-hidden || got > count+100 { // it is read from the disk itself
		t.Errorf("the process read %g blocks, want %d; %g completions were hidden", got, count, hidden)
	}
	if places(pid) != 0 {
		t.Error("the place of the ended process is not free")
	}
	collect(sample.IntervalEnd)
	if got := reads(r.NextWindow(time.Now())); got != 0 {
		t.Errorf("%g blocks after its end", got)
	}
}

// The first requests of a device, which begin on several processors at once, are in its
// rows, whether it gets a place near or not, and none is told as lost.
func TestFirstRequestsAtOnce(t *testing.T) {
	const devices, threads = 12, 4 // more devices than there are places
	env, err := labtest.New(t, "")
	bpftest.Need(t, "loop", err)
	var disks []string
	for i := range devices {
		disk, err := env.Loop(fmt.Sprint("disk", i), 1<<20, "", false)
		bpftest.Need(t, "loop", err)
		disks = append(disks, disk.Dir)
	}
	w, hidden := bpftest.ObserveSeen(t, 4096, Open, func() {
		for _, disk := range disks {
			bpftest.InThreads(threads, func(i int) {
				directReads(t, disk, bpftest.Aligned(t, 4096), []int64{int64(i) * 65536})
			})
		}
	})
	for _, disk := range disks {
		e := sample.Entity{Device: filepath.Base(disk), Class: "read"}
		own, _ := w.Sum(sample.BlockOps, sample.Entity{PID: os.Getpid(), Device: e.Device, Class: e.Class})
		all, _ := w.Sum(sample.BlockOps, e) // others may read a disk that is new
		h := w.Histogram(sample.HistDevice, e)
		if h == nil || own > threads || own < threads-hidden || float64(h.N()) < all {
			t.Errorf("%s: %g reads, %g of them by this process, and the histogram %+v, want %d; %g completions were hidden", e.Device, all, own, h, threads, hidden)
		}
		if depth, _ := w.Sum(sample.BlockMaxFlight, sample.Entity{Device: e.Device}); depth < 1 || depth > 100 {
			t.Errorf("%s: up to %g reads at once", e.Device, depth)
		}
	}
}
