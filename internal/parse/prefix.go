package parse

import (
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"iocause/internal/parse/lines"
)

// What programs put before every line of an output that goes through them:
// syslog and the journal, kubectl and docker, pdsh and ansible, cat -n and
// grep -n, tables of wikis. It is taken off where several lines in a row have
// the same; one line alone may be of a tool.

// prefixRun is how many lines in a row make a prefix of what they begin with.
const prefixRun = 3

// maxNesting is how many prefixes may stand one behind another.
const maxNesting = 3

// prefixKind is one form of prefix. Its groups "time" and "host" are what it
// tells.
type prefixKind struct {
	name string
	is   *regexp.Regexp
}

// prefixKinds are all forms, compiled once; they never change.
var prefixKinds = sync.OnceValue(func() []prefixKind {
	k := func(name, is string) prefixKind { return prefixKind{name, regexp.MustCompile(is)} }
	return []prefixKind{
		// Mar  3 04:05:06 web1 app[12]: text
		k("syslog", `^(?:<\d+>)?(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)(?:\.\d+)? (?P<host>[\w.-]+) [\w./@-]+(?:\[\d+\])?:(?: |$)`),
		// 2024-03-04T05:06:07.123Z web1 app[12]: text
		k("journal", `^(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)? (?P<host>[a-z][\w.-]*) [\w./@-]+(?:\[\d+\])?:(?: |$)`),
		k("cri", `^(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d) (?:stdout|stderr) [FP](?: |$)`),
		k("iso", `^\[?(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d| UTC)?\]?:?(?: |$)`),
		k("clock", `^\[(?P<time>\d\d:\d\d:\d\d)(?:[.,]\d+)?\](?: |$)`),
		k("kubectl", `^\[pod/(?P<host>[\w./-]+)\](?: |$)`),
		k("compose", `^(?P<host>[A-Za-z][\w.-]*) +\|(?: |$)`),
		k("pdsh", `^(?P<host>[A-Za-z][\w-]*(?:\.[\w-]+)*):(?: |$)`),
		k("bracket", `^\[(?P<host>[A-Za-z][\w.@-]*)\]:? `),
		k("grep", `^\d{1,7}[:-]`),
		k("number", `^ *\d{1,7}(?: | ?\| ?|$)`),
		k("bar", `^ *(?:\|{1,2}|\x{2502}) ?`),
	}
})

// held is a line with what stands before it.
type held struct {
	line  string
	n     int
	key   string // kinds of its prefixes, one behind another; "" none
	rest  string
	host  string
	stamp time.Time
}

// prefixes takes the lines of a text and hands them on without their common
// prefix.
type prefixes struct {
	out   func(l lines.Line, host string)
	busy  func() bool                  // an output is being read: what its rows begin with is its own
	owned func(line, rest string) bool // a tool's output begins with the prefix itself
	queue []held
	key   string // of the run under way
	run   int
	on    bool // the run is long enough
}

// weak are prefixes that rows of tools begin with as well.
func weak(name string) bool {
	return name == "number" || name == "grep" || name == "bar"
}

// line takes the next line.
func (p *prefixes) line(text string, n int) {
	if strings.TrimSpace(text) == "" {
		if len(p.queue) == 0 {
			p.out(lines.Line{Text: text, N: n}, "")
			return
		}
		p.queue = append(p.queue, held{line: text, rest: text, n: n, key: p.key})
		return
	}
	if p.key == "" && p.bare(text) { // what most lines are
		p.out(lines.Line{Text: text, N: n}, "")
		return
	}
	if p.on { // what most lines of a run are
		if h, ok := p.strip(text, n, p.key); ok {
			p.out(lines.Line{Text: h.rest, N: n, At: h.stamp}, h.host)
			return
		}
		if p.key = common(p.key, p.split(text, n).key); p.key != "" { // the inner one was of the rows
			p.line(text, n)
			return
		}
		p.on, p.run = false, 0
	}
	h := p.split(text, n)
	if both := common(p.key, h.key); both != h.key || both != p.key {
		if both == "" {
			p.flush()
			p.key, p.run = h.key, 0
		} else {
			p.shorten(both)
			h, _ = p.strip(text, n, both)
		}
	}
	if h.key == "" {
		p.out(lines.Line{Text: text, N: n}, "")
		return
	}
	p.queue = append(p.queue, h)
	if p.run++; p.run >= prefixRun && p.plausible() {
		p.on = true
		for _, q := range p.queue {
			p.out(lines.Line{Text: q.rest, N: q.n, At: q.stamp}, q.host)
		}
		p.queue = p.queue[:0]
		return
	}
	if p.run > 4*prefixRun {
		p.flush()
		p.run = 0
	}
}

