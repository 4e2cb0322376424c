package text

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// maxLine is the longest line that is kept whole, in bytes.
const maxLine = 256 << 10

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

// clean takes off the line end, marks of quoting, colour codes and other terminal sequences, and
// writes blanks for tabs and the blanks of web pages.
func clean(b []byte) string {
	plain := true
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	b = unquote(b)
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
		case strings.HasPrefix(string(b[i:min(i+3, len(b))]), "\u202f"): // a narrow one
			out.WriteByte(' ')
			i += 2
		case strings.HasPrefix(string(b[i:min(i+3, len(b))]), "\ufeff"): // the mark that editors put before a text
			i += 2
		case c >= ' ':
			out.WriteByte(c)
		}
		i++
	}
	return out.String()
}

// unquote takes off what mail and forums put before the lines of a text that is
// quoted: "> ", ">> ", "> > ".
func unquote(b []byte) []byte {
	if len(b) == 0 || b[0] != '>' && b[0] != ' ' {
		return b
	}
	i := 0
	for i < len(b) && (b[i] == '>' || b[i] == ' ') {
		i++
	}
	at := bytes.LastIndexByte(b[:i], '>')
	if at < 0 || at+1 < len(b) && b[at+1] != ' ' {
		return b // ">=(ms)" is of a tool
	}
	return b[min(at+2, len(b)):]
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
