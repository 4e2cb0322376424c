// Package perfreport reads what 'perf report --stdio' and perf top print: which functions
// the samples of an event fell into.
package perfreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line a report begins: at "# Samples: ...", or at the
// names of its columns.
func Find(line string) int {
	text := strings.TrimLeft(line, " \t")
	if isSamples(text) || columnsOf(text) != nil {
		return len(line) - len(text)
	}
	return -1
}

func isSamples(text string) bool {
	return strings.HasPrefix(strings.TrimPrefix(text, "# "), "Samples: ") && strings.Contains(text, " of event")
}

// columnsOf is the names of the columns, nil when a line does not hold them.
func columnsOf(text string) []string {
	f := strings.Fields(text)
	if len(f) >= 4 && f[0] == "Overhead" && f[len(f)-1] == "Symbol" { // perf top
		return f
	}
	if len(f) < 3 || f[0] != "#" || f[1] != "Overhead" && f[1] != "Children" {
		return nil
	}
	return f[1:]
}

// row is a function with its own share of the samples.
type row struct {
	name, comm string
	share      float64
}

const (
	kept = 8
	most = 1 << 12
)

type reader struct {
	folded  bool // stacks stand in lines of their own
	event   string
	samples string
	self    int // the column of a function's own share
	begun   bool
	rows    []row
	n       int
	kernel  float64
	total   float64
	in      map[string]float64 // share by what functions are of
	line    int
}

// New makes a reader.
func New(string) lines.Reader { return &reader{in: map[string]float64{}} }

// of is what a function of the kernel works at, "" for none that a cause is of: to
// move pages about for large pieces of memory (mm/compaction.c, mm/migrate.c), to
// encrypt disks (dm-crypt, the ciphers that it uses), and to free memory (mm/vmscan.c).
func of(function string) string {
	for _, x := range []struct{ class, part string }{
		{"compaction", "isolate_migratepages"}, {"compaction", "isolate_freepages"}, {"compaction", "compact_zone"}, {"compaction", "compaction_alloc"},
		{"compaction", "migrate_pages"}, {"compaction", "migrate_folio"}, {"compaction", "set_pageblock_skip"}, {"compaction", "get_pfnblock_flags_mask"}, {"compaction", "suitable_migration_target"},
		{"encryption", "aesni_xts"}, {"encryption", "aes_xts"}, {"encryption", "xts_crypt"}, {"encryption", "xts_encrypt"}, {"encryption", "xts_decrypt"}, {"encryption", "aesni_enc"}, {"encryption", "aesni_dec"},
		{"encryption", "crypt_convert"}, {"encryption", "kcryptd_"}, {"encryption", "aes_encrypt"}, {"encryption", "aes_decrypt"},
		{"reclaim", "shrink_"}, {"reclaim", "balance_pgdat"}, {"reclaim", "isolate_lru_"}, {"reclaim", "try_to_free_"}, {"reclaim", "evict_folios"}, {"reclaim", "scan_folios"},
		{"reclaim", "page_referenced"}, {"reclaim", "folio_referenced"}, {"reclaim", "super_cache_count"}, {"reclaim", "pgdat_balanced"},
	} {
		if strings.Contains(function, x.part) {
			return x.class
		}
	}
	return ""
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, _ lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	switch {
	case text == "":
		return lines.Skipped, nil
	case isSamples(text):
		if r.event != "" {
			return lines.Another, nil
		}
		r.samples, r.event, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(text, "# "), "Samples: "), " of event")
		r.event, _, _ = strings.Cut(r.event, ",")
		r.samples, r.event = strings.Clone(strings.TrimSpace(r.samples)), strings.Clone(strings.Trim(strings.TrimPrefix(r.event, "s"), " '"))
		return lines.Used, nil
	case columnsOf(text) != nil:
		if r.begun {
			return lines.Another, nil
		}
		r.begun = true
		if c := columnsOf(text); c[0] == "Children" && c[1] == "Self" {
			r.self = 1
		}
		return lines.Skipped, nil
	case text[0] == '#':
		return lines.Skipped, nil
	}
	f := strings.Fields(text)
	if isTree(l.Text, text) {
		return lines.Skipped, nil
	}
	if !strings.HasSuffix(f[0], "%") {
		return lines.Foreign, nil
	}
	if len(f) == 2 && (r.folded || strings.Contains(f[1], ";")) { // -g folded: the stacks of the row above
		r.folded = true
		return lines.Skipped, nil
	}
	if len(f) < r.self+2 {
		return lines.Broken, fmt.Errorf("%d columns of %.40q: the line is cut off", len(f), text)
	}
	share, ok := lines.Percent(f[r.self])
	if !ok || share > 1 {
		return lines.Broken, fmt.Errorf("the share is %.20q, not a percentage", f[r.self])
	}
	r.line = l.N
	r.add(share, f[r.self+1:])
	return lines.Used, nil
}

