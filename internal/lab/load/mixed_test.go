package load

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"iocause/internal/require"
)

// The sides of a mixed load add up, and the calls that wrote are as many as asked for.
func TestMixed(t *testing.T) {
	path := testFile(t, 4<<20)
	r := run(t, Spec{Kind: "mixed", Path: path, Count: 10_000, Writes: 20, Threads: 2, SyncEvery: 500})
	if r.Reads.Calls+r.Writes.Calls != r.Calls || r.Calls != 10_000 || r.Reads.Bytes+r.Writes.Bytes != r.Bytes || r.Bytes != 10_000*8192 {
		t.Errorf("%d calls of %d bytes: reads %+v, writes %+v", r.Calls, r.Bytes, r.Reads, r.Writes)
	}
	if w := r.Writes.Calls; w < 1800 || w > 2200 { // five standard deviations; the seed is fixed
		t.Errorf("%d of 10000 calls wrote, want 20 %%", w)
	}
	if r.Accesses != 2*r.Reads.Calls || r.WriteAccesses != 2*r.Writes.Calls {
		t.Errorf("%d and %d accesses", r.Accesses, r.WriteAccesses)
	}
	if r.Max != max(r.Reads.Max, r.Writes.Max) {
		t.Errorf("the longest call took %g s, of the sides %g and %g", r.Max, r.Reads.Max, r.Writes.Max)
	}
	if r := run(t, Spec{Kind: "randread", Path: path, Count: 1}); r.Reads != nil || r.Writes != nil {
		t.Error("a load that only reads has sides")
	}
}

// A read through the ring brings what the file holds, and one that fails says so.
func TestRing(t *testing.T) {
	path := testFile(t, 1<<20)
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := newRing(3)
	require.NoError(t, err)
	defer func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}()
	bufs := [3][]byte{make([]byte, 4096), make([]byte, 4096), make([]byte, 4096)}
	for round := range int64(100) { // the rings wrap around
		for i := range bufs {
			r.read(int(f.Fd()), bufs[i], (round*3+int64(i))%256*4096, uint64(i))
		}
		seen := 0
		for seen < 3 {
			require.NoError(t, r.enter(1))
			for d, ok := r.done(); ok; d, ok = r.done() {
				off := (round*3 + int64(d.user)) % 256 * 4096
				if d.res != 4096 || string(bufs[d.user]) != string(want[off:off+4096]) {
					t.Fatalf("read %d of round %d: %d, or other bytes than the file has", d.user, round, d.res)
				}
				seen++
			}
		}
	}
	require.NoError(t, os.Truncate(path, 4096))
	w := &worker{spec: &Spec{}}
	for res, want := range map[int32]error{0: io.ErrUnexpectedEOF, -5: errors.New("input/output error")} {
		if _, err := w.outcome(res); err == nil || err.Error() != want.Error() {
			t.Errorf("a result of %d: %v", res, err)
		}
	}
}

// A file that becomes shorter ends the load, and its buffers stay until the
// kernel is done with them.
func TestRingFails(t *testing.T) {
	path := testFile(t, 1<<20)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := Run(ctx, Spec{Kind: "io_uring", Path: path, Depth: 8}, func() {
		if err := os.Truncate(path, 4096); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

// Calls that come in bursts are as many as their rate says, with pauses in between.
func TestBursts(t *testing.T) {
	path := testFile(t, 1<<20)
	r := run(t, Spec{Kind: "randread", Path: path, Rate: 400, Burst: 40, Threads: 2, Count: 200, Window: 10 * time.Millisecond})
	if r.Calls != 200 || r.Seconds < 0.4 {
		t.Fatalf("%d calls in %g s, want five bursts a tenth of a second apart", r.Calls, r.Seconds)
	}
	idle := 0
	for _, w := range r.Series.Windows {
		if w.Calls == 0 {
			idle++
		}
	}
	if idle < 10 || idle < len(r.Series.Windows)/3 {
		t.Errorf("%d of %d windows without a call, want most: %+v", idle, len(r.Series.Windows), r.Series.Windows)
	}
}
