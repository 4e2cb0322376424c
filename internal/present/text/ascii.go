package text

import (
	"strings"
	"unicode/utf8"
)

// ASCII is a text for terminals whose locale has no UTF-8: our own marks become ones of
// the same width, and letters of names are written out, as \u00e9.
func ASCII(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch mark, ours := marks()[r]; {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case ours:
			b.WriteByte(mark)
		case r > 0x2800 && r <= 0x28ff: // the dots of a chart
			b.WriteByte('*')
		default:
			writeEscaped(&b, r)
		}
	}
	return b.String()
}

func marks() map[rune]byte {
	return map[rune]byte{
		'…': '~', '·': '-', '±': '~', '×': 'x', '─': '-', '│': '|', '→': '>', '←': '<', '↑': '^', '↓': 'v',
		'▲': '^', '▏': '|', '›': '>',
		'▁': '_', '▂': '_', '▃': '.', '▄': '-', '▅': '=', '▆': '+', '▇': '*', '█': '#', '░': '.', '▒': ':', '▓': '%',
	}
}
