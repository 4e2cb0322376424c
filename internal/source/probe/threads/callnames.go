package threads

import (
	"strconv"
	"strings"
)

// firstLater is the number of the first of laterCalls.
const firstLater = 424

// CallNames are the names of the system calls by their number.
func CallNames() map[int]string {
	names := map[int]string{}
	for first, all := range map[int]string{0: firstCalls, firstLater: laterCalls} {
		for i, name := range strings.Fields(all) {
			if name != "-" {
				names[first+i] = name
			}
		}
	}
	return names
}

// CallNumber is the number of a system call, given by its name or its number.
func CallNumber(name string) (int, bool) {
	if n, err := strconv.Atoi(name); err == nil {
		return n, n >= 0 && n < maxCalls
	}
	for n, known := range CallNames() {
		if known == name {
			return n, true
		}
	}
	return 0, false
}
