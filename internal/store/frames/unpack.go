package frames

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// What is packed is believed only so far: a few kilobytes can unpack to any
// number of zeros. What iocause writes unpacks to some 5 to 30 times its size.
const (
	Ratio = 100       // times its packed size
	Spare = 256 << 10 // bytes: what is small may unpack to more
)

// ErrBomb is content that unpacks to more than anything that is kept does.
var ErrBomb = errors.New("it unpacks to an implausible size")

// Decoder unpacks single frames of zstd in bounded memory. It is used by one
// goroutine.
type Decoder struct{ d *zstd.Decoder }

// NewDecoder makes a decoder.
func NewDecoder() (*Decoder, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(16<<20))
	if err != nil {
		return nil, fmt.Errorf("preparing to unpack: %w", err)
	}
	return &Decoder{d}, nil
}

// Close lets go of its memory.
func (d *Decoder) Close() { d.d.Close() }

// Unpack unpacks one frame to so many bytes at most, and to no more than its
// size lets believe.
func (d *Decoder) Unpack(packed []byte, most int) ([]byte, error) {
	most = min(most, Spare+Ratio*len(packed))
	var h zstd.Header
	if err := h.Decode(packed); err == nil && h.HasFCS && h.FrameContentSize > uint64(most) {
		return nil, fmt.Errorf("%w: %d bytes to %d, and %d are the most", ErrBomb, len(packed), h.FrameContentSize, most)
	}
	if err := d.d.Reset(bytes.NewReader(packed)); err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(make([]byte, 0, min(most, 4*len(packed)+bytes.MinRead)))
	n, err := io.Copy(out, io.LimitReader(d.d, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if n > int64(most) {
		return nil, fmt.Errorf("%w: %d bytes to more than %d", ErrBomb, len(packed), most)
	}
	return out.Bytes(), nil
}
