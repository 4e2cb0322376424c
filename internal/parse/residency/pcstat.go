package residency

import (
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
)

// pcstat tells the head of pcstat's table: what separates its columns, and
// where it begins.
func pcstat(line string) (sep string, at int) {
	if at := strings.Index(line, "name,size,timestamp,mtime,pages,cached,percent"); at >= 0 {
		return ",", at
	}
	for _, sep := range []string{"|", "│"} {
		if at := strings.Index(line, sep); at >= 0 && strings.Contains(line[at:], "Cached") {
			f := cells(line[at:], sep)
			if len(f) == 5 && f[0] == "Name" && strings.HasPrefix(f[1], "Size") && f[2] == "Pages" && f[3] == "Cached" && f[4] == "Percent" {
				return sep, at
			}
		}
	}
	return "", -1
}

// cells are the columns of a row.
func cells(row, sep string) []string {
	row = strings.TrimSpace(row)
	if sep != "," {
		row = strings.TrimSuffix(strings.TrimPrefix(row, sep), sep)
	}
	f := strings.Split(row, sep)
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	return f
}

// pcstat reads a row: name, size, pages, cached, percent, and two times before
// the pages where commas separate them.
func (r *reader) pcstat(text string, n int, into lines.Values) (lines.Use, error) {
	if strings.Trim(text, "|+-│├┼┤─┌┬┐└┴┘") == "" {
		return lines.Skipped, nil
	}
	if !strings.Contains(text, r.sep) {
		return lines.Foreign, nil
	}
	figures := 4
	if r.sep == "," {
		figures = 6
	}
	f := cells(text, r.sep)
	at := len(f) - figures // the name may hold what separates columns
	if at < 1 {
		return lines.Broken, fmt.Errorf("%d columns: the line is cut off", len(f))
	}
	size, ok1 := lines.Number(f[at])
	pages, ok2 := lines.Number(f[len(f)-3])
	cached, ok3 := lines.Number(f[len(f)-2])
	if !ok1 || !ok2 || !ok3 || cached > pages {
		return lines.Broken, fmt.Errorf("%.20q bytes, %.20q of %.20q pages: not numbers", f[at], f[len(f)-2], f[len(f)-3])
	}
	r.put(strings.Join(f[:at], r.sep), cached, size, n, into)
	return lines.Used, nil
}
