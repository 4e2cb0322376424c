// Package fio reads reports of fio, text of versions 2 and 3 and JSON, whole or
// in pieces as people quote them.
package fio

import (
	"fmt"
	"regexp"
	"strings"

	"iocause/internal/parse/lines"
)

var (
	opLine    = regexp.MustCompile(`^(?:(read|write|trim)\s*:\s*)?IOPS=([\d.]+[kM]?),\s*BW=([\d.]+\s*[kKMGT]?i?B)/s(?:\s*\([^)]*\))?\s*\(?([\d.]+[kKMGT]?i?B)/(\d+)([mnu]?s(?:ec)?)`)
	oldOpLine = regexp.MustCompile(`^(read|write|trim)\s*:\s*io=([\d.]+[kKMGT]?B),\s*bw=([\d.]+[kKMGT]?B)/s,\s*iops=([\d.]+[kM]?),\s*runt=\s*(\d+)([mnu]?s(?:ec)?)`)
	clatLine  = regexp.MustCompile(`^(c?lat) \(([mnu]?s(?:ec)?)\)\s*:\s*min=\s*([\d.]+[kM]?),\s*max=\s*([\d.]+[kM]?),\s*avg=\s*([\d.]+[kM]?)`)
	latLine   = regexp.MustCompile(`^lat \(([mnu]?s(?:ec)?)\)\s*:\s*(\S*[=±]\s*[\d.]+%.*)$`)
	latShare  = regexp.MustCompile(`(>=)?(\d+)\s*[=±]\s*([\d.]+)%`)
	syncLine  = regexp.MustCompile(`^sync \(([mnu]?s(?:ec)?)\)\s*:\s*min=\s*([\d.]+[kM]?),\s*max=\s*([\d.]+[kM]?),\s*avg=\s*([\d.]+[kM]?)`)
	pctHead   = regexp.MustCompile(`^clat percentiles \(([mnu]?s(?:ec)?)\)`)
	pctShare  = regexp.MustCompile(`([\d.]+)th=\[\s*([\d.]+)\]`)
	jobLine   = regexp.MustCompile(`^([^:]+): \(groupid=\d+, jobs=(\d+)\): err=\s*\d+: pid=(\d+)`)
	cpuLine   = regexp.MustCompile(`^cpu\s*:\s*usr=([\d.]+)%,\s*sys=([\d.]+)%`)
	issued    = regexp.MustCompile(`^issued [^:]*:\s*total=(?:r=)?(\d+)[/,](?:w=)?\s*(\d+)(?:[/,](?:d=)?\s*(\d+))?(?:,\s*(\d+))?`)
	diskLine  = regexp.MustCompile(`^(?:(\S+): )?ios=(\d+)/(\d+), (?:sectors=(\d+)/(\d+), )?merge=(\d+)/(\d+), ticks=(\d+)/(\d+), in_queue=(\d+), util=([\d.]+)%`)
	iosLine   = regexp.MustCompile(`^ios=(\d+)/(\d+)$`)
	engine    = regexp.MustCompile(`^([^:]+): \(g=(\d+)\): rw=(\w+), bs=(?:\(R\) )?([\d.]+\w*).*ioengine=(\w+)(?:, iodepth=(\d+))?`)
	totals    = regexp.MustCompile(`^(READ|WRITE|TRIM): (?:bw=.*io=([\d.]+[kKMGT]?i?B).*run=(\d+)-(\d+)([mnu]?s(?:ec)?)|io=)`)
)

// noise is what lines begin with that hold nothing to judge.
func noise() []string {
	return []string{
		"Jobs: ", "bw (", "bw=", "iops", "IO depths", "submit", "complete", "slat (", "latency",
		"fsync/fdatasync", "0=0.0%", ": 0=0.0%", "Run status group", "Disk stats", "zone resets", "lat percentiles", "slat percentiles", "```",
	}
}

// Find says where in a line a report begins, in whatever piece of it.
func Find(line string) int {
	text := strings.TrimLeft(line, " \t")
	at := len(line) - len(text)
	switch {
	case text == "":
	case text[0] == '"' && strings.HasPrefix(text, `"fio version"`),
		strings.HasPrefix(text, "fio-") && len(text) > 4 && text[4] >= '0' && text[4] <= '9',
		strings.Contains(text, "(groupid=") && jobLine.MatchString(text),
		strings.Contains(text, "ioengine=") && engine.MatchString(text),
		strings.Contains(text, "IOPS=") && opLine.MatchString(text),
		strings.Contains(text, "runt=") && oldOpLine.MatchString(text),
		strings.Contains(text, "avg=") && strings.HasPrefix(text, "sync (") && syncLine.MatchString(text),
		strings.Contains(text, "avg=") && clatLine.MatchString(text),
		strings.Contains(text, "in_queue=") && diskLine.MatchString(text),
		strings.HasPrefix(text, "ios=") && iosLine.MatchString(text),
		strings.Contains(text, " run=") && totals.MatchString(text):
		return at
	}
	return -1
}

