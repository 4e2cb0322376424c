// Package slabtop reads what slabtop(1) prints with -o: the kernel's caches of
// objects.
package slabtop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"iocause/internal/parse/lines"
)

const (
	head    = "OBJS ACTIVE USE OBJ SIZE SLABS OBJ/SLAB CACHE SIZE NAME"
	columns = 8
)

// Find says where in a line the output begins: at the first line of its
// summary, or at the names of its columns.
func Find(line string) int {
	if at := strings.Index(line, "Active / Total Objects (% used)"); at >= 0 {
		return at
	}
	if !strings.Contains(line, "OBJ/SLAB") || strings.Join(strings.Fields(line), " ") != head {
		return -1
	}
	return strings.Index(line, "OBJS")
}

type cache struct {
	name string
	size float64 // bytes
}

type reader struct {
	begun bool // the summary or the columns were seen
	table bool
	all   float64 // caches, of the summary; 0 not in the text
	rows  []cache
	size  float64 // bytes of all rows
	freed float64 // bytes of those that hold names, files and blocks
}

// maxCaches bounds the rows that are kept.
const maxCaches = 1 << 16

// New makes a reader.
func New(string) lines.Reader { return lines.Trim(&reader{}) }

// Text implements lines.Trimmed.
func (r *reader) Text(text string, _ lines.Line, _ lines.Values) (lines.Use, error) {
	f := strings.Fields(text)
	switch {
	case Find(text) == 0:
		isTable := f[0] == "OBJS"
		if r.table || !isTable && r.begun {
			return lines.Another, nil
		}
		r.begun, r.table = true, isTable
		return lines.Used, nil
	case strings.HasPrefix(text, "Active / Total Slabs"), strings.HasPrefix(text, "Active / Total Size"), strings.HasPrefix(text, "Minimum / Average / Maximum Object"):
		return lines.Skipped, nil
	case strings.HasPrefix(text, "Active / Total Caches (% used)"):
		_, counts, _ := strings.Cut(text, ":")
		_, all, _ := strings.Cut(counts, "/")
		n := lines.Numbers(strings.Fields(all))
		if len(n) == 0 {
			return lines.Broken, fmt.Errorf("%.20q is not a number of caches", counts)
		}
		r.all = n[0]
		return lines.Used, nil
	}
	if _, ok := lines.Number(f[0]); !ok || !r.table {
		return lines.Foreign, nil
	}
	if len(f) != columns {
		return lines.Broken, fmt.Errorf("%d of the %d columns: the line is cut off", len(f), columns)
	}
	size, ok := lines.Binary(f[6], 1)
	if !ok || size > 1<<60 {
		return lines.Broken, fmt.Errorf("%.20q is not a size of a cache", f[6])
	}
	if len(r.rows) < maxCaches {
		r.rows = append(r.rows, cache{f[7], size})
		r.size += size
		if ofFiles(f[7]) {
			r.freed += size
		}
	}
	return lines.Used, nil
}

// ofFiles tells caches of what goes with files that were used: the kernel
// frees them when memory is short.
func ofFiles(name string) bool {
	return name == "dentry" || name == "buffer_head" || name == "radix_tree_node" || name == "xa_node" || strings.Contains(name, "inode_cache") || name == "xfs_inode" || name == "btrfs_inode"
}

// Close implements lines.Reader. The sizes are no memory.slab: the kernel has
// pages in it that are in no cache.
func (r *reader) Close(into lines.Values) {
	if len(r.rows) == 0 || r.size == 0 {
		return
	}
	into.State()
	slices.SortStableFunc(r.rows, func(a, b cache) int { return cmp.Or(cmp.Compare(b.size, a.size), strings.Compare(a.name, b.name)) })
	var parts []string
	for _, c := range r.rows[:min(4, len(r.rows))] {
		parts = append(parts, fmt.Sprintf("%s %.3g MiB", c.name, c.size/(1<<20)))
	}
	of := ""
	if r.all > float64(len(r.rows)) {
		of = fmt.Sprintf(" of %.0f, the others are not in the text", r.all)
	}
	into.Note(fmt.Sprintf("kernel objects: %.3g MiB in %d caches%s; largest: %s", r.size/(1<<20), len(r.rows), of, strings.Join(parts, ", ")))
	into.Note(fmt.Sprintf("%.0f %% of that are names, inodes and blocks of files, which the kernel frees when memory is short", 100*r.freed/r.size))
}
