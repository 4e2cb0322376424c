package sysstat

import (
	"encoding/json"
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
)

// load is what mpstat -o JSON prints:
//
//	"timestamp": "01:05:39",
//	"cpu-load": [
//	    {"cpu": "all", "usr": 3.00, ...},
type load struct {
	begun  bool
	inside bool // in a list of processors
}

// isLoad tells the line that such a list begins with.
func isLoad(text string) bool {
	rest, ok := strings.CutPrefix(text, `"cpu-load"`)
	return ok && strings.HasSuffix(rest, "[")
}

// loadLine takes a line of it.
func (r *reader) loadLine(text string, n int) (lines.Use, error) {
	o := &r.load
	switch {
	case isLoad(text):
		if o.begun, o.inside = true, true; r.end < 0 {
			r.end = 0
		}
		return lines.Skipped, nil
	case strings.HasPrefix(text, `"timestamp"`):
		_, rest, _ := strings.Cut(text, ":")
		at := clock(strings.Trim(rest, `", `))
		if at < 0 {
			return lines.Broken, fmt.Errorf("no time in %.40q", text)
		}
		if d := at - r.begun; r.begun >= 0 && d > 0 {
			r.every = d
		}
		r.end += r.every
		r.begun, o.inside = at, false
		return lines.Skipped, nil
	case strings.Trim(text, "{}[], ") == "":
		return lines.Skipped, nil
	case text[0] == '"':
		o.inside = false
		return lines.Skipped, nil
	case text[0] != '{':
		return lines.Foreign, nil
	case !o.inside:
		return lines.Skipped, nil
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(strings.TrimRight(text, ", ")), &fields); err != nil {
		return lines.Broken, fmt.Errorf("reading the JSON: %w", err)
	}
	v, s := map[string]float64{}, map[string]string{}
	for name, x := range fields {
		switch x := x.(type) {
		case float64:
			v["%"+name] = max(0, x)
		case string:
			s[strings.ToUpper(name)] = x
		}
	}
	if len(v) == 0 {
		return lines.Broken, fmt.Errorf("the row has no number")
	}
	r.put((*reader).processors, r.end, v, s, n)
	return lines.Used, nil
}
