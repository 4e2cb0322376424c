package lines

import "strings"

// Sysstat is the line that iostat, sar, mpstat and pidstat begin with.
type Sysstat struct {
	Found bool
	CPUs  float64 // processors, 0 when it does not say
}

// Banner finds the last such line of a text:
//
//	Linux 4.4.0-1072-aws (host)  12/18/2018  _x86_64_  (16 CPU)
//
// It has to be the last line that holds anything.
func Banner(text string) Sysstat {
	text = strings.TrimRight(text, "\n \t")
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		if clock(text[i+1:]) { // the time of the first report
			text = strings.TrimRight(text[:i], "\n \t")
			i = strings.LastIndexByte(text, '\n')
		}
		text = text[i+1:]
	}
	at := strings.LastIndex(text, "Linux ")
	if at < 0 || !IsBanner(text[at:]) {
		return Sysstat{}
	}
	b := Sysstat{Found: true}
	if i := strings.LastIndexByte(text, '('); i > at {
		n, rest, _ := strings.Cut(text[i+1:], " ")
		if v, ok := Number(n); ok && strings.HasPrefix(rest, "CPU") {
			b.CPUs = v
		}
	}
	return b
}

// IsBanner tells whether a line is such a line.
func IsBanner(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "Linux ") && strings.Contains(s, " (") && strings.Count(s, "_") >= 2
}

// clock tells lines that hold a date and time, or a time, and nothing else.
func clock(s string) bool {
	s = strings.TrimSpace(s)
	if len(s) < 8 || len(s) > 48 || s[0] < '0' || s[0] > '9' {
		return false
	}
	if _, ok := Clock(s); ok {
		return true
	}
	return len(s) <= 32 && strings.Count(s, ":") >= 2
}
