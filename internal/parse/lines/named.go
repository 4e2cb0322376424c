package lines

import "strings"

// Named sorts the fields of a row below the names of its columns, where one of
// the columns, a command, may hold blanks. ok is false when there are too few.
func Named(columns []string, text, command string) (row map[string]string, ok bool) {
	f := strings.Fields(text)
	extra := len(f) - len(columns)
	if extra < 0 {
		return nil, false
	}
	row = make(map[string]string, len(columns))
	at := 0
	for _, c := range columns {
		n := 1
		if c == command {
			n += extra
		}
		row[c] = strings.Join(f[at:at+n], " ")
		at += n
	}
	return row, at == len(f)
}
