package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"iocause/internal/store/series"
)

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
	var log logged
	w := &writer{ring: newRing(1_000_000), log: slog.New(slog.NewTextHandler(&log, nil)),
		opts: series.Options{Dir: dir, Keep: [series.Tiers]time.Duration{48 * time.Hour, 0, 0}, Now: time.Now}}
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	var many []*series.Series // more than fits what is left of the log's last page
	for i := range 3000 {
		many = append(many, series.New("iocause_cpus", series.Label{Name: "class", Value: fmt.Sprint(i)}))
	}
	began := time.Now().Truncate(time.Second).Add(-time.Hour)
	measured := 0
	measure := func() {
		f := series.Frame{At: began.Add(time.Duration(measured) * time.Second)}
		for _, x := range many {
			f.Values = append(f.Values, series.Value{Of: x, V: rand.Float64()})
		}
		w.ring.push(f)
		measured++
	}
	var held []series.Frame
	var wait time.Duration
	write := func() {
		t.Helper()
		held, wait = w.write(held, wait)
	}
	measure()
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
		if measure(); measured > 300 {
			t.Fatal("the full disk takes everything")
		}
		if write(); wait > 0 {
			refused++
		}
	}
	if err := os.Remove(ballast.Name()); err != nil {
		t.Fatal(err)
	}
	measure()
	if write(); wait != 0 || len(held) > 0 {
		t.Fatal(log.String())
	}
	if _, lost := w.ring.waiting(); lost != 0 {
		t.Errorf("%d values were lost", lost)
	}
	w.finish(nil)
	all := instants(t, dir, `iocause_cpus{class="2999"}`, began.Add(-time.Second), began.Add(time.Duration(measured)*time.Second))
	if len(all) != measured {
		t.Errorf("%d of %d values are recorded", len(all), measured)
	}
	for i, at := range all {
		if want := began.Add(time.Duration(i) * time.Second); !at.Equal(want) {
			t.Fatalf("value %d is of %v, want %v", i, at, want)
		}
	}
}
