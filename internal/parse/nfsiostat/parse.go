// Package nfsiostat reads what nfsiostat of nfs-utils, and of sysstat and PCP
// before and after it, prints of the reads and writes of each NFS mount.
package nfsiostat

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// heads finds the line that a mount's figures begin with: SERVER:/EXPORT mounted on /DIR:
var heads = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\S{1,512}:/\S{0,512}) mounted on (/\S{0,512}?):?$`)
})

// Find says where in a line the report begins: at its first mount.
func Find(line string) int {
	if !strings.Contains(line, ":/") || !strings.Contains(line, " mounted on /") {
		return -1
	}
	at := len(line) - len(strings.TrimLeft(line, " \t"))
	if heads().MatchString(strings.TrimSpace(line)) {
		return at
	}
	return -1
}

const maxMounts = 1024

// section is what the figures below a head are of.
type section int

const (
	none section = iota
	total
	reads
	writes
)

// mount is what is known of one mount in the report that is being read.
type mount struct {
	from, point string
	line        int
	columns     [writes + 1]int
	figures     [writes + 1][]float64
}

type reader struct {
	every   float64
	known   bool
	now     []*mount // of this report
	held    []*mount // the first report, which is the mean since each was mounted
	section section
	reports int
	derived bool // the queue's time is what is left of the whole
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{every: lines.Interval(lines.Command(before, "nfsiostat"))}
	if r.known = r.every > 0; !r.known {
		r.every = 1
	}
	return r
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	m := heads().FindStringSubmatch(text)
	switch {
	case text == "", strings.HasPrefix(text, "Timestamp"), strings.Trim(text, "-") == "":
		return lines.Skipped, nil
	case m != nil:
		return r.head(m[1], m[2], l.N, into), nil
	case len(r.now) == 0:
		return lines.Foreign, nil
	}
	return r.body(text)
}

// head opens a mount; one that comes again is in the next report.
func (r *reader) head(from, point string, n int, into lines.Values) lines.Use {
	r.section = none
	for _, m := range r.now {
		if m.point == point {
			r.report(into)
			break
		}
	}
	if len(r.now) < maxMounts {
		r.now = append(r.now, &mount{from: from, point: point, line: n})
	}
	return lines.Skipped
}

// body reads names of columns, figures, or both: they may stand in one line, below
// each other, or each figure in a line of its own.
func (r *reader) body(text string) (lines.Use, error) {
	m := r.now[len(r.now)-1]
	rest := text
	for word, s := range map[string]section{"read:": reads, "write:": writes} {
		if after, ok := strings.CutPrefix(rest, word); ok {
			r.section, rest = s, after
		}
	}
	if strings.Contains(rest, "rpc bklog") {
		r.section, m.columns[total] = total, 2
		return lines.Skipped, nil
	}
	if strings.Contains(rest, "op/s") || strings.Contains(rest, "ops/s") {
		if r.section != reads && r.section != writes {
			return lines.Foreign, nil
		}
		m.columns[r.section] = columns(rest)
		return lines.Skipped, nil
	}
	if rest == "" {
		return lines.Skipped, nil // read: or write: alone
	}
	f := figures(rest)
	if f == nil || r.section == none {
		return lines.Foreign, nil
	}
	all := append(m.figures[r.section], f...)
	if want := m.columns[r.section]; len(all) > want {
		return lines.Broken, fmt.Errorf("%d figures below %d columns", len(all), want)
	}
	m.figures[r.section] = all
	return lines.Used, nil
}

// The columns of reads and writes; later versions add the last two.
const (
	opsColumn = iota
	kbColumn
	kbOpColumn
	retransColumn
	rttColumn
	exeColumn
	queueColumn
	errorsColumn
)

// columns is how many figures stand below these names.
func columns(names string) int {
	n := exeColumn + 1
	if strings.Contains(names, "avg queue") {
		n = queueColumn + 1
	}
	if strings.Contains(names, "errors") {
		n = errorsColumn + 1
	}
	return n
}

// figures are the numbers of a line, without the shares in brackets; nil where
// anything else stands in it.
func figures(text string) []float64 {
	var out []float64
	for _, word := range strings.Fields(text) {
		if strings.HasPrefix(word, "(") && strings.HasSuffix(word, "%)") {
			continue
		}
		v, ok := lines.Number(word)
		if !ok || v < 0 || len(out) > errorsColumn {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// report ends a report. The first one of several is the mean since the mount.
func (r *reader) report(into lines.Values) {
	if r.reports++; r.reports == 1 {
		r.held, r.now = r.now, nil
		return
	}
	r.put(r.now, into)
	r.now = nil
}

func (r *reader) put(all []*mount, into lines.Values) {
	for _, m := range all {
		into.At(m.line)
		for metric, class := range map[sample.Metric]string{sample.MountPoint: m.point, sample.MountFrom: m.from, sample.MountKind: "nfs"} {
			into.Put(metric, sample.Entity{Device: m.point, Class: class}, 1)
		}
		r.requests(m.figures[reads], sample.Entity{Device: m.point, Class: "READ"}, sample.NFSReceived, into)
		r.requests(m.figures[writes], sample.Entity{Device: m.point, Class: "WRITE"}, sample.NFSSent, into)
	}
	into.Tick(r.every)
}

// requests puts the reads, or the writes, of a mount. What is cut off is left out.
func (r *reader) requests(f []float64, e sample.Entity, moved sample.Metric, into lines.Values) {
	if len(f) <= exeColumn {
		return
	}
	n := f[opsColumn] * r.every
	into.Put(sample.NFSRequests, e, n)
	into.Put(sample.NFSTransmissions, e, n+f[retransColumn])
	into.Put(moved, e, f[kbColumn]*1024*r.every)
	into.Put(sample.NFSServerTime, e, f[rttColumn]/1e3*n)
	into.Put(sample.NFSTime, e, f[exeColumn]/1e3*n)
	queue := max(0, f[exeColumn]-f[rttColumn])
	if len(f) > queueColumn {
		queue = f[queueColumn]
	} else if n > 0 {
		r.derived = true
	}
	into.Put(sample.NFSQueueTime, e, queue/1e3*n)
	if len(f) > errorsColumn {
		into.Put(sample.NFSErrors, e, f[errorsColumn])
	}
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if len(r.now) > 0 {
		r.report(into)
	}
	switch {
	case r.reports == 0:
		return
	case r.reports == 1:
		into.Note("the only report of nfsiostat is the mean since the mount, not what happens now: nfsiostat 1 5 shows that")
		r.put(r.held, into)
	default:
		into.Note("the first report of nfsiostat is the mean since the mount and was left out")
		if !r.known {
			into.Note("the interval of nfsiostat is not in the text: 1 s is assumed; rates do not depend on it")
		}
	}
	if r.derived {
		into.Note("this nfsiostat has no queue time: the request's time beyond its round trip is used")
	}
}
