package lines

import (
	"math"
	"strconv"
	"strings"
)

// Number reads a figure that is not negative, with a decimal point or comma.
func Number(s string) (float64, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	if v, ok := short(s); ok {
		return v, true
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && c != '.' && c != ',' {
			return 0, false
		}
	}
	s = ungrouped(s)
	if strings.Count(s, ",") == 1 && !strings.Contains(s, ".") {
		s = strings.Replace(s, ",", ".", 1)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

// short reads what most figures are: up to fifteen digits with one point among
// them at most, which floats hold exactly, so that the quotient is the nearest one.
func short(s string) (float64, bool) {
	if len(s) > 16 {
		return 0, false
	}
	var digits uint64
	scale, pointed := 1.0, false
	for i := range len(s) {
		switch c := s[i] - '0'; {
		case c <= 9:
			digits = digits*10 + uint64(c)
			if pointed {
				scale *= 10
			}
		case s[i] == '.' && !pointed:
			pointed = true
		default:
			return 0, false
		}
	}
	return float64(digits) / scale, digits < 1e15
}

// Row reads a line of a name and plain figures, as many as into has room for, in
// one pass. False where it is anything else: then its fields are to be read.
func Row(line string, into []float64) (name string, ok bool) {
	at := strings.IndexByte(line, ' ')
	if at <= 0 {
		return "", false
	}
	return line[:at], Plain(line[at:], into)
}

// powers are those of ten that a figure of up to 15 digits can be divided by.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14}

// Plain reads a line of nothing but plain figures, as Row does.
func Plain(line string, into []float64) bool {
	i := 0
	for at := range into {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		start, point := i, -1
		digits := 0
	figure:
		for ; i < len(line); i++ {
			switch c := line[i] - '0'; {
			case c <= 9:
				digits = digits*10 + int(c)
			case line[i] == '.' && point < 0 && i > start:
				point = i
			case line[i] == ' ':
				break figure
			default:
				return false
			}
		}
		if i == start || i-start > 15 {
			return false
		}
		into[at] = float64(digits)
		if point >= 0 && digits > 0 {
			into[at] /= powers[i-point-1] // exact, as is the figure above it: the quotient is the nearest float
		}
	}
	return i == len(line)
}

// ungrouped takes out the marks between thousands where they can be nothing else:
// several of one kind, or one of each kind: 1,234,567 or 1.234.567 or 1,234.5.
func ungrouped(s string) string {
	points, commas := strings.Count(s, "."), strings.Count(s, ",")
	switch {
	case commas > 1 && points <= 1 || commas == 1 && points == 1 && strings.IndexByte(s, ',') < strings.IndexByte(s, '.'):
		return strings.ReplaceAll(s, ",", "")
	case points > 1 && commas <= 1 || points == 1 && commas == 1:
		return strings.ReplaceAll(s, ".", "")
	}
	return s
}

// Numbers reads the leading fields that are figures.
func Numbers(fields []string) []float64 {
	var out []float64
	for _, f := range fields {
		v, ok := Number(f)
		if !ok {
			break
		}
		out = append(out, v)
	}
	return out
}

// Percent reads a figure with or without a percent sign behind it, as a share.
func Percent(s string) (float64, bool) {
	v, ok := Number(strings.TrimSuffix(s, "%"))
	return v / 100, ok
}

// Binary reads an amount with a suffix of powers of 1024, the way free -h, fio
// and the kernel write them: 349Mi, 11.6G, 36804, 4096MiB, 64 kB. Without a
// suffix it is in units of plain bytes.
func Binary(s string, plain float64) (bytes float64, ok bool) {
	end := len(s)
	for end > 0 && (s[end-1] < '0' || s[end-1] > '9') && s[end-1] != '.' {
		end--
	}
	v, ok := Number(s[:end])
	if !ok {
		return 0, false
	}
	scale, ok := suffix(strings.TrimSpace(s[end:]), plain, 1024)
	return v * scale, ok
}

// Scaled reads a count with a suffix of powers of 1000: 22.1k.
func Scaled(s string) (float64, bool) {
	end := len(s)
	for end > 0 && (s[end-1] < '0' || s[end-1] > '9') {
		end--
	}
	v, ok := Number(s[:end])
	if !ok {
		return 0, false
	}
	scale, ok := suffix(s[end:], 1, 1000)
	return v * scale, ok
}

func suffix(s string, plain, step float64) (float64, bool) {
	if s == "" {
		return plain, true
	}
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(s), "b"), "i")
	at := strings.Index("kmgtpe", unit)
	switch {
	case unit == "":
		return 1, true // bytes
	case len(unit) > 1 || at < 0:
		return 0, false
	}
	return math.Pow(step, float64(at+1)), true
}