type reader struct {
	run    run
	pct    float64 // the unit of percentiles, while their lines go on
	depth  int     // of the JSON under way, 0 none
	buffer strings.Builder
	dead   bool // the JSON could not be read
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{}
	r.run.options(command(before))
	return r
}

// command is the last fio command in a text, with the lines that continue it.
func command(before string) string {
	all := strings.Split(before, "\n")
	for i := len(all) - 1; i >= 0; i-- {
		c := lines.Command(all[i], "fio")
		if !strings.Contains(c, "-") {
			continue
		}
		for _, next := range all[i+1:] {
			if next = strings.TrimSpace(next); !strings.HasPrefix(next, "--") {
				break
			}
			c += " " + next
		}
		return c
	}
	return ""
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	if r.depth > 0 || strings.HasPrefix(text, `"fio version"`) {
		return r.json(l.Text, l.N)
	}
	if text == "" {
		return lines.Skipped, nil
	}
	if text[0] == '|' {
		for _, m := range pctShare.FindAllStringSubmatch(text, -1) {
			share, _ := lines.Number(m[1])
			v, ok := lines.Number(m[2])
			if ok && r.pct > 0 { // else they are of syncs, or their head is not in the text
				r.run.job().percentile(share/100, v*r.pct)
			}
		}
		if r.pct == 0 {
			return lines.Skipped, nil
		}
		return lines.Used, nil
	}
	if use, err := r.piece(text, l.N); use != lines.Foreign {
		r.pct = 0
		if m := pctHead.FindStringSubmatch(text); m != nil {
			r.pct = seconds(m[1])
		}
		return use, err
	}
	if strings.Contains(text, ": Laying out IO file") {
		return lines.Skipped, nil
	}
	for _, n := range noise() {
		if strings.HasPrefix(text, n) {
			if m := iosLine.MatchString(text); !m {
				return lines.Skipped, nil
			}
		}
	}
	return lines.Foreign, nil
}

// piece reads the lines that hold figures.
func (r *reader) piece(text string, n int) (lines.Use, error) {
	x := &r.run
	switch {
	case strings.HasPrefix(text, "fio-"), strings.HasPrefix(text, "Starting ") && (strings.Contains(text, " process") || strings.Contains(text, " thread")):
		if x.measured() {
			return lines.Another, nil
		}
		return lines.Used, nil
	case strings.HasPrefix(text, "clat percentiles"):
		return lines.Used, nil
	}
	if m := engine.FindStringSubmatch(text); m != nil {
		if x.measured() && m[2] == "0" {
			return lines.Another, nil
		}
		x.described(m[3], m[4], m[5], m[6])
		return lines.Used, nil
	}
	if m := jobLine.FindStringSubmatch(text); m != nil {
		if x.ended() {
			return lines.Another, nil
		}
		return x.begin(m[1], m[2], m[3], n)
	}
	if m := opLine.FindStringSubmatch(text); m != nil {
		return x.operation(m[1], m[2], m[3], m[4], m[5], m[6], n)
	}
	if m := oldOpLine.FindStringSubmatch(text); m != nil {
		return x.operation(m[1], m[4], m[3], m[2], m[5], m[6], n)
	}
	if m := clatLine.FindStringSubmatch(text); m != nil {
		return x.latency(m[1], m[2], m[3], m[4], m[5], n)
	}
	if m := syncLine.FindStringSubmatch(text); m != nil {
		return x.synced(m[1], m[2], m[3], m[4], n)
	}
	if strings.HasPrefix(text, "sync percentiles") { // of what takes the time their mean is enough
		return lines.Skipped, nil
	}
	if m := latLine.FindStringSubmatch(text); m != nil {
		x.job().shares(seconds(m[1]), latShare.FindAllStringSubmatch(m[2], -1))
		return lines.Used, nil
	}
	if m := cpuLine.FindStringSubmatch(text); m != nil {
		return x.processor(m[1], m[2])
	}
	if m := issued.FindStringSubmatch(text); m != nil {
		return x.count(m[1], m[2], m[4])
	}
	if m := diskLine.FindStringSubmatch(text); m != nil {
		return x.disk(m[1:], n)
	}
	if m := iosLine.FindStringSubmatch(text); m != nil {
		return x.disk([]string{"", m[1], m[2], "", "", "", "", "", "", "", ""}, n)
	}
	if m := totals.FindStringSubmatch(text); m != nil {
		return x.total(m[1], m[2], m[4], m[5])
	}
	return lines.Foreign, nil
}

// seconds is the length of a unit of time.
func seconds(unit string) float64 {
	switch unit {
	case "nsec", "ns":
		return 1e-9
	case "usec", "us":
		return 1e-6
	case "msec", "ms":
		return 1e-3
	}
	return 1
}

func broken(what, s string) (lines.Use, error) {
	return lines.Broken, fmt.Errorf("%s is %.30q, not a number", what, s)
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.dead {
		into.Doubt("the JSON of fio is cut off or damaged")
	}
	r.run.put(into)
}
