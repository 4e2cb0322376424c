package text

import (
	"strings"
	"unicode"
)

// Width is how many columns of a terminal an escaped string takes.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is 2 for the wide and full-width runes of UAX #11 (blocks, so that
// unassigned neighbours count as wide too), 0 for combining marks.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r):
		return 0
	case r < 0x1100:
		return 1
	case r <= 0x115f, // Hangul Jamo
		r >= 0x231a && r <= 0x231b, r >= 0x23e9 && r <= 0x23f3,
		r >= 0x25fd && r <= 0x25fe, r >= 0x2614 && r <= 0x27bf,
		r >= 0x2b1b && r <= 0x2b55,
		r >= 0x2e80 && r <= 0xa4cf, // CJK
		r >= 0xa960 && r <= 0xa97c,
		r >= 0xac00 && r <= 0xd7a3, // Hangul
		r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f,
		r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x16fe0 && r <= 0x1b2ff,
		r >= 0x1f000 && r <= 0x1faff, // pictures
		r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// Pad fills s with spaces up to width columns.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Width(s)))
}

// Middle cuts s down to width columns, in the middle: the ends of a path say
// most.
func Middle(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	if width < 2 {
		return head(s, width)
	}
	front := head(s, (width-1)/2)
	return front + "…" + tail(s, width-1-Width(front))
}

// End cuts s down to width columns at its end.
func End(s string, width int) string {
	if Width(s) <= width || width < 1 {
		return head(s, width)
	}
	return strings.TrimRight(head(s, width-1), " ") + "…"
}

// head is the longest beginning of s that fits into width columns.
func head(s string, width int) string {
	used := 0
	for i, r := range s {
		w := runeWidth(r)
		if used+w > width {
			return s[:i]
		}
		used += w
	}
	return s
}

// tail is the longest end of s that fits into width columns and does not
// begin with a combining mark.
func tail(s string, width int) string {
	runes := []rune(s)
	used, from := 0, len(runes)
	for i := len(runes) - 1; i >= 0; i-- {
		w := runeWidth(runes[i])
		if used+w > width {
			break
		}
		used += w
		if w > 0 {
			from = i
		}
	}
	return string(runes[from:])
}

// Wrap breaks an escaped text into lines of at most width columns, at spaces
// where there are any, but not before a "%"; a word that is longer than a line is
// cut into pieces.
func Wrap(s string, width int) []string {
	width = max(width, 2)
	var lines []string
	line := ""
	words := strings.Fields(s)
	for i, word := range words {
		if strings.HasPrefix(word, "%") && i > 0 {
			continue // it went with the one before
		}
		for _, next := range words[i+1:] {
			if !strings.HasPrefix(next, "%") {
				break
			}
			word += " " + next
		}
		switch {
		case line == "":
		case Width(line)+1+Width(word) <= width:
			line += " " + word
			continue
		default:
			lines = append(lines, line)
		}
		for Width(word) > width {
			piece := head(word, width)
			lines = append(lines, piece)
			word = word[len(piece):]
		}
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Shorten is a text in at most limit lines: where it is longer, it ends with a clause
// that still fits, else in the middle of one, with a mark.
func Shorten(s string, width, limit int) []string {
	lines := Wrap(s, width)
	if len(lines) <= limit {
		return lines
	}
	for _, mark := range []string{"; ", ". ", ": "} {
		for at := strings.LastIndex(s, mark); at > width/3; at = strings.LastIndex(s[:at], mark) {
			head := s[:at]
			if strings.Count(head, "(") != strings.Count(head, ")") {
				continue
			}
			if lines := Wrap(head, width); len(lines) <= limit {
				return lines
			}
		}
	}
	rest := strings.Join(lines[limit-1:], " ")
	return append(lines[:limit-1], End(rest, width))
}
