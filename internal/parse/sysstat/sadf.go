package sysstat

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"iocause/internal/parse/lines"
)

// isSeparated tells the rows of sadf -d and their heads:
//
//	# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
//	web1;1;2026-11-21 12:34:19 UTC;-1;0.00;82.41;17.59;0.00;0.00;0.00
func isSeparated(text string) bool {
	if strings.HasPrefix(text, "# hostname;interval;timestamp;") {
		return true
	}
	return strings.Count(text, ";") >= 3 && text[0] != '#'
}

// fixed is how many columns come before those of the table.
const fixed = 3

// separated reads a line of sadf -d.
func (r *reader) separated(text string, n int) (lines.Use, error) {
	f := strings.Split(text, ";")
	if text[0] == '#' {
		r.several = strings.Count(text, "[...]") > 1 || strings.Contains(text, "[...];")
		f[len(f)-1] = strings.TrimSuffix(f[len(f)-1], "[...]") // -h: repeated in a row
		if r.columns, r.table = f[fixed:], headOf(f[fixed:]); r.table == nil {
			r.table = skip
		}
		return lines.Used, nil
	}
	if r.table == nil {
		return lines.Foreign, nil
	}
	if strings.Contains(text, "LINUX-RESTART") || strings.Contains(text, ";COMMENT ") {
		return lines.Skipped, nil
	}
	at, ok := stamp(f[2])
	every, ok2 := lines.Number(f[1])
	if !ok || !ok2 || every > 1e7 {
		return lines.Broken, fmt.Errorf("no interval and time in %.40q", text)
	}
	if r.several {
		return lines.Broken, fmt.Errorf("several tables in one row (-h), which cannot be separated: use sadf -d without -h")
	}
	f = f[fixed:]
	if len(f) == 0 || len(f)%len(r.columns) != 0 {
		return lines.Broken, fmt.Errorf("%d figures below %d columns: the line is cut off", len(f), len(r.columns))
	}
	r.every = max(1, every)
	for ; len(f) > 0; f = f[len(r.columns):] {
		v, s := rowOf(r.columns, f)
		if len(v) == 0 {
			return lines.Broken, fmt.Errorf("the row has no number")
		}
		r.put(r.table, at, v, s, n)
	}
	return lines.Used, nil
}

// stamp reads the time of a row: "2026-11-21 12:34:19 UTC", without the zone
// (-t, -T), or seconds since 1970 (-U).
func stamp(s string) (float64, bool) {
	if v, ok := lines.Number(s); ok {
		return v, v < 1e11
	}
	t, err := time.Parse(time.DateTime, strings.TrimSuffix(s, " UTC"))
	return float64(t.Unix()), err == nil && t.Unix() >= 0
}

// object is a record of sadf -j that is being read.
type object struct {
	begun bool
	text  strings.Builder
	depth int
	ended bool // outside a record: what follows is the frame around them
}

// mostJSON bounds a record, in bytes: one of 1,000 disks has 300 kB.
const mostJSON = 4 << 20

// isObject tells the line that a record of sadf -j begins with.
func isObject(text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(text, "{"), `"timestamp"`)
	rest = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(rest, " "), ":"), " ")
	return ok && strings.HasPrefix(rest, "{") && (len(rest) < 3 || strings.Contains(rest, `"date"`))
}

// processorsIn is the number of processors that the head of sadf -j tells.
func processorsIn(before string) float64 {
	const name = `"number-of-cpus":`
	i := strings.LastIndex(before, name)
	if i < 0 {
		return 0
	}
	f := strings.FieldsFunc(before[i+len(name):], func(c rune) bool { return c < '0' || c > '9' })
	if len(f) == 0 {
		return 0
	}
	v, _ := strconv.Atoi(f[0])
	return float64(min(max(v, 0), 1<<16))
}

// jsonLine takes a line of a record or of the frame around the records.
func (r *reader) jsonLine(text string, n int) (lines.Use, error) {
	o := &r.object
	if isObject(text) { // the record before it may be cut off
		text = strings.TrimPrefix(text, "{")
		cut := o.begun && !o.ended && o.text.Len() > 0
		o.text.Reset()
		o.text.WriteByte('{')
		o.begun, o.ended, o.depth = true, false, 1
		if cut {
			if o.ended = o.add(text); o.ended {
				_ = r.record(o.text.String(), n) // the line is at fault already
			}
			return lines.Broken, fmt.Errorf("the record before this one has no end")
		}
	}
	if o.ended {
		if strings.Trim(text, "{}[], ") == "" || strings.HasPrefix(text, `"restarts"`) || strings.HasPrefix(text, `"comments"`) || strings.HasPrefix(text, `{"boot"`) {
			return lines.Skipped, nil
		}
		return lines.Foreign, nil
	}
	if c := text[0]; c != '"' && c != '{' && c != '}' && c != '[' && c != ']' {
		return lines.Foreign, nil
	}
	if o.text.Len()+len(text) > mostJSON {
		o.ended = true
		return lines.Broken, fmt.Errorf("the record is longer than %d bytes", mostJSON)
	}
	if !o.add(text) {
		return lines.Used, nil
	}
	o.ended = true
	if err := r.record(o.text.String(), n); err != nil {
		return lines.Broken, fmt.Errorf("reading the JSON of the record: %w", err)
	}
	return lines.Used, nil
}

