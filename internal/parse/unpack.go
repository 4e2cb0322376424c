package parse

import (
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"iocause/internal/parse/blktrace"
)

// Bounds on what an archive may have kept of the bytes before: those that
// zstd -d takes without being asked, and those that xz -9 makes.
const (
	maxWindow     = 128 << 20
	maxDictionary = 64 << 20
)

// ErrWindow is an archive that only more memory could unpack.
var ErrWindow = errors.New("unpacking takes too much memory")

// archive reads what is packed, and says where it broke.
type archive struct {
	name  string
	plain io.Reader
	from  *counted
}

// Read implements io.Reader.
func (a *archive) Read(b []byte) (int, error) {
	n, err := a.plain.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.broken(err)
	}
	return n, err
}

func (a *archive) broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it is cut off")
	}
	return fmt.Errorf("unpacking %s at byte %d of the archive: %w", a.name, a.from.n, err)
}

// counted counts what an unpacker has taken. It is an io.ByteReader, of which
// unpackers take no more than they need.
type counted struct {
	r *bufio.Reader
	n int64
}

// Read implements io.Reader.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// ReadByte implements io.ByteReader.
func (c *counted) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// unpack opens archives by their first bytes, and turns records of blktrace
// into text; all else is text.
func unpack(r io.Reader) (io.Reader, error) {
	b, err := openArchive(r)
	if err != nil {
		return nil, err
	}
	if head, _ := b.Peek(4); blktrace.Is(head) { // an error comes again when it is read
		return bufio.NewReaderSize(blktrace.Text(b), 64<<10), nil
	}
	return b, nil
}

// openArchive opens archives by their first bytes.
func openArchive(r io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(32)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the first bytes: %w", err)
	}
	a := &archive{from: &counted{r: b}}
	at := string(head)
	switch {
	case strings.HasPrefix(at, "\x1f\x8b"):
		a.name = "gzip"
		a.plain, err = gzip.NewReader(a.from)
	case strings.HasPrefix(at, "BZh"):
		a.name, a.plain, err = "bzip2", bzip2.NewReader(a.from), nil
	case strings.HasPrefix(at, "\x78\x9c"):
		a.name = "zlib"
		a.plain, err = zlib.NewReader(a.from)
	case strings.HasPrefix(at, "\x28\xb5\x2f\xfd"), len(at) > 4 && at[0]&0xf0 == 0x50 && at[1:4] == "\x2a\x4d\x18": // the latter may be skipped
		a.name = "zstd"
		a.plain, err = zstd.NewReader(a.from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	case strings.HasPrefix(at, "\xfd7zXZ"):
		a.name = "xz"
		if size := dictionary(at); size > maxDictionary {
			return nil, fmt.Errorf("%w: xz with a dictionary of %d MiB, at most %d; unpack it with xz -dc FILE | iocause read -", ErrWindow, size>>20, maxDictionary>>20)
		}
		a.plain, err = xz.NewReader(a.from)
	default:
		return b, nil
	}
	if err != nil {
		return nil, a.broken(err)
	}
	return bufio.NewReaderSize(a, 64<<10), nil
}

// dictionary is how many bytes of what was unpacked the first block of an xz
// archive refers back to (xz-file-format.txt, 3.1 and 5.3.1), 0 when its head
// does not say.
func dictionary(head string) int64 {
	const block, sizes, lzma2 = 12, 0xc0, "\x21\x01"
	if len(head) < 32 {
		return 0
	}
	at := block + 2
	for _, has := range []byte{0x40, 0x80} { // the packed and the unpacked size
		for head[block+1]&sizes&has != 0 && at < len(head) {
			at++
			if head[at-1] < 0x80 {
				break
			}
		}
	}
	if at+3 > len(head) || head[at:at+2] != lzma2 {
		return 0
	}
	bits := head[at+2] & 0x3f
	return int64(2|bits&1) << (bits/2 + 11)
}
