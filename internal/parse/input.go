package parse

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"html"
	"io"
	"strings"
	"unicode/utf8"
)

// maxLine is the longest line that is kept whole, in bytes.
const maxLine = 256 << 10

// maxPlain is that of lines which are not JSON. No tool prints longer ones; a
// text of nothing but such lines would take minutes to look through.
const maxPlain = 16 << 10

// scanner reads lines of any length in bounded memory.
type scanner struct {
	r    *bufio.Reader
	buf  []byte
	n    int // the line's number
	long int // lines that were cut
	end  byte
}

func newScanner(r io.Reader) *scanner {
	b, ok := r.(*bufio.Reader)
	if !ok {
		b = bufio.NewReaderSize(r, 64<<10)
	}
	s := &scanner{r: b, end: '\n'}
	if head, _ := b.Peek(enough); bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		s.end = '\r' // as old Macs and some terminals' logs end lines
	}
	return s
}

// next is the next line without its end; what a line has beyond maxLine is
// dropped and counted.
func (s *scanner) next() (string, error) {
	s.buf = s.buf[:0]
	cut := false
	for {
		part, err := s.r.ReadSlice(s.end)
		if err == nil && len(s.buf) == 0 && len(part) <= maxPlain { // as nearly all are
			s.n++
			return clean(part), nil
		}
		if room := s.room(part); len(part) > room {
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

// room is how much more of the line under way is kept. Only JSON has long lines.
func (s *scanner) room(part []byte) int {
	head := s.buf
	if len(head) == 0 {
		head = part
	}
	head = bytes.TrimLeft(head[:min(len(head), 64)], " \t>")
	most := maxPlain
	if len(head) > 0 && strings.IndexByte("{[\"}]", head[0]) >= 0 {
		most = maxLine
	}
	return max(0, most-len(s.buf))
}

// clean takes off the line end, marks of quoting, colour codes and other terminal sequences, and
// writes blanks for tabs and the blanks of web pages.
func clean(b []byte) string {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	if bytes.IndexByte(b, '&') >= 0 {
		b = entities(b)
	}
	b = unquote(b)
	if plain(b) {
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
		case c == 0xc2 && i+1 < len(b) && b[i+1] == 0xad: // a hyphen that may be there
			i++
		case c >= 0xe2 && c <= 0xef && i+2 < len(b) && odd(b[i:i+3]) != 0:
			if odd(b[i:i+3]) > 0 {
				out.WriteByte(' ')
			}
			i += 2
		case c >= ' ':
			out.WriteByte(c)
		}
		i++
	}
	return out.String()
}

// plain tells whether a line is of printable ASCII alone, eight bytes at a time.
func plain(b []byte) bool {
	const blanks, tops = 0x2020202020202020, 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		if x := binary.LittleEndian.Uint64(b); ((x-blanks)&^x|x)&tops != 0 {
			return false
		}
	}
	for _, c := range b {
		if c < ' ' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// odd is 1 for blanks of other widths and -1 for marks that have none: of
// joining, direction, and the one that editors put before a text.
func odd(b []byte) int {
	switch r, _ := utf8.DecodeRune(b); {
	case r >= 0x2000 && r <= 0x200a, r == 0x202f, r == 0x205f, r == 0x3000:
		return 1
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2064, r == 0xfeff:
		return -1
	}
	return 0
}

// entities turns what pages of the web write for marks and blanks back:
// "&lt;", "&nbsp;". Text that is none of these is left alone.
func entities(b []byte) []byte {
	for _, e := range []string{"&lt;", "&gt;", "&amp;", "&quot;", "&nbsp;", "&#"} {
		if bytes.Contains(b, []byte(e)) {
			return []byte(html.UnescapeString(string(b)))
		}
	}
	return b
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
