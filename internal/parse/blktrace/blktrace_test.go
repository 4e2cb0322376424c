package blktrace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"iocause/internal/require"
)

func load(t testing.TB) (cpu0, cpu1 []byte) {
	t.Helper()
	var all [2][]byte
	for i, name := range []string{"testdata/loop.blktrace.0", "testdata/loop.blktrace.1"} {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		all[i] = b
	}
	return all[0], all[1]
}

// The lines are those that blkparse printed of the same files.
func TestSameAsBlkparse(t *testing.T) {
	a, b := load(t)
	got, err := io.ReadAll(Text(bytes.NewReader(a), bytes.NewReader(b)))
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/blkparse")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(got)), "\n")
	expected := strings.Split(strings.TrimSpace(string(want)), "\n")
	if len(lines) != len(expected) || len(lines) != 600 {
		t.Fatalf("%d lines, blkparse has %d, want 600", len(lines), len(expected))
	}
	for i := range lines {
		const fields = 7 // up to the kind; then sector and size, where there is one
		x, y := strings.Fields(lines[i]), strings.Fields(expected[i])
		x, y = x[:min(len(x), fields+3)], y[:min(len(y), fields+3)]
		if len(x) < 10 || len(y) < 10 {
			x, y = x[:fields], y[:fields]
		}
		if strings.Join(x, " ") != strings.Join(y, " ") {
			t.Fatalf("line %d is %q, blkparse has %q", i+1, lines[i], expected[i])
		}
	}
}

// What came before the damage is read, and the error says where it is.
func TestDamage(t *testing.T) {
	a, _ := load(t)
	broken := bytes.Clone(a)
	got, err := io.ReadAll(Text(bytes.NewReader(a[:60])))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "record 2 at byte 48 is cut off after 12 bytes") || bytes.Count(got, []byte("\n")) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	broken[48] = 0
	if _, err = io.ReadAll(Text(bytes.NewReader(broken))); !errors.Is(err, ErrRecord) || !strings.Contains(err.Error(), "version 0, not 7") {
		t.Errorf("%v", err)
	}
	broken[50] = 0
	if _, err = io.ReadAll(Text(bytes.NewReader(broken))); !errors.Is(err, ErrRecord) || !strings.Contains(err.Error(), "at byte 48, behind record 1") {
		t.Errorf("%v", err)
	}
}

func FuzzText(f *testing.F) {
	a, b := load(f)
	f.Add(a)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := io.ReadAll(Text(bytes.NewReader(b), bytes.NewReader(b)))
		if n := bytes.Count(out, []byte("\n")); n > 2*(len(b)/size) {
			t.Errorf("%d lines of %d bytes: %v", n, len(b), err)
		}
	})
}
