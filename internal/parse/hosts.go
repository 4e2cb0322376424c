package parse

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"iocause/internal/parse/lines"
)

// maxHosts bounds how many machines of one text are told apart.
const maxHosts = 64

// hosts reads the lines of each machine by itself, where something before the
// lines tells whose they are: those of several may be mixed.
type hosts struct {
	prefixes prefixes
	first    *state // of lines without a name
	by       map[string]*state
}

func newHosts(first *state) *hosts {
	h := &hosts{first: first, by: map[string]*state{}}
	h.prefixes.out = h.line
	h.prefixes.busy = func() bool { return first.open != nil }
	h.prefixes.owned = func(line, rest string) bool { return first.begins(line) && !first.begins(rest) }
	return h
}

// begins tells whether a tool's output begins with a line.
func (s *state) begins(line string) bool {
	line = strings.TrimLeft(line[:min(len(line), headBytes)], " ")
	for i := range s.tools { // a kernel's messages are found wherever they stand in a line
		if t := &s.tools[i]; t.Name != "dmesg" && t.Find(line) == 0 {
			return true
		}
	}
	return false
}

func (h *hosts) line(l lines.Line, host string) {
	if host = shortName(host); host == "" {
		h.first.line(l)
		return
	}
	s := h.by[host]
	switch {
	case s == nil && len(h.by) >= maxHosts:
		s = h.first
	case s == nil:
		s = &state{Text: h.first.Text, tools: h.first.tools, kinds: h.first.kinds, seen: map[string]*Block{}, host: host, asked: true}
		h.by[host] = s
	}
	s.line(l)
}

// close ends all outputs, and puts them in the order of the text.
func (h *hosts) close() {
	h.prefixes.flush()
	h.first.close()
	for _, s := range h.by {
		s.close()
	}
	slices.SortStableFunc(h.first.Blocks, func(a, b *Block) int { return cmp.Compare(a.First, b.First) })
}

// shortName is a machine's name without its domain.
func shortName(host string) string {
	if host == "" {
		return ""
	}
	name, _, _ := strings.Cut(host, ".")
	if name != "" && strings.Trim(name, "0123456789") == "" {
		return host // an address
	}
	return strings.ToLower(name)
}

// titles are where texts tell whose the lines below are: the prompt of a shell,
// the first line of sysstat's tools, and the head lines of ansible and pdsh.
type titles struct{ prompt, banner, head *regexp.Regexp }

var compiledTitles = sync.OnceValue(func() titles {
	return titles{
		prompt: regexp.MustCompile(`^ *[\[(]?[\w.-]+@([A-Za-z][\w.-]*)(?:[: ][^#$]{0,60})?[\])]? ?[#$] `),
		banner: regexp.MustCompile(`^ *Linux \S+ \(([\w.-]+)\)`),
		head:   regexp.MustCompile(`^(?:([A-Za-z][\w.-]*) \| (?:CHANGED|SUCCESS|FAILED) \| rc=|==> ([A-Za-z][\w.-]*) <==)`),
	}
})

// whose takes the name of the machine from a line that tells it. A prompt is
// surer than the name that a tool prints.
func (s *state) whose(text string) {
	text = text[:min(len(text), 200)]
	switch {
	case strings.IndexByte(text, '@') >= 0 && (strings.Contains(text, "# ") || strings.Contains(text, "$ ")):
		if m := compiledTitles().prompt.FindStringSubmatch(text); m != nil {
			s.host, s.asked = shortName(m[1]), true
		}
	case !s.asked && strings.HasPrefix(strings.TrimLeft(text, " "), "Linux "):
		if m := compiledTitles().banner.FindStringSubmatch(text); m != nil {
			s.host = shortName(m[1])
		}
	case strings.HasPrefix(text, "==> ") || strings.IndexByte(text, '|') >= 0 && strings.Contains(text, "| rc="):
		if m := compiledTitles().head.FindStringSubmatch(text); m != nil {
			s.host, s.asked = shortName(cmp.Or(m[1], m[2])), true
		}
	}
}

// omission is what people write for the lines that they leave out.
var omission = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^[\s\[(<{*#-]*(?:\.{2,}|\x{2026}|(?:\.{2,} ?)?(?:snip(?:ped)?|cut|truncated|omitted|etc|skipp(?:ed|ing)|some (?:lines|devices|output) (?:omitted|removed|skipped)|(?:more )?(?:lines|output) (?:omitted|removed|truncated))(?: ?\.{2,})?)[\s\])>}*#.-]*$`)
})

// omitted tells a line that stands for others.
func omitted(text string) bool {
	figures := func(c rune) bool { return c >= '/' && c <= ':' } // between both of these
	return len(text) < 80 && !strings.ContainsFunc(text, figures) && strings.TrimSpace(text) != "" && omission().MatchString(text)
}
