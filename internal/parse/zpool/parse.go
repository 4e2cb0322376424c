// Package zpool reads what zpool status prints: which disks of a ZFS pool failed
// to read or write, and what is under way that takes them from who else wants them.
package zpool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// What can be wrong with a disk, as classes of device.faults.
const (
	failedReads  = "reads that failed"
	failedWrites = "writes that failed"
)

// Bounds on what is looked at.
const (
	maxDisks = 4096
	maxNotes = 16
	maxLine  = 4096
	maxName  = 128
)

var (
	states = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^state: (ONLINE|DEGRADED|FAULTED|OFFLINE|UNAVAIL|REMOVED|SUSPENDED)$`)
	})
	// groups are the rows that stand for several disks.
	groups = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(mirror|raidz\d?|draid\d?[\w:]*|replacing|spare|indirect)-\d+`)
	})
	course = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^scan: (resilver|scrub) in progress`) })
	issued = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:scanned at .*issued|scanned .*|issued) at ([\d.]{1,8}[KMGT]?)B?/s`)
	})
	done = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b([\d.]{1,8})% done`) })
)

// Find says where in a line the report begins: at the state of a pool, or at the
// table of its disks where people left out what is above it.
func Find(line string) int {
	line = line[:min(len(line), maxLine)]
	text := strings.TrimSpace(line)
	if states().MatchString(text) || heading(text) {
		return len(line) - len(strings.TrimLeft(line, " \t"))
	}
	return -1
}

// heading tells the first line of the table.
func heading(text string) bool {
	f := strings.Fields(text)
	return len(f) >= 5 && slices.Equal(f[:5], []string{"NAME", "STATE", "READ", "WRITE", "CKSUM"})
}

type reader struct {
	pool   string
	table  bool
	disks  int
	wrong  float64 // blocks with another checksum than they should have
	scan   string  // what is under way, until it is said how far it is
	said   []string
	faults map[sample.Entity]float64
	order  []sample.Entity
	at     map[sample.Entity]int
	works  []*work
}

// work is a scrub or a resilver that is under way.
type work struct {
	pool, action string
	line         int
	done, speed  float64 // 0 to 1; bytes a second, of all disks together
	disks        []string
}

// New makes a reader; before is the text that precedes the state.
func New(before string) lines.Reader {
	r := &reader{faults: map[sample.Entity]float64{}, at: map[sample.Entity]int{}}
	last := strings.TrimSpace(before[max(0, len(before)-maxName):])
	if at := strings.LastIndex(last, "pool: "); at >= 0 && !strings.Contains(last[at:], "\n") {
		r.pool = last[at+len("pool: "):]
	}
	return r
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, _ lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text[:min(len(l.Text), maxLine)])
	switch {
	case text == "":
		return lines.Skipped, nil
	case heading(text):
		r.table = true
		return lines.Skipped, nil
	case states().MatchString(text):
		r.table = false
		if state := strings.TrimPrefix(text, "state: "); state != "ONLINE" {
			r.say("pool " + r.pool + " is " + state)
		}
		return lines.Used, nil
	case strings.HasPrefix(text, "pool: "):
		r.pool, r.table = text[len("pool: "):min(len(text), maxName)], false
		return lines.Skipped, nil
	case course().MatchString(text):
		r.scan = course().FindStringSubmatch(text)[1]
		if len(r.works) < maxNotes {
			r.works = append(r.works, &work{pool: r.pool, action: r.scan, line: l.N})
		}
		return lines.Used, nil
	case r.scan != "" && len(r.works) > 0 && issued().MatchString(text) && !done().MatchString(text):
		r.works[len(r.works)-1].speed, _ = lines.Binary(issued().FindStringSubmatch(text)[1], 1)
		return lines.Used, nil
	case r.scan != "" && done().MatchString(text):
		if share, ok := lines.Number(done().FindStringSubmatch(text)[1]); ok && len(r.works) > 0 {
			r.works[len(r.works)-1].done = min(1, share/100)
		}
		r.say(fmt.Sprintf("a %s of pool %s is running (%s %%): it competes with other I/O", r.scan, r.pool, done().FindStringSubmatch(text)[1]))
		r.scan = ""
		return lines.Used, nil
	case r.table && !strings.HasPrefix(text, "errors:"):
		return r.row(text, l.N)
	}
	return r.prose(text), nil
}

func (r *reader) say(s string) {
	if len(r.said) < maxNotes {
		r.said = append(r.said, s)
	}
}

// prose tells the sentences of a report from what is not of it.
func (r *reader) prose(text string) lines.Use {
	for _, word := range []string{"status:", "action:", "scan:", "see:", "config:", "errors:", "remove:", "checkpoint:"} {
		if strings.HasPrefix(text, word) {
			return lines.Skipped
		}
	}
	if !r.table && r.disks == 0 {
		return lines.Skipped // what goes on in a second line
	}
	return lines.Foreign
}

// row reads a row of the table: NAME STATE READ WRITE CKSUM, and a remark.
func (r *reader) row(text string, n int) (lines.Use, error) {
	f := strings.Fields(text)
	if len(f) == 1 || len(f) == 2 { // logs, cache, spares; a spare and its state
		return lines.Skipped, nil
	}
	if len(f) < 5 {
		return lines.Foreign, nil
	}
	if strings.Trim(f[1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return lines.Foreign, nil
	}
	var counts [3]float64
	for i := range counts {
		v, ok := lines.Binary(f[2+i], 1)
		if !ok || v < 0 {
			return lines.Broken, fmt.Errorf("%.20q errors: not a number", f[2+i])
		}
		counts[i] = v
	}
	if f[0] == r.pool || groups().MatchString(f[0]) || r.disks >= maxDisks || len(f[0]) > maxName {
		return lines.Used, nil
	}
	r.disks++
	if n := len(r.works); n > 0 && r.works[n-1].pool == r.pool {
		r.works[n-1].disks = append(r.works[n-1].disks, f[0])
	}
	r.wrong += counts[2]
	if f[1] != "ONLINE" {
		r.say(fmt.Sprintf("disk %s of pool %s is %s", f[0], r.pool, f[1]))
	}
	for i, class := range []string{failedReads, failedWrites} {
		e := sample.Entity{Device: f[0], Class: class}
		if _, seen := r.faults[e]; !seen {
			r.order = append(r.order, e)
		}
		r.faults[e], r.at[e] = counts[i], n
	}
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	into.State()
	for _, e := range r.order {
		into.At(r.at[e])
		into.Put(sample.DeviceFaults, e, r.faults[e])
	}
	for _, w := range r.works {
		w.put(into)
	}
	for _, s := range r.said {
		into.Note(s)
	}
	if r.wrong > 0 {
		into.Note(fmt.Sprintf("%g blocks have checksum errors: a disk, a cable, a controller or memory corrupts data, which by itself slows nothing", r.wrong))
	}
	if len(r.said) == 0 && r.wrong == 0 && r.disks > 0 {
		into.Note("pool " + r.pool + " of ZFS is healthy and idle")
	}
}

// put hands work over as that of an array of md, whose words these are.
func (w *work) put(into lines.Values) {
	if len(w.disks) == 0 {
		return
	}
	action := "check"
	if w.action == "resilver" {
		action = "recover"
	}
	e := sample.Entity{Device: w.pool}
	into.At(w.line)
	into.Put(sample.RaidMembers, e, float64(len(w.disks)))
	into.Put(sample.RaidAction, sample.Entity{Device: w.pool, Class: action}, 1)
	into.Put(sample.RaidDone, e, w.done)
	into.Put(sample.RaidSpeed, e, w.speed)
	into.Put(sample.DeviceKind, sample.Entity{Device: w.pool, Class: "zfs"}, 1)
	for _, disk := range w.disks {
		into.Put(sample.DeviceOn, sample.Entity{Device: w.pool, Class: lines.DiskOf(disk)}, 1)
	}
}
