package parse

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"iocause/internal/require"
)

// packers make the archives that can be unpacked, but for bzip2, which the
// standard library only reads.
func packers() map[string]func(io.Writer) (io.WriteCloser, error) {
	return map[string]func(io.Writer) (io.WriteCloser, error){
		"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		"zlib": func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil },
		"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		"xz":   func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	}
}

func pack(t *testing.T, how func(io.Writer) (io.WriteCloser, error), text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := how(&b)
	require.NoError(t, err)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// report is an iostat log that packs badly, so that cuts fall anywhere.
func report(reports int) string {
	var b strings.Builder
	r := rand.New(rand.NewPCG(1, 2))
	for range reports {
		fmt.Fprintf(&b, "Device: r/s w/s rkB/s wkB/s avgqu-sz await svctm %%util\nsda %d.00 0.00 %d.00 0.00 1.00 10.00 1.00 100.00\n\n", r.IntN(1e6), r.IntN(1e6))
	}
	return b.String()
}

// Packed text is read as the text is; two archives behind each other as well.
func TestPacked(t *testing.T) {
	text := report(2000)
	plain := read(t, text)
	for name, how := range packers() {
		z := pack(t, how, text)
		for times := 1; times <= 2 && (times == 1 || name != "zlib"); times++ {
			r := Reader{Tools: List()}
			got, err := r.Read(context.Background(), "a", bytes.NewReader(bytes.Repeat(z, times)))
			if err != nil || got.Lines != times*plain.Lines || len(got.Blocks) != 1 || got.Blocks[0].Intervals != times*plain.Blocks[0].Intervals {
				t.Errorf("%s, %d times: %d lines of %d, %v", name, times, got.Lines, times*plain.Lines, err)
			}
		}
	}
}

// Of a cut or damaged archive, what is before is kept, and the error says
// where it is.
func TestPackedBroken(t *testing.T) {
	muchText(t)
	text := report(20000)
	for name, how := range packers() {
		z := pack(t, how, text)
		cut := len(z) * 3 / 4
		r := Reader{Tools: List()}
		got, err := r.Read(context.Background(), "a.log", bytes.NewReader(z[:cut]))
		want := fmt.Sprintf("at byte %d of the archive: it is cut off", cut)
		if err == nil || !strings.Contains(err.Error(), "reading a.log after line ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s cut off: %v, want %q", name, err, want)
		}
		if len(got.Blocks) != 1 || got.Blocks[0].Intervals < 8000 || got.Blocks[0].Broken > 0 {
			t.Errorf("%s cut off: %d lines, %v", name, got.Lines, got.Faults)
		}
		bad := bytes.Clone(z)
		bad[len(bad)-3] ^= 0xff // in the checksum, or the index behind it
		if got, err := r.Read(context.Background(), "a.log", bytes.NewReader(bad)); err == nil || !strings.Contains(err.Error(), " of the archive: ") || len(got.Blocks) != 1 {
			t.Errorf("%s damaged: %d lines, %v", name, got.Lines, err)
		}
	}
}

// An archive of hundreds of MiB is unpacked as it is read.
func TestPackedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("packs 192 MiB three times")
	}
	const size = 192 << 20
	for _, name := range []string{"gzip", "zstd", "xz"} {
		in, out := io.Pipe()
		go func() {
			w, err := packers()[name](out)
			if err == nil {
				_, err = io.Copy(w, io.LimitReader(newlines{}, size))
			}
			if err == nil {
				err = w.Close()
			}
			out.CloseWithError(err)
		}()
		var before, after runtime.MemStats
		plain, err := unpack(in)
		require.NoError(t, err)
		runtime.ReadMemStats(&before)
		n, err := io.Copy(io.Discard, plain)
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapSys) - int64(before.HeapSys); err != nil || n != size || grown > 64<<20 {
			t.Errorf("%s: %d bytes, the heap grew by %d, %v", name, n, grown, err)
		}
	}
}

// An archive that wants more memory than there is for it is refused.
func TestPackedWindow(t *testing.T) {
	for _, sizes := range []byte{0, 0xc0} { // without and with sizes in its head
		head := []byte("\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46\x03")
		head = append(head, sizes)
		if sizes != 0 {
			head = append(head, 0x80, 1, 0x90, 0x80, 1)
		}
		ok := append(bytes.Clone(head), 0x21, 1, 28)   // 64 MiB, xz -9
		much := append(bytes.Clone(head), 0x21, 1, 29) // 96 MiB
		for i, b := range [][]byte{ok, much} {
			_, err := unpack(bytes.NewReader(append(b, make([]byte, 32)...)))
			if errors.Is(err, ErrWindow) != (i == 1) {
				t.Errorf("%x: %v", b, err)
			}
		}
	}
	long := pack(t, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithWindowSize(256<<20)) }, report(10000))
	plain, err := unpack(bytes.NewReader(long))
	if err == nil {
		_, err = io.Copy(io.Discard, plain)
	}
	if err == nil || !strings.Contains(err.Error(), "window size exceeded") {
		t.Errorf("a window of 256 MiB: %v", err)
	}
}
