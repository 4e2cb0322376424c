// Package mountstats reads what the kernel counts of each NFS mount: the file
// /proc/self/mountstats, once or at two instants, and what the tool mountstats of
// nfs-utils makes of it.
package mountstats

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"iocause/internal/parse/lines"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// Bounds on what is kept.
const (
	maxText   = 4 << 20
	maxMounts = 1024
)

var (
	device = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^device \S{1,512}:/?\S{0,512} mounted on \S{1,512} with fstype nfs4? statvers=`)
	})
	stats = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^Stats for (\S{1,512}:/?\S{0,512}) mounted on (/\S{0,512}?):$`)
	})
	age    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`mount age: (?:(\d+) days?, )?(\d+):(\d+):(\d+)`) })
	op     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Z][A-Z0-9_]{1,40}):$`) })
	counts = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\d+) ops \(\d+%\)(?:\s+(\d+) retrans \(\d+%\))?(?:\s+(\d+) major timeouts)?`)
	})
	times = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^backlog wait: ([\d.]+)\s+RTT: ([\d.]+)\s+total execute time: ([\d.]+) \(milliseconds\)`)
	})
)

// Find says where in a line the figures of a mount begin.
func Find(line string) int {
	if !strings.Contains(line, " mounted on ") {
		return -1
	}
	text := strings.TrimSpace(line)
	if device().MatchString(text) || stats().MatchString(text) {
		return len(line) - len(strings.TrimLeft(line, " \t"))
	}
	return -1
}

// mount is one that the tool tells of.
type mount struct {
	procfile.MountStats
	line    int
	seconds float64 // its age
}

type reader struct {
	shots  []strings.Builder // of the kernel's file
	seen   map[string]bool   // mounts of the last shot
	line   int
	size   int
	pause  float64
	mounts []mount // of the tool
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	return &reader{seen: map[string]bool{}, pause: lines.Pause(before)}
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, _ lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	switch {
	case text == "":
		return lines.Skipped, nil
	case stats().MatchString(text):
		if len(r.mounts) >= maxMounts {
			return lines.Skipped, nil
		}
		m := stats().FindStringSubmatch(text)
		r.mounts = append(r.mounts, mount{MountStats: procfile.MountStats{Source: m[1], Point: m[2], Type: "nfs"}, line: l.N})
		return lines.Used, nil
	case strings.Contains(text, "mountstats") && strings.ContainsAny(text[:1], "#$"): // the command, at a prompt
		return lines.Skipped, nil
	case len(r.mounts) > 0:
		return r.tool(text), nil
	}
	return r.kernel(text, l.N), nil
}

// kernel takes a line of the file; a mount that comes again begins the next snapshot.
func (r *reader) kernel(text string, n int) lines.Use {
	if strings.HasPrefix(text, "device ") || strings.HasPrefix(text, "no device ") {
		if r.seen[text] || len(r.shots) == 0 {
			r.shots, r.seen = append(r.shots, strings.Builder{}), map[string]bool{}
		}
		r.seen[text] = true
	} else if first, _, _ := strings.Cut(text, " "); !strings.HasSuffix(strings.SplitN(first, "\t", 2)[0], ":") && !strings.HasPrefix(text, "per-op statistics") && !strings.HasPrefix(text, "RPC iostats") {
		return lines.Foreign
	}
	if r.size += len(text); r.size > maxText {
		return lines.Skipped
	}
	r.line = n
	b := &r.shots[len(r.shots)-1]
	b.WriteString(text)
	b.WriteByte('\n')
	return lines.Used
}

// tool takes a line of mountstats.
func (r *reader) tool(text string) lines.Use {
	m := &r.mounts[len(r.mounts)-1]
	number := func(s string) uint64 { v, _ := lines.Number(s); return uint64(min(v, 1<<53)) }
	var last *procfile.MountOp
	if len(m.Ops) > 0 {
		last = &m.Ops[len(m.Ops)-1]
	}
	switch {
	case age().MatchString(text):
		f := age().FindStringSubmatch(text)
		m.seconds = float64(number(f[1])*86400 + number(f[2])*3600 + number(f[3])*60 + number(f[4]))
	case op().MatchString(text):
		m.Ops = append(m.Ops, procfile.MountOp{Name: strings.TrimSuffix(text, ":")})
	case last != nil && counts().MatchString(text):
		f := counts().FindStringSubmatch(text)
		last.Requests, last.Timeouts = number(f[1]), number(f[3])
		last.Transmissions = last.Requests + number(f[2])
	case last != nil && times().MatchString(text):
		f := times().FindStringSubmatch(text)
		for i, to := range []*uint64{&last.Queue, &last.Response, &last.Execute} {
			v, _ := lines.Number(f[1+i])
			*to = uint64(min(v*float64(last.Requests), 1<<53))
		}
	default:
		if known(text) {
			return lines.Skipped
		}
		return lines.Foreign
	}
	return lines.Used
}

// known tells the other lines of the tool.
func known(text string) bool {
	for _, part := range []string{"NFS ", "RPC ", "avg bytes", "average ", "applications read", "client wrote", "requests sent", "Vfs", "VFS", "GSS", "security", "byte", "Bytes", "events", "pages", "inode", "retrans", "errors:"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if len(r.mounts) > 0 {
		seconds := 0.0
		for i := range r.mounts {
			m := &r.mounts[i]
			seconds = max(seconds, m.seconds)
			into.At(m.line)
			put(into, &m.MountStats, nil)
		}
		r.mean(into, seconds)
		return
	}
	if len(r.shots) == 0 {
		return
	}
	into.At(r.line)
	first, _ := procfile.ParseMountStats([]byte(r.shots[0].String()))
	last, _ := procfile.ParseMountStats([]byte(r.shots[len(r.shots)-1].String()))
	if len(r.shots) == 1 {
		for i := range first {
			put(into, &first[i], nil)
		}
		r.mean(into, oldest(r.shots[0].String()))
		return
	}
	for i := range last {
		for j := range first {
			if first[j].Point == last[i].Point {
				put(into, &last[i], &first[j])
			}
		}
	}
	seconds := r.pause * float64(len(r.shots)-1)
	if passed := oldest(r.shots[len(r.shots)-1].String()) - oldest(r.shots[0].String()); passed > 0 {
		seconds = passed
	}
	if seconds == 0 {
		seconds = 10
		into.Note("the time between the snapshots of /proc/self/mountstats is not in the text: 10 s is assumed for rates; times of requests do not depend on it")
	}
	into.Tick(seconds)
}

// mean says of figures since each mount that they are that.
func (r *reader) mean(into lines.Values, seconds float64) {
	into.Note("NFS requests are counted since each file system was mounted: take two snapshots some seconds apart (nfsiostat 5 2) to see how it is now")
	into.Tick(max(seconds, 1))
}

// oldest is the greatest age of a mount, in seconds ("age:	1234").
func oldest(text string) float64 {
	most := 0.0
	for _, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, "age:"); ok {
			v, _ := lines.Number(strings.TrimSpace(rest))
			most = max(most, v)
		}
	}
	return most
}

// put hands over what a mount did since before, nil: since it was mounted.
func put(into lines.Values, m, before *procfile.MountStats) {
	for metric, class := range map[sample.Metric]string{sample.MountKind: m.Type, sample.MountPoint: m.Point, sample.MountFrom: m.Source} {
		into.Put(metric, sample.Entity{Device: m.Point, Class: class}, 1)
	}
	old := map[string]procfile.MountOp{}
	if before != nil {
		for _, o := range before.Ops {
			old[o.Name] = o
		}
	}
	for _, o := range m.Ops {
		was, e := old[o.Name], sample.Entity{Device: m.Point, Class: o.Name}
		if o.Requests < was.Requests || o.Execute < was.Execute || o.Response < was.Response || o.Queue < was.Queue || o.Transmissions < was.Transmissions || o.Timeouts < was.Timeouts {
			into.Note(fmt.Sprintf("the counters of %s fell: it was mounted anew between the snapshots", m.Point))
			return
		}
		if o.Requests == was.Requests && o.Transmissions == was.Transmissions {
			continue
		}
		into.Put(sample.NFSRequests, e, float64(o.Requests-was.Requests))
		into.Put(sample.NFSTransmissions, e, float64(o.Transmissions-was.Transmissions))
		into.Put(sample.NFSTimeouts, e, float64(o.Timeouts-was.Timeouts))
		into.Put(sample.NFSQueueTime, e, float64(o.Queue-was.Queue)/1e3)
		into.Put(sample.NFSServerTime, e, float64(o.Response-was.Response)/1e3)
		into.Put(sample.NFSTime, e, float64(o.Execute-was.Execute)/1e3)
	}
}
