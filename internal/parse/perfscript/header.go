package perfscript

import (
	"bytes"
	"strconv"
)

// header is the first line of a sample. The slices are parts of the line.
type header struct {
	comm    []byte
	tid     uint64
	pid     uint64 // 0 where only the thread is printed
	time    int64  // nanoseconds of perf's clock, -1 where there is none
	period  uint64
	counted bool   // the period is printed
	event   []byte // without the colon
	payload []byte // what a tracepoint prints of its fields; nil without any
}

// parseHeader reads the first line of a sample:
//
//	COMM [PID/]TID [CPU] TIME: [PERIOD] EVENT: [FIELDS]
func parseHeader(line []byte) (h header, ok bool) {
	if len(line) == 0 || space(line[0]) {
		return h, false
	}
	at, end := 0, 0
	for i := 1; i < len(line); i++ {
		if !space(line[i-1]) {
			continue
		}
		pid, n := thread(line[i:])
		if n == 0 {
			continue
		}
		j := i + n
		tid, both := pid, false
		if j+1 < len(line) && line[j] == '/' {
			if id, n := thread(line[j+1:]); n > 0 {
				tid, both = id, true
				j += 1 + n
			}
		}
		if j < len(line) && space(line[j]) {
			at, end, h.tid = i, j, tid
			if both {
				h.pid = pid
			}
			break
		}
	}
	if at == 0 {
		return h, false
	}
	h.comm = bytes.TrimRight(line[:at], " \t")
	h.time, h.period = -1, 1
	rest := line[end:]
	for {
		word, after := cutWord(rest)
		if len(word) == 0 {
			return h, true
		}
		rest = after
		if word[len(word)-1] != ':' {
			continue
		}
		if ns, isTime := clock(word[:len(word)-1]); isTime {
			h.time = ns
			break
		}
		h.event = word[:len(word)-1]
		h.fields(rest)
		return h, true
	}
	word, after := cutWord(rest)
	if n, size := number(word); size > 0 && size == len(word) {
		h.period, h.counted = max(n, 1), true
		word, after = cutWord(after)
	}
	if len(word) > 1 && word[len(word)-1] == ':' {
		h.event = word[:len(word)-1]
		h.fields(after)
	}
	return h, true
}

func (h *header) fields(rest []byte) {
	if rest = bytes.TrimSpace(rest); len(rest) > 0 {
		h.payload = rest
	}
}

func space(c byte) bool { return c == ' ' || c == '\t' }
func digit(c byte) bool { return c >= '0' && c <= '9' }

// cutWord takes the first word off.
func cutWord(b []byte) (word, rest []byte) {
	i := 0
	for i < len(b) && space(b[i]) {
		i++
	}
	j := i
	for j < len(b) && !space(b[j]) {
		j++
	}
	return b[i:j], b[j:]
}

// thread reads the number of a thread; of one that is gone perf prints -1,
// which is 0 here.
func thread(b []byte) (id uint64, n int) {
	if len(b) > 1 && b[0] == '-' && b[1] == '1' {
		return 0, 2
	}
	return number(b)
}

// number reads the digits at the front. Numbers that do not fit stay at the
// largest there is.
func number(b []byte) (v uint64, n int) {
	for n < len(b) && digit(b[n]) {
		d := uint64(b[n] - '0')
		if v > (1<<64-1-d)/10 {
			v = 1<<64 - 1
		} else {
			v = v*10 + d
		}
		n++
	}
	return v, n
}

// clock reads seconds with a fraction, as nanoseconds.
func clock(b []byte) (ns int64, ok bool) {
	whole, part, found := bytes.Cut(b, []byte("."))
	s, n := number(whole)
	const most = 9e9 // seconds that fit
	if !found || n == 0 || n != len(whole) || len(part) == 0 || len(part) > 9 || s > most {
		return 0, false
	}
	f, n := number(part)
	if n != len(part) {
		return 0, false
	}
	for ; n < 9; n++ {
		f *= 10
	}
	return int64(s)*1e9 + int64(f), true
}

// parseFrame reads a line of a stack: ADDRESS FUNCTION (MODULE). The addresses
// themselves are not needed.
func parseFrame(line []byte) (function, module []byte, ok bool) {
	i := 0
	for i < len(line) && space(line[i]) {
		i++
	}
	address := i
	for i < len(line) && hex(line[i]) {
		i++
	}
	if i == address || i < len(line) && !space(line[i]) {
		return nil, nil, false
	}
	rest := line[i:]
	end := bytes.LastIndexByte(rest, ')')
	if end < 0 {
		return nil, nil, false
	}
	from := bytes.TrimSuffix(rest[:end], []byte(" (deleted)"))
	open := bytes.IndexByte(from, '(')
	if open >= 0 && (open == 0 || from[open-1] != ' ' || bytes.IndexByte(from[open+1:], '(') >= 0) {
		for open = len(from); ; { // the last " (" then; bytes.LastIndex takes three times as long
			if open = bytes.LastIndexByte(from[:open], '('); open <= 0 || from[open-1] == ' ' {
				break
			}
		}
	}
	if open <= 0 {
		return nil, nil, false
	}
	function = from[:open-1]
	for len(function) > 0 && space(function[0]) {
		function = function[1:]
	}
	return function, from[open+1:], true
}

func hex(c byte) bool { return c-'0' < 10 || c|0x20-'a' < 6 } // of most letters of a text

func toID(b []byte) (int, bool) {
	const bits = 31
	v, err := strconv.ParseUint(string(b), 10, bits)
	return int(v), err == nil
}
