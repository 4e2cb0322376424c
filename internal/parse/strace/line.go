package strace

import (
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
)

// call is one line of a trace.
type call struct {
	pid        int     // 0 when the line has none
	at         float64 // seconds
	timed      bool    // at is known
	relative   bool    // at is the time since the line before
	clock      bool    // at is a time of day
	name       string  // "" for lines that are of no system call
	args       string
	result     string
	took       float64 // seconds, from -T
	lasted     bool    // took is known
	unfinished bool
	resumed    bool
}

// parse takes a line apart. ok is false when it is of no trace.
func parse(text string) (c call, ok bool) {
	text = strings.TrimSpace(text)
	text = c.process(text)
	text = c.time(text)
	if isNotice(text) {
		return c, true
	}
	if rest, found := strings.CutPrefix(text, "<... "); found {
		c.resumed = true
		c.name, text, ok = strings.Cut(rest, " resumed>")
		if !ok || !isName(c.name) {
			return c, false
		}
		text = strings.TrimPrefix(text, " ")
	} else {
		c.name, text, ok = strings.Cut(text, "(")
		if !ok || !isName(c.name) {
			return c, false
		}
	}
	if rest, found := strings.CutSuffix(text, "<unfinished ...>"); found {
		c.unfinished, c.args = true, rest
		return c, c.pid > 0 || c.timed
	}
	if i := strings.LastIndex(text, " <"); i >= 0 && strings.HasSuffix(text, ">") {
		if v, ok := lines.Number(text[i+2 : len(text)-1]); ok && v < 1e9 {
			c.took, c.lasted, text = v, true, text[:i]
		}
	}
	for end := len(text); ; {
		i := strings.LastIndex(text[:end], "= ")
		if i < 0 {
			return c, false
		}
		if before := strings.TrimRight(text[:i], " "); strings.HasSuffix(before, ")") {
			c.args, c.result = before[:len(before)-1], text[i+2:]
			break
		}
		end = i
	}
	return c, c.result != "" && (c.lasted || c.timed || c.resumed)
}

// process takes "[pid 12] " or "12 " off a line.
func (c *call) process(text string) string {
	word, rest, _ := strings.Cut(text, " ")
	if inner, ok := strings.CutPrefix(text, "[pid "); ok {
		word, rest, ok = strings.Cut(inner, "]")
		if !ok {
			return text
		}
		word = strings.TrimSpace(word)
	}
	if n, err := strconv.Atoi(word); err == nil && n > 0 && n <= 1<<22 {
		c.pid = n
		return strings.TrimLeft(rest, " ")
	}
	return text
}

// time takes what -t, -tt, -ttt and -r write off a line.
func (c *call) time(text string) string {
	word, rest, _ := strings.Cut(text, " ")
	parts := strings.Split(word, ":")
	switch len(parts) {
	case 1:
		v, ok := lines.Number(word)
		if !ok || !strings.Contains(word, ".") || v > 1e10 {
			return text
		}
		c.at, c.timed, c.relative = v, true, v < 1e6
	case 3:
		for _, p := range parts {
			v, ok := lines.Number(p)
			if !ok || v >= 60 {
				return text
			}
			c.at = c.at*60 + v
		}
		c.timed, c.clock = true, true
	default:
		return text
	}
	rest = strings.TrimLeft(rest, " ")
	if inner, ok := strings.CutPrefix(rest, "(+"); ok { // of -r beside -tt
		if _, after, ok := strings.Cut(inner, ") "); ok {
			rest = after
		}
	}
	return strings.TrimLeft(rest, " ")
}

// isNotice tells lines on the end of a process and on signals.
func isNotice(text string) bool {
	return strings.HasPrefix(text, "+++ ") && strings.HasSuffix(text, " +++") || strings.HasPrefix(text, "--- SIG") && strings.HasSuffix(text, " ---") ||
		strings.HasPrefix(text, "strace: Process ") || strings.HasPrefix(text, "strace: Attached ")
}

func isName(s string) bool {
	if s == "" || len(s) > 40 || s[0] < 'a' || s[0] > 'z' && s[0] != '_' {
		return s == "_llseek"
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// descriptor reads "3" and "3</path>", of which -y writes the latter.
func descriptor(s string) (n int, path string, ok bool) {
	s, _, _ = strings.Cut(s, ", ")
	s = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), ","))
	if i := strings.IndexByte(s, '<'); i > 0 {
		path, s = strings.TrimSuffix(s[i+1:], ">"), s[:i]
	}
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return n, path, err == nil && n >= 0 && n < 1<<30
}

// quoted is the first string among arguments.
func quoted(args string) string {
	_, rest, ok := strings.Cut(args, "\"")
	if !ok {
		return ""
	}
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			return rest[:i]
		}
	}
	return ""
}

// onDisk tells whether a path is of a file or device that reads and writes of
// may wait for.
func onDisk(path string) bool {
	for _, p := range []string{"/proc/", "/sys/", "pipe:[", "socket:[", "anon_inode:", "TCP", "UDP", "UNIX", "NETLINK"} {
		if strings.HasPrefix(path, p) {
			return false
		}
	}
	if dev, ok := strings.CutPrefix(path, "/dev/"); ok {
		for _, p := range []string{"sd", "nvme", "vd", "xvd", "dm-", "mapper/", "loop", "md", "shm/"} {
			if strings.HasPrefix(dev, p) {
				return true
			}
		}
		return false
	}
	return path != ""
}
