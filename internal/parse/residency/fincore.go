package residency

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/parse/lines"
)

// fincoreColumns are the columns of fincore's table, in whatever order (-o); nil
// when it is none that tells how much of which file is in memory.
func fincoreColumns(line string) []string {
	if !strings.Contains(line, "FILE") {
		return nil
	}
	f := strings.Fields(line)
	for _, c := range f {
		switch c {
		case "RES", "PAGES", "SIZE", "FILE", "DIRTY_PAGES", "DIRTY", "WRITEBACK_PAGES", "WRITEBACK", "EVICTED_PAGES", "EVICTED", "RECENTLY_EVICTED_PAGES", "RECENTLY_EVICTED":
		default:
			return nil
		}
	}
	if !slices.Contains(f, "FILE") || !slices.Contains(f, "RES") && !slices.Contains(f, "PAGES") {
		return nil
	}
	return f
}

// isFincore tells the head of fincore -J.
func isFincore(line string) bool {
	text := strings.TrimSpace(line)
	return strings.HasPrefix(text, `"fincore"`) && strings.HasSuffix(text, "[")
}

// fincore reads a row. The name of a file may hold blanks.
func (r *reader) fincore(f []string, n int, into lines.Values) (lines.Use, error) {
	extra := len(f) - len(r.columns)
	if extra < 0 {
		if _, ok := lines.Binary(f[0], 1); ok && len(f) > 1 {
			return lines.Broken, fmt.Errorf("%d columns, not %d: the line is cut off", len(f), len(r.columns))
		}
		return lines.Foreign, nil
	}
	r.fields = map[string]string{}
	for i, at := 0, 0; i < len(r.columns); i++ {
		width := 1
		if r.columns[i] == "FILE" {
			width += extra
		}
		r.fields[strings.ToLower(r.columns[i])] = strings.Join(f[at:at+width], " ")
		at += width
	}
	for _, name := range []string{"res", "pages", "size"} {
		if s, ok := r.fields[name]; ok {
			if _, ok := lines.Binary(s, 1); !ok {
				return lines.Foreign, nil
			}
		}
	}
	return r.finish(n, into)
}

// fincoreObject reads a line of fincore -J, one member each.
func (r *reader) fincoreObject(text string, n int, into lines.Values) (lines.Use, error) {
	switch {
	case isFincore(text):
		if r.object {
			return lines.Another, nil
		}
		r.object, r.fields = true, nil
		return lines.Used, nil
	case strings.HasPrefix(text, "}"):
		use, err := lines.Skipped, error(nil)
		if r.fields != nil {
			use, err = r.finish(n, into)
		}
		r.fields = nil
		return use, err
	case strings.Trim(text, "{}[], ") == "":
		return lines.Skipped, nil
	case text[0] != '"':
		return lines.Foreign, nil
	}
	name, value, ok := strings.Cut(strings.TrimSuffix(text, ","), ":")
	if !ok {
		return lines.Broken, fmt.Errorf("no member in %.40q", text)
	}
	if r.fields == nil {
		r.fields = map[string]string{}
	}
	if len(r.fields) < 32 {
		value = strings.TrimSpace(value)
		if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		r.fields[strings.Trim(name, `" `)] = value
	}
	return lines.Used, nil
}

// finish hands a file over.
func (r *reader) finish(n int, into lines.Values) (lines.Use, error) {
	name := r.fields["file"]
	pages, ok := lines.Number(r.fields["pages"])
	if !ok {
		var bytes float64
		bytes, ok = lines.Binary(r.fields["res"], 1)
		pages = bytes / page
	}
	size, _ := lines.Binary(r.fields["size"], 1) // without it, the share is not known
	if !ok || name == "" {
		return lines.Broken, fmt.Errorf("%.20q pages of %.20q: not numbers", r.fields["pages"], name)
	}
	r.put(name, pages, size, n, into)
	return lines.Used, nil
}
