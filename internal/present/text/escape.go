package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes a name from the system harmless to show: what could move the
// cursor, change colours, reorder, hide or break the line is written out, "\n"
// as `\n`, ESC as `\x1b`, a right-to-left override as `\u202e`, a byte that is
// not UTF-8 as `\xff`. Everything else, backslashes included, stays as it is,
// so that a name can be copied; the JSON output tells `\n` from a newline.
// Escaping twice changes nothing.
func Escape(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	marks := maxMarks // none may come first: it would sit on our own text
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(hex(s[i]))
			marks = maxMarks
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
			if marks++; marks > maxMarks {
				writeEscaped(&b, r)
			} else {
				b.WriteRune(r)
			}
		case isShown(r):
			b.WriteRune(r)
			marks = 0
		default:
			writeEscaped(&b, r)
			marks = maxMarks
		}
		i += n
	}
	return b.String()
}

// maxMarks is how many combining marks one letter may bear: enough for
// written languages, too few to pile up over other lines.
const maxMarks = 2

// isPlain tells whether s is printable ASCII, which is nearly every name.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// isShown tells whether a rune has a glyph of its own. unicode.IsPrint leaves
// out control and format characters, private use and all spaces but U+0020;
// the fillers below are letters that show nothing.
func isShown(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0, 0x2800:
		return false
	}
	return unicode.IsPrint(r)
}

func writeEscaped(b *strings.Builder, r rune) {
	if r < 0x80 && r != '\n' && r != '\t' && r != '\r' {
		b.WriteString(hex(byte(r)))
		return
	}
	quoted := strconv.QuoteRuneToASCII(r)
	b.WriteString(quoted[1 : len(quoted)-1])
}

func hex(c byte) string {
	const digits = "0123456789abcdef"
	return `\x` + string(digits[c>>4]) + string(digits[c&15])
}