// isTree tells the lines of call chains below a row.
func isTree(line, text string) bool {
	return strings.HasPrefix(text, "|") || strings.HasPrefix(text, "--") ||
		(strings.HasPrefix(line, "            ") || strings.HasPrefix(line, "\t")) && !strings.HasSuffix(strings.Fields(text)[0], "%")
}

// add takes a row: what follows the shares is chosen by --sort, by default a
// command, a library and "[k] function".
func (r *reader) add(share float64, f []string) {
	r.n++
	r.total += share
	x := row{share: share, name: strings.Join(f, " ")}
	for i := len(f) - 2; i >= 0; i-- {
		if len(f[i]) == 3 && f[i][0] == '[' && f[i][2] == ']' {
			x.name = strings.Join(f[i+1:], " ")
			if i >= 2 {
				x.comm = strings.Join(f[:i-1], " ")
			}
			if f[i] == "[k]" {
				r.kernel += share
				if class := of(x.name); class != "" {
					r.in[class] += share
				}
			}
			break
		}
	}
	if share == 0 {
		return
	}
	x.name, x.comm = strings.Clone(x.name), strings.Clone(x.comm)
	if r.rows = append(r.rows, x); len(r.rows) >= most {
		r.cut()
	}
}

func (r *reader) cut() {
	slices.SortStableFunc(r.rows, func(a, b row) int { return cmp.Compare(b.share, a.share) })
	r.rows = r.rows[:min(kept, len(r.rows))]
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.n == 0 {
		return
	}
	r.cut()
	into.At(r.line)
	for _, class := range []string{"compaction", "encryption", "reclaim"} {
		if r.in[class] > 0 && r.running() {
			into.Put(sample.CPUSampled, sample.Entity{Class: class}, min(1, r.in[class]))
		}
	}
	var top []string
	for _, x := range r.rows[:min(5, len(r.rows))] {
		s := fmt.Sprintf("%s %.3g %%", x.name, 100*x.share)
		if x.comm != "" {
			s += " (" + x.comm + ")"
		}
		top = append(top, s)
	}
	event := cmp.Or(r.event, "an unnamed event")
	samples := cmp.Or(r.samples, "an unknown number")
	into.Note(fmt.Sprintf("perf report: samples of %s (%s), %.0f %% of what is listed in the kernel; most in %s", event, samples, 100*r.kernel/max(r.total, 1e-9), strings.Join(top, ", ")))
	if r.event != "" && r.running() {
		into.Note("perf report: samples are of running threads; iocause offcpu shows what threads wait for")
	}
}

// running tells whether the samples are of running threads, as they are unless
// another event was asked for.
func (r *reader) running() bool {
	if r.event == "" {
		return true
	}
	for _, name := range []string{"cpu-clock", "cycles", "task-clock", "cpu_core/cycles"} {
		if strings.HasPrefix(r.event, name) {
			return true
		}
	}
	return false
}
