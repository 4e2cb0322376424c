package blkparse

import (
	"regexp"
	"strconv"
	"strings"
)

// format reads the lines of 'blkparse -f FORMAT'.
type format struct {
	line   *regexp.Regexp
	fields []byte // the letters of its groups, as blkparse(1) names them
}

// commandAt finds a command that says how its lines look, -1 without one.
func commandAt(line string) int {
	at := strings.Index(line, "blkparse ")
	if at < 0 || formatOf(line[at:]) == nil {
		return -1
	}
	return at
}

// formatOf reads the format in a command; nil when it has none, or one whose
// lines do not tell device, time, action, kind, place and size.
func formatOf(command string) *format {
	_, rest, ok := strings.Cut(command, " -f")
	if !ok {
		return nil
	}
	if rest = strings.TrimLeft(rest, " "); rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return nil
	}
	text, _, ok := strings.Cut(rest[1:], rest[:1])
	if !ok {
		return nil
	}
	text = strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(text, `\n`, " "), `\t`, " "))
	f := &format{}
	var b strings.Builder
	b.WriteString(`^\s*`)
	for i := 0; i < len(text); i++ {
		if text[i] == ' ' {
			b.WriteString(`\s*`)
			continue
		}
		if text[i] != '%' {
			b.WriteString(regexp.QuoteMeta(text[i : i+1]))
			continue
		}
		for i++; i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] == '-'); i++ { // a width
		}
		if i == len(text) {
			return nil
		}
		group, ok := groups(text[i])
		if !ok {
			return nil
		}
		b.WriteString(`\s*` + group)
		f.fields = append(f.fields, text[i])
		if text[i] == 'D' {
			f.fields[len(f.fields)-1] = 'M'
			f.fields = append(f.fields, 'm')
		}
	}
	const most = 400
	has := func(letters string) bool { return strings.ContainsAny(string(f.fields), letters) }
	if len(text) > most || !has("M") || !has("m") || !has("T") || !has("t") || !has("a") || !has("d") || !has("S") || !has("nN") {
		return nil
	}
	line, err := regexp.Compile(b.String() + `\s*$`)
	if err != nil {
		return nil
	}
	f.line = line
	return f
}

// groups is the expression for what stands for a letter.
func groups(letter byte) (string, bool) {
	switch letter {
	case 'a':
		return `([A-Zm]{1,2})`, true
	case 'd':
		return `([A-Z]{1,8})`, true
	case 'D':
		return `(\d+),\s*(\d+)`, true
	case 'C':
		return `(.*?)`, true
	case 'c', 'e', 'M', 'm', 'n', 'N', 'p', 's', 'S', 't', 'T', 'u':
		return `(\d+)`, true
	}
	return "", false
}

// parse reads a line of the format.
func (f *format) parse(line string) (e event, ok bool) {
	m := f.line.FindStringSubmatch(line)
	if m == nil {
		return e, false
	}
	var seconds, nanoseconds float64
	for i, letter := range f.fields {
		s := m[i+1]
		v, _ := strconv.ParseFloat(s, 64) // groups of figures hold digits alone
		switch letter {
		case 'M':
			e.major = s
		case 'm':
			e.minor = s
		case 'a':
			e.action = s
		case 'd':
			e.rwbs = s
		case 'C':
			e.comm = s
		case 'p':
			e.pid = int(min(v, 1<<30))
		case 'T':
			seconds = v
		case 't':
			nanoseconds = v
		case 'S':
			e.sector = v
		case 'n':
			e.bytes = v * sector
		case 'N':
			e.bytes = v
		}
	}
	e.at = seconds + nanoseconds/1e9
	return e, e.at < 1e9 && e.bytes < 1<<40
}
