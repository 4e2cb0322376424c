package frames

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"iocause/internal/require"
)

// What unpacks to what is usual is unpacked, and no more of anything else.
func TestUnpack(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	d, err := NewDecoder()
	require.NoError(t, err)
	defer d.Close()
	usual := make([]byte, 1<<20)
	for i := range usual {
		usual[i] = "abcdefgh"[rand.IntN(8)]
	}
	var unsized bytes.Buffer // it does not say how long it is
	w, err := zstd.NewWriter(&unsized)
	require.NoError(t, err)
	w.Write(make([]byte, 64<<20))
	w.Close()
	for _, c := range []struct {
		name   string
		packed []byte
		most   int
		want   []byte
	}{
		{"usual", enc.EncodeAll(usual, nil), 2 << 20, usual},
		{"small", enc.EncodeAll(make([]byte, Spare), nil), 2 << 20, make([]byte, Spare)},
		{"longer than asked", enc.EncodeAll(usual, nil), 1 << 19, nil},
		{"zeros", enc.EncodeAll(make([]byte, 64<<20), nil), 1 << 30, nil},
		{"zeros of no said length", unsized.Bytes(), 1 << 30, nil},
	} {
		got, err := d.Unpack(c.packed, c.most)
		if c.want == nil && !errors.Is(err, ErrBomb) || c.want != nil && (err != nil || !bytes.Equal(got, c.want)) {
			t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
		}
	}
}
