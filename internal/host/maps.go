package host

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
)

// Mapping is a line of /proc/PID/maps (proc_pid_maps(5)).
type Mapping struct {
	Start, End uint64 // addresses
	Offset     uint64 // in the file
	Code       bool   // it may be run
	Writable   bool   // it may be written to
	Dev        DevNumber
	Inode      uint64 // 0: it is no file
	Path       string // any bytes; "[vdso]" and the like, or "", where it is no file
}

// Mappings are those of a maps file. Lines of another form are left out. The kernel
// writes a newline in a path as \012, so a line is a line.
func Mappings(text []byte) iter.Seq[Mapping] {
	return func(yield func(Mapping) bool) {
		for len(text) > 0 {
			var line []byte
			line, text = Line(text)
			if m, ok := parseMapping(line); ok && !yield(m) {
				return
			}
		}
	}
}

// parseMapping reads "7f00-7f01 r-xp 00000000 fe:01 1234   /usr/lib/x.so".
func parseMapping(line []byte) (m Mapping, ok bool) {
	var f [5][]byte
	for i := range f {
		f[i], line = Field(line)
	}
	from, to, _ := bytes.Cut(f[0], []byte("-"))
	major, minor, _ := bytes.Cut(f[3], []byte(":"))
	var numbers [6]uint64
	for i, n := range [...]struct {
		digits []byte
		base   int
	}{{from, 16}, {to, 16}, {f[2], 16}, {major, 16}, {minor, 16}, {f[4], 10}} {
		v, err := strconv.ParseUint(string(n.digits), n.base, 64)
		if err != nil {
			return m, false
		}
		numbers[i] = v
	}
	m = Mapping{Start: numbers[0], End: numbers[1], Offset: numbers[2], Dev: MakeDev(uint32(numbers[3]), uint32(numbers[4])), Inode: numbers[5],
		Code: len(f[1]) > 2 && f[1][2] == 'x', Writable: len(f[1]) > 1 && f[1][1] == 'w', Path: strings.ReplaceAll(string(bytes.TrimLeft(line, " ")), `\012`, "\n")}
	return m, m.End > m.Start
}