// add takes a line into the record; whole is true at the record's end.
func (o *object) add(text string) (whole bool) {
	quoted := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' && (i == 0 || text[i-1] != '\\'):
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			o.depth++
		case c == '}' || c == ']':
			if o.depth--; o.depth == 0 {
				o.text.WriteString(text[:i+1])
				return true
			}
		}
	}
	o.text.WriteString(text)
	o.text.WriteByte('\n')
	return false
}

// parts are the members of a record that are read: the names that sar gives
// their columns where sadf writes others, and the table that they are of.
func parts() []struct {
	name  string
	table table
	names map[string]string
} {
	return []struct {
		name  string
		table table
		names map[string]string
	}{
		{"cpu-load", (*reader).processors, map[string]string{"cpu": "CPU", "user": "%user", "nice": "%nice", "system": "%system", "iowait": "%iowait", "steal": "%steal", "idle": "%idle",
			"usr": "%usr", "sys": "%sys", "irq": "%irq", "soft": "%soft", "guest": "%guest", "gnice": "%gnice"}}, // -u ALL
		{"cpu-load-all", (*reader).processors, map[string]string{"cpu": "CPU", "usr": "%usr", "nice": "%nice", "sys": "%sys", "iowait": "%iowait", "steal": "%steal", "irq": "%irq", "soft": "%soft", "guest": "%guest", "gnice": "%gnice", "idle": "%idle"}},
		{"swap-pages", (*reader).swapping, map[string]string{"pswpin": "pswpin/s", "pswpout": "pswpout/s"}},
		{"paging", (*reader).paging, map[string]string{"pgpgin": "pgpgin/s", "pgpgout": "pgpgout/s", "majflt": "majflt/s", "pgscank": "pgscank/s", "pgscand": "pgscand/s"}},
		{"memory", (*reader).memory, map[string]string{"memfree": "kbmemfree", "avail": "kbavail", "buffers": "kbbuffers", "cached": "kbcached", "dirty": "kbdirty"}},
		{"memory", (*reader).swapJSON, nil},
		{"queue", (*reader).queue, nil},
		{"psi-cpu", (*reader).pressure, map[string]string{"some_avg": "%scpu"}},
		{"psi-io", (*reader).pressure, map[string]string{"some_avg": "%sio", "full_avg": "%fio"}},
		{"psi-mem", (*reader).pressure, map[string]string{"some_avg": "%smem", "full_avg": "%fmem"}},
		{"disk", (*reader).device, map[string]string{"disk-device": "DEV", "rd_sec": "rd_sec/s", "wr_sec": "wr_sec/s", "rkB": "rkB/s", "wkB": "wkB/s", "util-percent": "%util"}},
	}
}

// record reads the figures of one instant.
func (r *reader) record(text string, n int) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return err
	}
	return r.members(members, n)
}

// members reads what a record holds.
func (r *reader) members(members map[string]json.RawMessage, n int) error {
	var when struct {
		Date, Time string
		Interval   float64
	}
	if err := json.Unmarshal(members["timestamp"], &when); err != nil {
		return err
	}
	at, ok := stamp(when.Date + " " + when.Time)
	if !ok || !(when.Interval >= 0 && when.Interval < 1e7) {
		return fmt.Errorf("%.20q, %.20q is not a time", when.Date, when.Time)
	}
	r.every = max(1, when.Interval)
	if err := spread(members, "psi"); err != nil {
		return err
	}
	for _, p := range parts() {
		raw := members[p.name]
		if len(raw) == 0 {
			continue
		}
		if raw[0] != '[' {
			raw = append(append(json.RawMessage("["), raw...), ']')
		}
		var rows []map[string]any
		if err := json.Unmarshal(raw, &rows); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, fields := range rows {
			v, s := map[string]float64{}, map[string]string{}
			for name, x := range fields {
				if known, ok := p.names[name]; ok {
					name = known
				}
				switch x := x.(type) {
				case float64:
					v[name] = max(0, x)
				case string:
					s[name] = x
				}
			}
			r.put(p.table, at, v, s, n)
		}
	}
	return nil
}

// spread puts the members of a member beside the others.
func spread(members map[string]json.RawMessage, name string) error {
	if len(members[name]) == 0 {
		return nil
	}
	var within map[string]json.RawMessage
	if err := json.Unmarshal(members[name], &within); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	maps.Copy(members, within)
	return nil
}

// swapJSON reads the swap of sadf's memory, which sar prints as a table of its
// own; without -S it is not there.
func (r *reader) swapJSON(v map[string]float64, _ map[string]string, into lines.Values) {
	if _, ok := v["swpfree"]; ok {
		r.swap(map[string]float64{"kbswpfree": v["swpfree"], "kbswpused": v["swpused"]}, nil, into)
	}
}
