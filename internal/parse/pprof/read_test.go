package pprof

import (
	"bytes"
	"compress/gzip"
	"errors"
	"runtime"
	rpprof "runtime/pprof"
	"strings"
	"testing"

	"iocause/internal/require"
)

// A profile that Go's runtime wrote, unpacked.
func TestReadGo(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, rpprof.Lookup("goroutine").WriteTo(&b, 0))
	p, err := Read(&b, "")
	require.NoError(t, err)
	var all uint64
	named := false
	for _, s := range p.Stacks {
		all += s.Count
		for _, f := range s.Frames {
			named = named || f.Name == "iocause/internal/parse/pprof.TestReadGo"
		}
	}
	if p.Unit != "goroutine" || all < 2 || !named {
		t.Errorf("%d of %s, this test among them: %v", all, p.Unit, named)
	}
}

// Profiles as text, which came before the format and pass for folded stacks.
func TestReadText(t *testing.T) {
	keep := make([][]byte, 0, 1000)
	for range cap(keep) {
		keep = append(keep, make([]byte, 64<<10))
	}
	runtime.GC() // the heap's profile is of the last collection but one
	runtime.GC()
	for _, name := range []string{"heap", "goroutine", "threadcreate"} {
		var b bytes.Buffer
		require.NoError(t, rpprof.Lookup(name).WriteTo(&b, 1))
		if !Looks(b.Bytes()) {
			t.Fatalf("%s is not known: %.80q", name, b.Bytes())
		}
		p, err := Read(&b, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var all uint64
		for _, s := range p.Stacks {
			all += s.Count
			if len(s.Frames) > 0 && !strings.HasPrefix(s.Frames[0].Name, "0x") {
				t.Errorf("%s: a frame %q, want an address", name, s.Frames[0].Name)
			}
		}
		if all == 0 || name == "heap" && all < 64<<20/2 {
			t.Errorf("%s: %d %s in all", name, all, p.Unit)
		}
	}
	runtime.KeepAlive(keep)
}

// A profile of zeros is refused before it takes memory.
func TestReadOfZeros(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for range 200 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, w.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(&packed, "")
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; !errors.Is(err, ErrLarge) || mb > 20 {
		t.Errorf("%v, %d MB", err, mb)
	}
}
