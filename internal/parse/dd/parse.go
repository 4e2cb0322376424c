// Package dd reads the closing lines of dd(1), of GNU and busybox.
package dd

import (
	"fmt"
	"regexp"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

var (
	records = regexp.MustCompile(`(\d+)\+(\d+) (?:records (in|out)|(?:enregistrements|Datensätze|registros|record) (lus|écrits|ein|aus|leídos|escritos|de entrada|de saída|dentro|fuori))`)
	summary = regexp.MustCompile(`(\d+) (?:[bB]ytes?|octets?) (?:\([^)]*\) )?(?:\([^)]*\) )?(?:copied|kopiert|copiés?|copiados|copiati), ([\d.,]+(?:e-?\d+)?) ?s(?:econds)?, ([\d.,]+) ?([kKMGT]?i?B)/s`)
	syncs   = regexp.MustCompile(`\boflag=\S*sync`)
	block   = regexp.MustCompile(`\b[oi]?bs=(\d+[a-zA-Z]*)`)
	nowhere = regexp.MustCompile(`\bof=/dev/(?:null|zero)(?: |$)|(?:^|[^2&])> ?/dev/null`)
	past    = regexp.MustCompile(`\b([io])flag=\S*direct`)
)

// Find says where in a line the output begins.
func Find(line string) int {
	if strings.Contains(line, "/s") && (strings.Contains(line, " bytes") || strings.Contains(line, " octets")) {
		if at := summary.FindStringIndex(line); at != nil && !records.MatchString(line) {
			return at[0] // the last line alone
		}
	}
	if i := strings.IndexByte(line, '+'); i < 1 || !strings.Contains(line[i:], " rec") && !strings.Contains(line[i:], " enr") && !strings.Contains(line[i:], " Dat") && !strings.Contains(line[i:], " reg") {
		return -1
	}
	if at := records.FindStringSubmatchIndex(line); at != nil && in(records.FindStringSubmatch(line)) {
		return at[0]
	}
	return -1
}

// in tells the records that were read from those that were written.
func in(m []string) bool {
	switch m[3] + m[4] {
	case "in", "lus", "ein", "leídos", "de entrada", "dentro":
		return true
	}
	return false
}

type reader struct {
	command string
	in, out float64 // records, the last of them maybe in part
	seenIn  bool
	done    bool

	size, seconds float64
	line          int
	progress      bool // these are of a run that goes on (status=progress), in whole seconds
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader { return &reader{command: lines.Command(before, "dd")} }

// Line implements lines.Reader. All of it may stand in one line.
func (r *reader) Line(l lines.Line, _ lines.Values) (lines.Use, error) {
	text, use := l.Text, lines.Foreign
	if strings.TrimSpace(text) == "" && !r.done {
		return lines.Skipped, nil
	}
	found := records.FindAllStringSubmatch(text, 4)
	var sum []string
	if all := summary.FindAllStringSubmatch(text, -1); all != nil {
		sum = all[len(all)-1] // before it, how far the run was
	}
	if (len(found) > 0 && in(found[0]) && r.seenIn) || (r.done && !r.goesOn(found, sum) && (len(found) > 0 || sum != nil)) {
		return lines.Another, nil
	}
	if len(found) > 0 {
		r.done, r.progress = false, false
	}
	for _, m := range found {
		whole, _ := lines.Number(m[1])
		part, _ := lines.Number(m[2])
		if in(m) {
			r.in, r.seenIn = whole+part, true
		} else {
			r.out = whole + part
		}
		use = lines.Used
	}
	if sum == nil {
		return use, nil
	}
	if !r.seenIn && len(found) > 0 {
		return lines.Foreign, nil
	}
	size, ok1 := lines.Number(sum[1])
	seconds, ok2 := lines.Number(sum[2])
	if m := block.FindStringSubmatch(r.command); r.out == 0 && !r.seenIn && m != nil { // how many there were is not shown
		if bs, ok := lines.Binary(m[1], 1); ok && bs > 0 {
			r.out = size / bs
			r.in = r.out
		}
	}
	if !ok1 || !ok2 || seconds <= 0 || r.out == 0 && r.seenIn {
		return lines.Broken, fmt.Errorf("%.20q bytes in %.20q s: not numbers", sum[1], sum[2])
	}
	r.done, r.progress = true, !r.seenIn && !strings.ContainsAny(sum[2], ".,e")
	r.size, r.seconds, r.line = size, seconds, l.N
	return lines.Used, nil
}

// goesOn tells a line that shows more of a run whose progress was shown.
func (r *reader) goesOn(found [][]string, sum []string) bool {
	if !r.progress || sum == nil {
		return r.progress && len(found) > 0
	}
	size, _ := lines.Number(sum[1])
	seconds, _ := lines.Number(sum[2])
	return size >= r.size && seconds >= r.seconds
}

func (r *reader) put(size, seconds float64, into lines.Values) {
	host := sample.Entity{}
	into.Process(0, sample.Process{Comm: "dd"})
	switch {
	case r.reads():
		r.putRead(size, seconds, into)
	case syncs.MatchString(r.command): // each write waits until it is on the device
		r.putWritten(size, into)
		into.Put(sample.CallTime, sample.Entity{Class: sample.ClassSync}, seconds)
		into.Put(sample.ProcSyncCalls, host, r.out)
	default:
		r.putWritten(size, into)
		into.Put(sample.CallTime, sample.Entity{Class: sample.ClassWrite}, seconds)
	}
	into.Tick(seconds)
	if r.out == 0 {
		into.Note(fmt.Sprintf("dd: %s/s for %.2f s; the size of its records is not in the text", amount(size/seconds), seconds))
		return
	}
	each := seconds / r.out
	record := size / r.out
	into.Note(fmt.Sprintf("dd: %.0f records of %.0f bytes in %.2f s: %s a record, %.3g records/s, %s/s",
		r.out, record, seconds, duration(each), r.out/seconds, amount(size/seconds)))
	if copying := record / slowCopy; each > 20*copying && each > 1e-3 && !r.reads() && !r.direct("o") {
		into.Note(fmt.Sprintf("a buffered write of %.0f bytes takes microseconds: every record waited, as synchronous writes do (oflag=sync, dsync; a mount with sync) or writers that are paused because too many pages are dirty", record))
		into.Note(fmt.Sprintf("this rules out a bandwidth limit (%s/s is far below any device's), and a slow source or copy", amount(size/seconds)))
		into.Note("compare: the same dd with oflag=direct (the device alone) and with conv=fdatasync; grep -E 'Dirty|Writeback|MemAvailable' /proc/meminfo and sysctl -a | grep dirty while it runs; then iocause diagnose -- dd ...")
	}
	if m := block.FindStringSubmatch(r.command); m != nil {
		if bs, ok := lines.Binary(m[1], 1); ok && bs > 0 && record > 1.01*bs {
			into.Doubt(fmt.Sprintf("dd: the records hold %.0f bytes, but bs=%s", record, m[1]))
		}
	}
}

// reads tells a run that keeps nothing of what it reads: all of its time is that
// of its reads.
func (r *reader) reads() bool { return nowhere.MatchString(r.command) }

// direct tells whether its input (i) or its output (o) goes past the page cache.
func (r *reader) direct(side string) bool {
	for _, m := range past.FindAllStringSubmatch(r.command, 8) {
		if m[1] == side {
			return true
		}
	}
	return false
}

func (r *reader) putRead(size, seconds float64, into lines.Values) {
	host := sample.Entity{}
	into.Put(sample.ProcReadChars, host, size)
	into.Put(sample.CallTime, sample.Entity{Class: sample.ClassRead}, seconds)
	if r.in > 0 {
		into.Put(sample.ProcReadCalls, host, r.in)
	}
	if r.direct("i") {
		into.Put(sample.DirectReads, host, r.in)
		into.Put(sample.DirectReadBytes, host, size)
	}
}

func (r *reader) putWritten(size float64, into lines.Values) {
	host := sample.Entity{}
	into.Put(sample.ProcWriteChars, host, size)
	if r.out > 0 {
		into.Put(sample.ProcWriteCalls, host, r.out)
		into.Put(sample.ProcReadCalls, host, r.in)
	}
	if r.direct("o") {
		into.Put(sample.DirectWrites, host, r.out)
		into.Put(sample.DirectWriteByte, host, size)
	}
}

// slowCopy is how fast even a slow machine copies into its page cache, in
// bytes a second.
const slowCopy = 256 << 20

func duration(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.3g us", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

func amount(b float64) string {
	for _, u := range []string{"B", "KiB", "MiB", "GiB"} {
		if b < 1024 {
			return fmt.Sprintf("%.3g %s", b, u)
		}
		b /= 1024
	}
	return fmt.Sprintf("%.3g TiB", b)
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.done {
		into.At(r.line)
		r.put(r.size, r.seconds, into)
	}
}