// outer is the kinds of the prefixes before the first weak one, and the line
// without these.
func (p *prefixes) outer(text string, n int) (key, rest string) {
	for _, k := range strings.Fields(p.key) {
		if weak(k) {
			break
		}
		key += k + " "
	}
	h, _ := p.strip(text, n, key)
	return key, h.rest
}

// shorten takes less off the lines of the run under way.
func (p *prefixes) shorten(key string) {
	p.key = key
	for i, q := range p.queue {
		if strings.TrimSpace(q.line) != "" {
			p.queue[i], _ = p.strip(q.line, q.n, key)
		}
	}
}

// common is the kinds that two keys begin with alike.
func common(a, b string) string {
	out := ""
	x, y := strings.Fields(a), strings.Fields(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			break
		}
		out += x[i] + " "
	}
	return out
}

// flush hands on what was held back, as it is.
func (p *prefixes) flush() {
	for _, q := range p.queue {
		p.out(lines.Line{Text: q.line, N: q.n}, "")
	}
	p.queue = p.queue[:0]
}

// plausible tells a prefix from lines that only begin alike: numbers of lines
// go up one by one, and words are left behind them.
func (p *prefixes) plausible() bool {
	numbers := strings.HasSuffix(p.key, "number ") || strings.HasSuffix(p.key, "grep ")
	before, words := -1, false
	for _, q := range p.queue {
		outer, of := p.outer(q.line, q.n)
		if outer != p.key && p.owned(of, q.rest) {
			p.shorten(outer)
			return outer != "" && p.plausible()
		}
		words = words || strings.ContainsFunc(q.rest, unicode.IsLetter)
		if !numbers || strings.TrimSpace(q.line) == "" {
			continue
		}
		n := leadingNumber(of)
		if before >= 0 && n != before+1 {
			p.shorten(outer)
			return outer != "" && p.plausible()
		}
		before = n
	}
	return words // rows of figures alone have a tool's head above them
}

// leadingNumber is the first number in a line, -1 without one.
func leadingNumber(s string) int {
	n, any := 0, false
	for _, c := range strings.TrimLeft(s, " >|") {
		if c < '0' || c > '9' {
			break
		}
		n, any = n*10+int(c-'0'), true
		if n > 1<<30 {
			return -1
		}
	}
	if !any {
		return -1
	}
	return n
}

// split takes off all prefixes that a line has.
func (p *prefixes) split(text string, n int) held {
	h := held{line: text, rest: text, n: n}
	numbered := false // a second number is of the row
	for range maxNesting {
		found := false
		for _, k := range prefixKinds() {
			if weak(k.name) && (numbered || h.key == "" && p.busy()) {
				continue
			}
			if end, ok := h.take(&k); ok {
				h.key += k.name + " "
				h.rest = h.rest[end:]
				numbered = numbered || weak(k.name)
				found = true
				break
			}
		}
		if !found {
			break
		}
	}
	return h
}

// strip takes the prefixes of a key off a line; ok is false when it has others.
func (p *prefixes) strip(text string, n int, key string) (held, bool) {
	h := held{line: text, rest: text, n: n, key: key}
	for _, name := range strings.Fields(key) {
		found := false
		for _, k := range prefixKinds() {
			if k.name != name {
				continue
			}
			end, ok := h.take(&k)
			if ok {
				h.rest = h.rest[end:]
			}
			found = ok
		}
		if !found {
			return h, false
		}
	}
	if strings.HasSuffix(key, "bar ") {
		h.rest = unbar(h.rest)
	}
	return h, true
}

