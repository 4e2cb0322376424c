package blktrace

import (
	"strconv"
	"strings"
)

// PerProcessor takes the name of a file of blktrace apart, DEVICE.blktrace.CPU.
func PerProcessor(name string) (base string, ok bool) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 || !strings.HasSuffix(name[:at], ".blktrace") {
		return "", false
	}
	cpu, err := strconv.Atoi(name[at+1:])
	return name[:at], err == nil && cpu >= 0
}

// Together puts the files that blktrace wrote of one device, one for each
// processor, beside each other: a request may begin on one and end on another.
func Together(names []string) [][]string {
	var out [][]string
	at := map[string]int{}
	for _, name := range names {
		base, ok := PerProcessor(name)
		if i, known := at[base]; ok && known {
			out[i] = append(out[i], name)
			continue
		}
		if ok {
			at[base] = len(out)
		}
		out = append(out, []string{name})
	}
	return out
}
