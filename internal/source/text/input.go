package text

import (
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxLine is the longest line that is kept whole, in bytes.
const maxLine = 256 << 10

// ErrCompressed is a compression that is not read.
var ErrCompressed = errors.New("unknown compression")

// unpack opens gzip, bzip2 and zlib by their first bytes; others are text.
func unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the first bytes: %w", err)
	}
	at := string(head)
	switch {
	case strings.HasPrefix(at, "\x1f\x8b"):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("unpacking gzip: %w", err)
		}
		return bufio.NewReaderSize(z, 64<<10), nil
	case strings.HasPrefix(at, "BZh"):
		return bufio.NewReaderSize(bzip2.NewReader(b), 64<<10), nil
	case strings.HasPrefix(at, "\x78\x9c"):
		z, err := zlib.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("unpacking zlib: %w", err)
		}
		return bufio.NewReaderSize(z, 64<<10), nil
	case strings.HasPrefix(at, "\x28\xb5\x2f\xfd"):
		return nil, fmt.Errorf("%w: zstd; unpack it with zstd -dc FILE | iocause read -", ErrCompressed)
	case strings.HasPrefix(at, "\xfd7zXZ"):
		return nil, fmt.Errorf("%w: xz; unpack it with xz -dc FILE | iocause read -", ErrCompressed)
	}
	return b, nil
}

// scanner reads lines of any length in bounded memory.
type scanner struct {
	r    *bufio.Reader
	buf  []byte
	n    int // the line's number
	long int // lines that were cut
}

func newScanner(r io.Reader) *scanner {
	b, ok := r.(*bufio.Reader)
	if !ok {
		b = bufio.NewReaderSize(r, 64<<10)
	}
	return &scanner{r: b}
}

// next is the next line without its end; what a line has beyond maxLine is
// dropped and counted.
func (s *scanner) next() (string, error) {
	s.buf = s.buf[:0]
	cut := false
	for {
		part, err := s.r.ReadSlice('\n')
		if room := maxLine - len(s.buf); len(part) > room {
			part, cut = part[:room], true
		}
		s.buf = append(s.buf, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || len(s.buf) == 0) {
			return "", err
		}
		break
	}
	s.n++
	if cut {
		s.long++
	}
	return clean(s.buf), nil
}

// clean takes off the line end, colour codes and other terminal sequences, and
// writes blanks for tabs and the blanks of web pages.
func clean(b []byte) string {
	plain := true
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	for _, c := range b {
		if c < ' ' || c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return string(b)
	}
	var out strings.Builder
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == 0x1b:
			i += escape(b[i:])
			continue
		case c == '\t' || c == '\r':
			out.WriteByte(' ')
		case c == '\b':
		case c == 0xc2 && i+1 < len(b) && b[i+1] == 0xa0: // no-break space
			out.WriteByte(' ')
			i++
		case c >= ' ':
			out.WriteByte(c)
		}
		i++
	}
	return out.String()
}

// escape is the length of a terminal sequence (ECMA-48).
func escape(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
		}
		return len(b)
	case ']':
		for i := 2; i < len(b); i++ {
			if b[i] == 7 {
				return i + 1
			}
			if b[i] == '\\' && b[i-1] == 0x1b {
				return i + 1
			}
		}
		return len(b)
	case '(', ')':
		return min(3, len(b))
	}
	return 2
}
