package recording

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// bad is a recording of so many windows with one content, which need be none.
func bad(t *testing.T, content []byte, windows int) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	packed := enc.EncodeAll(content, nil)
	table := crc32.MakeTable(crc32.Castagnoli)
	out := []byte(magic)
	for i := range windows {
		var fields [28]byte
		fields[0] = byte(kindWindow)
		binary.LittleEndian.PutUint32(fields[4:], uint32(len(packed)))
		binary.LittleEndian.PutUint64(fields[8:], uint64(1e18+float64(i)*1e9))
		binary.LittleEndian.PutUint64(fields[16:], 1e9)
		binary.LittleEndian.PutUint32(fields[24:], checksum(table, fields[:], packed))
		out = append(append(append(out, mark...), fields[:]...), packed...)
	}
	return out
}

// What is made to take all memory or time is refused, and said to be.
func TestRecordingsMadeToBeBad(t *testing.T) {
	many := func(n, left uint64, of ...byte) []byte { // of one kind of thing
		b := []byte{0, 0, 0}
		for range left {
			b = append(b, 0)
		}
		b = binary.AppendUvarint(b, n)
		return append(b, bytes.Repeat(of, int(n))...)
	}
	for name, content := range map[string][]byte{
		"zeros":     make([]byte, 15<<20),
		"entities":  many(2_500_000, 2, 2, 0, 0, 0, 0, 0),
		"processes": many(2_500_000, 3, 2, 0, 0, 0, 0, 0),
		"files":     many(2_000_000, 4, 0, 1, 0, 0, 0, 0),
		"gaps":      many(5_000_000, 5, 0, 0, 0),
	} {
		data := bad(t, content, 100)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		windows := 0
		for err == nil {
			if _, err = r.Next(); err == nil {
				windows++
			}
		}
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
		losses, more := r.Losses()
		if windows > 0 || len(losses)+more != 100 {
			t.Errorf("%s: %d of 100 windows were believed, %d losses are told", name, windows, len(losses)+more)
		}
		if took > 5*time.Second || after.TotalAlloc-before.TotalAlloc > 1<<30 {
			t.Errorf("%s: %d bytes took %v and %d MB", name, len(data), took, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
		t.Logf("%s: %d bytes took %v and %d MB", name, len(data), took, (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}
