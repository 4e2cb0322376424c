package tracefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
)

// some are n I/Os of every kind.
func some(n int) []sample.IO {
	r := rand.New(rand.NewPCG(1, 2))
	ios := make([]sample.IO, n)
	at := time.Duration(0)
	for i := range ios {
		at += time.Duration(r.IntN(20000) - 5000)
		ios[i] = sample.IO{
			Start: at, Queue: time.Duration(r.IntN(1e6)) - 1, Device: time.Duration(r.Int64N(1e10)),
			Disk: fmt.Sprintf("sd%c", 'a'+r.IntN(3)), Sector: r.Uint64(), Bytes: uint64(r.IntN(1 << 20)),
			Flags: sample.IOFlags(r.Uint32()), Status: uint8(r.IntN(20)), Requeues: uint16(r.IntN(3)),
			PID: r.IntN(1 << 22), TID: r.IntN(1 << 22), Comm: "a\x00b\n\x1b[31m", Cgroup: "/x", File: fmt.Sprintf("/f/%d", r.IntN(50)),
		}
	}
	ios[n/2].File, ios[n/2].Cgroup = "", ""
	return ios
}

// blocksOf writes I/Os in blocks of so many and returns the file with the
// length that it had after each block, and the I/Os in it then.
func blocksOf(t testing.TB, ios []sample.IO, each int) (file []byte, ends, counts []int) {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Program: "test", Host: "h", Began: time.Unix(1700000000, 5).UTC(), Filter: "pid 1"})
	require.NoError(t, err)
	ends, counts = append(ends, b.Len()), append(counts, 0)
	for i := range ios {
		require.NoError(t, w.Add(&ios[i]))
		if (i+1)%each == 0 || i == len(ios)-1 {
			w.Losses(Losses{Dropped: uint64(i), Own: 3})
			require.NoError(t, w.Flush())
			ends, counts = append(ends, b.Len()), append(counts, i+1)
		}
	}
	return b.Bytes(), ends, counts
}

// read reads what can be read.
func read(r *Reader) (ios []sample.IO, err error) {
	for {
		x, err := r.Next()
		if err != nil {
			return ios, err
		}
		ios = append(ios, *x)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	want := some(5003)
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Began: time.Unix(1700000000, 5).UTC()})
	require.NoError(t, err)
	for i := range want {
		require.NoError(t, w.Add(&want[i]))
	}
	l := Losses{1, 2, 3, 4, 5, 6, 7}
	w.Losses(l)
	require.NoError(t, w.End(7*time.Second))
	if w.Written() != int64(b.Len()) {
		t.Errorf("%d bytes written, it says %d", b.Len(), w.Written())
	}
	r, err := NewReader(&b)
	require.NoError(t, err)
	got, err := read(r)
	if err != io.EOF || len(got) != len(want) {
		t.Fatalf("%d I/Os and %v, want %d", len(got), err, len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("I/O %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if at, ended := r.End(); !ended || at != 7*time.Second || r.Losses() != l || !r.Header().Began.Equal(time.Unix(1700000000, 5)) {
		t.Errorf("end %v %v, losses %+v, header %+v", at, ended, r.Losses(), r.Header())
	}
}

// A file may end at any byte: its writer was killed, or the disk was full.
func TestEveryTruncationIsReadAsFarAsItGoes(t *testing.T) {
	want := some(211)
	file, ends, counts := blocksOf(t, want, 17)
	for length := range len(file) + 1 {
		r, err := NewReader(bytes.NewReader(file[:length]))
		if length < ends[0] {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("%d bytes of the header: %v", length, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", length, err)
		}
		whole := 0
		for i, end := range ends {
			if end <= length {
				whole = i
			}
		}
		got, err := read(r)
		var cut *CutError
		if atEnd := ends[whole] == length; atEnd && err != io.EOF || !atEnd && (!errors.As(err, &cut) || cut.Offset != int64(ends[whole])) {
			t.Fatalf("%d bytes, the last block ends at %d: %v", length, ends[whole], err)
		}
		if len(got) != counts[whole] || counts[whole] > 0 && got[len(got)-1] != want[len(got)-1] {
			t.Fatalf("%d bytes: %d I/Os, want %d", length, len(got), counts[whole])
		}
		if _, ended := r.End(); ended {
			t.Fatalf("%d bytes: ended in order", length)
		}
	}
}

func TestDamageIsFound(t *testing.T) {
	file, ends, counts := blocksOf(t, some(101), 50)
	for at := ends[1]; at < ends[2]; at++ {
		bad := bytes.Clone(file)
		bad[at] ^= 0x10
		r, err := NewReader(bytes.NewReader(bad))
		require.NoError(t, err)
		got, err := read(r)
		var cut *CutError
		if !errors.As(err, &cut) || len(got) != counts[1] {
			t.Fatalf("byte %d changed: %d I/Os and %v, want %d and a cut", at, len(got), err, counts[1])
		}
	}
}

// A newer version may add fields and records.
func TestWhatIsUnknownIsSkipped(t *testing.T) {
	file, ends, _ := blocksOf(t, some(3), 3)
	header := strings.Replace(string(file[:ends[0]]), `{"name":"device","type":"uint","unit":"ns"}`, `{"name":"planet","type":"uint"}`, 1)
	header = strings.Replace(header, `"name":"losses"`, `"name":"moons"`, 1)
	r, err := NewReader(strings.NewReader(header + string(file[ends[0]:])))
	require.NoError(t, err)
	got, err := read(r)
	if err != io.EOF || len(got) != 3 || got[0].Device != 0 || got[2].Sector != some(3)[2].Sector || r.Losses() != (Losses{}) {
		t.Errorf("%+v, %+v, %v", got, r.Losses(), err)
	}
}

func TestTheDictionaryForgets(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{})
	require.NoError(t, err)
	const n = mostTexts + 1000
	for i := range n {
		require.NoError(t, w.Add(&sample.IO{File: fmt.Sprint(i)}))
	}
	require.NoError(t, w.End(0))
	r, err := NewReader(&b)
	require.NoError(t, err)
	for i := range n {
		x, err := r.Next()
		if err != nil || x.File != fmt.Sprint(i) {
			t.Fatalf("I/O %d is %+v, %v", i, x, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	file, ends, _ := blocksOf(f, some(20), 7)
	f.Add(file)
	f.Add(file[:ends[1]+3])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		_, err = read(r)
		var cut *CutError
		if err != io.EOF && !errors.As(err, &cut) {
			t.Fatal(err)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	ios := some(1000)
	w, err := NewWriter(io.Discard, Header{})
	require.NoError(b, err)
	for i := 0; b.Loop(); i++ {
		require.NoError(b, w.Add(&ios[i%len(ios)]))
	}
	b.ReportMetric(float64(w.Written())/float64(b.N), "bytes/event")
}