// Option is the value of an option of a command that stands in the text, as
// "-s 1", "-s1" or among others as in "-xzt"; "" without one.
func Option(command string, letter byte) (value string, given bool) {
	fields := strings.Fields(command)
	for i, f := range fields {
		if len(f) < 2 || f[0] != '-' || f[1] == '-' {
			continue
		}
		at := strings.IndexByte(f, letter)
		if at < 1 {
			continue
		}
		if value = f[at+1:]; value == "" && i+1 < len(fields) {
			value = fields[i+1]
		}
		return value, true
	}
	return "", false
}

// Command is the last command line of a tool in a text: its name and what
// follows up to the end of the line or to the next command in it, "" when there
// is none.
func Command(text, tool string) string {
	for at := len(text); at > 0; {
		at = strings.LastIndex(text[:at], tool)
		if at < 0 {
			return ""
		}
		rest := text[at:]
		if end := strings.IndexAny(rest, "\n;|&"); end >= 0 {
			rest = rest[:end]
		}
		next := strings.TrimPrefix(rest, tool)
		if (next == "" || next[0] == ' ' || next[0] == '.') && prompted(text[:at]) {
			return rest
		}
	}
	return ""
}

// prompted tells whether a command can begin here: at the start of a line, or
// behind a prompt or a path.
func prompted(before string) bool {
	if i := strings.LastIndexAny(before, " \n"); i >= 0 && strings.HasPrefix(strings.TrimSpace(before[i:]), "/") {
		before = before[:i] // the tool's folder
	}
	before = strings.TrimSuffix(strings.TrimRight(before, " "), "sudo")
	before = strings.TrimRight(before, " ")
	return before == "" || strings.ContainsRune("\n#$%>;|&/", rune(before[len(before)-1]))
}

// Interval is the first number among the operands of a command: the seconds
// between two reports of iostat, vmstat and their kin, 0 when there is none.
func Interval(command string) float64 {
	fields := strings.Fields(command)
	for i, f := range fields {
		if i == 0 || f == "" {
			continue
		}
		if v, ok := Number(f); ok && v > 0 && v < 1e6 {
			return v
		}
		if f[0] != '-' && len(f) > 16 {
			return 0
		}
	}
	return 0
}

// Fields appends the words of a line to those of into, without allocating where
// there is room.
func Fields(line string, into []string) []string {
	start := -1
	for i := range len(line) {
		switch blank := line[i] == ' ' || line[i] == '\t'; {
		case blank && start >= 0:
			into, start = append(into, line[start:i]), -1
		case !blank && start < 0:
			start = i
		}
	}
	if start >= 0 {
		into = append(into, line[start:])
	}
	return into
}

// Split puts the fields of a line into an array, as many as it has room for,
// without allocating, and returns how many there are.
func Split(line string, into []string) int {
	n, i := 0, 0
	for n < len(into) {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		if i == len(line) {
			break
		}
		start := i
		for i < len(line) && line[i] != ' ' {
			i++
		}
		into[n] = line[start:i]
		n++
	}
	return n
}
