package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/store/series"
)

// measuring puts values of so many series into a ring, a second's worth at a time.
type measuring struct {
	ring     *ring
	many     []*series.Series
	began    time.Time
	measured int // seconds
}

func newMeasuring(r *ring, n int) *measuring {
	m := &measuring{ring: r, began: time.Now().Truncate(time.Second).Add(-time.Hour)}
	for i := range n {
		m.many = append(m.many, series.New("iocause_cpus", series.Label{Name: "class", Value: fmt.Sprint(i)}))
	}
	return m
}

func (m *measuring) measure() {
	f := series.Frame{At: m.began.Add(time.Duration(m.measured) * time.Second)}
	for _, x := range m.many {
		f.Values = append(f.Values, series.Value{Of: x, V: rand.Float64()})
	}
	m.ring.push(f)
	m.measured++
}

// Every single value that could not be written, the very first included, is
// written when the disk has room again, in the order in which it was measured.
func TestWriterKeepsWhatAFullDiskRefused(t *testing.T) {
	machine(t, "root")
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=12m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(mount, "rec")
	var log require.Output
	w := &writer{ring: newRing(1_000_000), log: slog.New(slog.NewTextHandler(&log, nil)),
		opts: series.Options{Dir: dir, Keep: [series.Tiers]time.Duration{48 * time.Hour, 0, 0}, Now: time.Now}}
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	m := newMeasuring(w.ring, 3000) // more than fits what is left of the log's last page
	var held []series.Frame
	var wait time.Duration
	write := func() {
		t.Helper()
		held, wait = w.write(held, wait)
	}
	m.measure()
	write()
	if wait != 0 {
		t.Fatal(log.String())
	}
	ballast, err := os.Create(filepath.Join(mount, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) || ballast.Close() != nil {
		t.Fatal(err)
	}
	for refused := 0; refused < 5; { // the engine may have some room
		if m.measure(); m.measured > 300 {
			t.Fatal("the full disk takes everything")
		}
		if write(); wait > 0 {
			refused++
		}
	}
	if err := os.Remove(ballast.Name()); err != nil {
		t.Fatal(err)
	}
	m.measure()
	if write(); wait != 0 || len(held) > 0 {
		t.Fatal(log.String())
	}
	if _, lost := w.ring.waiting(); lost != 0 {
		t.Errorf("%d values were lost", lost)
	}
	w.finish(nil)
	all := instants(t, dir, `iocause_cpus{class="2999"}`, m.began.Add(-time.Second), m.began.Add(time.Duration(m.measured)*time.Second))
	if len(all) != m.measured {
		t.Errorf("%d of %d values are recorded", len(all), m.measured)
	}
	for i, at := range all {
		if want := m.began.Add(time.Duration(i) * time.Second); !at.Equal(want) {
			t.Fatalf("value %d is of %v, want %v", i, at, want)
		}
	}
}

// Requests of file systems: include/uapi/linux/fs.h.
const (
	fiFreeze = 0xC0045877
	fiThaw   = 0xC0045878
)

// freeze makes a file system hang: who writes there waits until thaw is called.
func freeze(t *testing.T, mount string) (thaw func()) {
	t.Helper()
	f, err := os.Open(mount)
	if err != nil {
		t.Fatal(err)
	}
	if err := ioctl(f, fiFreeze, 0); err != nil {
		t.Fatal(err)
	}
	thaw = sync.OnceFunc(func() {
		if err := errors.Join(ioctl(f, fiThaw, 0), f.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(thaw)
	return thaw
}

// While the disk hangs, memory takes so many values and no more: the oldest are
// lost, as many as are said to be, and no other.
func TestMemoryIsFullWhileTheDiskHangs(t *testing.T) {
	e := machine(t, "root", "loop")
	disk, err := e.Loop("hangs", 48<<20, "ext4", false)
	if err != nil {
		t.Fatal(err)
	}
	const room, each = 1000, 100
	dir := filepath.Join(disk.Dir, "rec")
	var log require.Output
	w := &writer{ring: newRing(room), log: slog.New(slog.NewTextHandler(&log, nil)), patience: time.Nanosecond,
		opts: series.Options{Dir: dir, Keep: [series.Tiers]time.Duration{48 * time.Hour, 0, 0}, Now: time.Now}}
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.run(ctx)
	}()
	m := newMeasuring(w.ring, each)
	m.measure()
	until(t, "the first to be written", func() bool { return w.kept.Load() == each })
	thaw := freeze(t, disk.Dir)
	m.measure()
	until(t, "the writer to have the second", func() bool { left, _ := w.ring.waiting(); return left == 0 })
	for range 30 {
		m.measure()
	}
	if waiting, lost := w.ring.waiting(); waiting != room || lost != 30*each-room {
		t.Errorf("%d wait and %d are lost, want %d and %d", waiting, lost, room, 30*each-room)
	}
	w.tell(time.Now())
	for _, want := range []string{
		"the disk does not answer; values are kept in memory", "the oldest are lost",
		"from=" + m.began.Add(2*time.Second).UTC().Format(time.RFC3339), fmt.Sprintf("lost_so_far=%d", 30*each-room),
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not said while it hangs: %s", want, log.String())
		}
	}
	if kept := w.kept.Load(); kept != each {
		t.Errorf("%d values were written though the disk hangs", kept)
	}
	thaw()
	until(t, "the rest to be written", func() bool { return w.kept.Load() == 2*each+room })
	stop()
	<-over
	if got := log.String(); !strings.Contains(got, "the disk answers again") || strings.Count(got, "the oldest are lost") != 1 ||
		!strings.Contains(got, fmt.Sprintf("never_written=0 pushed_out=%d", 30*each-room)) {
		t.Error(got)
	}
	var want []time.Time
	for n := range m.measured {
		if n < 2 || n >= m.measured-room/each {
			want = append(want, m.began.Add(time.Duration(n)*time.Second))
		}
	}
	got := instants(t, dir, `iocause_cpus{class="99"}`, m.began.Add(-time.Second), m.began.Add(time.Duration(m.measured)*time.Second))
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("recorded are %v, want %v", got, want)
	}
}
