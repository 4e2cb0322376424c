package judge

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/source/health"
)

// volume stands in for the ioctl of an EBS volume, which no machine of ours has: the
// disk is a real one, with a real cap, and its page of statistics (0xd0) is made here.
// It counts as over the cap the time in which the disk did nearly what its cap allows,
// by the kernel's own counter.
type volume struct {
	disk string
	cap  float64 // operations a second
	at   int     // where in the page: 56 volume operations, 72 instance operations; 0: another's cap
	over atomic.Int64
}

func (v *volume) NVMe(_ string, c health.NVMe, into []byte) (uint32, error) {
	switch {
	case c.Opcode == 0x02 && c.CDW10&0xff == 0xd0:
		binary.LittleEndian.PutUint32(into, 0x3c23b510)
		if v.at > 0 {
			binary.LittleEndian.PutUint64(into[v.at:], uint64(v.over.Load()))
		}
	case c.Opcode == 0x02: // SMART: nothing is wrong
		binary.LittleEndian.PutUint16(into[1:], 300)
		into[3] = 100
	}
	return 0, nil
}

func (v *volume) ATA(string, health.ATA, []byte) (health.ATAResult, error) {
	return health.ATAResult{}, syscall.ENOTTY
}

// count adds up the microseconds over the cap, until done.
func (v *volume) count(t *testing.T, done chan struct{}) {
	const every = 500 * time.Millisecond
	was, from := v.ops(t), time.Now()
	for {
		select {
		case <-done:
			return
		case <-time.After(every):
		}
		now, at := v.ops(t), time.Now()
		if took := at.Sub(from); float64(now-was)/took.Seconds() > 0.8*v.cap {
			v.over.Add(took.Microseconds())
		}
		was, from = now, at
	}
}

func (v *volume) ops(t *testing.T) uint64 {
	b, err := os.ReadFile("/sys/block/" + v.disk + "/stat")
	if err != nil {
		t.Error(err)
		return 0
	}
	n, err := strconv.ParseUint(string(bytes.Fields(b)[0]), 10, 64)
	if err != nil {
		t.Error(err)
	}
	return n
}

// A program that reads a capped disk is told which cap it is at: the volume's or the
// machine's, where the storage counts that. Where it counts nothing it is told neither.
// IOCAUSE_CAPPED names the disk and its operations a second (test/vm/devices).
func TestCloudLimits(t *testing.T) {
	var v volume
	if _, err := fmt.Sscan(os.Getenv("IOCAUSE_CAPPED"), &v.disk, &v.cap); err != nil {
		t.Skip("IOCAUSE_CAPPED names no disk and cap (test/vm/devices ebs)")
	}
	bpftest.Root(t)
	model := t.TempDir() + "/model"
	require.NoError(t, os.WriteFile(model, []byte("Amazon Elastic Block Store\n"), 0o444))
	file := "/sys/block/" + v.disk + "/device/model"
	require.NoError(t, syscall.Mount(model, file, "", syscall.MS_BIND, ""))
	defer func() { require.NoError(t, syscall.Unmount(file, 0)) }()

	for _, c := range []struct {
		name string
		at   int
		want diagnose.ID // "": whatever else
	}{
		{"volume", 56, diagnose.CloudVolumeLimit},
		{"instance", 72, diagnose.CloudInstanceLimit},
		{"neither", 0, ""},
	} {
		for run := 1; run <= 5; run++ {
			v.at = c.at
			v.over.Store(0)
			r := v.diagnose(t)
			t.Logf("%s, run %d: %s, %.2f s over the cap", c.name, run, r.Primary, float64(v.over.Load())/1e6)
			cloud := r.Primary == diagnose.CloudVolumeLimit || r.Primary == diagnose.CloudInstanceLimit
			if c.want != "" && r.Primary != c.want || c.want == "" && cloud {
				t.Errorf("%s, run %d: the cause is %s, want %q", c.name, run, r.Primary, c.want)
			}
		}
	}
}

// diagnose watches eight threads read the disk for as long as a diagnosis lasts.
func (v *volume) diagnose(t *testing.T) *diagnose.Report {
	t.Helper()
	done := make(chan struct{})
	defer close(done)
	fd, err := syscall.Open("/dev/"+v.disk, syscall.O_RDONLY|syscall.O_DIRECT, 0)
	require.NoError(t, err)
	for n := range 8 {
		go func() {
			buf := bpftest.Aligned(t, 4096)
			for at := int64(n); ; at += 8 {
				select {
				case <-done:
					return
				default:
				}
				if _, err := syscall.Pread(fd, buf, at%4096<<14); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	go v.count(t, done)
	sources := source.List()
	for i := range sources {
		if sources[i].Name == "health" {
			sources[i].Open = func(h *host.Host) (sample.Source, error) { return health.New(h, v) }
		}
	}
	h := host.Live()
	h.Self = 0 // the reader is this process
	w, err := Open(t.Context(), h, sources, time.Minute)
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	target := diagnose.Target{PIDs: []int{os.Getpid()}}
	seen, target, err := w.Window(t.Context(), &Run{Observation: source.Observation{Length: 8 * time.Second}, Target: target})
	require.NoError(t, err)
	r, err := Live(h, seen, target, nil)
	require.NoError(t, err)
	return r
}