// take looks for a prefix at the beginning of what is left of a line.
func (h *held) take(k *prefixKind) (end int, ok bool) {
	if !mayBegin(k.name, h.rest) {
		return 0, false
	}
	at := k.is.FindStringSubmatchIndex(h.rest[:min(len(h.rest), prefixBytes)])
	if at == nil || notPrefix(k.name, h.rest, at[1]) {
		return 0, false
	}
	if i := k.is.SubexpIndex("host"); i > 0 && at[2*i] >= 0 {
		h.host = h.rest[at[2*i]:at[2*i+1]]
	}
	if i := k.is.SubexpIndex("time"); i > 0 && at[2*i] >= 0 {
		h.stamp = stampOf(h.rest[at[2*i]:at[2*i+1]])
	}
	return at[1], true
}

// prefixBytes is how much of a line is looked at for a prefix.
const prefixBytes = 256

// mayBegin rules out quickly what a prefix cannot begin, for most lines have
// none.
func mayBegin(kind, rest string) bool {
	if rest == "" {
		return false
	}
	c := rest[0]
	digit, letter := c >= '0' && c <= '9', c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
	switch kind {
	case "syslog":
		return c == '<' || len(rest) > 16 && c >= 'A' && c <= 'Z' && rest[3] == ' ' && rest[9] == ':'
	case "journal", "cri":
		return len(rest) > 20 && digit && rest[4] == '-' && rest[10] == 'T'
	case "iso":
		return len(rest) > 18 && (digit && rest[4] == '-' || c == '[' && rest[5] == '-')
	case "clock":
		return len(rest) > 9 && c == '[' && rest[3] == ':'
	case "kubectl":
		return strings.HasPrefix(rest, "[pod/")
	case "bracket":
		return c == '['
	case "compose":
		return letter && strings.IndexByte(rest[:min(len(rest), 64)], '|') > 0
	case "pdsh":
		at := strings.IndexByte(rest[:min(len(rest), 64)], ':')
		return letter && at > 0 && strings.IndexByte(rest[:at], ' ') < 0 && machineName(rest[:at]) && !strings.HasPrefix(rest, "avg-cpu:")
	case "grep":
		at := strings.IndexAny(rest[:min(len(rest), 9)], ":-")
		return digit && at > 0
	case "number":
		return digit || c == ' '
	case "bar":
		return c == '|' || c == ' ' || c == 0xe2
	}
	return true
}

// bare rules out quickly that a line has any prefix at all.
func (p *prefixes) bare(text string) bool {
	c := text[0]
	switch {
	case c == ' ': // a number or a bar, which are weak
		return p.busy()
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z' && !mayBegin("syslog", text):
		return !mayBegin("compose", text) && !mayBegin("pdsh", text)
	}
	return false
}

// notPrefix tells what looks like a prefix and is of a tool: "Mem:", "Cached:",
// "Average:", "avg-cpu:", "cpu  :", the first columns of vmstat.
func notPrefix(kind, rest string, end int) bool {
	switch kind {
	case "pdsh", "compose":
		name := strings.TrimRight(rest[:end], " :|")
		behind := rest[end:]
		if !machineName(name) || deviceName().MatchString(name) {
			return true
		}
		return strings.HasPrefix(behind, "(g") // a job of fio
	}
	return false
}

// machineName tells what may be one: they have a number, a dash or a domain.
func machineName(name string) bool { return strings.ContainsAny(name, "0123456789.-") }

// deviceName tells names that the kernel's messages and tools begin with.
var deviceName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:avg-cpu|ata\d|nvme\d|mmc|sd[a-z]+\d*$|[hvx]+d[a-z]\d*$|md\d|dm-\d|loop\d|rbd\d|scsi\d|eth\d|usb\d|raid\d|mpt|megaraid|libceph|device-mapper|EXT\d|JBD2|[Cc]pu\d|[Nn]ode\d)`)
})

// unbar takes off the bar that closes a line which a bar opens.
func unbar(s string) string {
	s = strings.TrimRight(s, " ")
	return strings.TrimSuffix(strings.TrimSuffix(s, "|"), "\u2502")
}

// stampOf reads the time of a prefix; of the forms without a year or day only
// differences matter.
func stampOf(s string) time.Time {
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "Jan _2 15:04:05", "15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	return time.Time{}
}
